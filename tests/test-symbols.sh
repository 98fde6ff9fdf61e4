#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The version script, the built library, the public headers, the Debian symbols
# file and the GIR name the same symbols.

set -u
srcdir=${OVSTAGE_SRCDIR:?} build=${OVSTAGE_BUILDDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

LC_ALL=C
export LC_ALL

headers_declare ()
{
  # shellcheck disable=SC2046
  sh "$srcdir/tests/list-symbols.sh" -I"$srcdir/include" -I"$build/include" $(pkg-config --cflags gio-2.0)
}

sed -n 's/^  \([a-z][a-z0-9_]*\);$/\1/p' "$srcdir/lib/ovstage.sym" >"$TMPDIR/sym"
nm -D --defined-only "$build/lib/.libs/libovstage.so" | sed 's/.* //; s/@.*//' | sed '/^OVSTAGE_/d' | sort >"$TMPDIR/library"
headers_declare >"$TMPDIR/headers"

check "version script is not empty" test -s "$TMPDIR/sym"
check "version script is sorted, each name once" sort -uc "$TMPDIR/sym"
check "headers declare what the version script lists" diff "$TMPDIR/sym" "$TMPDIR/headers"
case ${SANITIZER:-no} in
no) check "library exports what the version script lists" diff "$TMPDIR/sym" "$TMPDIR/library" ;;
*) skip "library exports what the version script lists" "instrumented" ;;
esac
# Release tarballs come without debian/.
if [ -r "$srcdir/debian/libovstage0.symbols" ]; then
  sed -n 's/^ \([a-z][a-z0-9_]*\)@OVSTAGE_[0-9.]* .*/\1/p' "$srcdir/debian/libovstage0.symbols" | sort >"$TMPDIR/debian"
  check "Debian symbols file lists what the version script lists" diff "$TMPDIR/sym" "$TMPDIR/debian"
else
  skip "Debian symbols file lists what the version script lists" "no debian folder"
fi

if [ -r "$build/gir/Ovstage-1.0.gir" ]; then
  {
    sed -n 's/.*c:identifier="\(ovstage_[a-z0-9_]*\)".*/\1/p' "$build/gir/Ovstage-1.0.gir"
    sed -n 's/.*glib:get-type="\(ovstage_[a-z0-9_]*\)".*/\1/p' "$build/gir/Ovstage-1.0.gir"
  } | sort -u >"$TMPDIR/gir"
  check "GIR names only what the library exports" sh -c "! comm -13 '$TMPDIR/sym' '$TMPDIR/gir' | grep ."
else
  skip "GIR names only what the library exports" "configured without introspection"
fi

plan
