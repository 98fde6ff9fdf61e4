#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# Runs one test so that it prints TAP: with a time limit, in a temporary folder
# of its own for what it writes, and with the interpreter that its name asks for.

set -u

test=$1
here=$(dirname "$0")
build=${OVSTAGE_BUILDDIR:?is set by the Makefile}
limit=${OVSTAGE_TEST_TIMEOUT:-300}

TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/ovstage-test.XXXXXX") || exit 99
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 99' HUP INT TERM

skip ()
{
  echo "1..0 # SKIP $1"
  exit 0
}

run ()
{
  timeout --kill-after=10 "$limit" "$@"
  status=$?
  [ "$status" -ne 124 ] || echo "Bail out! $test took more than $limit seconds"
  exit "$status"
}

case $test in
*.sh)
  run "$build/ovstage-env" sh "$test"
  ;;
*.py)
  [ -n "${PYTHON:-}" ] || skip "configured without Python"
  export PYTHONDONTWRITEBYTECODE=1
  case $test in
  */python/test_*.py | */model/test_*.py | */interop/test_*.py) run "$build/ovstage-env" "$PYTHON" "$here/run-python.py" "$test" ;;
  *) run "$build/ovstage-env" "$PYTHON" "$test" ;;
  esac
  ;;
*.js)
  [ -n "${GJS:-}" ] && [ "${HAVE_TYPELIB:-no}" = yes ] || skip "configured without gjs"
  run "$build/ovstage-env" "$GJS" -m "$test"
  ;;
esac

if [ "${OVSTAGE_TEST_VALGRIND:-no}" = yes ]; then
  command -v valgrind >/dev/null || skip "valgrind is not installed"
  limit=$((limit * 5))
  supp=${OVSTAGE_VALGRIND_SUPP:-/usr/share/glib-2.0/valgrind/glib.supp}
  [ -r "$supp" ] && supp=--suppressions=$supp || supp=
  G_SLICE=always-malloc
  OVSTAGE_TEST_SLOW=10
  export G_SLICE OVSTAGE_TEST_SLOW
  # shellcheck disable=SC2086
  run ${LIBTOOL:?is set by the Makefile} --mode=execute \
    valgrind -q --fair-sched=yes --error-exitcode=99 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --num-callers=30 $supp "$test" --tap -k
fi

# shellcheck disable=SC3045
case ${SANITIZER:-no} in
thread)
  limit=$((limit * 3))
  # Older ThreadSanitizers cannot live with much address space randomisation.
  if setarch -R true 2>/dev/null; then
    run setarch -R "$test" --tap -k
  fi
  ;;
*address*) limit=$((limit * 2)) ;;
# A test that runs away with memory must not take the machine along. The
# sanitizers reserve terabytes of addresses.
no) ulimit -v 8388608 ;;
esac

run "$test" --tap -k
