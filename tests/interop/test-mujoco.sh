#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The example with MuJoCo as a producer, and Warp and numpy as consumers.

set -u
srcdir=${OVSTAGE_SRCDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/check-program.sh
. "$srcdir/tests/check-program.sh"

# Warp writes what it compiles.
WARP_CACHE_PATH=$TMPDIR/warp
export WARP_CACHE_PATH

examples=$srcdir/examples
check "mujoco-stage.py" run_python mujoco-stage
plan
