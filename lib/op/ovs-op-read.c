/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-read.h"

static void
drop_taken (OvsRead *read)
{
  if (read->taken != NULL)
    g_clear_pointer (&read->taken, g_array_unref);
  else if (read->n_taken > 0)
    ovs_taken_clear (&read->first_taken);
  read->n_taken = 0;
  g_clear_pointer (&read->range, ovs_range_work_free);
}

void
ovs_read_clear (OvsRead *read)
{
  drop_taken (read);
  g_clear_pointer (&read->builtins, g_ptr_array_unref);
  g_free (read->starts);
  g_clear_pointer (&read->list, ovs_path_list_unref);
}

/* The first is kept in the read itself: most have no more. */
void
ovs_read_add_taken (OvsRead *read, const OvsTaken *taken)
{
  if (read->n_taken == 0)
    read->first_taken = *taken;
  else
    {
      if (read->taken == NULL)
        {
          read->taken = g_array_new (FALSE, FALSE, sizeof (OvsTaken));
          g_array_set_clear_func (read->taken, (GDestroyNotify) ovs_taken_clear);
          g_array_append_val (read->taken, read->first_taken);
        }
      g_array_append_val (read->taken, *taken);
    }
  read->n_taken++;
}

static OvsTaken *
get_taken (OvsRead *read, guint i)
{
  return read->taken != NULL ? &g_array_index (read->taken, OvsTaken, i) : &read->first_taken;
}

/* The query itself remembers the last rows it was bound to; a read that runs later has only the list. */
OvsBinding *
ovs_read_bind (OvsRead *read, OvsLayout *layout, GError **error)
{
  OvsQuery for_list = { .list = read->list };
  OvsBinding *binding = ovs_stage_bind (read->op.stage, read->query != NULL ? read->query : &for_list, layout);

  g_clear_pointer (&for_list.binding, ovs_binding_unref);
  if (binding == NULL)
    ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "read: no memory for the rows of %u prims", read->list->n);
  return binding;
}

/* Stage lock held. Those among the attributes that are built in, as of now. */
static gboolean
take_builtins (OvsRead *read, GError **error)
{
  for (gsize i = 0; i < read->n_attributes; i++)
    {
      OvsBuiltin *builtin;

      if (ovs_stage_get_builtin (read->op.stage, read->attributes[i]) == OVS_BUILTIN_NONE)
        continue;
      builtin = ovs_builtin_take (read->op.stage, read->attributes[i], read->list, error);
      if (builtin == NULL)
        return FALSE;
      if (read->builtins == NULL)
        read->builtins = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_builtin_free);
      g_ptr_array_add (read->builtins, builtin);
    }
  return TRUE;
}

/* Stage lock held. The versions of one attribute as of its share of the ordinal. */
static gboolean
take_attribute (OvsRead *read, guint32 token, GError **error)
{
  OvsStage *stage = read->op.stage;
  OvsAttr *attr = ovs_stage_get_attr (stage, token);
  guint64 floor = ovs_floors_get (&stage->sealed, token);
  guint64 ordinal = MIN (read->ordinal, floor);

  for (guint c = 0; attr != NULL && c < attr->columns->len; c++)
    {
      OvsColumn *column = attr->columns->pdata[c];
      OvsTaken taken = { .attribute = token, .floor = floor };
      OvsBinding *lent;
      gboolean dropped;
      OvsVersion *version = ovs_column_find_version (column, ordinal, &dropped);

      if (dropped)
        return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_RANGE,
                         "attribute '%s': values at ordinal %" G_GUINT64_FORMAT " are no longer kept, the oldest are of %" G_GUINT64_FORMAT,
                         ovs_stage_name (stage, token), ordinal, ovs_attr_get_frontier (attr));
      if (version == NULL || version->n_live == 0)
        continue;
      lent = read->query != NULL ? ovs_query_get_binding (read->query, version->layout) : NULL;
      taken.binding = lent != NULL ? lent : ovs_read_bind (read, version->layout, error);
      if (taken.binding == NULL)
        return FALSE;
      taken.generation = ovs_attr_get_generation (attr, ordinal);
      taken.version = ovs_version_ref (version);
      ovs_taken_note_newest (&taken, column, read->list);
      if (ovs_taken_is_settled (&taken))
        {
          if (lent == NULL)
            ovs_binding_unref (taken.binding);
          taken.binding = NULL;
        }
      else if (lent != NULL)
        ovs_binding_ref (lent);
      ovs_read_add_taken (read, &taken);
    }
  return TRUE;
}

