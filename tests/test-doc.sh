#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The reference manual builds without a warning, and every public symbol is
# documented.

set -u
srcdir=${OVSTAGE_SRCDIR:?} build=${OVSTAGE_BUILDDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

[ -n "${GI_DOCGEN:-}" ] || skip_all "configured without gi-docgen"

check "gi-docgen generate" "$GI_DOCGEN" generate --quiet --fatal-warnings --no-namespace-dir \
  --config="$build/doc/ovstage.toml" --content-dir="$srcdir/doc" --output-dir="$TMPDIR/html" "$build/gir/Ovstage-1.0.gir"
check "gi-docgen check" "$GI_DOCGEN" check --config="$build/doc/ovstage.toml" "$build/gir/Ovstage-1.0.gir"
plan
