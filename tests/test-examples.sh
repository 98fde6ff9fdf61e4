#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The example programs against the library in the build folder.

set -u
srcdir=${OVSTAGE_SRCDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/check-program.sh
. "$srcdir/tests/check-program.sh"

check_examples "$srcdir/examples" uninstalled
plan
