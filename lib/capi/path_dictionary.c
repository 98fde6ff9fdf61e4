/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>

#include "capi/ovs-instance.h"

/* Takes @error; NULL for success. */
static ovx_api_result_t
finish (GError *error)
{
  ovx_api_result_t result = { OVX_API_SUCCESS, { NULL, 0 } };

  if (error == NULL)
    return result;
  result.status = OVX_API_ERROR;
  result.error.ptr = g_strdup (error->message);
  result.error.length = strlen (result.error.ptr);
  g_error_free (error);
  return result;
}

/* NULL with @error for what is no dictionary. */
static OvsInstance *
enter (path_dictionary_instance_t *dictionary, GError **error)
{
  OvsInstance *instance = ovs_instance_enter_dictionary (dictionary);

  if (instance == NULL)
    ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "dictionary: %p is none, or its instance was destroyed", (gpointer) dictionary);
  return instance;
}

static OvsPathDict *
get_dict (OvsInstance *instance)
{
  return ovs_stage_get_dict (instance->stage);
}

/* It may be as long as it likes: only what there is to write goes there. */
static gboolean
check_buffer (gconstpointer buffer, gsize size, const char *name, GError **error)
{
  return buffer != NULL || size == 0
         || ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL, expected room for %" G_GSIZE_FORMAT " entries", name, size);
}

static gboolean
fail_entry (GError **error, gsize i)
{
  g_prefix_error (error, "entry %" G_GSIZE_FORMAT ": ", i);
  return FALSE;
}

typedef guint32 (*InternFunc) (OvsPathDict *dict, const char *text, gssize length, GError **error);

/* All of them or none: @ids is written when all are there. */
static gboolean
intern_all (OvsInstance *instance, InternFunc intern, const ovx_string_t *strings, gsize n, guint64 *ids, GError **error)
{
  g_autofree guint64 *made = g_try_new (guint64, n);

  if (!ovs_check_room (made, n, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    {
      if (!ovs_check_string (strings[i], error))
        return fail_entry (error, i);
      made[i] = intern (get_dict (instance), strings[i].ptr != NULL ? strings[i].ptr : "", (gssize) strings[i].length, error);
      if (made[i] == 0)
        return fail_entry (error, i);
    }
  if (n > 0)
    memcpy (ids, made, n * sizeof *ids);
  return TRUE;
}

static ovx_api_result_t
create_ids (path_dictionary_instance_t *dictionary, InternFunc intern, const ovx_string_t *strings, size_t n, uint64_t *out,
            const char *out_name)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (ovs_check_array (strings, n, "strings", &error) && ovs_check_array (out, n, out_name, &error))
    intern_all (instance, intern, strings, n, out, &error);
  ovs_instance_leave (instance);
  return finish (error);
}

ovx_api_result_t
path_dictionary_create_tokens_from_strings (path_dictionary_instance_t *dictionary, const ovx_string_t *strings, size_t num_strings,
                                            ovx_token_t *out_tokens)
{
  return create_ids (dictionary, ovs_path_dict_intern_token, strings, num_strings, out_tokens, "out_tokens");
}

ovx_api_result_t
path_dictionary_create_paths_from_strings (path_dictionary_instance_t *dictionary, const ovx_string_t *strings, size_t num_strings,
                                           ovx_primpath_t *out_paths)
{
  return create_ids (dictionary, ovs_path_dict_intern_path, strings, num_strings, out_paths, "out_paths");
}

static gboolean
get_strings (OvsInstance *instance, const ovx_token_t *tokens, gsize n, ovx_string_t *out, GError **error)
{
  gsize length;

  for (gsize i = 0; i < n; i++)
    if (ovs_path_dict_get_token_text (get_dict (instance), tokens[i], &length) == NULL)
      {
        ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "token %" G_GUINT64_FORMAT " is unknown", tokens[i]);
        return fail_entry (error, i);
      }
  for (gsize i = 0; i < n; i++)
    out[i].ptr = ovs_path_dict_get_token_text (get_dict (instance), tokens[i], &out[i].length);
  return TRUE;
}

ovx_api_result_t
path_dictionary_get_strings_from_tokens (path_dictionary_instance_t *dictionary, const ovx_token_t *tokens, size_t num_tokens,
                                         ovx_string_t *out_strings)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (ovs_check_array (tokens, num_tokens, "tokens", &error) && ovs_check_array (out_strings, num_tokens, "out_strings", &error))
    get_strings (instance, tokens, num_tokens, out_strings, &error);
  ovs_instance_leave (instance);
  return finish (error);
}

