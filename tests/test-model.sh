#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# Random sequences against the reference model. OVSTAGE_SEQUENCES tells how many.

set -u

if [ "${HAVE_PYTHON:-no}" != yes ]; then
  echo '1..0 # SKIP configured without Python'
  exit 0
fi
exec "${PYTHON:?}" -B "${OVSTAGE_SRCDIR:?}/tests/model/driver.py" --tap --programs 20 --sequences "${OVSTAGE_SEQUENCES:-2000}"
