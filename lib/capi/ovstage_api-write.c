/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>

#include "capi/ovs-brought.h"
#include "capi/ovs-instance.h"

/* Takes the data of the entries, which are freed whatever becomes of the write. */
static ovstage_enqueue_result_t
write_entries (ovstage_instance_t *pointer, ovstage_query_handle_t handle, const ovx_string_or_token_t *names, gsize stride,
               OvsAttributeWrite *entries, gsize n, guint64 ordinal, ovstage_prim_mode_t prim_mode)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  ovstage_enqueue_result_t result;
  OvsOp *write = NULL;
  GError *error = NULL;

  for (gsize i = 0; instance != NULL && error == NULL && i < n; i++)
    {
      const ovx_string_or_token_t *name = (const ovx_string_or_token_t *) (gconstpointer) ((const guint8 *) names + i * stride);

      if (!ovs_instance_resolve (instance, *name, &entries[i].attribute, &error) && n > 1)
        g_prefix_error (&error, "entry %" G_GSIZE_FORMAT ": ", i);
    }
  if (instance != NULL && error == NULL)
    {
      OvsOp *query = ovs_instance_ref_op (instance, OVS_HANDLE_QUERY, handle);

      write = ovs_stage_write_batch (instance->stage, query, entries, n, ordinal, prim_mode, NULL);
      g_clear_pointer (&query, ovs_op_unref);
    }
  /* Before the thread is told, as deleters may call in here, too. */
  for (gsize i = 0; i < n; i++)
    ovs_payload_unref (entries[i].data);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { ovs_instance_fail (pointer), OVSTAGE_INVALID_OP_ID };
  result = write != NULL ? ovs_instance_finish (instance, write) : ovs_enqueue_fail (error);
  ovs_instance_leave (instance);
  return result;
}

ovstage_enqueue_result_t
ovstage_write_attribute (ovstage_instance_t *instance, ovstage_query_handle_t query, ovx_string_or_token_t attribute,
                         ovstage_ordinal_t ordinal, ovstage_write_data_t data, ovstage_prim_mode_t prim_mode)
{
  OvsAttributeWrite entry = { 0, ovs_brought_new (&data, NULL) };

  return write_entries (instance, query, &attribute, sizeof attribute, &entry, 1, ordinal, prim_mode);
}

ovstage_enqueue_result_t
ovstage_write_attributes (ovstage_instance_t *instance, ovstage_query_handle_t query, const ovstage_attribute_write_t *writes,
                          size_t num_writes, ovstage_ordinal_t ordinal, ovstage_prim_mode_t prim_mode)
{
  g_autofree OvsAttributeWrite *entries = NULL;
  g_autoptr (GHashTable) seen = NULL;
  GError *error = NULL;

  if (!ovs_check_array (writes, num_writes, "writes", &error))
    return ovs_enqueue_fail (error);
  entries = g_try_new0 (OvsAttributeWrite, num_writes);
  if (!ovs_check_room (entries, num_writes, &error))
    return ovs_enqueue_fail (error);
  if (num_writes > 1)
    seen = ovs_brought_seen_new ();
  for (gsize i = 0; i < num_writes; i++)
    entries[i].data = ovs_brought_new (&writes[i].data, seen);
  return write_entries (instance, query, num_writes > 0 ? &writes[0].attribute : NULL, sizeof *writes, entries, num_writes, ordinal,
                        prim_mode);
}

/* A terminated copy. */
static char *
dup_path (ovx_string_t path, GError **error)
{
  if (!ovs_check_string (path, error))
    return NULL;
  if (path.length > 0 && memchr (path.ptr, '\0', path.length) != NULL)
    {
      ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "path: it has a NUL");
      return NULL;
    }
  return path.length > 0 ? g_strndup (path.ptr, path.length) : g_strdup ("");
}

static GPtrArray *
dup_paths (const ovx_string_t *paths, gsize n, GError **error)
{
  g_autoptr (GPtrArray) copies = g_ptr_array_new_with_free_func (g_free);

  for (gsize i = 0; i < n; i++)
    {
      char *copy = dup_path (paths[i], error);

      if (copy == NULL)
        {
          g_prefix_error (error, "targets[%" G_GSIZE_FORMAT "]: ", i);
          return NULL;
        }
      g_ptr_array_add (copies, copy);
    }
  return g_steal_pointer (&copies);
}

ovstage_enqueue_result_t
ovstage_clone (ovstage_instance_t *pointer, ovx_string_t source, const ovx_string_t *targets, size_t num_targets,
               ovstage_ordinal_t ordinal)
{
  g_autofree char *source_copy = NULL;
  g_autoptr (GPtrArray) target_copies = NULL;
  OvsInstance *instance;
  ovstage_enqueue_result_t result;
  GError *error = NULL;

  if (!ovs_check_array (targets, num_targets, "targets", &error))
    return ovs_enqueue_fail (error);
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  source_copy = dup_path (source, &error);
  if (source_copy == NULL)
    g_prefix_error (&error, "source: ");
  else
    target_copies = dup_paths (targets, num_targets, &error);
  if (error != NULL)
    result = ovs_enqueue_fail (error);
  else
    result = ovs_instance_finish (instance, ovs_stage_clone (instance->stage, source_copy, (const char *const *) target_copies->pdata,
                                                             num_targets, ordinal));
  ovs_instance_leave (instance);
  return result;
}

ovstage_enqueue_result_t
ovstage_delete_attributes (ovstage_instance_t *pointer, ovstage_query_handle_t handle, const ovx_string_or_token_t *attributes,
                           size_t num_attributes, ovstage_ordinal_t ordinal)
{
  OvsInstance *instance;
  g_autofree guint64 *tokens = NULL;
  ovstage_enqueue_result_t result;
  GError *error = NULL;

  if (!ovs_check_array (attributes, num_attributes, "attributes", &error))
    return ovs_enqueue_fail (error);
  instance = ovs_instance_enter (pointer);
  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  tokens = g_try_new (guint64, num_attributes);
  ovs_check_room (tokens, num_attributes, &error);
  for (gsize i = 0; error == NULL && i < num_attributes; i++)
    if (!ovs_instance_resolve (instance, attributes[i], &tokens[i], &error))
      g_prefix_error (&error, "attributes[%" G_GSIZE_FORMAT "]: ", i);
  if (error != NULL)
    result = ovs_enqueue_fail (error);
  else
    {
      OvsOp *query = ovs_instance_ref_op (instance, OVS_HANDLE_QUERY, handle);

      result = ovs_instance_finish (instance, ovs_stage_delete (instance->stage, query, tokens, num_attributes, ordinal));
      g_clear_pointer (&query, ovs_op_unref);
    }
  ovs_instance_leave (instance);
  return result;
}
