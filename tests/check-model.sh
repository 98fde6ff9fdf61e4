#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# check-model.sh COMMAND: runs it on the library that is instrumented as SANITIZE says. The interpreter is not
# instrumented, so the sanitizer's own library has to be there before everything else.

set -eu

case ${SANITIZE:-} in
  '') exec "$@" ;;
  address) folder=asan runtime=libasan.so ;;
  undefined) folder=ubsan runtime=libubsan.so ;;
  thread) folder=tsan runtime=libtsan.so ;;
esac

OVSTAGE_BUILDDIR=${OVSTAGE_CHECKS:?}/$folder
LD_LIBRARY_PATH=$OVSTAGE_BUILDDIR/lib/.libs:$LD_LIBRARY_PATH
# shellcheck disable=SC2086
LD_PRELOAD=$(${CC:-cc} -print-file-name=$runtime)
# The interpreter keeps a lot until it ends: leaks are looked for by `make check-asan'.
ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:${ASAN_OPTIONS:-}
UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
# The driver has a thread for each process that it forks.
TSAN_OPTIONS=suppressions=${OVSTAGE_SRCDIR:?}/tests/tsan.supp:second_deadlock_stack=1:halt_on_error=1:die_after_fork=0:${TSAN_OPTIONS:-}
# Threads shall meet in the library, not wait for the interpreter's lock.
OVSTAGE_DEBUG=${OVSTAGE_DEBUG:+$OVSTAGE_DEBUG,}unlock
export OVSTAGE_BUILDDIR OVSTAGE_DEBUG LD_LIBRARY_PATH ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS

# ThreadSanitizer cannot cope with every layout of memory.
if setarch -R true 2>/dev/null; then
  exec setarch -R env LD_PRELOAD="$LD_PRELOAD" "$@"
fi
exec env LD_PRELOAD="$LD_PRELOAD" "$@"