/* 0 with an error */
static guint32
intern_names (OvsPathDict *dict, const ovx_token_t *names, gsize n, GError **error)
{
  guint32 path = ovs_path_dict_get_root (dict);

  if (!ovs_check_array (names, n, "tokens", error))
    return OVS_ID_NONE;
  for (gsize i = 0; i < n; i++)
    {
      guint32 parent = path;
      const char *text = ovs_path_dict_get_token_text (dict, names[i], NULL);

      path = text != NULL && names[i] != 0 ? ovs_path_dict_intern_child (dict, parent, (guint32) names[i]) : OVS_ID_NONE;
      if (path != OVS_ID_NONE)
        continue;
      if (text == NULL)
        ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "token %" G_GSIZE_FORMAT " is %" G_GUINT64_FORMAT ", which is unknown", i, names[i]);
      else if (*text == '\0' || strchr (text, '/') != NULL)
        ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "token %" G_GSIZE_FORMAT " is %s, expected a name that is not empty and has no '/'", i,
                  *text == '\0' ? "empty" : "no name of a prim");
      else
        ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for another path");
      return OVS_ID_NONE;
    }
  return path;
}

static gboolean
intern_all_names (OvsInstance *instance, const ovx_token_t *const *tokens_per_path, const size_t *num_tokens_per_path, gsize n,
                  ovx_primpath_t *out, GError **error)
{
  g_autofree guint64 *made = g_try_new (guint64, n);

  if (!ovs_check_room (made, n, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    {
      made[i] = intern_names (get_dict (instance), tokens_per_path[i], num_tokens_per_path[i], error);
      if (made[i] == 0)
        return fail_entry (error, i);
    }
  if (n > 0)
    memcpy (out, made, n * sizeof *out);
  return TRUE;
}

ovx_api_result_t
path_dictionary_create_paths_from_tokens (path_dictionary_instance_t *dictionary, const ovx_token_t *const *tokens_per_path,
                                          const size_t *num_tokens_per_path, size_t num_paths, ovx_primpath_t *out_paths)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (ovs_check_array (tokens_per_path, num_paths, "tokens_per_path", &error)
      && ovs_check_array (num_tokens_per_path, num_paths, "num_tokens_per_path", &error)
      && ovs_check_array (out_paths, num_paths, "out_paths", &error))
    intern_all_names (instance, tokens_per_path, num_tokens_per_path, num_paths, out_paths, &error);
  ovs_instance_leave (instance);
  return finish (error);
}

static gboolean
check_paths (OvsPathDict *dict, const ovx_primpath_t *paths, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!ovs_path_dict_has_path (dict, paths[i]))
      {
        ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "path %" G_GUINT64_FORMAT " is unknown", paths[i]);
        return fail_entry (error, i);
      }
  return TRUE;
}

ovx_api_result_t
path_dictionary_get_tokens_from_paths (path_dictionary_instance_t *dictionary, const ovx_primpath_t *paths, size_t num_paths,
                                       ovx_token_t *buffer, size_t buffer_size, const ovx_token_t **out_tokens_per_path,
                                       size_t *out_num_tokens_per_path, size_t *out_num_processed)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);
  OvsPathDict *dict;
  gsize used = 0, done = 0;

  if (instance == NULL)
    return finish (error);
  dict = get_dict (instance);
  if (out_num_processed == NULL)
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_ARGUMENT, "out_num_processed is NULL, expected where to put how many paths were done");
  else if (ovs_check_array (paths, num_paths, "paths", &error)
           && ovs_check_array (out_tokens_per_path, num_paths, "out_tokens_per_path", &error)
           && ovs_check_array (out_num_tokens_per_path, num_paths, "out_num_tokens_per_path", &error)
           && check_buffer (buffer, buffer_size, "buffer", &error) && check_paths (dict, paths, num_paths, &error))
    {
      for (; done < num_paths; done++)
        {
          guint32 path = (guint32) paths[done];
          gsize depth = ovs_path_dict_get_depth (dict, path);

          if (depth > buffer_size - used)
            break;
          out_tokens_per_path[done] = depth > 0 ? buffer + used : NULL;
          out_num_tokens_per_path[done] = depth;
          used += depth;
          for (gsize i = 0; i < depth; i++, path = ovs_path_dict_get_parent (dict, path))
            buffer[used - 1 - i] = ovs_path_dict_get_name (dict, path);
        }
      *out_num_processed = done;
    }
  ovs_instance_leave (instance);
  return finish (error);
}

