/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The GObject face over a stand-in for the core whose operations end when a case
 * says so: waits, cancellation and emissions are so met at every moment. The face
 * is compiled in; only GIO is linked. */

#include "base/ovs-error.c"
#include "object/ovstage-emitter.c"
#include "object/ovstage-map.c"
#include "object/ovstage-operation.c"
#include "object/ovstage-query.c"
#include "object/ovstage-read.c"
#include "object/ovstage-stage.c"

/* ---- the stand-in core ---- */

typedef struct
{
  OvsOpFunc func;
  gpointer user_data;
} Watch;

struct _OvsOp
{
  gint refs; /* (atomic) */
  OvsMutex lock;
  OvsCond cond;
  gboolean done;
  gboolean withdrawn;
  gboolean worker; /* waiting is refused */
  GError *error;   /* (owned) (nullable) */
  GList *watches;  /* of Watch */
  guint64 id;
  guint n_groups;
};

struct _OvsStage
{
  gint refs; /* (atomic) */
  OvsMutex lock;
  OvsStageConfig config;
  guint64 floor;
  guint64 untold;
  guint n_emitting;
  guint n_closed;
  OvsFloorWantedFunc wanted;
  OvsFloorRisenFunc risen;
  gpointer user_data;
  GDestroyNotify destroy;
};

static gint n_ops;    /* (atomic) */
static gint n_stages; /* (atomic) */
static gint n_groups; /* (atomic) */

static OvsOp *
op_new (guint64 id)
{
  OvsOp *op = g_new0 (OvsOp, 1);

  op->refs = 1;
  op->id = id;
  ovs_mutex_init (&op->lock);
  ovs_cond_init (&op->cond);
  g_atomic_int_inc (&n_ops);
  return op;
}

OvsOp *
ovs_op_ref (OvsOp *op)
{
  g_atomic_int_inc (&op->refs);
  return op;
}

void
ovs_op_unref (OvsOp *op)
{
  if (!g_atomic_int_dec_and_test (&op->refs))
    return;
  g_assert_null (op->watches);
  ovs_mutex_clear (&op->lock);
  ovs_cond_clear (&op->cond);
  g_clear_error (&op->error);
  g_free (op);
  g_atomic_int_add (&n_ops, -1);
}

/* Takes @error. */
static void
op_end (OvsOp *op, GError *error)
{
  GList *watches;

  ovs_mutex_lock (&op->lock);
  g_assert_false (op->done);
  op->done = TRUE;
  op->error = error;
  watches = g_steal_pointer (&op->watches);
  ovs_cond_broadcast (&op->cond);
  ovs_mutex_unlock (&op->lock);
  for (GList *l = watches; l != NULL; l = l->next)
    ((Watch *) l->data)->func (op, ((Watch *) l->data)->user_data);
  g_list_free_full (watches, g_free);
}

guint64
ovs_op_get_id (OvsOp *op)
{
  return op->id;
}

gboolean
ovs_op_is_done (OvsOp *op)
{
  gboolean done;

  ovs_mutex_lock (&op->lock);
  done = op->done;
  ovs_mutex_unlock (&op->lock);
  return done;
}

const GError *
ovs_op_get_error (OvsOp *op)
{
  return ovs_op_is_done (op) ? op->error : NULL;
}

gboolean
ovs_op_is_withdrawn (OvsOp *op)
{
  return op->withdrawn;
}

OvsWaitResult
ovs_op_wait (OvsOp *op, gint64 timeout, const gint *interrupted)
{
  gint64 deadline = g_get_monotonic_time () + timeout / 1000;
  OvsWaitResult result = OVS_WAIT_DONE;

  if (op->worker)
    return OVS_WAIT_REFUSED;
  ovs_mutex_lock (&op->lock);
  while (!op->done && result == OVS_WAIT_DONE)
    {
      if (interrupted != NULL && g_atomic_int_get (interrupted))
        result = OVS_WAIT_INTERRUPTED;
      else if (timeout < 0)
        ovs_cond_wait (&op->cond, &op->lock);
      else if (timeout == 0 || !ovs_cond_wait_until (&op->cond, &op->lock, deadline))
        result = OVS_WAIT_TIMEOUT;
    }
  ovs_mutex_unlock (&op->lock);
  return result;
}

void
ovs_op_wake (OvsOp *op)
{
  ovs_mutex_lock (&op->lock);
  ovs_cond_broadcast (&op->cond);
  ovs_mutex_unlock (&op->lock);
}

gboolean
ovs_op_add_watch (OvsOp *op, OvsOpFunc func, gpointer user_data)
{
  gboolean pending;

  ovs_mutex_lock (&op->lock);
  pending = !op->done;
  if (pending)
    {
      Watch *watch = g_new (Watch, 1);

      watch->func = func;
      watch->user_data = user_data;
      op->watches = g_list_prepend (op->watches, watch);
    }
  ovs_mutex_unlock (&op->lock);
  return pending;
}

