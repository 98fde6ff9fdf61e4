/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What texts a dictionary takes, and how messages quote those it does not. */

#pragma once

#include "base/ovs-error.h"

/* A text in quotes for messages: valid UTF-8 whatever it was, with escapes, cut when long. */
char *ovs_quote_text (const char *text, gssize length);
gboolean ovs_check_token_text (const char *text, gsize length, GError **error);
gboolean ovs_check_path_text (const char *path, gsize length, GError **error);
