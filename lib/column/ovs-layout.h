/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Which prim sits on which row.
 *
 * A layout is append-only: row numbers are never reused or moved, so versions,
 * bindings and staged writes may hold them (ENGINE rule 6, 7). It begins with the
 * paths of a list and goes on with prims of its own. Several columns share one:
 * each knows how many of its rows it uses, and a column that would go on with
 * another prim than the one that is there forks, keeping its row numbers.
 *
 * Everything but the counting is protected by the stage lock. */

#pragma once

#include "path/ovs-path-list.h"

typedef struct
{
  gint refs; /* (atomic) */
  OvstagePathList *base; /* (owned) (nullable) rows 0 to n_base are its entries */
  guint32 n_base;
  guint32 n; /* rows in all */
  guint32 *more; /* (owned) prims of the rows from n_base on */
  guint32 more_capacity;
  GHashTable *more_index; /* (owned) (nullable) prim -> row + 1 */
} OvsLayout;

/* @base: (nullable) */
OvsLayout *ovs_layout_new (OvstagePathList *base);
/* The same first @n_rows rows, free to go on differently. */
OvsLayout *ovs_layout_fork (OvsLayout *layout, guint32 n_rows);
OvsLayout *ovs_layout_ref (OvsLayout *layout);
void ovs_layout_unref (OvsLayout *layout);

/* OVS_INDEX_NONE: not there. */
guint32 ovs_layout_find (OvsLayout *layout, guint32 prim);
guint32 ovs_layout_append (OvsLayout *layout, guint32 prim);

static inline guint32
ovs_layout_get_prim (const OvsLayout *layout, guint32 row)
{
  return row < layout->n_base ? layout->base->ids[row] : layout->more[row - layout->n_base];
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsLayout, ovs_layout_unref)
