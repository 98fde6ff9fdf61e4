#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# Each flat header alone, in strict C11 and C++17, without GLib; and together
# with the umbrella header in any order.

set -u
srcdir=${OVSTAGE_SRCDIR:?} build=${OVSTAGE_BUILDDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

includes="-I$srcdir/include -I$build/include"
strict="-Wall -Wextra -Wpedantic -Werror"

# compiles LANGUAGE FLAGS HEADER...
compiles ()
{
  language=$1 flags=$2
  shift 2
  for included; do
    echo "#include <$included>"
  done >"$TMPDIR/program"
  case $language in
  c) compiler="${CC:-cc} -std=c11 -Wstrict-prototypes" ;;
  *) compiler="${CXX:-c++} -std=c++17" ;;
  esac
  # shellcheck disable=SC2086
  $compiler $strict $includes $flags -x "$language" -fsyntax-only "$TMPDIR/program"
}

needs_no_glib ()
{
  echo "#include <$1>" >"$TMPDIR/program"
  # shellcheck disable=SC2086
  ${CC:-cc} $includes -x c -M "$TMPDIR/program" >"$TMPDIR/files" && ! grep 'glib' "$TMPDIR/files"
}

languages=c
command -v "${CXX:-c++}" >/dev/null && languages='c c++'
# GLib's own headers are not strict.
with_glib=$(pkg-config --cflags gio-2.0 | sed 's/-I/-isystem /g')

headers=$(cd "$srcdir/include" && find ovstage/ovstage_api ovx -name '*.h' | sort)
for header in $headers; do
  for language in $languages; do
    check "$header alone, $language" compiles "$language" '' "$header"
    check "$header and the umbrella, $language" compiles "$language" "$with_glib" "$header" ovstage/ovstage.h
    check "the umbrella and $header, $language" compiles "$language" "$with_glib" ovstage/ovstage.h "$header"
  done
  check "$header needs no GLib" needs_no_glib "$header"
done
plan
