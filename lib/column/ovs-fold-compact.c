/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Prims come and go, and their rows stay behind. Where more rows are dead than live,
 * a fold lays the live ones out anew (ENGINE rule 7). Rows never move within a layout:
 * older versions, bindings and groups keep the one they have.
 *
 * Staged writes name rows of the old layout. There must be none when the fold is
 * planned; whether there still is none shows when it is published, and if there is, the
 * new layout is dropped and the next fold tries again. */

#include "config.h"

#include "column/ovs-fold-private.h"

#include "base/ovs-debug.h"
#include "device/ovs-device.h"

/* Fewer dead rows than this are not worth it. */
#define LEAST_DEAD 64

struct _OvsCompaction
{
  guint32 n;
  guint32 *rows;      /* (owned) old number of each row */
  guint32 n_base;     /* so many rows at the front are the old layout's list, and stay as they are; */
  guint32 *more;      /* (owned) the prims of the others */
  OvsLayout *layout;  /* (owned) the old one, then the new one */
  OvsBuffer *values;  /* (owned) (nullable) until the version has them */
  OvsVersion *version; /* (owned) (nullable) */
};

void
ovs_compaction_free (OvsCompaction *compaction)
{
  g_free (compaction->rows);
  g_free (compaction->more);
  ovs_layout_unref (compaction->layout);
  g_clear_pointer (&compaction->values, ovs_buffer_unref);
  g_clear_pointer (&compaction->version, ovs_version_unref);
  g_free (compaction);
}

static gboolean
is_worth_it (const OvsFoldStep *last)
{
  guint32 n_dead = last->n_rows - last->n_live;
  OvsDebugFlags flags = ovs_debug_flags ();

  if (flags & OVS_DEBUG_COMPACT)
    return n_dead > 0 && (!(flags & OVS_DEBUG_RANDOM) || g_random_boolean ());
  return n_dead >= LEAST_DEAD && n_dead > last->n_live;
}

/* Whether writes are staged in the column above the fold. */
static gboolean
is_staged (const OvsFoldAttr *attr, const OvsColumn *column, guint first)
{
  for (guint i = first; i < attr->attr->sets->len; i++)
    if (((OvsWriteSet *) attr->attr->sets->pdata[i])->column == column)
      return TRUE;
  return FALSE;
}

void
ovs_fold_plan_compaction (OvsFold *fold, OvsFoldAttr *attr, OvsFoldColumn *column)
{
  const OvsFoldStep *last = &column->steps[column->n_steps - 1];
  OvsLayout *layout = column->column->layout;
  OvsCompaction *compaction;
  OvsBuffer *values;
  guint32 n = 0;

  if (!is_worth_it (last) || is_staged (attr, column->column, attr->n_sets))
    return;
  /* Without memory it waits for better times. */
  values = ovs_pool_alloc (fold->context.pool, (gsize) last->n_live * column->column->row_size);
  if (values == NULL)
    return;

  compaction = g_new0 (OvsCompaction, 1);
  compaction->n = last->n_live;
  compaction->values = values;
  compaction->layout = ovs_layout_ref (layout);
  compaction->rows = g_new (guint32, last->n_live);
  for (guint32 row = 0; row < last->n_rows; row++)
    if (ovs_bits_get (last->live, row))
      compaction->rows[n++] = row;
  while (compaction->n_base < MIN (n, layout->n_base) && compaction->rows[compaction->n_base] == compaction->n_base)
    compaction->n_base++;
  compaction->more = g_new (guint32, n - compaction->n_base);
  for (guint32 i = compaction->n_base; i < n; i++)
    compaction->more[i - compaction->n_base] = ovs_layout_get_prim (layout, compaction->rows[i]);

  column->compaction = compaction;
  fold->finishes = TRUE;
  fold->work += (gsize) n * column->column->row_size;
}

/* The records are gathered, their elements stay where they are. */
static void
run_array_compaction (OvsCompaction *compaction, const OvsVersion *version)
{
  OvsArrayRow *records = (OvsArrayRow *) compaction->values->data;
  OvsRagged *ragged = ovs_ragged_new (compaction->n);

  for (guint32 i = 0; i < compaction->n; i++)
    records[i] = *ovs_version_get_array (version, compaction->rows[i]);
  ovs_ragged_set_flat (ragged, compaction->values, compaction->n);
  ragged->waste = version->ragged->waste;
  g_clear_pointer (&compaction->values, ovs_buffer_unref);
  compaction->version = ovs_version_new (&version->schema, version->row_size, version->ordinal, compaction->layout, compaction->n,
                                         compaction->n, NULL, NULL);
  compaction->version->ragged = ragged;
}

void
ovs_fold_run_compaction (OvsFoldColumn *fold_column)
{
  OvsCompaction *compaction = fold_column->compaction;
  const OvsVersion *version = fold_column->steps[fold_column->n_steps - 1].version;
  /* The list at the front of a layout never changes, whoever has the lock. */
  OvsLayout *layout = compaction->n_base > 0 ? ovs_layout_fork (compaction->layout, compaction->n_base) : ovs_layout_new (NULL);

  for (guint32 i = compaction->n_base; i < compaction->n; i++)
    ovs_layout_append (layout, compaction->more[i - compaction->n_base]);
  ovs_layout_unref (compaction->layout);
  compaction->layout = layout;

  if (version->ragged != NULL)
    {
      run_array_compaction (compaction, version);
      return;
    }
  ovs_cpu_gather (compaction->values->data, version->values->data, compaction->rows, compaction->n, version->row_size);
  compaction->version = ovs_version_new (&version->schema, version->row_size, version->ordinal, layout, compaction->n, compaction->n,
                                         NULL, g_steal_pointer (&compaction->values));
}

/* The head in the new layout; deletes that are staged may have taken more out of it. FALSE without memory. */
static gboolean
move_head (OvsColumn *column, const OvsCompaction *compaction)
{
  OvsBits *live = NULL;

  if (column->n_head_live < compaction->n)
    {
      live = ovs_bits_try_new (compaction->n, FALSE);
      if (live == NULL)
        return FALSE;
      for (guint32 i = 0; i < compaction->n; i++)
        if (ovs_column_is_head_live (column, compaction->rows[i]))
          ovs_bits_set (live, i);
    }
  g_clear_pointer (&column->head_live, ovs_bits_unref);
  column->head_live = live;
  column->n_head_rows = compaction->n;
  return TRUE;
}

void
ovs_fold_publish_compaction (OvsFold *fold, OvsFoldAttr *attr, OvsFoldColumn *fold_column)
{
  OvsCompaction *compaction = fold_column->compaction;
  OvsColumn *column = fold_column->column;
  OvsVersion *version;

  if (is_staged (attr, column, attr->n_sets) || !move_head (column, compaction))
    return;

  ovs_column_charge_layout (column);
  version = column->versions->pdata[column->versions->len - 1];
  column->versions->pdata[column->versions->len - 1] = compaction->version;
  compaction->version = NULL;
  ovs_version_unref (version);

  if (fold->retired == NULL)
    fold->retired = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_layout_unref);
  g_ptr_array_add (fold->retired, ovs_column_change_layout (column, ovs_layout_ref (compaction->layout)));
  column->numbering++;
  ovs_column_get_current (column)->numbering = column->numbering;
}
