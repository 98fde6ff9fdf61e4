#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The tests of the engine, once more in short: everything on threads that pick
# their jobs at random, folds that take one of their ways by chance and leave no
# dead rows, and memory that is poisoned.

set -u
srcdir=${OVSTAGE_SRCDIR:?}
builddir=${OVSTAGE_BUILDDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

[ "${SANITIZER:-no}" = no ] || skip_all "the tests themselves run with a sanitizer"

OVSTAGE_TEST_SLOW=10
OVSTAGE_DEBUG=async,shuffle,random,compact,poison
export OVSTAGE_TEST_SLOW OVSTAGE_DEBUG

for source in "$srcdir"/tests/test-engine-*.c "$srcdir"/tests/test-watch.c "$srcdir"/tests/test-operation.c \
  "$srcdir"/tests/test-write-arrays.c; do
  program=$(basename "$source" .c)
  check "$program" "$builddir/tests/$program" --tap -k
done
plan
