/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-watch.h"

#include "op/ovs-read.h"

struct _OvsWatch
{
  gint refs; /* (atomic) */
  OvsStage *stage; /* (owned) */
  OvsOp *query;    /* (owned) */
  OvsWatchFunc due;
  gpointer user_data;
  GDestroyNotify destroy;
  OvsChangeHold *hold; /* protected by the stage lock (nullable) once ended, or without attributes */
  gboolean ended;      /* protected by the stage lock */
  gsize n_attributes;
  guint64 *attributes; /* (owned) each once */
  guint64 *starts;     /* (owned) protected by the stage lock: of each attribute, the first ordinal that was not told */
};

static guint64
get_cursor (const OvsWatch *watch)
{
  guint64 start = G_MAXUINT64;

  for (gsize i = 0; i < watch->n_attributes; i++)
    start = MIN (start, watch->starts[i]);
  return watch->n_attributes > 0 ? start - 1 : ovs_floors_get_global (&watch->stage->sealed);
}

static gboolean
check (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n, GError **error)
{
  if (n > 0 && attributes == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL, expected %" G_GSIZE_FORMAT " tokens", n);
  if (!ovs_stage_check_query (stage, query, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!ovs_stage_check_attribute (stage, attributes[i], error))
      {
        g_prefix_error (error, "attributes[%" G_GSIZE_FORMAT "]: ", i);
        return FALSE;
      }
  for (gsize i = 0; i < n; i++)
    if (ovs_stage_get_builtin (stage, (guint32) attributes[i]) == OVS_BUILTIN_ACTIVE)
      return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "attributes[%" G_GSIZE_FORMAT "]: '%s' cannot be read", i,
                       ovs_stage_name (stage, (guint32) attributes[i]));
  return TRUE;
}

OvsWatch *
ovs_watch_new (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, OvsWatchFunc due, gpointer user_data,
               GDestroyNotify destroy, GError **error)
{
  g_autoptr (GHashTable) known = NULL;
  g_autofree guint32 *tokens = NULL;
  OvsWatch *watch;
  gboolean open;

  if (!check (stage, query, attributes, n_attributes, error))
    return NULL;
  known = g_hash_table_new (NULL, NULL);
  tokens = g_new (guint32, MAX (n_attributes, 1));
  watch = g_new0 (OvsWatch, 1);
  watch->refs = 1;
  watch->stage = ovs_stage_ref (stage);
  watch->query = ovs_op_ref (query);
  watch->due = due;
  watch->user_data = user_data;
  watch->destroy = destroy;
  watch->attributes = g_new (guint64, MAX (n_attributes, 1));
  watch->starts = g_new (guint64, MAX (n_attributes, 1));
  for (gsize i = 0; i < n_attributes; i++)
    if (g_hash_table_add (known, GUINT_TO_POINTER ((guint) attributes[i])))
      {
        tokens[watch->n_attributes] = (guint32) attributes[i];
        watch->attributes[watch->n_attributes++] = attributes[i];
      }

  ovs_stage_lock (stage);
  open = ovs_stage_check_open (stage, error);
  for (gsize i = 0; i < watch->n_attributes; i++)
    watch->starts[i] = ovs_floors_get (&stage->sealed, tokens[i]) + 1;
  if (open)
    g_ptr_array_add (stage->watches, watch);
  if (open && watch->n_attributes > 0)
    watch->hold = ovs_stage_hold_changes (stage, tokens, watch->n_attributes, get_cursor (watch));
  ovs_stage_unlock (stage);
  if (!open)
    {
      watch->destroy = NULL;
      ovs_watch_unref (watch);
      return NULL;
    }
  return watch;
}

OvsWatch *
ovs_watch_ref (OvsWatch *watch)
{
  g_atomic_int_inc (&watch->refs);
  return watch;
}

void
ovs_watch_unref (OvsWatch *watch)
{
  if (!g_atomic_int_dec_and_test (&watch->refs))
    return;
  if (watch->destroy != NULL)
    watch->destroy (watch->user_data);
  ovs_op_unref (watch->query);
  ovs_stage_unref (watch->stage);
  g_free (watch->attributes);
  g_free (watch->starts);
  g_free (watch);
}

void
ovs_watch_end (OvsWatch *watch)
{
  OvsStage *stage = watch->stage;

  ovs_stage_lock (stage);
  if (watch->hold != NULL)
    ovs_stage_drop_hold (stage, g_steal_pointer (&watch->hold));
  if (!watch->ended)
    g_ptr_array_remove_fast (stage->watches, watch);
  watch->ended = TRUE;
  ovs_stage_unlock (stage);
}

gboolean
ovs_watch_is_open (OvsWatch *watch)
{
  gboolean open;

  ovs_stage_lock (watch->stage);
  open = !watch->stage->closed;
  ovs_stage_unlock (watch->stage);
  return open;
}

guint64
ovs_watch_get_cursor (OvsWatch *watch)
{
  guint64 cursor;

  ovs_stage_lock (watch->stage);
  cursor = get_cursor (watch);
  ovs_stage_unlock (watch->stage);
  return cursor;
}

OvsOp *
ovs_watch_read (OvsWatch *watch)
{
  /* Only who reads moves the starts. */
  return ovs_stage_read_from (watch->stage, watch->query, watch->attributes, watch->n_attributes, watch->starts);
}

GPtrArray *
ovs_watch_take (OvsWatch *watch, OvsOp *op)
{
  OvsRead *read = (OvsRead *) op;
  GPtrArray *groups;
  OvstageReadGroup *group;

  if (ovs_op_get_error (op) != NULL)
    return NULL;
  groups = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_read_group_unref);
  while (ovs_read_next (op, &group, NULL) && group != NULL)
    g_ptr_array_add (groups, group);

  ovs_stage_lock (watch->stage);
  for (gsize i = 0; i < watch->n_attributes; i++)
    watch->starts[i] = MAX (watch->starts[i], read->starts[i]);
  if (watch->hold != NULL)
    ovs_stage_move_hold (watch->stage, watch->hold, get_cursor (watch));
  ovs_stage_unlock (watch->stage);
  return groups;
}

static gboolean
is_covered (const OvsWatch *watch, const OvsAdvance *advance)
{
  for (gsize i = 0; i < watch->n_attributes; i++)
    if (ovs_advance_covers (advance, (guint32) watch->attributes[i]))
      return TRUE;
  return FALSE;
}

/* @advance: (nullable) all of them. */
static void
tell (OvsStage *stage, const OvsAdvance *advance)
{
  g_autoptr (GPtrArray) due = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_watch_unref);

  ovs_stage_lock (stage);
  for (guint i = 0; i < stage->watches->len; i++)
    if (advance == NULL || is_covered (stage->watches->pdata[i], advance))
      g_ptr_array_add (due, ovs_watch_ref (stage->watches->pdata[i]));
  ovs_stage_unlock (stage);
  for (guint i = 0; i < due->len; i++)
    {
      OvsWatch *watch = due->pdata[i];

      watch->due (watch->user_data);
    }
}

void
ovs_watches_tell (OvsStage *stage, const OvsAdvance *advance)
{
  tell (stage, advance);
}

void
ovs_watches_tell_closed (OvsStage *stage)
{
  tell (stage, NULL);
}
