/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <sched.h>
#include <unistd.h>

#include "op/ovs-children.h"
#include "op/ovs-op-private.h"
#include "op/ovs-watch.h"

#include "device/ovs-device.h"

static const char *const reserved_names[OVS_N_RESERVED] = {
  "usd-path", "usd-parent", "usd-children", "usd-active", "usd-prim-type", "usd-schemas",
};

static guint64
default_staging_budget (void)
{
  long pages = sysconf (_SC_PHYS_PAGES), page_size = sysconf (_SC_PAGESIZE);

  return pages > 0 && page_size > 0 ? (guint64) pages / 2 * (guint64) page_size : G_MAXUINT64;
}

/* Those that this process may use: GLib counts all that are online. */
static guint
count_processors (void)
{
  cpu_set_t set;

  if (sched_getaffinity (0, sizeof set, &set) == 0)
    return (guint) CPU_COUNT (&set);
  return g_get_num_processors ();
}

OvsStage *
ovs_stage_new (const OvsStageConfig *config)
{
  OvsStage *stage = g_new0 (OvsStage, 1);

  stage->refs = 1;
  stage->config = *config;
  stage->config.history_depth = MAX (stage->config.history_depth, 1);
  stage->config.queue_capacity = MAX (stage->config.queue_capacity, 1);
  if (stage->config.staging_budget == 0)
    stage->config.staging_budget = default_staging_budget ();
  if (stage->config.caller_limit == 0)
    stage->config.caller_limit = OVS_CALLER_LIMIT;
  if (stage->config.n_threads == 0)
    stage->config.n_threads = count_processors ();

  stage->dict = ovs_path_dict_new ();
  stage->pool = ovs_pool_new ();
  stage->workers = ovs_workers_new (stage->config.n_threads);
  for (guint i = 0; i < OVS_N_RESERVED; i++)
    {
      stage->reserved[i] = ovs_path_dict_intern_token (stage->dict, reserved_names[i], -1, NULL);
      g_assert (stage->reserved[i] == stage->reserved[0] + i); /* ovs_stage_get_builtin() */
    }

  ovs_mutex_init (&stage->lock);
  ovs_mutex_init (&stage->wait_lock);
  ovs_cond_init (&stage->wait_cond);
  ovs_floors_init (&stage->closing);
  ovs_floors_init (&stage->sealed);
  stage->next_id = 1;
  stage->attrs = g_ptr_array_new ();
  stage->known = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_attr_free);
  stage->dirty = g_ptr_array_new ();
  stage->prim_deletes = ovs_deletes_new ();
  stage->structure_log = g_array_new (FALSE, FALSE, sizeof (OvsStructureChange));
  stage->change_holds = g_ptr_array_new_with_free_func (g_free);
  stage->watches = g_ptr_array_new ();
  stage->layouts = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ovs_layout_unref);
  stage->bindings = ovs_binding_table_new (stage->pool, OVS_BINDING_BUDGET);
  g_queue_init (&stage->pending);
  return stage;
}

OvsStage *
ovs_stage_ref (OvsStage *stage)
{
  g_atomic_int_inc (&stage->refs);
  return stage;
}

void
ovs_stage_unref (OvsStage *stage)
{
  if (!g_atomic_int_dec_and_test (&stage->refs))
    return;

  ovs_workers_stop (stage->workers);
  ovs_workers_unref (stage->workers);
  ovs_binding_table_free (stage->bindings);
  g_ptr_array_unref (stage->attrs);
  g_ptr_array_unref (stage->known);
  g_ptr_array_unref (stage->dirty);
  g_clear_pointer (&stage->spare_fold, ovs_fold_free);
  g_ptr_array_unref (stage->prim_deletes);
  for (guint i = 0; i < stage->structure_log->len; i++)
    ovs_structure_change_clear (&g_array_index (stage->structure_log, OvsStructureChange, i));
  g_array_unref (stage->structure_log);
  g_ptr_array_unref (stage->change_holds);
  g_ptr_array_unref (stage->watches);
  g_hash_table_unref (stage->layouts);
  g_free (stage->live);
  g_clear_pointer (&stage->children, ovs_children_free);
  ovs_floors_clear (&stage->closing);
  ovs_floors_clear (&stage->sealed);
  ovs_spares_clear (&stage->spares);
  ovs_pool_unref (stage->pool);
  ovs_path_dict_unref (stage->dict);
  ovs_cond_clear (&stage->wait_cond);
  ovs_mutex_clear (&stage->wait_lock);
  ovs_mutex_clear (&stage->lock);
  if (stage->floor_destroy != NULL)
    stage->floor_destroy (stage->floor_data);
  g_free (stage);
}

