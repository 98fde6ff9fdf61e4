/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The rows of a path list on a layout, and where its prims stand in a version.
 *
 * A binding is kept for its (list, layout), so that a frame loop over the same
 * query looks it up and copies. It never changes once others may hold it: when the
 * layout has grown and entries were missing, a new one takes its place. A list
 * whose entries lie on consecutive rows needs no row numbers at all.
 *
 * The table is protected by the stage lock; bindings are counted and may be held
 * and dropped anywhere. */

#pragma once

#include "base/ovs-pool.h"
#include "base/ovs-sync.h"
#include "column/ovs-column.h"

/* Where the prims of a list stand in one version: what a group tells. */
typedef struct
{
  gint refs; /* (atomic) */
  OvsBits *live; /* (owned) (nullable) of the version it was made for */
  guint32 n_rows;
  guint32 prim_offset;
  guint32 prim_count;
  guint32 *prim_map; /* (owned) (nullable) */
  guint32 first_row; /* of the tensor, when the rows are consecutive */
  guint32 data_count;
  guint32 *data_map; /* (owned) (nullable) */
} OvsPlaces;

typedef struct
{
  gint refs; /* (atomic) */
  OvsLayout *layout; /* (owned) */
  guint32 n;         /* entries of the list */
  guint32 n_missing; /* entries without a row */
  guint32 n_layout;  /* rows of the layout when it was made */
  guint32 first;     /* row of entry 0, when they are a run */
  guint32 end;       /* one past the highest row */
  OvsBuffer *rows;   /* (owned) (nullable) guint32 row numbers or OVS_INDEX_NONE; NULL: a run */
  OvsMutex lock;     /* leaf */
  OvsPlaces *places; /* protected by lock (owned) (nullable) the last that were asked for */
  OvsBits *row_bits; /* protected by lock (owned) (nullable) which rows are bound, made on first use */
  guint32 *entries;  /* protected by lock while NULL (owned) (nullable) of each row below end, see ovs_binding_get_entries() */
} OvsBinding;

typedef struct _OvsBindingTable OvsBindingTable;

OvsBindingTable *ovs_binding_table_new (OvsPool *pool, gsize budget);
void ovs_binding_table_free (OvsBindingTable *table);
/* A new reference; NULL without memory. */
OvsBinding *ovs_binding_table_get (OvsBindingTable *table, OvstagePathList *list, OvsLayout *layout);
/* Forgets what was bound to a layout. */
void ovs_binding_table_drop_layout (OvsBindingTable *table, OvsLayout *layout);
void ovs_binding_table_trim (OvsBindingTable *table);
gsize ovs_binding_table_get_size (OvsBindingTable *table);

OvsBinding *ovs_binding_ref (OvsBinding *binding);
void ovs_binding_unref (OvsBinding *binding);

static inline guint32
ovs_binding_get_row (const OvsBinding *binding, guint32 i)
{
  return binding->rows == NULL ? binding->first + i : ((const guint32 *) binding->rows->data)[i];
}

/* All @n entries have rows, or would not get one by looking again. */
static inline gboolean
ovs_binding_is_fresh (const OvsBinding *binding)
{
  return binding->n_missing == 0 || binding->n_layout == binding->layout->n;
}

/* Whether the rows of a run or of @rows meet those of the list. @version: (nullable) rows it does not have do not count. */
gboolean ovs_binding_meets (OvsBinding *binding, const OvsVersion *version, guint32 first, guint32 n, const guint32 *rows);

OvsPlaces *ovs_binding_get_places (OvsBinding *binding, const OvsVersion *version);
/* Of the entries that @chosen names, which all have rows in the version. @binding, @version: (nullable) without them, only
 * the prims are told. */
OvsPlaces *ovs_places_new_chosen (const OvsBinding *binding, const OvsVersion *version, const OvsBits *chosen);
void ovs_places_unref (OvsPlaces *places);
/* For each row below end, 1 + the entry that stands there, 0 for none; of a binding that is no run. */
const guint32 *ovs_binding_get_entries (OvsBinding *binding);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsBinding, ovs_binding_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsPlaces, ovs_places_unref)
