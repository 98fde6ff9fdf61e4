/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib-object.h>

#include <ovstage/ovstage-data-type.h>
#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_READ_GROUP (ovstage_read_group_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_read_group_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstageReadGroup *ovstage_read_group_ref (OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_read_group_unref (OvstageReadGroup *self);

OVSTAGE_AVAILABLE_IN_1_0
OvstageToken ovstage_read_group_get_attribute (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_read_group_get_ordinal (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_read_group_is_delete (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_read_group_is_array (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
OvstageSemantic ovstage_read_group_get_semantic (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType *ovstage_read_group_get_data_type (const OvstageReadGroup *self);

OVSTAGE_AVAILABLE_IN_1_0
OvstagePathList *ovstage_read_group_get_path_list (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_read_group_get_prim_offset (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_read_group_get_prim_count (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_read_group_has_prim_index_map (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_read_group_prim_index (const OvstageReadGroup *self, guint32 i);
OVSTAGE_AVAILABLE_IN_1_0
guint32 *ovstage_read_group_dup_prim_indices (const OvstageReadGroup *self, gsize *n_indices);

OVSTAGE_AVAILABLE_IN_1_0
guint ovstage_read_group_get_n_tensors (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_read_group_ref_tensor (OvstageReadGroup *self, guint i);
OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_read_group_ref_values (OvstageReadGroup *self, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_read_group_ref_offsets (OvstageReadGroup *self, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
char *ovstage_read_group_dup_string (OvstageReadGroup *self, guint32 i, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
char **ovstage_read_group_dup_strings (OvstageReadGroup *self, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_read_group_get_data_count (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_read_group_has_data_index_map (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_read_group_data_row_index (const OvstageReadGroup *self, guint32 i);
OVSTAGE_AVAILABLE_IN_1_0
guint32 *ovstage_read_group_dup_data_rows (const OvstageReadGroup *self, gsize *n_rows);

OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_read_group_get_write_floor (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_read_group_get_layout_generation (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_read_group_get_sync_stream (const OvstageReadGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_read_group_get_sync_event (const OvstageReadGroup *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageReadGroup, ovstage_read_group_unref)

G_END_DECLS