/* It has rows, or something is staged. */
static gboolean
attribute_exists (const OvsAttr *attr)
{
  if (attr == NULL)
    return FALSE;
  if (attr->sets->len > 0 || attr->deletes->len > 0)
    return TRUE;
  for (guint c = 0; c < attr->columns->len; c++)
    {
      const OvsVersion *current = ovs_column_get_current (attr->columns->pdata[c]);

      if (current != NULL && current->n_live > 0)
        return TRUE;
    }
  return FALSE;
}

/* Stage lock held. */
static gboolean
take (OvsRead *read, GError **error)
{
  OvsStage *stage = read->op.stage;
  guint64 lowest = G_MAXUINT64;
  guint n_builtins = 0;

  for (gsize i = 0; i < read->n_attributes; i++)
    if (attribute_exists (ovs_stage_get_attr (stage, read->attributes[i])))
      lowest = MIN (lowest, ovs_floors_get (&stage->sealed, read->attributes[i]));
  read->as_of = MIN (read->ordinal, lowest != G_MAXUINT64 ? lowest : ovs_floors_get_global (&stage->sealed));
  if (read->is_range && read->start > 0)
    read->as_of = MAX (read->as_of, read->start - 1);

  for (gsize i = 0; i < read->n_attributes && read->list->n > 0; i++)
    {
      guint32 token = read->attributes[i];
      OvsTaken taken = { .attribute = token, .floor = ovs_floors_get (&stage->sealed, token) };

      if (ovs_stage_get_builtin (stage, token) == OVS_BUILTIN_NONE)
        {
          if (read->starts != NULL)
            read->start = read->starts[i];
          if (!(read->is_range ? ovs_read_take_range (read, token, error) : take_attribute (read, token, error)))
            return FALSE;
          continue;
        }
      if (read->is_range)
        continue; /* they never change */
      taken.builtin = g_steal_pointer (&read->builtins->pdata[n_builtins++]);
      ovs_read_add_taken (read, &taken);
    }
  for (gsize i = 0; read->starts != NULL && i < read->n_attributes; i++)
    read->starts[i] = MAX (read->starts[i], ovs_floors_get (&stage->sealed, read->attributes[i]) + 1);
  return TRUE;
}

static gboolean
check_deps (OvsRead *read, GError **error)
{
  return read->op.failed_dep == 0 ||
         ovs_fail (error, OVSTAGE_ERROR_OP_FAILED, "read: operation %" G_GUINT64_FORMAT ", which it waits for, failed or was cancelled",
                   read->op.failed_dep);
}

/* Stage lock held; lets go of it meanwhile. The read is pending, so nobody passes it. */
static void
settle (OvsRead *read, GError **error)
{
  if (read->range == NULL)
    return;
  ovs_stage_unlock (read->op.stage);
  ovs_read_settle_range (read, error);
  ovs_stage_lock (read->op.stage);
}

void
ovs_read_run (OvsRead *read, GQueue *ready)
{
  OvsStage *stage = read->op.stage;
  GError *error = NULL;

  ovs_stage_lock (stage);
  if (check_deps (read, &error) && take (read, &error))
    settle (read, &error);
  ovs_op_unset_pending (&read->op, error, ready);
  ovs_stage_unlock (stage);
  ovs_op_end (&read->op);
}