gboolean
ovs_op_remove_watch (OvsOp *op, OvsOpFunc func, gpointer user_data)
{
  gboolean found = FALSE;

  ovs_mutex_lock (&op->lock);
  for (GList *l = op->watches; l != NULL && !found; l = l->next)
    {
      Watch *watch = l->data;

      if (watch->func != func || watch->user_data != user_data)
        continue;
      found = TRUE;
      op->watches = g_list_delete_link (op->watches, l);
      g_free (watch);
      break;
    }
  ovs_mutex_unlock (&op->lock);
  return found;
}

gboolean
ovs_op_cancel (OvsOp *op)
{
  if (ovs_op_is_done (op))
    return FALSE;
  op->withdrawn = TRUE;
  op_end (op, g_error_new_literal (OVSTAGE_ERROR, OVSTAGE_ERROR_OP_FAILED, "cancelled"));
  return TRUE;
}

guint64
ovs_op_get_lowest_pending (OvsOp *op)
{
  return ovs_op_is_done (op) ? 0 : op->id - 1;
}

/* Groups are a number, from 1. */
gboolean
ovs_read_next (OvsOp *read, OvstageReadGroup **group, GError **error)
{
  g_assert_true (ovs_op_is_done (read));
  ovs_mutex_lock (&read->lock);
  *group = NULL;
  if (read->n_groups > 0)
    {
      *group = GUINT_TO_POINTER (read->n_groups--);
      g_atomic_int_inc (&n_groups);
    }
  ovs_mutex_unlock (&read->lock);
  return TRUE;
}

void
ovs_read_group_unref (OvstageReadGroup *group)
{
  g_atomic_int_add (&n_groups, -1);
}

gboolean
ovs_map_next (OvsOp *map, OvstageMapGroup **group, GError **error)
{
  OvstageReadGroup *found;
  gboolean fine = ovs_read_next (map, &found, error);

  *group = (OvstageMapGroup *) found;
  return fine;
}

void
ovs_map_group_unref (OvstageMapGroup *group)
{
  ovs_read_group_unref ((OvstageReadGroup *) group);
}

guint64
ovs_read_get_as_of (OvsOp *read)
{
  return 5;
}

OvstagePathList *
ovs_query_get_list (OvsOp *query)
{
  return NULL;
}

const guint32 *
ovs_query_get_attributes (OvsOp *query, gsize *n)
{
  *n = 0;
  return NULL;
}

OvstagePathList *
ovs_path_list_ref (OvstagePathList *list)
{
  return list;
}

OvsStage *
ovs_stage_new (const OvsStageConfig *config)
{
  OvsStage *stage = g_new0 (OvsStage, 1);

  stage->refs = 1;
  stage->config = *config;
  ovs_mutex_init (&stage->lock);
  g_atomic_int_inc (&n_stages);
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
  g_assert_cmpuint (stage->n_closed, >, 0);
  g_assert_cmpuint (stage->n_emitting, ==, 0);
  if (stage->destroy != NULL)
    stage->destroy (stage->user_data);
  ovs_mutex_clear (&stage->lock);
  g_free (stage);
  g_atomic_int_add (&n_stages, -1);
}

void
ovs_stage_close (OvsStage *stage)
{
  stage->n_closed++;
}

OvsPathDict *
ovs_stage_get_dict (OvsStage *stage)
{
  return NULL;
}

OvstagePathDictionary *
_ovstage_path_dictionary_new (OvsPathDict *dict)
{
  return g_object_new (G_TYPE_OBJECT, NULL);
}

static OvsOp *
op_new_done (void)
{
  OvsOp *op = op_new (1);

  op->done = TRUE;
  return op;
}

OvsOp *
ovs_stage_query_list (OvsStage *stage, OvstagePathList *list)
{
  return op_new_done ();
}

OvsOp *
ovs_stage_query_filter (OvsStage *stage, OvstageFilter *filter, const guint64 *attributes, gsize n_attributes)
{
  return op_new_done ();
}

OvsOp *
ovs_stage_write (OvsStage *stage, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *data,
                 OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  return op_new_done ();
}

OvsOp *
ovs_stage_delete (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 ordinal)
{
  return op_new_done ();
}

OvstageWatch *
_ovstage_watch_new (OvsStage *stage, OvsOp *query, const OvstageToken *attributes, gsize n_attributes, OvstageWatchFunc callback,
                    gpointer user_data, GDestroyNotify destroy, GError **error)
{
  return NULL;
}

OvsOp *
ovs_stage_clone (OvsStage *stage, const char *source, const char *const *targets, gsize n, guint64 ordinal)
{
  return op_new_done ();
}

OvsOp *
ovs_stage_write_batch (OvsStage *stage, OvsOp *query, const OvsAttributeWrite *entries, gsize n, guint64 ordinal,
                       OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  return op_new_done ();
}

