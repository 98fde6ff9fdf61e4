/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A clone is a write: what is under the source is looked up as of the ordinal and of
 * now, and booked on the targets, one booking for each column. Its sources are peeks,
 * so where bytes of earlier writes are still on their way, the clone is booked all the
 * same and its own bytes follow. */

#include "config.h"

#include "op/ovs-booking.h"

#include "base/ovs-debug.h"
#include "column/ovs-presence.h"
#include "op/ovs-clone-arrays.h"
#include "op/ovs-existence.h"

struct _OvsClone
{
  OvsRebase *rebase;      /* (owned) */
  GPtrArray *peeks;       /* (owned) OvsPeek */
  GPtrArray *arrays;      /* (owned) OvsCloneArrays: their rows are not there yet */
  GPtrArray *datas;       /* (owned) OvstageWriteData that the transfers borrow from */
  OvsTransfer *transfers; /* (owned) */
};

/* A clone on its way into the write sets. */
typedef struct
{
  OvsStage *stage;
  OvsPathDict *dict;
  guint64 ordinal;
  guint64 as_of; /* nothing is looked up below the global floor */
  gboolean settled; /* the head tells what exists as of then */
  char *source; /* (owned) */
  OvstagePathList *prims; /* (owned) of the source's, those that exist; ids ascending */
  guint64 n_values;  /* attributes of all of them */
  guint32 *copies;   /* (owned) path of each copy of each prim: those of one target lie together */
  OvstagePathList *all_copies; /* (owned) (nullable) made on first use */
  GArray *bookings;   /* (owned) OvsBooking */
  GPtrArray *queries; /* (owned) OvsQuery of each booking */
  OvsClone *clone;    /* (owned) */
  gsize bytes;
  OvsWrite *write;    /* lent */
} Plan;

static void
clone_free (OvsClone *clone)
{
  g_ptr_array_unref (clone->arrays);
  g_ptr_array_unref (clone->peeks);
  g_ptr_array_unref (clone->datas);
  ovs_rebase_free (clone->rebase);
  g_free (clone);
}

static void
clear_query (gpointer query)
{
  ovs_query_clear (query);
  g_free (query);
}

static Plan *
plan_new (OvsWrite *write, const char *source)
{
  Plan *plan = g_new0 (Plan, 1);

  plan->stage = write->op.stage;
  plan->dict = plan->stage->dict;
  plan->ordinal = write->ordinal;
  plan->source = g_strdup (source);
  plan->bookings = g_array_new (FALSE, FALSE, sizeof (OvsBooking));
  plan->queries = g_ptr_array_new_with_free_func (clear_query);
  plan->clone = g_new0 (OvsClone, 1);
  plan->clone->rebase = ovs_rebase_new (plan->dict);
  plan->clone->arrays = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_clone_arrays_free);
  plan->clone->peeks = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_peek_free);
  plan->clone->datas = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_payload_unref);
  plan->write = write;
  return plan;
}

static void
plan_free (gpointer data)
{
  Plan *plan = data;

  for (guint i = 0; i < plan->bookings->len; i++)
    ovs_booking_clear (&g_array_index (plan->bookings, OvsBooking, i));
  g_array_unref (plan->bookings);
  g_ptr_array_unref (plan->queries);
  g_clear_pointer (&plan->all_copies, ovs_path_list_unref);
  g_clear_pointer (&plan->prims, ovs_path_list_unref);
  g_clear_pointer (&plan->clone, clone_free);
  g_free (plan->source);
  g_free (plan->copies);
  g_free (plan);
}

/* Paths */

/* Everything that needs no lock. */
static gboolean
resolve_paths (Plan *plan, const char *const *targets, gsize n, GError **error)
{
  if (n > 0 && targets == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets is NULL, expected %" G_GSIZE_FORMAT " paths", n);
  if (n > G_MAXUINT32)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets: %" G_GSIZE_FORMAT " paths, expected at most %u", n, G_MAXUINT32);
  return ovs_check_ordinal (plan->ordinal, "a clone", error) &&
         ovs_rebase_resolve (plan->clone->rebase, plan->source, targets, n, error);
}

static gboolean
name_copies (Plan *plan, GError **error)
{
  OvsRebase *rebase = plan->clone->rebase;
  guint32 n = plan->prims->n;
  gboolean named = (guint64) rebase->n_targets * n <= G_MAXUINT32;

  plan->copies = named ? g_new (guint32, (gsize) rebase->n_targets * n) : NULL;
  for (guint32 t = 0; t < rebase->n_targets && named; t++)
    {
      g_auto (OvsRebaseCursor) cursor = OVS_REBASE_CURSOR (t);

      for (guint32 i = 0; i < n && named; i++)
        named = (plan->copies[(gsize) t * n + i] = ovs_rebase_path (rebase, &cursor, plan->prims->ids[i])) != OVS_ID_NONE;
    }
  return named || ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "clone: no room for the paths of %u targets with %u prims each",
                            rebase->n_targets, n);
}

