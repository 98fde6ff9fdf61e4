#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# Prints the symbols of the public API, as the compiler sees them: what the
# headers declare with default visibility. Takes the compiler's flags.
#   list-symbols.sh          one symbol a line
#   list-symbols.sh --sym    the same as a version script
#   list-symbols.sh --debian the same as debian/libovstage0.symbols

set -eu

form=plain
case ${1:-} in
--*)
  form=${1#--}
  shift
  ;;
esac

symbols=$(
  printf '#include <ovstage/ovstage.h>\n#include <ovstage/ovstage-dlpack.h>\n' |
    ${CC:-cc} -std=gnu11 -E -P -DOVSTAGE_COMPILATION "$@" -x c - |
    tr '\n' ' ' | sed 's/[;{}]/\n/g' |
    sed -n 's/__attribute__ *((visibility ("default")))//p' |
    sed 's/__attribute__ *(([^)]*\(([^)]*)\)*[^)]*))//g' |
    sed -n 's/^[^(]*[ *]\(\(ovstage\|path_dictionary\)_[a-z0-9_]*\) *(.*/\1/p; t
            s/^[^(]*[ *]\(ovstage_[a-z0-9_]*\) *\(\[.*\)\{0,1\}$/\1/p' |
    LC_ALL=C sort -u
)

case $form in
plain) echo "$symbols" ;;
sym)
  printf '/* SPDX-License-Identifier: LGPL-2.1-or-later\n'
  printf ' * SPDX-FileCopyrightText: 2026 The libovstage authors\n */\n\n'
  printf 'OVSTAGE_1.0 {\nglobal:\n'
  echo "$symbols" | sed 's/.*/  &;/'
  printf 'local:\n  *;\n};\n'
  ;;
debian)
  echo 'libovstage.so.0 libovstage0 #MINVER#'
  echo '* Build-Depends-Package: libovstage-dev'
  echo ' OVSTAGE_1.0@OVSTAGE_1.0 1.0.0'
  echo "$symbols" | sed 's/.*/ &@OVSTAGE_1.0 1.0.0/'
  ;;
esac