OvsOp *
ovs_stage_refuse (OvsStage *stage, GError *error)
{
  OvsOp *op = op_new_done ();

  op->error = error;
  return op;
}

OvsOp *
ovs_map_commit_group (OvsOp *map, OvstageMapGroup *group, guint64 stream, guint64 event)
{
  return op_new_done ();
}

OvsOp *
ovs_map_commit (OvsOp *map, guint64 stream, guint64 event)
{
  return op_new_done ();
}

void
ovs_map_discard (OvsOp *map)
{
}

OvsOp *
ovs_stage_map (OvsStage *stage, OvsOp *query, guint64 attribute, const OvsMapRequest *request, guint64 ordinal,
               OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  return op_new_done ();
}

OvsOp *
ovs_stage_read (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes,
                const OvstageOrdinalRange *range, const OvstagePlacement *placement)
{
  return op_new_done ();
}

OvsOp *
ovs_stage_advance (OvsStage *stage, guint64 ordinal, OvstageScope scope, const guint64 *attributes, gsize n_attributes)
{
  gboolean wanted = stage->wanted (stage->user_data);

  ovs_mutex_lock (&stage->lock);
  stage->floor = ordinal;
  if (wanted)
    stage->untold = ordinal;
  ovs_mutex_unlock (&stage->lock);
  if (wanted)
    stage->risen (stage->user_data);
  return op_new_done ();
}

guint64
ovs_stage_get_floor (OvsStage *stage)
{
  guint64 floor;

  ovs_mutex_lock (&stage->lock);
  floor = stage->floor;
  ovs_mutex_unlock (&stage->lock);
  return floor;
}

guint64
ovs_stage_get_attribute_floor (OvsStage *stage, guint64 attribute)
{
  return 0;
}

guint64
ovs_stage_get_oldest_preserved (OvsStage *stage)
{
  return 0;
}

guint64
ovs_stage_get_value_frontier (OvsStage *stage)
{
  return 0;
}

void
ovs_stage_trim (OvsStage *stage)
{
}

void
ovs_stage_set_floor_funcs (OvsStage *stage, OvsFloorWantedFunc wanted, OvsFloorRisenFunc risen, gpointer user_data,
                           GDestroyNotify destroy)
{
  stage->wanted = wanted;
  stage->risen = risen;
  stage->user_data = user_data;
  stage->destroy = destroy;
}

guint64
ovs_stage_begin_emission (OvsStage *stage)
{
  guint64 ordinal;

  ovs_mutex_lock (&stage->lock);
  ordinal = stage->untold;
  stage->untold = 0;
  stage->n_emitting++;
  ovs_mutex_unlock (&stage->lock);
  return ordinal;
}

void
ovs_stage_end_emission (OvsStage *stage)
{
  ovs_mutex_lock (&stage->lock);
  g_assert_cmpuint (stage->n_emitting, ==, 1);
  stage->n_emitting--;
  ovs_mutex_unlock (&stage->lock);
}

/* ---- helpers ---- */

typedef struct
{
  guint n_calls;
  gboolean ok;
  GError *error; /* (owned) (nullable) */
  OvstageReadGroup *group;
  GThread *thread;
} Outcome;

static void
outcome_clear (Outcome *outcome)
{
  g_clear_error (&outcome->error);
  *outcome = (Outcome) { 0 };
}

static void
waited_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Outcome *outcome = user_data;

  outcome->n_calls++;
  outcome->thread = g_thread_self ();
  outcome->ok = ovstage_operation_wait_finish (OVSTAGE_OPERATION (source), result, &outcome->error);
}

static void
fetched_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Outcome *outcome = user_data;

  outcome->n_calls++;
  outcome->group = ovstage_read_fetch_next_finish (OVSTAGE_READ (source), result, &outcome->error);
}

static void
spin_until_called (Outcome *outcome)
{
  while (outcome->n_calls == 0)
    g_main_context_iteration (g_main_context_get_thread_default (), TRUE);
}

static void
spin_dry (void)
{
  while (g_main_context_iteration (g_main_context_get_thread_default (), FALSE))
    ;
}

static OvstageOperation *
take (OvsOp *op)
{
  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION, ovs_op_ref (op));
}

static GError *
floor_error (void)
{
  return g_error_new_literal (OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "sealed");
}

static gpointer
end_op (gpointer op)
{
  g_usleep (2000);
  op_end (op, NULL);
  return NULL;
}

static gpointer
cancel_later (gpointer cancellable)
{
  g_usleep (2000);
  g_cancellable_cancel (cancellable);
  return NULL;
}

/* ---- waiting ---- */