static gsize
count_builtins (const OvsRead *read)
{
  gsize n = 0;

  for (gsize i = 0; i < read->n_attributes; i++)
    n += ovs_stage_get_builtin (read->op.stage, read->attributes[i]) != OVS_BUILTIN_NONE;
  return n;
}

gboolean
ovs_read_tells_floor (const OvsRead *read)
{
  return read->n_attributes == count_builtins (read);
}

static void
add_deps (OvsRead *read)
{
  for (GList *link = read->op.stage->pending.head; link != NULL; link = link->next)
    {
      OvsOp *op = link->data;
      gboolean meets = ovs_read_tells_floor (read);

      if (op->kind != OVS_OP_ADVANCE)
        continue;
      for (gsize i = 0; i < read->n_attributes && !meets; i++)
        meets = ovs_advance_covers ((OvsAdvance *) op, read->attributes[i]);
      if (meets)
        ovs_op_add_dep (&read->op, op);
    }
}

/* Stage lock held. Whether what it asks for can be had at all, and what can be taken before it runs. */
static gboolean
check_and_take_builtins (OvsRead *read, GError **error)
{
  if (read->ordinal != OVSTAGE_ORDINAL_NEWEST)
    for (gsize i = 0; i < read->n_attributes; i++)
      if (!ovs_read_check_unsealed (read, read->attributes[i], error))
        return FALSE;
  return read->is_range || take_builtins (read, error); /* in a range they never change */
}

static void
book_blocked (OvsOp *op, GQueue *ready)
{
  OvsRead *read = (OvsRead *) op;
  OvsStage *stage = op->stage;
  OvsBlocked *blocked;
  GError *error = NULL;

  ovs_stage_lock (stage);
  if (ovs_op_check_blocked (op, &error) && check_deps (read, &error))
    {
      read->query = (OvsQuery *) op->blocked->query;
      read->list = ovs_path_list_ref (read->query->list);
      if (check_and_take_builtins (read, &error) && take (read, &error))
        settle (read, &error);
      read->query = NULL;
    }
  blocked = ovs_op_unblock (op, ready);
  if (error != NULL)
    drop_taken (read);
  ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (stage);
  ovs_op_end (op);
  ovs_blocked_free (blocked);
}

/* Stage lock held. It is pending, or done. */
static gboolean
book (OvsRead *read, GQueue *ready, GError **error)
{
  OvsStage *stage = read->op.stage;
  OvsFootprint footprint = { .attributes = read->attributes, .n_attributes = read->n_attributes, .asks_at = OVSTAGE_ORDINAL_NEWEST };

  if (!ovs_stage_check_open (stage, error))
    return FALSE;
  footprint.asks = !read->is_range && count_builtins (read) > 0;
  if (read->ordinal == OVSTAGE_ORDINAL_NEWEST)
    footprint.n_attributes = 0; /* it never looks at what is staged */
  if (ovs_op_must_block (&read->op, &read->query->op, &footprint))
    {
      /* Later advances wait for it, so that what it looks at stays. */
      add_deps (read);
      return ovs_op_block (&read->op, &read->query->op, &footprint, book_blocked, NULL, NULL, ready, error);
    }

  read->list = ovs_path_list_ref (read->query->list);
  if (!check_and_take_builtins (read, error))
    return FALSE;
  if (stage->pending.length > 0)
    {
      add_deps (read);
      if (read->op.n_deps > 0)
        {
          if (!ovs_stage_check_queue (stage, error))
            {
              ovs_op_drop_deps (&read->op);
              return FALSE;
            }
          ovs_op_book (&read->op);
          ovs_op_set_pending (&read->op);
          return TRUE;
        }
    }
  if (!take (read, error))
    return FALSE;
  ovs_op_book (&read->op);
  return TRUE;
}

