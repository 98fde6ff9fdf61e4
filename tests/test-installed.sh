#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# Installs into a temporary folder and builds the example programs against what
# is there, with nothing of the build folder in sight.

set -u
srcdir=${OVSTAGE_SRCDIR:?} build=${OVSTAGE_BUILDDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/check-program.sh
. "$srcdir/tests/check-program.sh"

unset LD_LIBRARY_PATH GI_TYPELIB_PATH PKG_CONFIG_PATH PYTHONPATH XDG_DATA_DIRS
PATH=$(printf '%s' "$PATH" | sed "s|^$build/uninstalled/bin:||")
root=$TMPDIR/root

install_there ()
{
  MAKEFLAGS='' MAKELEVEL='' "${MAKE:-make}" -C "$build" install DESTDIR="$root"
}

# The .pc file names the final place; here it is below $root.
move_pc ()
{
  mkdir -p "$TMPDIR/pkgconfig" &&
    sed "s|^\\([a-z_]*\\)=/|\\1=$root/|" "$root${PC_LIBDIR:?}/pkgconfig/ovstage.pc" >"$TMPDIR/pkgconfig/ovstage.pc" &&
    pkg-config --exists --print-errors ovstage
}

headers_are_there ()
{
  (cd "$srcdir/include" && find ovstage ovx -name '*.h') >"$TMPDIR/headers"
  while IFS= read -r f; do
    test -f "$root$PC_INCLUDEDIR/ovstage-1.0/$f" || { echo "$f is not installed"; return 1; }
  done <"$TMPDIR/headers"
}

module_is_alone ()
{
  [ -z "${PC_PYEXECDIR:-}" ] && return
  (cd "$root$PC_PYEXECDIR/ovstage" && ls _native.* && [ "$(echo _native.*)" = "$(echo _native.*.so _native.pyi)" ])
}

PKG_CONFIG_PATH=$TMPDIR/pkgconfig
LD_LIBRARY_PATH=$root$PC_LIBDIR
GI_TYPELIB_PATH=$root$PC_LIBDIR/girepository-1.0
XDG_DATA_DIRS=$root$PC_DATADIR:/usr/local/share:/usr/share
PYTHONPATH=$root${PC_PYEXECDIR:-/nowhere}
export PKG_CONFIG_PATH LD_LIBRARY_PATH GI_TYPELIB_PATH XDG_DATA_DIRS PYTHONPATH

check "make install" install_there
check "pkg-config finds it" move_pc
check "every public header is installed" headers_are_there
check "the Python module is installed alone" module_is_alone
check_examples "$srcdir/examples" installed
plan