static void
test_wait_result (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GError) error = NULL;
  GThread *thread;

  g_assert_cmpuint (ovstage_operation_get_id (self), ==, 7);
  g_assert_false (ovstage_operation_is_done (self));
  g_assert_null (ovstage_operation_get_error (self));
  thread = g_thread_new ("end", end_op, op);
  g_assert_true (ovstage_operation_wait (self, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (ovstage_operation_is_done (self));
  g_assert_cmpuint (ovstage_operation_get_lowest_pending_id (self), ==, 0);
  g_thread_join (thread);
}

static void
test_wait_error_lasts (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);

  op_end (op, floor_error ());
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (ovstage_operation_wait (self, 0, NULL, &error));
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
    }
  g_assert_error (ovstage_operation_get_error (self), OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  g_assert_false (ovstage_operation_wait (self, 0, NULL, NULL));
}

static void
test_wait_timeout (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GError) poll_error = NULL;
  g_autoptr (GError) error = NULL;
  gint64 start = g_get_monotonic_time ();

  g_assert_false (ovstage_operation_wait (self, 0, NULL, &poll_error));
  g_assert_error (poll_error, OVSTAGE_ERROR, OVSTAGE_ERROR_TIMEOUT);
  g_assert_false (ovstage_operation_wait (self, 3 * 1000 * 1000, NULL, &error));
  g_assert_cmpint (g_get_monotonic_time () - start, >=, 3000);
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_TIMEOUT);
  g_assert_nonnull (strstr (error->message, "7"));
  g_assert_nonnull (strstr (error->message, "6"));
  g_assert_cmpuint (ovstage_operation_get_lowest_pending_id (self), ==, 6);
  g_assert_null (ovstage_operation_get_error (self));
}