void
ovs_stage_close (OvsStage *stage)
{
  g_autoptr (GPtrArray) withdrawn = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_op_unref);
  g_autoptr (GPtrArray) blocked = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_blocked_free);
  GQueue ready = G_QUEUE_INIT;

  ovs_stage_lock (stage);
  stage->closed = TRUE;
  for (GList *link = stage->pending.head; link != NULL; link = link->next)
    {
      OvsOp *op = link->data;

      if (!op->begun && !op->booked)
        g_ptr_array_add (withdrawn, ovs_op_ref (op));
    }
  for (guint i = 0; i < withdrawn->len; i++)
    {
      OvsOp *op = withdrawn->pdata[i];

      op->begun = TRUE;
      op->withdrawn = TRUE;
    }
  /* All of them first, so that none becomes ready through another. */
  for (guint i = 0; i < withdrawn->len; i++)
    {
      OvsOp *op = withdrawn->pdata[i];

      if (op->blocked != NULL)
        g_ptr_array_add (blocked, ovs_op_unblock (op, &ready));
      ovs_op_unset_pending (op, ovs_cancelled_error_new (), &ready);
    }
  if (withdrawn->len > 0)
    ovs_stage_recompute_closing (stage);
  ovs_stage_unlock (stage);

  for (guint i = 0; i < withdrawn->len; i++)
    {
      OvsOp *op = withdrawn->pdata[i];

      ovs_op_end (op);
      if (op->kind == OVS_OP_QUERY)
        ovs_query_drop_selection (op);
    }
  ovs_ops_run (&ready);
  g_ptr_array_set_size (blocked, 0);
  ovs_workers_stop (stage->workers);
  ovs_watches_tell_closed (stage);
}

OvsPathDict *
ovs_stage_get_dict (OvsStage *stage)
{
  return stage->dict;
}

void
ovs_stage_set_floor_funcs (OvsStage *stage, OvsFloorWantedFunc wanted, OvsFloorRisenFunc risen, gpointer user_data,
                           GDestroyNotify destroy)
{
  stage->floor_wanted = wanted;
  stage->floor_risen = risen;
  stage->floor_data = user_data;
  stage->floor_destroy = destroy;
}

guint64
ovs_stage_begin_emission (OvsStage *stage)
{
  guint64 ordinal;

  ovs_stage_lock (stage);
  ordinal = stage->emission_running = stage->emission_due;
  stage->emission_due = 0;
  ovs_stage_unlock (stage);
  return ordinal;
}

void
ovs_stage_end_emission (OvsStage *stage)
{
  ovs_stage_lock (stage);
  stage->emission_running = 0;
  ovs_stage_unlock (stage);
}

guint64
ovs_stage_get_floor (OvsStage *stage)
{
  guint64 floor;

  ovs_stage_lock (stage);
  floor = ovs_floors_get_global (&stage->sealed);
  ovs_stage_unlock (stage);
  return floor;
}

guint64
ovs_stage_get_attribute_floor (OvsStage *stage, guint64 attribute)
{
  guint64 floor;

  ovs_stage_lock (stage);
  floor = attribute <= G_MAXUINT32 ? ovs_floors_get (&stage->sealed, (guint32) attribute) : stage->sealed.shared;
  ovs_stage_unlock (stage);
  return floor;
}

guint64
ovs_stage_find_oldest_preserved (OvsStage *stage)
{
  guint64 oldest = 0;

  for (guint i = 0; i < stage->known->len; i++)
    oldest = MAX (oldest, ((OvsAttr *) stage->known->pdata[i])->change_frontier);
  return oldest;
}

guint64
ovs_stage_get_oldest_preserved (OvsStage *stage)
{
  guint64 oldest;

  ovs_stage_lock (stage);
  oldest = ovs_stage_find_oldest_preserved (stage);
  ovs_stage_unlock (stage);
  return oldest;
}

