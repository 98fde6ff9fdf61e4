/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-path-list.h>

#include "path/ovs-path-list.h"

G_DEFINE_BOXED_TYPE (OvstagePathList, ovstage_path_list, ovstage_path_list_ref, ovstage_path_list_unref)

/**
 * ovstage_path_list_ref:
 * @self: a path list
 *
 * Takes a reference to a list.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
OvstagePathList *
ovstage_path_list_ref (OvstagePathList *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  return ovs_path_list_ref (self);
}

/**
 * ovstage_path_list_unref:
 * @self: (transfer full): a path list
 *
 * Drops a reference to a list, which goes with the last one.
 *
 * Since: 1.0
 */
void
ovstage_path_list_unref (OvstagePathList *self)
{
  g_return_if_fail (self != NULL);
  ovs_path_list_unref (self);
}

/**
 * ovstage_path_list_get_length:
 * @self: a path list
 *
 * Gets how many paths a list has.
 *
 * Returns: the number of paths, 0 for an empty list
 *
 * Since: 1.0
 */
gsize
ovstage_path_list_get_length (OvstagePathList *self)
{
  g_return_val_if_fail (self != NULL, 0);
  return self->n;
}

/**
 * ovstage_path_list_get_path:
 * @self: a path list
 * @i: the place in the list, from 0
 *
 * Gets the id of the path at a place.
 *
 * Returns: the id, or 0 past the end of the list
 *
 * Since: 1.0
 */
OvstagePath
ovstage_path_list_get_path (OvstagePathList *self, gsize i)
{
  g_return_val_if_fail (self != NULL, 0);
  return i < self->n ? self->ids[i] : OVS_ID_NONE;
}

/**
 * ovstage_path_list_dup_path_string:
 * @self: a path list
 * @i: the place in the list, from 0
 *
 * Gets the text of the path at a place.
 *
 * Returns: (transfer full) (nullable): the path, or `NULL` past the end of the list
 *
 * Since: 1.0
 */
char *
ovstage_path_list_dup_path_string (OvstagePathList *self, gsize i)
{
  g_return_val_if_fail (self != NULL, NULL);
  return i < self->n ? ovs_path_dict_dup_path (self->dict, self->ids[i]) : NULL;
}
