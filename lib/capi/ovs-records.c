/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-records.h"

#include "base/ovs-sync.h"
#include "capi/ovs-id-set.h"
#include "capi/ovs-thread.h"

typedef struct
{
  guint64 number; /* failures are counted from 1 */
  guint64 id;
  char *text; /* (owned) (nullable) */
  gboolean told;
} Failure;

struct _OvsRecords
{
  gint refs; /* (atomic) by the instance and watches on operations */
  guint64 serial; /* names it to threads */
  guint64 base;

  OvsMutex lock; /* a leaf; protects what follows */
  guint64 last_id;     /* of the core's */
  OvsIdSet released;   /* of the core's */
  GHashTable *pending; /* core id -> (owned) OvsOp */
  GHashTable *failed;  /* core id -> link of failures */
  GQueue failures;     /* (owned) Failure, numbers ascending */
  guint64 n_failures;  /* ever */
  GList *first_text;   /* (nullable) the oldest that has its text */
  guint n_texts;
};

OvsRecords *
ovs_records_new (guint64 base)
{
  static guint64 last_serial; /* (atomic) */
  OvsRecords *records = g_new0 (OvsRecords, 1);

  records->refs = 1;
  records->serial = __atomic_add_fetch (&last_serial, 1, __ATOMIC_RELAXED);
  records->base = base;
  ovs_mutex_init (&records->lock);
  records->pending = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  records->failed = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_queue_init (&records->failures);
  return records;
}

OvsRecords *
ovs_records_ref (OvsRecords *records)
{
  g_atomic_int_inc (&records->refs);
  return records;
}

static void
failure_free (Failure *failure)
{
  g_free (failure->text);
  g_free (failure);
}

void
ovs_records_unref (OvsRecords *records)
{
  GHashTableIter iter;
  gpointer op;

  if (!g_atomic_int_dec_and_test (&records->refs))
    return;
  g_hash_table_iter_init (&iter, records->pending);
  while (g_hash_table_iter_next (&iter, NULL, &op))
    ovs_op_unref (op);
  g_hash_table_unref (records->pending);
  g_hash_table_unref (records->failed);
  g_queue_clear_full (&records->failures, (GDestroyNotify) failure_free);
  ovs_id_set_clear (&records->released);
  ovs_mutex_clear (&records->lock);
  g_free (records);
}

static void
drop_text (OvsRecords *records)
{
  GList *link = records->first_text;

  g_clear_pointer (&((Failure *) link->data)->text, g_free);
  records->first_text = link->next;
  records->n_texts--;
}

static void
drop_failure (OvsRecords *records, GList *link)
{
  Failure *failure = link->data;

  if (failure->text != NULL)
    {
      if (records->first_text == link)
        records->first_text = link->next;
      records->n_texts--;
    }
  g_hash_table_remove (records->failed, &failure->id);
  g_queue_delete_link (&records->failures, link);
  failure_free (failure);
}

static void
add_failure (OvsRecords *records, guint64 id, const char *text)
{
  Failure *failure = g_new (Failure, 1);

  *failure = (Failure) { .number = ++records->n_failures, .id = id, .text = g_strdup (text) };
  g_queue_push_tail (&records->failures, failure);
  g_hash_table_insert (records->failed, &failure->id, records->failures.tail);
  if (records->first_text == NULL)
    records->first_text = records->failures.tail;
  if (++records->n_texts > OVS_RECORDS_TEXTS)
    drop_text (records);
}

/* With the lock: an operation that is done becomes a failure, or nothing. Gives the reference that the record had. */
static OvsOp *
settle (OvsRecords *records, guint64 id)
{
  gpointer key, op;
  const GError *error;

  if (!g_hash_table_steal_extended (records->pending, &id, &key, &op))
    return NULL;
  g_free (key);
  error = ovs_op_get_error (op);
  if (error != NULL)
    add_failure (records, id, error->message);
  return op;
}

static void
done_cb (OvsOp *op, gpointer user_data)
{
  OvsRecords *records = user_data;
  OvsOp *held;

  ovs_mutex_lock (&records->lock);
  held = settle (records, ovs_op_get_id (op));
  ovs_mutex_unlock (&records->lock);
  g_clear_pointer (&held, ovs_op_unref);
  ovs_records_unref (records);
}

guint64
ovs_records_add (OvsRecords *records, OvsOp *op)
{
  guint64 id = ovs_op_get_id (op);
  gboolean done = ovs_op_is_done (op);
  const GError *error = ovs_op_get_error (op);

  ovs_mutex_lock (&records->lock);
  records->last_id = MAX (records->last_id, id);
  if (!done)
    g_hash_table_insert (records->pending, g_memdup2 (&id, sizeof id), ovs_op_ref (op));
  else if (error != NULL)
    add_failure (records, id, error->message);
  ovs_mutex_unlock (&records->lock);

  if (!done && !ovs_op_add_watch (op, done_cb, ovs_records_ref (records)))
    done_cb (op, records);
  return records->base + id;
}