static OvstagePathList *
list_paths (Plan *plan, const GArray *ids)
{
  g_autoptr (GError) error = NULL;
  OvstagePathList *list = ovs_path_list_new (plan->dict, (const guint64 *) ids->data, ids->len, &error);

  g_assert_no_error (error); /* known, and none is there twice */
  return list;
}

/* What is there */

/* Of @ids, those that exist. @n_values: (optional) attributes that they have. */
static OvstagePathList *
list_existing (Plan *plan, const GArray *ids, guint64 *n_values)
{
  g_autoptr (GArray) existing = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autofree guint32 *counts = NULL;

  if (!plan->settled)
    {
      OvstagePathList *list = list_paths (plan, ids);

      counts = ovs_stage_count_attributes (plan->stage, list, list->n, plan->as_of);
      ovs_path_list_unref (list);
    }
  for (guint i = 0; i < ids->len; i++)
    {
      guint64 id = g_array_index (ids, guint64, i);
      guint32 count = counts != NULL ? counts[i] : id < plan->stage->n_live ? plan->stage->live[id] : 0;

      if (count > 0)
        g_array_append_val (existing, id);
      if (n_values != NULL)
        *n_values += count;
    }
  return list_paths (plan, existing);
}

static gboolean
find_prims (Plan *plan, GError **error)
{
  OvsRebase *rebase = plan->clone->rebase;
  g_autoptr (GArray) inside = g_array_new (FALSE, FALSE, sizeof (guint64));

  ovs_rebase_find_inside (rebase);
  for (guint i = 0; i < rebase->inside->len; i++)
    {
      guint64 id = (guint64) rebase->source + i;

      if (rebase->inside->data[i])
        g_array_append_val (inside, id);
    }
  plan->prims = list_existing (plan, inside, &plan->n_values);
  return plan->prims->n > 0 || ovs_fail (error, OVSTAGE_ERROR_NOT_FOUND,
                                         "source: nothing exists at or below '%s' at ordinal %" G_GUINT64_FORMAT,
                                         plan->source, plan->ordinal);
}

static gboolean
version_meets (Plan *plan, const OvsVersion *version)
{
  for (guint32 i = 0; i < plan->prims->n; i++)
    {
      guint32 row = ovs_layout_find (version->layout, plan->prims->ids[i]);

      if (row != OVS_INDEX_NONE && ovs_version_has_row (version, row))
        return TRUE;
    }
  return FALSE;
}

/* How many of the prims have the attribute, as of the ordinal, which is above what is sealed. */
static guint32
count_living (Plan *plan, OvsAttr *attr)
{
  g_autofree guint16 *state = g_new (guint16, plan->prims->n);
  g_autofree guint8 *above = g_new (guint8, plan->prims->n);
  guint32 n = 0;

  ovs_presence_as_of (attr, attr->token, plan->stage->prim_deletes, ovs_floors_get (&plan->stage->sealed, attr->token), plan->prims,
                      plan->prims->n, plan->as_of, state, above);
  for (guint32 i = 0; i < plan->prims->n; i++)
    n += state[i] != 0;
  return n;
}

/* Whether a prim has an attribute that is sealed, or closing, at or past the ordinal. @dropped: that is not known any more. */
static gboolean
lives_sealed (Plan *plan, OvsAttr *attr, gboolean *dropped)
{
  *dropped = FALSE;
  if (ovs_floors_get (&plan->stage->sealed, attr->token) < plan->as_of)
    return count_living (plan, attr) > 0;
  for (guint c = 0; c < attr->columns->len; c++)
    {
      gboolean column_dropped;
      const OvsVersion *version = ovs_column_find_version (attr->columns->pdata[c], plan->as_of, &column_dropped);

      *dropped = *dropped || column_dropped;
      if (version != NULL && version_meets (plan, version))
        return TRUE;
    }
  return FALSE;
}

static guint64
get_closing (Plan *plan, const OvsAttr *attr)
{
  return ovs_floors_get (ovs_op_get_closing (&plan->write->op), attr->token);
}

static gboolean
fail_floor (Plan *plan, const OvsAttr *attr, GError **error)
{
  return ovs_fail (error, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                   "ordinal is %" G_GUINT64_FORMAT ", expected above the write floor of '%s', %" G_GUINT64_FORMAT, plan->ordinal,
                   ovs_stage_name (plan->stage, attr->token), get_closing (plan, attr));
}

