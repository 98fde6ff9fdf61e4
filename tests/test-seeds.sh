#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The code blocks of the documents that describe the flat API, each in the least
# program around it, as C++17 and, where it is C, as C11.

set -u
srcdir=${OVSTAGE_SRCDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/check-program.sh
. "$srcdir/tests/check-program.sh"

seeds=$srcdir/tests/seeds

# run_seed COMPILER LANGUAGE FILE
run_seed ()
{
  # shellcheck disable=SC2046,SC2086
  $1 ${SANITIZER_CFLAGS:-} -Wall -Wextra -Werror -o "$TMPDIR/seed" -x "$2" "$seeds/$3" -x none \
    $(pkg-config --cflags --libs ovstage | sed 's/-I\([^ ]*glib\)/-isystem \1/g') &&
    "$TMPDIR/seed" >"$TMPDIR/seed.out" &&
    matches_promise "$seeds/$3" "$TMPDIR/seed.out"
}

for seed in "$seeds"/*.c; do
  name=$(basename "$seed")
  check "$name, C11" run_seed "${CC:-cc} -std=c11" c "$name"
done
for seed in "$seeds"/*.c "$seeds"/*.cc; do
  name=$(basename "$seed")
  if command -v "${CXX:-c++}" >/dev/null; then
    check "$name, C++17" run_seed "${CXX:-c++} -std=c++17" c++ "$name"
  else
    skip "$name, C++17" "no C++ compiler"
  fi
done
plan
