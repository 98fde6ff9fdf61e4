/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-peek.h"

#include <ovstage/ovstage-types.h>

#include "column/ovs-fold-private.h"

struct _OvsPeek
{
  GPtrArray *versions; /* (owned) OvsVersion */
  GPtrArray *bases;    /* (owned) OvsVersion that the fold copies from */
  GPtrArray *frozen;   /* (owned) OvsWriteSet of the fold's steps */
  OvsFold fold;
};

static OvsFoldColumn *
find_folded (OvsPeek *peek, const OvsColumn *column)
{
  if (peek->fold.attrs == NULL)
    return NULL;
  for (OvsFoldColumn *folded = peek->fold.attrs->columns; folded != NULL; folded = folded->next)
    if (folded->column == column && folded->n_steps > 0)
      return folded;
  return NULL;
}

/* The bytes are made without the lock, so nothing they come from may change or go. */
static void
freeze (OvsPeek *peek, OvsFoldColumn *folded)
{
  guint last = folded->n_steps - 1;
  OvsFoldStep *step = &folded->steps[last];

  if (step->base != NULL)
    g_ptr_array_add (peek->bases, ovs_version_ref ((OvsVersion *) step->base));
  for (guint i = step->from_step; i <= last; i++)
    {
      OvsWriteSet *frozen;

      if (folded->steps[i].set == NULL)
        continue;
      frozen = ovs_write_set_freeze (folded->steps[i].set);
      g_ptr_array_add (peek->frozen, frozen);
      folded->steps[i].set = frozen;
    }
}

static void
add_version (OvsPeek *peek, OvsVersion *version)
{
  if (version->n_live > 0)
    g_ptr_array_add (peek->versions, ovs_version_ref (version));
}

/* What answers for the ordinal, where nothing is staged up to there. */
static gboolean
add_sealed (OvsPeek *peek, OvsColumn *column, guint64 ordinal, GError **error)
{
  gboolean dropped = FALSE;
  OvsVersion *version;

  if (ordinal == OVSTAGE_ORDINAL_NEWEST)
    version = ovs_column_get_current (column);
  else
    version = ovs_column_find_version (column, ordinal, &dropped);
  if (dropped)
    return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_RANGE,
                     "values at ordinal %" G_GUINT64_FORMAT " are no longer kept, the oldest are of %" G_GUINT64_FORMAT, ordinal,
                     ovs_attr_get_frontier (column->attr));
  if (version != NULL)
    add_version (peek, version);
  return TRUE;
}

OvsPeek *
ovs_peek_new (OvsAttr *attr, OvsPool *pool, const OvsDeletes *prim_deletes, guint64 floor, guint64 ordinal, GError **error)
{
  /* Nothing is told of what exists: at or below the highest floor nobody asks. */
  OvsFoldContext context = {
    .pool = pool, .history_depth = 1, .lowest_floor = G_MAXUINT64, .prim_deletes = prim_deletes, .is_peek = TRUE,
  };
  g_autoptr (OvsPeek) peek = g_new0 (OvsPeek, 1);

  peek->versions = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_version_unref);
  peek->bases = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_version_unref);
  peek->frozen = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_write_set_free_frozen);
  ovs_fold_begin (&peek->fold, &context);
  if (!ovs_fold_plan (&peek->fold, attr, floor, ordinal, error))
    return NULL;

  for (guint c = 0; c < attr->columns->len; c++)
    {
      OvsColumn *column = attr->columns->pdata[c];
      OvsFoldColumn *folded = find_folded (peek, column);

      if (folded != NULL)
        {
          add_version (peek, folded->steps[folded->n_steps - 1].version);
          freeze (peek, folded);
        }
      else if (!add_sealed (peek, column, ordinal, error))
        return NULL;
    }
  return g_steal_pointer (&peek);
}

gsize
ovs_peek_get_work (OvsPeek *peek)
{
  return ovs_fold_get_work (&peek->fold);
}

void
ovs_peek_run (OvsPeek *peek)
{
  ovs_fold_run (&peek->fold, 0, 1);
  ovs_fold_finish (&peek->fold);
}

void
ovs_peek_free (OvsPeek *peek)
{
  ovs_fold_clear (&peek->fold);
  g_ptr_array_unref (peek->versions);
  g_ptr_array_unref (peek->bases);
  g_ptr_array_unref (peek->frozen);
  g_free (peek);
}

guint
ovs_peek_get_n_versions (OvsPeek *peek)
{
  return peek->versions->len;
}

OvsVersion *
ovs_peek_get_version (OvsPeek *peek, guint i)
{
  return peek->versions->pdata[i];
}
