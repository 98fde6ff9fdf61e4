# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
# shellcheck shell=sh

# For test scripts: builds and runs the programs of examples/ as they stand,
# with whatever library the environment leads to, and compares what they print
# with what their header says after "Prints:".

# What FILE promises, one line each; <N> in it stands for any number.
promised ()
{
  awk '
    /Prints:/ { on = 1; sub (/.*Prints: */, ""); print; next }
    on && /^ *(\*|\/\/|#)   / { sub (/^ *(\*|\/\/|#) */, ""); print; next }
    on { exit }
  ' "$1"
}

matches_promise ()
{
  promised "$1" | sed 's/[][\\.*^$]/\\&/g; s/<N>/[0-9][0-9]*/g' >"$TMPDIR/promised"
  [ -s "$TMPDIR/promised" ] || { echo "$1 promises nothing"; return 1; }
  [ "$(wc -l <"$TMPDIR/promised")" -eq "$(wc -l <"$2")" ] || { echo "wrong number of lines:"; cat "$2"; return 1; }
  exec 3<"$TMPDIR/promised" 4<"$2"
  while IFS= read -r want <&3 && IFS= read -r got <&4; do
    printf '%s\n' "$got" | grep -q -x -- "$want" || { echo "printed: $got"; echo "promised: $want"; return 1; }
  done
  exec 3<&- 4<&-
}

# run_c NAME: cc with pkg-config, as the header of the program says
run_c ()
{
  # shellcheck disable=SC2046,SC2086
  ${CC:-cc} ${SANITIZER_CFLAGS:-} -Wall -Wextra -Werror -o "$TMPDIR/$1" "$examples/$1.c" $(pkg-config --cflags --libs ovstage) &&
    "$TMPDIR/$1" >"$TMPDIR/$1.out" &&
    matches_promise "$examples/$1.c" "$TMPDIR/$1.out"
}

run_vala ()
{
  # Vala's own generated C is not free of warnings; ours is not in it.
  (cd "$TMPDIR" && "${VALAC:-valac}" --pkg ovstage -X -w -o "$1-vala" "$examples/$1.vala") &&
    "$TMPDIR/$1-vala" >"$TMPDIR/$1-vala.out" &&
    matches_promise "$examples/$1.vala" "$TMPDIR/$1-vala.out"
}

run_js ()
{
  "${GJS:-gjs}" -m "$examples/$1.js" >"$TMPDIR/$1-js.out" &&
    matches_promise "$examples/$1.js" "$TMPDIR/$1-js.out"
}

run_python ()
{
  "${PYTHON:-python3}" "$examples/$1.py" >"$TMPDIR/$1-py.out" &&
    matches_promise "$examples/$1.py" "$TMPDIR/$1-py.out"
}

check_examples ()
{
  examples=$1
  check "$2 flat.c" run_c flat
  check "$2 minimal.c" run_c minimal
  check "$2 mainloop.c" run_c mainloop
  check "$2 producer-consumer.c" run_c producer-consumer
  if [ -n "${VALAC:-}" ] && [ "${HAVE_VAPI:-no}" = yes ]; then
    check "$2 minimal.vala" run_vala minimal
  else
    skip "$2 minimal.vala" "configured without Vala"
  fi
  if [ -n "${GJS:-}" ] && [ "${HAVE_TYPELIB:-no}" = yes ]; then
    check "$2 minimal.js" run_js minimal
  else
    skip "$2 minimal.js" "configured without gjs"
  fi
  if [ "${HAVE_PYTHON:-no}" = yes ]; then
    check "$2 minimal.py" run_python minimal
    check "$2 producer-consumer.py" run_python producer-consumer
  else
    skip "$2 minimal.py" "configured without Python"
    skip "$2 producer-consumer.py" "configured without Python"
  fi
}