static gboolean
check_floors (Plan *plan, GError **error)
{
  OvsStage *stage = plan->stage;
  const OvsAttr *unknown = NULL;
  guint64 n_values = 0;

  for (guint i = 0; i < stage->known->len; i++)
    {
      OvsAttr *attr = stage->known->pdata[i];
      gboolean dropped;

      if (plan->ordinal > get_closing (plan, attr))
        continue;
      if (lives_sealed (plan, attr, &dropped))
        return fail_floor (plan, attr, error);
      if (dropped)
        unknown = attr;
    }
  /* What its history would tell shows in what the others do not have. */
  for (guint i = 0; unknown != NULL && i < stage->known->len; i++)
    if (plan->ordinal > get_closing (plan, stage->known->pdata[i]))
      n_values += count_living (plan, stage->known->pdata[i]);
  return unknown == NULL || n_values == plan->n_values || fail_floor (plan, unknown, error);
}

static gboolean
fail_exists (Plan *plan, guint32 t, guint32 path, GError **error)
{
  g_autofree char *text = ovs_path_dict_dup_path (plan->dict, path);

  return ovs_fail (error, OVSTAGE_ERROR_ALREADY_EXISTS, "targets[%u]: '%s' exists at ordinal %" G_GUINT64_FORMAT, t, text,
                   plan->ordinal);
}

/* Neither the targets nor any path that would be written. */
static gboolean
check_absent (Plan *plan, GError **error)
{
  guint32 n = plan->prims->n;
  OvsRebase *rebase = plan->clone->rebase;
  gboolean has_source = ovs_path_list_index_of (plan->prims, rebase->source) != OVS_INDEX_NONE;

  for (guint32 t = 0; t < rebase->n_targets; t++)
    {
      g_autoptr (GArray) ids = g_array_sized_new (FALSE, FALSE, sizeof (guint64), n + 1);
      OvstagePathList *existing;
      guint64 id = rebase->targets[t];
      guint32 found;

      if (!has_source)
        g_array_append_val (ids, id);
      for (guint32 i = 0; i < n; i++)
        {
          id = plan->copies[(gsize) t * n + i];
          g_array_append_val (ids, id);
        }
      existing = list_existing (plan, ids, NULL);
      found = existing->n > 0 ? existing->ids[0] : OVS_ID_NONE;
      ovs_path_list_unref (existing);
      if (found != OVS_ID_NONE)
        return fail_exists (plan, t, found, error);
    }
  return TRUE;
}

/* Bookings */

static OvstagePathList *
list_copies (Plan *plan, const guint32 *entries, guint32 n)
{
  g_autoptr (GArray) ids = NULL;
  OvstagePathList *list;

  if (n == plan->prims->n && plan->all_copies != NULL)
    return ovs_path_list_ref (plan->all_copies);
  ids = g_array_sized_new (FALSE, FALSE, sizeof (guint64), plan->clone->rebase->n_targets * n);
  for (guint32 t = 0; t < plan->clone->rebase->n_targets; t++)
    for (guint32 i = 0; i < n; i++)
      {
        guint64 id = plan->copies[(gsize) t * plan->prims->n + entries[i]];

        g_array_append_val (ids, id);
      }
  list = list_paths (plan, ids);
  if (n == plan->prims->n)
    plan->all_copies = ovs_path_list_ref (list);
  return list;
}

/* The rows of a version, and for each copy the row that it has. */
static OvstageWriteData *
new_data (Plan *plan, const OvsVersion *version, const guint32 *rows, guint32 n)
{
  g_autofree guint32 *map = g_new (guint32, (gsize) plan->clone->rebase->n_targets * n);
  gint64 n_rows = version->n_rows;
  g_autoptr (OvstageTensor) tensor = ovs_tensor_new (version->schema.dtype, OVS_DEVICE_CPU, 0, 1, &n_rows, NULL, version->values->data,
                                                     OVS_TENSOR_READ_ONLY, (GDestroyNotify) ovs_buffer_unref,
                                                     ovs_buffer_ref (version->values));
  OvstageWriteData *data = ovs_payload_new (tensor);

  for (guint32 t = 0; t < plan->clone->rebase->n_targets; t++)
    for (guint32 i = 0; i < n; i++)
      map[(gsize) t * n + i] = rows[i];
  ovs_payload_set_index_map (data, map, (gsize) plan->clone->rebase->n_targets * n);
  data->semantic = version->schema.semantic;
  return data;
}