static void
test_wait_refused (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GError) error = NULL;

  op->worker = TRUE;
  g_assert_false (ovstage_operation_wait (self, -1, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
}

static void
test_wait_cancelled (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("cancel", cancel_later, cancellable);

  g_assert_false (ovstage_operation_wait (self, -1, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_thread_join (thread);

  /* The operation goes on. */
  g_assert_false (ovstage_operation_is_done (self));
  op_end (op, NULL);
  g_assert_true (ovstage_operation_wait (self, -1, NULL, NULL));

  /* Cancelled before. */
  g_clear_error (&error);
  g_assert_false (ovstage_operation_wait (self, -1, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
test_wait_cancel_races (void)
{
  for (int i = 0; i < 200; i++)
    {
      g_autoptr (OvsOp) op = op_new (7);
      g_autoptr (OvstageOperation) self = take (op);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      g_autoptr (GError) error = NULL;
      GThread *thread = g_thread_new ("cancel", cancel_later, cancellable);
      GThread *other = g_thread_new ("end", end_op, op);

      if (!ovstage_operation_wait (self, -1, cancellable, &error))
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_thread_join (thread);
      g_thread_join (other);
    }
}

static void
test_withdrawn (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GError) error = NULL;
  Outcome outcome = { 0 };

  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  g_assert_true (ovstage_operation_cancel (self));
  g_assert_false (ovstage_operation_cancel (self));
  g_assert_error (ovstage_operation_get_error (self), G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_false (ovstage_operation_wait (self, -1, NULL, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  spin_until_called (&outcome);
  g_assert_error (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  outcome_clear (&outcome);
}

static void
test_orphan (void)
{
  g_autoptr (OvstageOperation) self = g_object_new (OVSTAGE_TYPE_OPERATION, NULL);
  g_autoptr (OvstageQuery) query = g_object_new (OVSTAGE_TYPE_QUERY, NULL);
  g_autoptr (OvstageRead) read = g_object_new (OVSTAGE_TYPE_READ, NULL);
  g_autoptr (OvstageStage) stage = ovstage_stage_new (NULL);
  g_autoptr (OvstageRead) refused = NULL;
  g_autoptr (GError) error = NULL;
  Outcome outcome = { 0 };

  g_assert_cmpuint (ovstage_operation_get_id (self), ==, 0);
  g_assert_true (ovstage_operation_is_done (self));
  g_assert_false (ovstage_operation_cancel (self));
  g_assert_cmpuint (ovstage_operation_get_lowest_pending_id (self), ==, 0);
  g_assert_error (ovstage_operation_get_error (self), OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  g_assert_false (ovstage_operation_wait (self, -1, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_error (outcome.error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  outcome_clear (&outcome);

  g_assert_cmpuint (ovstage_query_get_prim_count (query), ==, 0);
  g_assert_null (ovstage_query_ref_path_list (query));
  g_assert_cmpuint (ovstage_read_get_as_of (read), ==, 0);
  ovstage_read_fetch_next_async (read, G_PRIORITY_DEFAULT, NULL, fetched_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_null (outcome.group);
  g_assert_error (outcome.error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  outcome_clear (&outcome);

  refused = ovstage_stage_read_attributes (stage, query, NULL, 0, &OVSTAGE_ORDINAL_RANGE_LATEST (1), NULL);
  g_assert_error (ovstage_operation_get_error (OVSTAGE_OPERATION (refused)), OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
}

/* ---- wait_async ---- */

static void
test_async_done (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  Outcome outcome = { 0 };

  op_end (op, NULL);
  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  g_assert_cmpuint (outcome.n_calls, ==, 0);
  spin_until_called (&outcome);
  g_assert_true (outcome.ok);
  spin_dry ();
  g_assert_cmpuint (outcome.n_calls, ==, 1);
}

static void
test_async_later (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  Outcome outcome = { 0 };
  GThread *thread;

  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  spin_dry ();
  g_assert_cmpuint (outcome.n_calls, ==, 0);
  thread = g_thread_new ("end", end_op, op);
  spin_until_called (&outcome);
  g_assert_true (outcome.ok);
  g_assert_true (outcome.thread == g_thread_self ());
  g_thread_join (thread);
}

static void
test_async_error (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  Outcome outcome = { 0 };

  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  op_end (op, floor_error ());
  spin_until_called (&outcome);
  g_assert_false (outcome.ok);
  g_assert_error (outcome.error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  outcome_clear (&outcome);
}

static void
test_async_no_callback (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, cancellable, NULL, NULL);
  g_cancellable_cancel (cancellable);
  op_end (op, NULL);
  spin_dry ();
}

static void
test_async_cancel_before (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Outcome outcome = { 0 };

  g_cancellable_cancel (cancellable);
  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, cancellable, waited_cb, &outcome);
  g_assert_cmpuint (outcome.n_calls, ==, 0);
  spin_until_called (&outcome);
  g_assert_error (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  outcome_clear (&outcome);
  g_assert_null (op->watches);
}

static void
test_async_cancel_during (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Outcome outcome = { 0 };

  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, cancellable, waited_cb, &outcome);
  g_cancellable_cancel (cancellable);
  g_assert_null (op->watches);
  spin_until_called (&outcome);
  g_assert_error (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  outcome_clear (&outcome);

  /* The operation was left alone. */
  g_assert_false (ovstage_operation_is_done (self));
  op_end (op, NULL);
  spin_dry ();
  g_assert_cmpuint (outcome.n_calls, ==, 0);
  g_assert_true (ovstage_operation_wait (self, 0, NULL, NULL));
}

static void
test_async_cancel_after (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Outcome outcome = { 0 };

  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, cancellable, waited_cb, &outcome);
  op_end (op, NULL);
  g_cancellable_cancel (cancellable);
  spin_until_called (&outcome);
  g_assert_no_error (outcome.error);
  g_assert_true (outcome.ok);
}

static void
cancel_op_cb (GCancellable *cancellable, gpointer user_data)
{
  op_end (user_data, NULL);
}

/* A handler of the same cancellable ends the operation: nothing may wait for that cancellation to be over. */
static void
test_async_cancel_reentrant (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Outcome outcome = { 0 };

  g_signal_connect (cancellable, "cancelled", G_CALLBACK (cancel_op_cb), op);
  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, cancellable, waited_cb, &outcome);
  g_cancellable_cancel (cancellable);
  spin_until_called (&outcome);
  g_assert_true (outcome.ok);
}

static void
test_async_cancel_races (void)
{
  guint n_ok = 0;

  for (int i = 0; i < 300; i++)
    {
      g_autoptr (OvsOp) op = op_new (7);
      g_autoptr (OvstageOperation) self = take (op);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      Outcome outcome = { 0 };
      GThread *ender = g_thread_new ("end", end_op, op);
      GThread *canceller = g_thread_new ("cancel", cancel_later, cancellable);

      if (i % 3 == 0)
        g_usleep (2000);
      ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, cancellable, waited_cb, &outcome);
      spin_until_called (&outcome);
      if (outcome.ok)
        n_ok++;
      else
        g_assert_error (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      g_thread_join (ender);
      g_thread_join (canceller);
      spin_dry ();
      g_assert_cmpuint (outcome.n_calls, ==, 1);
      outcome_clear (&outcome);
    }
  g_test_message ("%u of 300 ended before they were cancelled", n_ok);
}

static gpointer
wait_in_own_context (gpointer user_data)
{
  OvstageOperation *self = user_data;
  g_autoptr (GMainContext) context = g_main_context_new ();
  Outcome outcome = { 0 };

  g_main_context_push_thread_default (context);
  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_true (outcome.ok);
  g_assert_true (outcome.thread == g_thread_self ());
  g_main_context_pop_thread_default (context);
  return NULL;
}

static void
test_async_own_context (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  GThread *threads[3];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("wait", wait_in_own_context, self);
  g_usleep (5000);
  op_end (op, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

/* A wait keeps its operation. */
static void
test_async_last_reference (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  Outcome outcome = { 0 };
  OvstageOperation *self = take (op);

  ovstage_operation_wait_async (self, G_PRIORITY_DEFAULT, NULL, waited_cb, &outcome);
  g_object_add_weak_pointer (G_OBJECT (self), (gpointer *) &self);
  g_object_unref (self);
  g_assert_nonnull (self);
  op_end (op, NULL);
  spin_until_called (&outcome);
  spin_dry ();
  g_assert_true (outcome.ok);
  g_assert_null (self);
}

static void
note_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_string_append_c (user_data, 'l');
}

static void
note_high_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_string_append_c (user_data, 'h');
}

static void
test_async_priority (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageOperation) self = take (op);
  g_autoptr (GString) order = g_string_new (NULL);

  ovstage_operation_wait_async (self, G_PRIORITY_LOW, NULL, note_cb, order);
  ovstage_operation_wait_async (self, G_PRIORITY_HIGH, NULL, note_high_cb, order);
  op_end (op, NULL);
  spin_dry ();
  g_assert_cmpstr (order->str, ==, "hl");
}

/* ---- fetch_next ---- */

static OvstageRead *
read_new (OvsOp *op)
{
  return _ovstage_operation_take (OVSTAGE_TYPE_READ, ovs_op_ref (op));
}

static void
test_fetch (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageRead) self = read_new (op);
  g_autoptr (GError) error = NULL;
  OvstageReadGroup *group;

  op->n_groups = 2;
  g_assert_cmpuint (ovstage_read_get_as_of (self), ==, 0);
  g_assert_null (ovstage_read_fetch_next (self, 0, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_TIMEOUT);
  g_clear_error (&error);
  op_end (op, NULL);
  g_assert_cmpuint (ovstage_read_get_as_of (self), ==, 5);
  for (int i = 0; i < 2; i++)
    {
      group = ovstage_read_fetch_next (self, 0, NULL, &error);
      g_assert_no_error (error);
      g_assert_nonnull (group);
      ovs_read_group_unref (group);
    }
  for (int i = 0; i < 2; i++)
    {
      g_assert_null (ovstage_read_fetch_next (self, 0, NULL, &error));
      g_assert_no_error (error);
    }
}

static void
test_fetch_async (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageRead) self = read_new (op);
  Outcome outcome = { 0 };
  GThread *thread;

  op->n_groups = 1;
  ovstage_read_fetch_next_async (self, G_PRIORITY_DEFAULT, NULL, fetched_cb, &outcome);
  thread = g_thread_new ("end", end_op, op);
  spin_until_called (&outcome);
  g_thread_join (thread);
  g_assert_no_error (outcome.error);
  g_assert_nonnull (outcome.group);
  ovs_read_group_unref (outcome.group);
  outcome_clear (&outcome);

  ovstage_read_fetch_next_async (self, G_PRIORITY_DEFAULT, NULL, fetched_cb, &outcome);
  spin_until_called (&outcome);
  g_assert_no_error (outcome.error);
  g_assert_null (outcome.group);
}

/* A cancelled fetch takes nothing; one that nobody finishes gives its group back. */
static void
test_fetch_async_cancelled (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageRead) self = read_new (op);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Outcome outcome = { 0 };

  op->n_groups = 2;
  ovstage_read_fetch_next_async (self, G_PRIORITY_DEFAULT, cancellable, fetched_cb, &outcome);
  ovstage_read_fetch_next_async (self, G_PRIORITY_DEFAULT, NULL, NULL, NULL);
  g_cancellable_cancel (cancellable);
  spin_until_called (&outcome);
  g_assert_error (outcome.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_null (outcome.group);
  outcome_clear (&outcome);
  g_assert_cmpuint (op->n_groups, ==, 2);

  op_end (op, NULL);
  spin_dry ();
  g_assert_cmpuint (op->n_groups, ==, 1);
  g_assert_cmpint (g_atomic_int_get (&n_groups), ==, 0);

  /* The group was taken before the cancellation. */
  g_cancellable_reset (cancellable);
  ovstage_read_fetch_next_async (self, G_PRIORITY_DEFAULT, cancellable, fetched_cb, &outcome);
  g_cancellable_cancel (cancellable);
  spin_until_called (&outcome);
  g_assert_no_error (outcome.error);
  g_assert_nonnull (outcome.group);
  ovs_read_group_unref (outcome.group);
}

static void
test_fetch_failed (void)
{
  g_autoptr (OvsOp) op = op_new (7);
  g_autoptr (OvstageRead) self = read_new (op);
  g_autoptr (GError) error = NULL;
  Outcome outcome = { 0 };

  op->n_groups = 1;
  ovstage_read_fetch_next_async (self, G_PRIORITY_DEFAULT, NULL, fetched_cb, &outcome);
  op_end (op, floor_error ());
  spin_until_called (&outcome);
  g_assert_error (outcome.error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  outcome_clear (&outcome);
  g_assert_null (ovstage_read_fetch_next (self, -1, NULL, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION);
  g_assert_cmpuint (ovstage_read_get_as_of (self), ==, 0);
}

/* ---- emissions ---- */

typedef struct
{
  guint n_sealed;
  guint n_notified;
  guint64 ordinal;
  GThread *thread;
} Emissions;

static void
sealed_cb (OvstageStage *stage, guint64 ordinal, gpointer user_data)
{
  Emissions *emissions = user_data;

  g_assert_cmpuint (stage->core->n_emitting, ==, 1);
  g_assert_cmpuint (ordinal, >, emissions->ordinal);
  emissions->n_sealed++;
  emissions->ordinal = ordinal;
  emissions->thread = g_thread_self ();
}

static void
notify_cb (OvstageStage *stage, GParamSpec *pspec, gpointer user_data)
{
  Emissions *emissions = user_data;

  emissions->n_notified++;
}

static void
advance (OvstageStage *stage, guint64 ordinal)
{
  g_autoptr (OvstageOperation) op = ovstage_stage_advance_write_floor (stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);

  g_assert_nonnull (op);
}

static void
test_emission_unwanted (void)
{
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("test");
  gulong id;

  advance (stage, 1);
  g_assert_null (stage->emitter->source);
  id = g_signal_connect (stage, "sealed", G_CALLBACK (sealed_cb), NULL);
  g_assert_true (floor_wanted_cb (stage->emitter));
  g_signal_handler_disconnect (stage, id);
  g_assert_false (floor_wanted_cb (stage->emitter));
  id = g_signal_connect (stage, "notify", G_CALLBACK (notify_cb), NULL);
  g_assert_true (floor_wanted_cb (stage->emitter));
  g_signal_handler_disconnect (stage, id);
  g_assert_false (floor_wanted_cb (stage->emitter));
}

static void
test_emission_folded (void)
{
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("test");
  Emissions emissions = { 0 };

  g_signal_connect (stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
  g_signal_connect (stage, "notify::write-floor", G_CALLBACK (notify_cb), &emissions);
  for (guint i = 1; i <= 10; i++)
    advance (stage, i);
  g_assert_cmpuint (emissions.n_sealed, ==, 0);
  /* The object, the core and one source. */
  g_assert_cmpint (g_atomic_int_get (&stage->emitter->refs), ==, 3);
  spin_dry ();
  g_assert_cmpint (g_atomic_int_get (&stage->emitter->refs), ==, 2);
  g_assert_cmpuint (emissions.n_sealed, ==, 1);
  g_assert_cmpuint (emissions.n_notified, ==, 1);
  g_assert_cmpuint (emissions.ordinal, ==, 10);
  g_assert_true (emissions.thread == g_thread_self ());
  advance (stage, 11);
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 2);
  g_assert_cmpuint (emissions.ordinal, ==, 11);
}

static void
test_emission_notify_only (void)
{
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("test");
  Emissions emissions = { 0 };

  g_signal_connect (stage, "notify::write-floor", G_CALLBACK (notify_cb), &emissions);
  advance (stage, 1);
  spin_dry ();
  g_assert_cmpuint (emissions.n_notified, ==, 1);
}

static gpointer
advance_often (gpointer user_data)
{
  OvsStage *core = user_data;

  for (guint i = 1; i <= 500; i++)
    {
      ovs_op_unref (ovs_stage_advance (core, i, OVSTAGE_SCOPE_ALL, NULL, 0));
      if (i % 50 == 0)
        g_usleep (100);
    }
  return NULL;
}

static void
test_emission_other_thread (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  OvstageStage *stage;
  Emissions emissions = { 0 };
  GThread *thread;

  g_main_context_push_thread_default (context);
  stage = ovstage_stage_new ("test");
  g_signal_connect (stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
  thread = g_thread_new ("advance", advance_often, stage->core);
  while (emissions.ordinal < 500)
    g_main_context_iteration (context, TRUE);
  g_thread_join (thread);
  g_assert_cmpuint (emissions.n_sealed, <=, 500);
  g_assert_true (emissions.thread == g_thread_self ());
  g_object_unref (stage);
  g_main_context_pop_thread_default (context);
}

static void
test_emission_disposed (void)
{
  Emissions emissions = { 0 };
  OvstageStage *stage = ovstage_stage_new ("test");
  OvsStage *core = ovs_stage_ref (stage->core);

  g_signal_connect (stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
  advance (stage, 1);
  g_object_unref (stage);
  /* The core lives on, as operations hold it. */
  ovs_op_unref (ovs_stage_advance (core, 2, OVSTAGE_SCOPE_ALL, NULL, 0));
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 0);
  ovs_stage_unref (core);
  g_assert_cmpint (g_atomic_int_get (&n_stages), ==, 0);
}

static void
test_emission_dispose_races (void)
{
  for (int i = 0; i < 50; i++)
    {
      OvstageStage *stage = ovstage_stage_new ("test");
      OvsStage *core = ovs_stage_ref (stage->core);
      Emissions emissions = { 0 };
      GThread *thread;

      g_signal_connect (stage, "sealed", G_CALLBACK (sealed_cb), &emissions);
      thread = g_thread_new ("advance", advance_often, core);
      if (i % 2 == 0)
        g_usleep (300);
      spin_dry ();
      g_object_unref (stage);
      spin_dry ();
      g_thread_join (thread);
      spin_dry ();
      ovs_stage_unref (core);
    }
  g_assert_cmpint (g_atomic_int_get (&n_stages), ==, 0);
}

static void
unref_stage_cb (OvstageStage *stage, guint64 ordinal, gpointer user_data)
{
  g_object_unref (stage);
}

static void
test_emission_unref_in_handler (void)
{
  OvstageStage *stage = ovstage_stage_new ("test");

  g_signal_connect (stage, "sealed", G_CALLBACK (unref_stage_cb), NULL);
  g_object_add_weak_pointer (G_OBJECT (stage), (gpointer *) &stage);
  advance (stage, 1);
  spin_dry ();
  g_assert_null (stage);
}

static void
nested_cb (OvstageStage *stage, guint64 ordinal, gpointer user_data)
{
  Emissions *emissions = user_data;

  sealed_cb (stage, ordinal, emissions);
  if (ordinal > 1)
    return;
  advance (stage, 2);
  advance (stage, 3);
  spin_dry ();
  g_assert_cmpuint (emissions->n_sealed, ==, 1);
}

static void
test_emission_nested (void)
{
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("test");
  Emissions emissions = { 0 };

  g_signal_connect (stage, "sealed", G_CALLBACK (nested_cb), &emissions);
  advance (stage, 1);
  spin_dry ();
  g_assert_cmpuint (emissions.n_sealed, ==, 2);
  g_assert_cmpuint (emissions.ordinal, ==, 3);
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/face/wait/result", test_wait_result);
  g_test_add_func ("/face/wait/error-lasts", test_wait_error_lasts);
  g_test_add_func ("/face/wait/timeout", test_wait_timeout);
  g_test_add_func ("/face/wait/refused", test_wait_refused);
  g_test_add_func ("/face/wait/cancelled", test_wait_cancelled);
  g_test_add_func ("/face/wait/cancel-races", test_wait_cancel_races);
  g_test_add_func ("/face/wait/withdrawn", test_withdrawn);
  g_test_add_func ("/face/wait/orphan", test_orphan);
  g_test_add_func ("/face/wait-async/done", test_async_done);
  g_test_add_func ("/face/wait-async/later", test_async_later);
  g_test_add_func ("/face/wait-async/error", test_async_error);
  g_test_add_func ("/face/wait-async/no-callback", test_async_no_callback);
  g_test_add_func ("/face/wait-async/cancel-before", test_async_cancel_before);
  g_test_add_func ("/face/wait-async/cancel-during", test_async_cancel_during);
  g_test_add_func ("/face/wait-async/cancel-after", test_async_cancel_after);
  g_test_add_func ("/face/wait-async/cancel-reentrant", test_async_cancel_reentrant);
  g_test_add_func ("/face/wait-async/cancel-races", test_async_cancel_races);
  g_test_add_func ("/face/wait-async/own-context", test_async_own_context);
  g_test_add_func ("/face/wait-async/last-reference", test_async_last_reference);
  g_test_add_func ("/face/wait-async/priority", test_async_priority);
  g_test_add_func ("/face/fetch/groups", test_fetch);
  g_test_add_func ("/face/fetch/async", test_fetch_async);
  g_test_add_func ("/face/fetch/async-cancelled", test_fetch_async_cancelled);
  g_test_add_func ("/face/fetch/failed", test_fetch_failed);
  g_test_add_func ("/face/emission/unwanted", test_emission_unwanted);
  g_test_add_func ("/face/emission/folded", test_emission_folded);
  g_test_add_func ("/face/emission/notify-only", test_emission_notify_only);
  g_test_add_func ("/face/emission/other-thread", test_emission_other_thread);
  g_test_add_func ("/face/emission/disposed", test_emission_disposed);
  g_test_add_func ("/face/emission/dispose-races", test_emission_dispose_races);
  g_test_add_func ("/face/emission/nested", test_emission_nested);
  g_test_add_func ("/face/emission/unref-in-handler", test_emission_unref_in_handler);
  status = g_test_run ();

  /* Nothing kept an operation, a group or a core. */
  g_assert_cmpint (g_atomic_int_get (&n_ops), ==, 0);
  g_assert_cmpint (g_atomic_int_get (&n_groups), ==, 0);
  g_assert_cmpint (g_atomic_int_get (&n_stages), ==, 0);
  return status;
}