void
ovs_records_skip (OvsRecords *records, OvsOp *op)
{
  guint64 id = ovs_op_get_id (op);

  ovs_mutex_lock (&records->lock);
  records->last_id = MAX (records->last_id, id);
  ovs_id_set_add (&records->released, id);
  ovs_mutex_unlock (&records->lock);
}

/* With the lock. */
static gboolean
is_own (OvsRecords *records, guint64 id)
{
  return id > records->base && id - records->base <= records->last_id;
}

/* With the lock. */
static gboolean
is_known (OvsRecords *records, guint64 id)
{
  return is_own (records, id) && !ovs_id_set_has (&records->released, id - records->base);
}

gboolean
ovs_records_gave (OvsRecords *records, guint64 id)
{
  gboolean own;

  ovs_mutex_lock (&records->lock);
  own = is_own (records, id);
  ovs_mutex_unlock (&records->lock);
  return own;
}

gboolean
ovs_records_find (OvsRecords *records, guint64 id, OvsOp **op)
{
  gboolean known;
  OvsOp *found = NULL;

  ovs_mutex_lock (&records->lock);
  known = is_known (records, id);
  if (known)
    {
      guint64 core_id = id - records->base;

      found = g_hash_table_lookup (records->pending, &core_id);
      if (found != NULL)
        ovs_op_ref (found);
    }
  ovs_mutex_unlock (&records->lock);
  *op = found;
  return known;
}

gboolean
ovs_records_release (OvsRecords *records, guint64 id)
{
  gboolean known;
  gpointer key = NULL, op = NULL;

  ovs_mutex_lock (&records->lock);
  known = is_known (records, id);
  if (known)
    {
      guint64 core_id = id - records->base;
      GList *link = g_hash_table_lookup (records->failed, &core_id);

      ovs_id_set_add (&records->released, core_id);
      g_hash_table_steal_extended (records->pending, &core_id, &key, &op);
      if (link != NULL)
        drop_failure (records, link);
    }
  ovs_mutex_unlock (&records->lock);
  g_free (key);
  g_clear_pointer ((OvsOp **) &op, ovs_op_unref);
  return known;
}

guint64
ovs_records_get_id (OvsRecords *records, guint64 core_id)
{
  return core_id != 0 ? records->base + core_id : 0;
}

/* With the lock: whose watch is still to run, in whatever thread, counts too. */
static GSList *
settle_done (OvsRecords *records)
{
  GHashTableIter iter;
  gpointer key, op;
  GSList *settled = NULL;

  g_hash_table_iter_init (&iter, records->pending);
  while (g_hash_table_iter_next (&iter, &key, &op))
    {
      const GError *error;

      if (!ovs_op_is_done (op))
        continue;
      error = ovs_op_get_error (op);
      if (error != NULL)
        add_failure (records, *(guint64 *) key, error->message);
      settled = g_slist_prepend (settled, op);
      g_hash_table_iter_remove (&iter);
    }
  return settled;
}

void
ovs_records_tell (OvsRecords *records)
{
  guint64 told;
  GSList *settled;

  ovs_thread_clear_report ();
  ovs_mutex_lock (&records->lock);
  settled = settle_done (records);
  if (records->n_failures > 0)
    {
      GList *link = records->failures.tail;

      told = ovs_thread_get_told (records->serial);
      while (link != NULL && ((Failure *) link->data)->number > told)
        link = link->prev;
      for (link = link != NULL ? link->next : records->failures.head; link != NULL; link = link->next)
        {
          Failure *failure = link->data;

          ovs_thread_report (records->base + failure->id, g_strdup (failure->text));
          failure->told = TRUE;
        }
      if (told != records->n_failures)
        ovs_thread_set_told (records->serial, records->n_failures);
      while (records->failures.length > OVS_RECORDS_TOLD && ((Failure *) records->failures.head->data)->told)
        drop_failure (records, records->failures.head);
    }
  ovs_mutex_unlock (&records->lock);
  g_slist_free_full (settled, (GDestroyNotify) ovs_op_unref);
}

char *
ovs_records_dup_text (OvsRecords *records, guint64 id)
{
  guint64 core_id = id - records->base;
  GList *link;
  char *text = NULL;

  ovs_mutex_lock (&records->lock);
  link = g_hash_table_lookup (records->failed, &core_id);
  if (link != NULL)
    text = g_strdup (((Failure *) link->data)->text);
  ovs_mutex_unlock (&records->lock);
  return text;
}

guint
ovs_records_get_n (OvsRecords *records)
{
  guint n;

  ovs_mutex_lock (&records->lock);
  n = g_hash_table_size (records->pending) + records->failures.length;
  ovs_mutex_unlock (&records->lock);
  return n;
}
