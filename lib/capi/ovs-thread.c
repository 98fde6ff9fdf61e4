/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-thread.h"

#include <string.h>

typedef struct
{
  char *error;       /* (owned) (nullable) */
  GArray *ids;       /* (owned) guint64: reported ones, then those whose text is kept */
  guint n_reported;
  GPtrArray *texts;  /* (owned) (element-type utf8) (nullable) one for each of the ids */
  GHashTable *told;  /* (owned) records -> how many failures */
} OvsThread;

static void
thread_free (gpointer data)
{
  OvsThread *thread = data;

  g_free (thread->error);
  g_array_unref (thread->ids);
  g_ptr_array_unref (thread->texts);
  g_hash_table_unref (thread->told);
  g_free (thread);
}

static GPrivate current = G_PRIVATE_INIT (thread_free);

static OvsThread *
peek_thread (void)
{
  return g_private_get (&current);
}

static OvsThread *
get_thread (void)
{
  OvsThread *thread = peek_thread ();

  if (G_UNLIKELY (thread == NULL))
    {
      thread = g_new0 (OvsThread, 1);
      thread->ids = g_array_new (FALSE, FALSE, sizeof (guint64));
      thread->texts = g_ptr_array_new_with_free_func (g_free);
      thread->told = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
      g_private_set (&current, thread);
    }
  return thread;
}

OvstageError
ovs_thread_succeed (void)
{
  OvsThread *thread = peek_thread ();

  if (thread != NULL && thread->error != NULL)
    g_clear_pointer (&thread->error, g_free);
  return OVSTAGE_OK;
}

OvstageError
ovs_error_get_status (const GError *error)
{
  if (error == NULL)
    return OVSTAGE_OK;
  return error->domain == OVSTAGE_ERROR ? (OvstageError) error->code : OVSTAGE_ERROR_INTERNAL;
}

OvstageError
ovs_thread_fail (GError *error)
{
  OvsThread *thread = get_thread ();
  OvstageError status = ovs_error_get_status (error);

  g_free (thread->error);
  thread->error = g_strdup (error->message);
  g_error_free (error);
  return status;
}

OvstageError
ovs_thread_fail_with (OvstageError code, const char *format, ...)
{
  va_list args;
  GError *error;

  va_start (args, format);
  error = g_error_new_valist (OVSTAGE_ERROR, code, format, args);
  va_end (args);
  return ovs_thread_fail (error);
}

const char *
ovs_thread_get_error (gsize *length)
{
  const OvsThread *thread = peek_thread ();
  const char *text = thread != NULL ? thread->error : NULL;

  *length = text != NULL ? strlen (text) : 0;
  return text;
}

void
ovs_thread_clear_report (void)
{
  OvsThread *thread = peek_thread ();

  if (thread == NULL || thread->texts->len == 0)
    return;
  thread->n_reported = 0;
  g_array_set_size (thread->ids, 0);
  g_ptr_array_set_size (thread->texts, 0);
}

void
ovs_thread_report (guint64 id, char *text)
{
  OvsThread *thread = get_thread ();

  g_array_append_val (thread->ids, id);
  g_ptr_array_add (thread->texts, text);
  thread->n_reported = thread->ids->len;
}

const guint64 *
ovs_thread_get_report (gsize *n)
{
  const OvsThread *thread = peek_thread ();

  *n = thread != NULL ? thread->n_reported : 0;
  return *n > 0 ? (const guint64 *) (gconstpointer) thread->ids->data : NULL;
}

const char *
ovs_thread_find_text (guint64 id)
{
  const OvsThread *thread = peek_thread ();

  for (guint i = 0; thread != NULL && i < thread->ids->len; i++)
    if (g_array_index (thread->ids, guint64, i) == id)
      return thread->texts->pdata[i];
  return NULL;
}

const char *
ovs_thread_keep_text (guint64 id, char *text)
{
  OvsThread *thread = get_thread ();

  g_array_append_val (thread->ids, id);
  g_ptr_array_add (thread->texts, text);
  return text;
}

guint64
ovs_thread_get_told (guint64 records)
{
  const OvsThread *thread = peek_thread ();
  const guint64 *told = thread != NULL ? g_hash_table_lookup (thread->told, &records) : NULL;

  return told != NULL ? *told : 0;
}

void
ovs_thread_set_told (guint64 records, guint64 n)
{
  g_hash_table_insert (get_thread ()->told, g_memdup2 (&records, sizeof records), g_memdup2 (&n, sizeof n));
}