guint64
ovs_stage_get_value_frontier (OvsStage *stage)
{
  guint64 frontier = 0;

  ovs_stage_lock (stage);
  for (guint i = 0; i < stage->known->len; i++)
    frontier = MAX (frontier, ovs_attr_get_frontier (stage->known->pdata[i]));
  ovs_stage_unlock (stage);
  return frontier;
}

void
ovs_stage_trim (OvsStage *stage)
{
  ovs_stage_lock (stage);
  ovs_binding_table_trim (stage->bindings);
  ovs_spares_clear (&stage->spares);
  ovs_stage_unlock (stage);
  ovs_pool_trim (stage->pool);
}

/* The advances that are still to come, on top of what is sealed. */
void
ovs_stage_recompute_closing (OvsStage *stage)
{
  ovs_floors_copy (&stage->closing, &stage->sealed);
  for (GList *link = stage->pending.head; link != NULL; link = link->next)
    {
      OvsOp *op = link->data;

      if (op->kind == OVS_OP_ADVANCE)
        {
          const OvsAdvance *advance = (OvsAdvance *) op;

          ovs_floors_raise (&stage->closing, advance->scope, advance->attributes, advance->n_attributes, advance->ordinal);
        }
    }
}

/* Most are made in the order of their tokens. */
static OvsAttr *
add_attr (OvsStage *stage, guint32 token)
{
  OvsAttr *attr = ovs_attr_new (token);
  guint at = stage->known->len;

  while (at > 0 && ((OvsAttr *) stage->known->pdata[at - 1])->token > token)
    at--;
  g_ptr_array_insert (stage->known, (gint) at, attr);
  return attr;
}

OvsAttr *
ovs_stage_ensure_attr (OvsStage *stage, guint32 token)
{
  if (token >= stage->attrs->len)
    g_ptr_array_set_size (stage->attrs, (gint) token + 1);
  if (stage->attrs->pdata[token] == NULL)
    stage->attrs->pdata[token] = add_attr (stage, token);
  return stage->attrs->pdata[token];
}

static gboolean
is_unused (gpointer key, gpointer value, gpointer user_data)
{
  return g_atomic_int_get (&((OvsLayout *) value)->refs) == 1;
}

/* Columns that begin with the same list share its layout. */
OvsLayout *
ovs_stage_ensure_layout (OvsStage *stage, OvstagePathList *list)
{
  OvsLayout *layout = g_hash_table_lookup (stage->layouts, list);

  if (layout != NULL)
    return layout;
  if (g_hash_table_size (stage->layouts) > 2 * stage->layouts_swept + 16)
    {
      g_hash_table_foreach_remove (stage->layouts, is_unused, NULL);
      stage->layouts_swept = g_hash_table_size (stage->layouts);
    }
  layout = ovs_layout_new (list);
  g_hash_table_insert (stage->layouts, list, layout);
  return layout;
}

void
ovs_stage_set_dirty (OvsStage *stage, OvsAttr *attr)
{
  if (attr->dirty_index >= 0)
    return;
  attr->dirty_index = (gint) stage->dirty->len;
  g_ptr_array_add (stage->dirty, attr);
}

OvsPeek *
ovs_stage_peek (OvsStage *stage, OvsAttr *attr, guint64 ordinal, GError **error)
{
  OvsPeek *peek = ovs_peek_new (attr, stage->pool, stage->prim_deletes, ovs_floors_get (&stage->sealed, attr->token), ordinal, error);

  if (peek == NULL)
    g_prefix_error (error, "attribute '%s': ", ovs_stage_name (stage, attr->token));
  return peek;
}

OvsChangeHold *
ovs_stage_hold_changes (OvsStage *stage, const guint32 *attributes, gsize n_attributes, guint64 ordinal)
{
  OvsChangeHold *hold = g_malloc (sizeof *hold + sizeof *attributes * n_attributes);

  hold->ordinal = ordinal;
  hold->n_attributes = n_attributes;
  for (gsize i = 0; i < n_attributes; i++)
    hold->attributes[i] = attributes[i];
  g_ptr_array_add (stage->change_holds, hold);
  return hold;
}

