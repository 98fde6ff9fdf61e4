#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The programs of vala/, which say themselves what must hold.

set -u
srcdir=${OVSTAGE_SRCDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

[ -n "${VALAC:-}" ] && [ "${HAVE_VAPI:-no}" = yes ] || skip_all "configured without Vala"

build_and_run ()
{
  # Vala's own generated C is not free of warnings.
  "$VALAC" --pkg ovstage -X -w -d "$TMPDIR" -o "$1" "$srcdir/tests/vala/$1.vala" && timeout 60 "$TMPDIR/$1"
}

check watch.vala build_and_run watch
plan