/* Tells whether prims stand in the version. */
static gboolean
add_booking (Plan *plan, guint32 token, const OvsVersion *version, gboolean *found, GError **error)
{
  g_autofree guint32 *rows = g_new (guint32, plan->prims->n);
  g_autofree guint32 *entries = g_new (guint32, plan->prims->n);
  OvsAttributeWrite entry = { .attribute = token };
  OvsCloneArrays *arrays = NULL;
  OvsQuery *query;
  OvsBooking booking;
  guint32 n = 0;

  for (guint32 i = 0; i < plan->prims->n; i++)
    {
      guint32 row = ovs_layout_find (version->layout, plan->prims->ids[i]);

      if (row == OVS_INDEX_NONE || !ovs_version_has_row (version, row))
        continue;
      rows[n] = row;
      entries[n++] = i;
    }
  *found = n > 0;
  if (n == 0)
    return TRUE;

  query = g_new0 (OvsQuery, 1);
  query->list = list_copies (plan, entries, n);
  g_ptr_array_add (plan->queries, query);
  if (version->schema.is_array)
    {
      arrays = ovs_clone_arrays_new (plan->stage->pool, version, rows, n, plan->clone->rebase->n_targets, &entry.data);
      if (arrays == NULL)
        return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %u rows of arrays", query->list->n);
      g_ptr_array_add (plan->clone->arrays, arrays);
    }
  else
    entry.data = new_data (plan, version, rows, n);
  g_ptr_array_add (plan->clone->datas, entry.data);
  if (!ovs_payload_resolve (entry.data, query->list->n, &booking.rows, error))
    return FALSE;
  ovs_booking_begin (&booking, plan->write, query, &entry, OVSTAGE_PRIM_MODE_UPSERT);
  if (arrays != NULL)
    {
      booking.schema = version->schema;
      booking.rows.arrays = ovs_arrays_ref (arrays->arrays);
    }
  booking.entry = plan->bookings->len;
  plan->bytes += ovs_booking_get_bytes (&booking);
  g_array_append_val (plan->bookings, booking);
  return TRUE;
}

/* Some prim has or had a row. */
static gboolean
may_live (Plan *plan, const OvsAttr *attr)
{
  for (guint c = 0; c < attr->columns->len; c++)
    {
      const OvsColumn *column = attr->columns->pdata[c];

      for (guint32 i = 0; i < plan->prims->n; i++)
        if (ovs_layout_find (column->layout, plan->prims->ids[i]) != OVS_INDEX_NONE)
          return TRUE;
    }
  return FALSE;
}

static gboolean
add_attribute (Plan *plan, OvsAttr *attr, gboolean *found, GError **error)
{
  OvsPeek *peek = ovs_stage_peek (plan->stage, attr, plan->ordinal, error);

  *found = FALSE;
  if (peek == NULL)
    return FALSE;
  for (guint i = 0; i < ovs_peek_get_n_versions (peek); i++)
    {
      gboolean stands;

      if (!add_booking (plan, attr->token, ovs_peek_get_version (peek, i), &stands, error))
        {
          ovs_peek_free (peek);
          return FALSE;
        }
      *found = *found || stands;
    }
  if (!*found)
    {
      ovs_peek_free (peek);
      return TRUE;
    }
  plan->bytes += ovs_peek_get_work (peek);
  g_ptr_array_add (plan->clone->peeks, peek);
  return TRUE;
}

static gboolean
add_attributes (Plan *plan, GError **error)
{
  OvsStage *stage = plan->stage;

  plan->write->attributes = g_new (guint32, stage->known->len);
  for (guint i = 0; i < stage->known->len; i++)
    {
      OvsAttr *attr = stage->known->pdata[i];
      gboolean found;

      if (plan->ordinal <= get_closing (plan, attr) || !may_live (plan, attr))
        continue;
      if (!add_attribute (plan, attr, &found, error))
        return FALSE;
      if (found)
        plan->write->attributes[plan->write->n_attributes++] = attr->token;
    }
  return TRUE;
}

static void
make_sources (OvsClone *clone, OvsPool *pool)
{
  for (guint i = 0; i < clone->peeks->len; i++)
    ovs_peek_run (clone->peeks->pdata[i]);
  for (guint i = 0; i < clone->arrays->len; i++)
    ovs_clone_arrays_fill (clone->arrays->pdata[i], clone->rebase, pool);
}