void
ovs_stage_move_hold (OvsStage *stage, OvsChangeHold *hold, guint64 ordinal)
{
  hold->ordinal = ordinal;
}

void
ovs_stage_drop_hold (OvsStage *stage, OvsChangeHold *hold)
{
  g_ptr_array_remove_fast (stage->change_holds, hold);
}

OvsBinding *
ovs_stage_bind (OvsStage *stage, OvsQuery *query, OvsLayout *layout)
{
  OvsBinding *binding = ovs_query_get_binding (query, layout);

  if (binding != NULL)
    return ovs_binding_ref (binding);
  binding = ovs_binding_table_get (stage->bindings, query->list, layout);
  if (binding == NULL)
    return NULL;
  g_clear_pointer (&query->binding, ovs_binding_unref);
  query->binding = ovs_binding_ref (binding);
  return binding;
}

gboolean
ovs_stage_check_queue (OvsStage *stage, GError **error)
{
  if (stage->pending.length < stage->config.queue_capacity)
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_QUEUE_FULL, "%u operations are unfinished, queue-capacity is %u", stage->pending.length,
                   stage->config.queue_capacity);
}

gboolean
ovs_stage_check_open (OvsStage *stage, GError **error)
{
  return !stage->closed || ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "the stage is closed");
}

gboolean
ovs_stage_check_query (OvsStage *stage, OvsOp *query, GError **error)
{
  if (query == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "query: it is unknown or was released");
  if (query->stage != stage)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "query: it is of another stage");
  if (ovs_op_get_error (query) != NULL)
    return ovs_fail (error, OVSTAGE_ERROR_OP_FAILED, "query: it failed: %s", query->error->message);
  return TRUE;
}

gboolean
ovs_stage_check_attribute (OvsStage *stage, guint64 attribute, GError **error)
{
  if (attribute == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "attribute: token 0 names nothing");
  if (ovs_path_dict_get_token_text (stage->dict, attribute, NULL) == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "attribute: token %" G_GUINT64_FORMAT " is unknown to the dictionary",
                     attribute);
  return TRUE;
}

gboolean
ovs_stage_check_writable (OvsStage *stage, guint32 attribute, GError **error)
{
  return ovs_stage_get_builtin (stage, attribute) == OVS_BUILTIN_NONE ||
         ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "attribute '%s' is built in and cannot be written",
                   ovs_stage_name (stage, attribute));
}

gboolean
ovs_check_prim_mode (OvstagePrimMode prim_mode, GError **error)
{
  return (guint) prim_mode <= OVSTAGE_PRIM_MODE_UPDATE ||
         ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode is %d, expected 0 (UPSERT), 1 (INSERT) or 2 (UPDATE)",
                   (int) prim_mode);
}

gboolean
ovs_check_semantic (OvstageSemantic semantic, GError **error)
{
  return ovs_semantic_is_valid ((gint) semantic) ||
         ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic is %d, expected 0 (NONE) to 15 (FRAME)", (int) semantic);
}

gboolean
ovs_check_ordinal (guint64 ordinal, const char *what, GError **error)
{
  return ordinal != OVSTAGE_ORDINAL_NEWEST ||
         ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal: OVSTAGE_ORDINAL_NEWEST is not an ordinal for %s", what);
}

gboolean
ovs_check_no_sync (guint64 stream, guint64 event, const char *what, GError **error)
{
  return (stream == 0 && event == 0) ||
         ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED,
                   "%s: stream is %" G_GUINT64_FORMAT " and event is %" G_GUINT64_FORMAT ", expected 0 for both: a CPU has neither", what,
                   stream, event);
}

gboolean
ovs_check_placement (const OvstagePlacement *placement, GError **error)
{
  GError *local = NULL;

  if (placement == NULL)
    return TRUE;
  if (ovs_device_lookup (placement->device_type, placement->device_id, &local) == NULL)
    {
      g_propagate_prefixed_error (error, local, "placement: ");
      return FALSE;
    }
  return ovs_check_no_sync (placement->stream, placement->availability_event, "placement", error);
}

const char *
ovs_stage_name (OvsStage *stage, guint32 token)
{
  return ovs_path_dict_get_token_text (stage->dict, token, NULL);
}
