/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-path-dictionary.h>

#include "object/ovstage-path-dictionary-private.h"
#include "path/ovs-path-list.h"

/**
 * OvstagePathDictionary:
 *
 * The texts of a stage, each known by a small id.
 *
 * A token stands for a string, such as the name of an attribute. A path stands
 * for a prim path: `/`, or `/` followed by components with a single `/` between
 * them. Equal texts have equal ids, which stay the same for as long as the
 * dictionary lives. Ids start at 1. Token 0 stands for the empty string.
 *
 * A dictionary belongs to a stage. All of its functions may be called from any
 * thread; looking up an id, or a text that is known already, takes no lock.
 *
 * ```c
 * const char *paths[] = { "/World/A", "/World/B", NULL };
 * OvstagePathDictionary *dictionary = ovstage_stage_get_path_dictionary (stage);
 * OvstageToken mass = ovstage_path_dictionary_intern_token (dictionary, "mass", NULL);
 * g_autoptr (OvstagePathList) prims = ovstage_path_dictionary_create_path_list (dictionary, paths, NULL);
 * ```
 *
 * Since: 1.0
 */
struct _OvstagePathDictionary
{
  GObject parent_instance;
  OvsPathDict *dict; /* (owned) */
};

G_DEFINE_FINAL_TYPE (OvstagePathDictionary, ovstage_path_dictionary, G_TYPE_OBJECT)

static void
ovstage_path_dictionary_finalize (GObject *object)
{
  OvstagePathDictionary *self = OVSTAGE_PATH_DICTIONARY (object);

  g_clear_pointer (&self->dict, ovs_path_dict_unref);
  G_OBJECT_CLASS (ovstage_path_dictionary_parent_class)->finalize (object);
}

static void
ovstage_path_dictionary_class_init (OvstagePathDictionaryClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ovstage_path_dictionary_finalize;
}

static void
ovstage_path_dictionary_init (OvstagePathDictionary *self)
{
  /* Language bindings can make any object. One without a stage works alone. */
  self->dict = ovs_path_dict_new ();
}

OvstagePathDictionary *
_ovstage_path_dictionary_new (OvsPathDict *dict)
{
  OvstagePathDictionary *self = g_object_new (OVSTAGE_TYPE_PATH_DICTIONARY, NULL);

  ovs_path_dict_unref (self->dict);
  self->dict = ovs_path_dict_ref (dict);
  return self;
}

OvsPathDict *
_ovstage_path_dictionary_get_core (OvstagePathDictionary *self)
{
  return self->dict;
}

/**
 * ovstage_path_dictionary_intern_token:
 * @self: a path dictionary
 * @text: a string of at least one byte
 * @error: return location for an error
 *
 * Gets the token of a string, making it if the string is new.
 *
 * The error is `OVSTAGE_ERROR_INVALID_ARGUMENT` if @text is empty or no
 * valid UTF-8.
 *
 * Returns: the token, or 0 with @error set
 *
 * Since: 1.0
 */
OvstageToken
ovstage_path_dictionary_intern_token (OvstagePathDictionary *self, const char *text, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_PATH_DICTIONARY (self), 0);
  g_return_val_if_fail (text != NULL, 0);
  g_return_val_if_fail (error == NULL || *error == NULL, 0);
  return ovs_path_dict_intern_token (self->dict, text, -1, error);
}

/**
 * ovstage_path_dictionary_get_token_string:
 * @self: a path dictionary
 * @token: a token
 *
 * Gets the string that a token stands for.
 *
 * The string is there for as long as the dictionary. That of token 0 is empty.
 *
 * Returns: (transfer none) (nullable): the string, or `NULL` if there is no such token
 *
 * Since: 1.0
 */
const char *
ovstage_path_dictionary_get_token_string (OvstagePathDictionary *self, OvstageToken token)
{
  g_return_val_if_fail (OVSTAGE_IS_PATH_DICTIONARY (self), NULL);
  return ovs_path_dict_get_token_text (self->dict, token, NULL);
}

/**
 * ovstage_path_dictionary_intern_path:
 * @self: a path dictionary
 * @path: a prim path, such as `/World/Robot`
 * @error: return location for an error
 *
 * Gets the id of a prim path, making it if the path is new.
 *
 * A prim path is `/`, or `/` followed by components, none of them empty, with a
 * single `/` between them. The error is `OVSTAGE_ERROR_INVALID_ARGUMENT`
 * for anything else and for what is no valid UTF-8; its message tells the byte
 * where the fault is.
 *
 * Returns: the id, or 0 with @error set
 *
 * Since: 1.0
 */
OvstagePath
ovstage_path_dictionary_intern_path (OvstagePathDictionary *self, const char *path, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_PATH_DICTIONARY (self), 0);
  g_return_val_if_fail (path != NULL, 0);
  g_return_val_if_fail (error == NULL || *error == NULL, 0);
  return ovs_path_dict_intern_path (self->dict, path, -1, error);
}

/**
 * ovstage_path_dictionary_dup_path_string:
 * @self: a path dictionary
 * @path: the id of a path
 *
 * Gets the text of a prim path.
 *
 * Returns: (transfer full) (nullable): the path, or `NULL` if there is no such id
 *
 * Since: 1.0
 */
char *
ovstage_path_dictionary_dup_path_string (OvstagePathDictionary *self, OvstagePath path)
{
  g_return_val_if_fail (OVSTAGE_IS_PATH_DICTIONARY (self), NULL);
  return ovs_path_dict_dup_path (self->dict, path);
}

/**
 * ovstage_path_dictionary_create_path_list:
 * @self: a path dictionary
 * @paths: (array zero-terminated=1): prim paths, each of them once
 * @error: return location for an error
 *
 * Makes a list of prim paths from their texts, interning those that are new.
 *
 * The list may be empty. The error is `OVSTAGE_ERROR_INVALID_ARGUMENT` if
 * an entry is no prim path or repeats another; the message names the entry.
 *
 * Returns: (transfer full): the list, or `NULL` with @error set
 *
 * Since: 1.0
 */
OvstagePathList *
ovstage_path_dictionary_create_path_list (OvstagePathDictionary *self, const char *const *paths, GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_PATH_DICTIONARY (self), NULL);
  g_return_val_if_fail (paths != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  return ovs_path_list_new_for_strings (self->dict, paths, g_strv_length ((char **) paths), error);
}

/**
 * ovstage_path_dictionary_create_path_list_from_paths:
 * @self: a path dictionary
 * @paths: (array length=n_paths) (nullable): ids of prim paths, each of them once
 * @n_paths: how many there are
 * @error: return location for an error
 *
 * Makes a list of prim paths from their ids.
 *
 * The list may be empty. The error is `OVSTAGE_ERROR_INVALID_HANDLE` if
 * an entry is no id of this dictionary, `OVSTAGE_ERROR_INVALID_ARGUMENT`
 * if it repeats another; the message names the entry.
 *
 * Returns: (transfer full): the list, or `NULL` with @error set
 *
 * Since: 1.0
 */
OvstagePathList *
ovstage_path_dictionary_create_path_list_from_paths (OvstagePathDictionary *self,
                                                     const OvstagePath *paths,
                                                     gsize n_paths,
                                                     GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_PATH_DICTIONARY (self), NULL);
  g_return_val_if_fail (paths != NULL || n_paths == 0, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);
  return ovs_path_list_new (self->dict, paths, n_paths, error);
}
