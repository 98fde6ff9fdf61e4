/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the flat API keeps for each thread: the text of its last error and what its
 * last wait told it. */

#pragma once

#include "base/ovs-error.h"

/* OVSTAGE_OK, and the thread has no last error. */
OvstageError ovs_thread_succeed (void);
/* Takes @error and keeps its text. Gives its code. */
OvstageError ovs_thread_fail (GError *error);
OvstageError ovs_thread_fail_with (OvstageError code, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* The code of an error without more ado. */
OvstageError ovs_error_get_status (const GError *error);
const char *ovs_thread_get_error (gsize *length);

/* The report of the last wait. Texts are taken. */
void ovs_thread_clear_report (void);
void ovs_thread_report (guint64 id, char *text);
const guint64 *ovs_thread_get_report (gsize *n);
/* Lent until the report is cleared. */
const char *ovs_thread_find_text (guint64 id);
/* Keeps a text, which it takes, for as long as the report, without making it a part of that. */
const char *ovs_thread_keep_text (guint64 id, char *text);

/* How many failures of some records this thread was told. */
guint64 ovs_thread_get_told (guint64 records);
void ovs_thread_set_told (guint64 records, guint64 n);
