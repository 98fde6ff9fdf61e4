#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# A planted race is reported under the suppressions that the tests run with.

set -u
srcdir=${OVSTAGE_SRCDIR:?} build=${OVSTAGE_BUILDDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

[ "${SANITIZER:-no}" = thread ] || skip_all "configured without ThreadSanitizer"

reports_race ()
{
  if setarch -R true 2>/dev/null; then
    setarch -R "$build/tests/tsan-race" >"$TMPDIR/race.out" 2>&1
  else
    "$build/tests/tsan-race" >"$TMPDIR/race.out" 2>&1
  fi
  status=$?
  cat "$TMPDIR/race.out"
  [ "$status" -ne 0 ] && grep -q 'data race.*in count' "$TMPDIR/race.out"
}

check "a planted race is reported" reports_race
plan