static gboolean
check_read (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, const OvstageOrdinalRange *range, GError **error)
{
  if (n_attributes > 0 && attributes == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL, expected %" G_GSIZE_FORMAT " tokens", n_attributes);
  if (range->has_start_ordinal && range->start_ordinal > range->end_ordinal)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "ordinal range: the start is %" G_GUINT64_FORMAT ", expected at or below the end, %" G_GUINT64_FORMAT,
                     range->start_ordinal, range->end_ordinal);
  if (!ovs_stage_check_query (stage, query, error))
    return FALSE;
  for (gsize i = 0; i < n_attributes; i++)
    if (!ovs_stage_check_attribute (stage, attributes[i], error))
      {
        g_prefix_error (error, "attributes[%" G_GSIZE_FORMAT "]: ", i);
        return FALSE;
      }
  for (gsize i = 0; i < n_attributes; i++)
    if (ovs_stage_get_builtin (stage, (guint32) attributes[i]) == OVS_BUILTIN_ACTIVE)
      return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "attributes[%" G_GSIZE_FORMAT "]: '%s' cannot be read", i,
                       ovs_stage_name (stage, (guint32) attributes[i]));
  return TRUE;
}

/* Takes @starts (nullable). */
static OvsOp *
submit (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, const OvstageOrdinalRange *range,
        const OvstagePlacement *placement, guint64 *starts)
{
  OvsRead *read = ovs_op_new (stage, OVS_OP_READ, sizeof *read + sizeof (guint32) * n_attributes);
  GQueue ready = G_QUEUE_INIT;
  gboolean pending;
  GError *error = NULL;

  read->starts = starts;
  if (!check_read (stage, query, attributes, n_attributes, range, &error) || !ovs_check_placement (placement, &error))
    return ovs_op_end_new (&read->op, error);

  read->ordinal = range->end_ordinal;
  read->start = range->start_ordinal;
  read->is_range = range->has_start_ordinal;
  read->n_attributes = ovs_list_tokens (attributes, n_attributes, read->attributes);

  read->query = (OvsQuery *) query;
  ovs_stage_lock (stage);
  book (read, &ready, &error);
  read->query = NULL;
  pending = read->op.pending;
  ovs_stage_unlock (stage);

  ovs_ops_run (&ready);
  if (pending)
    return &read->op;
  if (read->range != NULL && error == NULL && !ovs_read_settle_range (read, &error))
    read->op.id = 0; /* refused after all */
  if (error != NULL)
    drop_taken (read);
  return ovs_op_end_new (&read->op, error);
}

OvsOp *
ovs_stage_read (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, const OvstageOrdinalRange *range,
                const OvstagePlacement *placement)
{
  return submit (stage, query, attributes, n_attributes, range, placement, NULL);
}

OvsOp *
ovs_stage_read_from (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, const guint64 *starts)
{
  return submit (stage, query, attributes, n_attributes, &OVSTAGE_ORDINAL_RANGE_BETWEEN (0, OVSTAGE_ORDINAL_NEWEST), NULL,
                 g_memdup2 (starts, sizeof *starts * n_attributes));
}

guint64
ovs_read_get_as_of (OvsOp *op)
{
  return ovs_op_is_done (op) ? ((OvsRead *) op)->as_of : 0;
}

gboolean
ovs_read_next (OvsOp *op, OvstageReadGroup **group, GError **error)
{
  OvsRead *read = (OvsRead *) op;

  *group = NULL;
  if (op->error != NULL)
    {
      if (error != NULL)
        *error = g_error_copy (op->error);
      return FALSE;
    }
  while (*group == NULL)
    {
      guint i;

      if ((guint) g_atomic_int_get (&read->next) >= read->n_taken)
        break;
      i = (guint) g_atomic_int_add (&read->next, 1);
      if (i >= read->n_taken)
        break;
      /* The only one needs no reference of its own: nobody looks at the list again. */
      *group = ovs_taken_new_group (get_taken (read, i), read->n_taken == 1 ? g_steal_pointer (&read->list) : ovs_path_list_ref (read->list),
                                    read->as_of);
    }
  return TRUE;
}