/* Stage lock held. Tells whether the bytes are still to be moved: the operation is pending then. */
static gboolean
book (Plan *plan, GError **error)
{
  OvsStage *stage = plan->stage;
  OvsWrite *write = plan->write;
  OvsBooking *bookings;
  gboolean locked;

  plan->as_of = MAX (plan->ordinal, ovs_floors_get_global (ovs_op_get_closing (&write->op)));
  plan->settled = ovs_stage_head_tells (stage, plan->as_of);
  if (!find_prims (plan, error) || !check_floors (plan, error) || !name_copies (plan, error) || !check_absent (plan, error) ||
      !add_attributes (plan, error))
    return FALSE;

  bookings = (OvsBooking *) plan->bookings->data;
  for (gsize i = 0; i < write->n_attributes; i++)
    ovs_op_add_peek_deps (&write->op, write->attributes[i], plan->ordinal);
  /* How long the rows of arrays are is seen later. */
  locked = write->op.n_deps == 0 && plan->clone->arrays->len == 0 && plan->bytes <= OVS_LOCKED_LIMIT && (ovs_debug_flags () & OVS_DEBUG_ASYNC) == 0;
  if (locked)
    make_sources (plan->clone, stage->pool);
  for (guint i = 0; i < plan->bookings->len; i++)
    bookings[i].locked = locked;
  if (!ovs_bookings_book (bookings, plan->bookings->len, 1, write, NULL, error))
    {
      if (write->op.deps != NULL)
        ovs_op_drop_deps (&write->op);
      return FALSE;
    }
  plan->clone->transfers = ovs_bookings_take_transfers (bookings, plan->bookings->len);
  if (locked)
    {
      ovs_transfers_run (g_steal_pointer (&plan->clone->transfers));
      return FALSE;
    }
  write->clone = g_steal_pointer (&plan->clone);
  write->op.booked = TRUE;
  write->op.begun = write->op.n_deps == 0;
  if (!write->op.pending)
    ovs_op_set_pending (&write->op);
  return TRUE;
}

static void
book_blocked (OvsOp *op, GQueue *ready)
{
  OvsBlocked *blocked;
  gboolean moves = FALSE, begun;
  GError *error = NULL;

  ovs_stage_lock (op->stage);
  if (ovs_op_check_blocked (op, &error))
    moves = book (op->blocked->data, &error);
  blocked = ovs_op_unblock (op, ready);
  begun = op->begun;
  if (!moves)
    ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (op->stage);

  if (!moves)
    ovs_op_end (op);
  else if (begun)
    ovs_clone_run ((OvsWrite *) op);
  ovs_blocked_free (blocked);
}

void
ovs_clone_run (OvsWrite *write)
{
  OvsStage *stage = write->op.stage;
  OvsClone *clone = g_steal_pointer (&write->clone);
  OvsTransfer *transfers = g_steal_pointer (&clone->transfers);

  make_sources (clone, stage->pool);
  if ((ovs_debug_flags () & OVS_DEBUG_ASYNC) != 0 ||
      (ovs_transfers_get_work (transfers) > stage->config.caller_limit && ovs_workers_get_n_threads (stage->workers) > 1))
    {
      ovs_transfers_push (transfers, write); /* holds what it needs */
      clone_free (clone);
      return;
    }
  ovs_transfers_run (transfers);
  clone_free (clone);
  ovs_write_end (write);
}

OvsOp *
ovs_stage_clone (OvsStage *stage, const char *source, const char *const *targets, gsize n, guint64 ordinal)
{
  OvsWrite *write = ovs_write_new (stage, ordinal, 0);
  OvsFootprint footprint = { .changes = TRUE, .ordinal = ordinal, .whole = TRUE, .asks = TRUE, .asks_at = ordinal };
  Plan *plan = plan_new (write, source);
  gboolean blocked = FALSE, moves = FALSE, begun = FALSE;
  GQueue ready = G_QUEUE_INIT;
  GError *error = NULL;

  if (!resolve_paths (plan, targets, n, &error))
    {
      plan_free (plan);
      return ovs_op_end_new (&write->op, error);
    }
  ovs_rebase_find_inside (plan->clone->rebase); /* most of it, so that little is left to do under the lock */

  ovs_stage_lock (stage);
  if (!ovs_stage_check_open (stage, &error))
    ;
  else if (n == 0)
    ovs_op_book (&write->op);
  else if (ovs_op_must_block (&write->op, NULL, &footprint))
    blocked = ovs_op_block (&write->op, NULL, &footprint, book_blocked, g_steal_pointer (&plan), plan_free, &ready, &error);
  else
    {
      moves = book (plan, &error);
      begun = write->op.begun;
    }
  ovs_stage_unlock (stage);

  g_clear_pointer (&plan, plan_free);
  ovs_ops_run (&ready);
  if (moves && begun)
    ovs_clone_run (write);
  return moves || blocked ? &write->op : ovs_op_end_new (&write->op, error);
}