static gboolean
create_list (OvsInstance *instance, const guint64 *paths, gsize n, ovx_primpath_list_t *out_list, GError **error)
{
  OvstagePathList *list = ovs_path_list_new (get_dict (instance), paths, n, error);

  if (list == NULL)
    return FALSE;
  *out_list = ovs_instance_add_list (instance, list, FALSE);
  ovs_path_list_unref (list);
  return TRUE;
}

static gboolean
check_list_arguments (gconstpointer in, gsize n, const char *name, const ovx_primpath_list_t *out_list, GError **error)
{
  if (out_list == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "out_list is NULL, expected where to put the list");
  return ovs_check_array (in, n, name, error);
}

ovx_api_result_t
path_dictionary_create_path_list_from_paths (path_dictionary_instance_t *dictionary, const ovx_primpath_t *paths, size_t num_paths,
                                             ovx_primpath_list_t *out_list)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (check_list_arguments (paths, num_paths, "paths", out_list, &error))
    create_list (instance, paths, num_paths, out_list, &error);
  ovs_instance_leave (instance);
  return finish (error);
}

ovx_api_result_t
path_dictionary_create_path_list_from_strings (path_dictionary_instance_t *dictionary, const ovx_string_t *strings,
                                               size_t num_strings, ovx_primpath_list_t *out_list)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (check_list_arguments (strings, num_strings, "strings", out_list, &error))
    {
      g_autofree guint64 *paths = g_try_new (guint64, num_strings);

      if (ovs_check_room (paths, num_strings, &error)
          && intern_all (instance, ovs_path_dict_intern_path, strings, num_strings, paths, &error))
        create_list (instance, paths, num_strings, out_list, &error);
    }
  ovs_instance_leave (instance);
  return finish (error);
}

static void
fail_list (ovx_primpath_list_t list, GError **error)
{
  ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE, "path list %" G_GUINT64_FORMAT " is unknown or was released", list);
}

ovx_api_result_t
path_dictionary_add_path_list_reference (path_dictionary_instance_t *dictionary, ovx_primpath_list_t list)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (list != OVX_INVALID_PRIMPATH_LIST && !ovs_instance_ref_list_handle (instance, list))
    fail_list (list, &error);
  ovs_instance_leave (instance);
  return finish (error);
}

ovx_api_result_t
path_dictionary_release_path_list_reference (path_dictionary_instance_t *dictionary, ovx_primpath_list_t list)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (list != OVX_INVALID_PRIMPATH_LIST && !ovs_instance_unref_list_handle (instance, list, FALSE))
    fail_list (list, &error);
  ovs_instance_leave (instance);
  return finish (error);
}

ovx_api_result_t
path_dictionary_get_num_paths_from_path_list (path_dictionary_instance_t *dictionary, ovx_primpath_list_t handle,
                                              size_t *out_num_paths)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (out_num_paths == NULL)
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_ARGUMENT, "out_num_paths is NULL, expected where to put the number of paths");
  else
    {
      OvstagePathList *list = ovs_instance_ref_list (instance, handle);

      if (list == NULL)
        fail_list (handle, &error);
      else
        *out_num_paths = list->n;
      g_clear_pointer (&list, ovs_path_list_unref);
    }
  ovs_instance_leave (instance);
  return finish (error);
}

ovx_api_result_t
path_dictionary_get_paths_from_path_list (path_dictionary_instance_t *dictionary, ovx_primpath_list_t handle, size_t start,
                                          size_t max_paths, ovx_primpath_t *out_paths, size_t *out_num_paths)
{
  GError *error = NULL;
  OvsInstance *instance = enter (dictionary, &error);

  if (instance == NULL)
    return finish (error);
  if (out_num_paths == NULL)
    ovs_fail (&error, OVSTAGE_ERROR_INVALID_ARGUMENT, "out_num_paths is NULL, expected where to put the number of paths");
  else if (check_buffer (out_paths, max_paths, "out_paths", &error))
    {
      OvstagePathList *list = ovs_instance_ref_list (instance, handle);

      if (list == NULL)
        fail_list (handle, &error);
      else
        {
          gsize n = start < list->n ? MIN (max_paths, list->n - start) : 0;

          for (gsize i = 0; i < n; i++)
            out_paths[i] = list->ids[start + i];
          *out_num_paths = n;
        }
      g_clear_pointer (&list, ovs_path_list_unref);
    }
  ovs_instance_leave (instance);
  return finish (error);
}

void
path_dictionary_release_error (path_dictionary_instance_t *dictionary, ovx_string_t error)
{
  g_free ((gpointer) error.ptr);
}
