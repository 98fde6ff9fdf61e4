/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "path/ovs-rebase.h"

#include <string.h>

OvsRebase *
ovs_rebase_new (OvsPathDict *dict)
{
  OvsRebase *rebase = g_new0 (OvsRebase, 1);

  rebase->dict = ovs_path_dict_ref (dict);
  rebase->inside = g_byte_array_new ();
  return rebase;
}

void
ovs_rebase_free (OvsRebase *rebase)
{
  ovs_path_dict_unref (rebase->dict);
  g_byte_array_unref (rebase->inside);
  g_free (rebase->targets);
  g_free (rebase);
}

static gboolean
intern (OvsRebase *rebase, const char *path, guint32 *id, GError **error)
{
  if (path == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "it is NULL, expected a path");
  *id = ovs_path_dict_intern_path (rebase->dict, path, -1, error);
  return *id != OVS_ID_NONE;
}

static gboolean
check_targets (OvsRebase *rebase, const char *const *targets, GError **error)
{
  g_autoptr (GHashTable) entries = g_hash_table_new (NULL, NULL);

  for (guint32 i = 0; i < rebase->n_targets; i++)
    {
      gpointer key = GUINT_TO_POINTER (rebase->targets[i]), before;

      if (g_hash_table_lookup_extended (entries, key, NULL, &before))
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[%u]: '%s' is targets[%u] too", i, targets[i],
                         GPOINTER_TO_UINT (before));
      g_hash_table_insert (entries, key, GUINT_TO_POINTER (i));
    }
  for (guint32 i = 0; i < rebase->n_targets; i++)
    for (guint32 above = ovs_path_dict_get_parent (rebase->dict, rebase->targets[i]); above != OVS_ID_NONE;
         above = ovs_path_dict_get_parent (rebase->dict, above))
      {
        gpointer other;

        if (g_hash_table_lookup_extended (entries, GUINT_TO_POINTER (above), NULL, &other))
          return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "targets[%u]: '%s' is inside targets[%u], '%s'", i, targets[i],
                           GPOINTER_TO_UINT (other), targets[GPOINTER_TO_UINT (other)]);
      }
  return TRUE;
}

gboolean
ovs_rebase_resolve (OvsRebase *rebase, const char *source, const char *const *targets, gsize n, GError **error)
{
  if (!intern (rebase, source, &rebase->source, error))
    {
      g_prefix_error (error, "source: ");
      return FALSE;
    }
  rebase->n_targets = (guint32) n;
  rebase->targets = g_new (guint32, MAX (n, 1));
  for (guint32 i = 0; i < rebase->n_targets; i++)
    if (!intern (rebase, targets[i], &rebase->targets[i], error))
      {
        g_prefix_error (error, "targets[%u]: ", i);
        return FALSE;
      }
  return check_targets (rebase, targets, error);
}

/* A path has a higher id than the one above it, so one pass does. */
void
ovs_rebase_find_inside (OvsRebase *rebase)
{
  guint32 source = rebase->source, next = source + rebase->inside->len, last = ovs_path_dict_get_last_path (rebase->dict);

  if (next > last)
    return;
  g_byte_array_set_size (rebase->inside, last - source + 1);
  for (guint32 path = next; path <= last; path++)
    {
      guint32 parent = ovs_path_dict_get_parent (rebase->dict, path);

      rebase->inside->data[path - source] = path == source || (parent >= source && rebase->inside->data[parent - source]);
    }
}

gboolean
ovs_rebase_is_inside (const OvsRebase *rebase, guint64 path)
{
  if (path < rebase->source || path > ovs_path_dict_get_last_path (rebase->dict))
    return FALSE;
  while (path - rebase->source >= rebase->inside->len)
    {
      path = ovs_path_dict_get_parent (rebase->dict, (guint32) path);
      if (path < rebase->source)
        return FALSE;
    }
  return rebase->inside->data[path - rebase->source];
}

void
ovs_rebase_cursor_clear (OvsRebaseCursor *cursor)
{
  if (cursor->text != NULL)
    g_string_free (cursor->text, TRUE);
  cursor->text = NULL;
}

/* As text, at once: by components, each would hash all those above it. */
static guint32
copy_path (OvsRebase *rebase, OvsRebaseCursor *cursor, guint32 path)
{
  OvsPathDict *dict = rebase->dict;
  guint32 root = ovs_path_dict_get_root (dict), target = rebase->targets[cursor->target];
  g_autofree char *text = NULL;

  if (path == rebase->source)
    return target;
  if (cursor->text == NULL)
    {
      g_autofree char *source = ovs_path_dict_dup_path (dict, rebase->source), *above = ovs_path_dict_dup_path (dict, target);

      cursor->text = g_string_new (target == root ? "" : above);
      cursor->n_target = cursor->text->len;
      cursor->n_source = rebase->source == root ? 0 : strlen (source);
    }
  text = ovs_path_dict_dup_path (dict, path);
  g_string_truncate (cursor->text, cursor->n_target);
  g_string_append (cursor->text, text + cursor->n_source);
  return ovs_path_dict_intern_path (dict, cursor->text->str, (gssize) cursor->text->len, NULL);
}

guint32
ovs_rebase_path (OvsRebase *rebase, OvsRebaseCursor *cursor, guint32 path)
{
  guint32 parent = ovs_path_dict_get_parent (rebase->dict, path);

  if (path == rebase->source)
    return rebase->targets[cursor->target];
  if (parent != cursor->last_parent)
    {
      cursor->last_copy = copy_path (rebase, cursor, parent);
      cursor->last_parent = parent;
    }
  return ovs_path_dict_intern_child (rebase->dict, cursor->last_copy, ovs_path_dict_get_name (rebase->dict, path));
}
