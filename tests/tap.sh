# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
# shellcheck shell=sh

# For test scripts: `check NAME COMMAND...' runs a command, prints a TAP line for
# it, and what it said when it failed. `plan' comes last.

tap_count=0
tap_failed=0

check ()
{
  tap_count=$((tap_count + 1))
  tap_name=$1
  shift
  if "$@" >"$TMPDIR/tap.out" 2>&1; then
    echo "ok $tap_count $tap_name"
  else
    sed 's/^/# /' "$TMPDIR/tap.out"
    echo "not ok $tap_count $tap_name"
    tap_failed=$((tap_failed + 1))
  fi
}

skip ()
{
  tap_count=$((tap_count + 1))
  echo "ok $tap_count $1 # SKIP $2"
}

skip_all ()
{
  echo "1..0 # SKIP $1"
  exit 0
}

plan ()
{
  echo "1..$tap_count"
  [ "$tap_failed" -eq 0 ]
  exit
}
