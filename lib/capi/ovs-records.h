/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What an instance knows of its operations by their ids: a record for each that is
 * not finished or has failed. Of the others it knows which were released, as
 * intervals. So a program that never releases an id costs nothing.
 *
 * A failure is told to each thread once, by the first wait of that thread after it.
 * Once it was told, only the newest OVS_RECORDS_TOLD stay; of those that nobody was
 * told yet, only the newest OVS_RECORDS_TEXTS keep their text. */

#pragma once

#include "op/ovs-op.h"

#define OVS_RECORDS_TOLD 256
#define OVS_RECORDS_TEXTS 4096

typedef struct _OvsRecords OvsRecords;

/* @base: what the ids that go out are above those of the core. */
OvsRecords *ovs_records_new (guint64 base);
OvsRecords *ovs_records_ref (OvsRecords *records);
void ovs_records_unref (OvsRecords *records);
/* An accepted operation. Gives its id. */
guint64 ovs_records_add (OvsRecords *records, OvsOp *op);
/* An operation whose id nobody is told. */
void ovs_records_skip (OvsRecords *records, OvsOp *op);

/* FALSE: never given out, or released. @op: (out) a new reference while there is a record of an unfinished one, else NULL. */
gboolean ovs_records_find (OvsRecords *records, guint64 id, OvsOp **op);
gboolean ovs_records_release (OvsRecords *records, guint64 id);
/* Whether it was ever given out. */
gboolean ovs_records_gave (OvsRecords *records, guint64 id);
guint64 ovs_records_get_id (OvsRecords *records, guint64 core_id);
/* Tells this thread of the failures since it was last told, in its report: see ovs-thread.h. */
void ovs_records_tell (OvsRecords *records);
/* (transfer full) (nullable) the text of a failure on record */
char *ovs_records_dup_text (OvsRecords *records, guint64 id);
/* For tests. */
guint ovs_records_get_n (OvsRecords *records);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsRecords, ovs_records_unref)
