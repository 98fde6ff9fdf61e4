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

#define OVSTAGE_TYPE_MAP_GROUP (ovstage_map_group_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_map_group_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstageMapGroup *ovstage_map_group_ref (OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_map_group_unref (OvstageMapGroup *self);

OVSTAGE_AVAILABLE_IN_1_0
OvstageToken ovstage_map_group_get_attribute (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_map_group_get_ordinal (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_map_group_is_array (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
OvstageSemantic ovstage_map_group_get_semantic (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType *ovstage_map_group_get_data_type (const OvstageMapGroup *self);

OVSTAGE_AVAILABLE_IN_1_0
OvstagePathList *ovstage_map_group_get_path_list (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_map_group_get_prim_offset (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_map_group_get_prim_count (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_map_group_has_prim_index_map (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_map_group_prim_index (const OvstageMapGroup *self, guint32 i);
OVSTAGE_AVAILABLE_IN_1_0
guint32 *ovstage_map_group_dup_prim_indices (const OvstageMapGroup *self, gsize *n_indices);

OVSTAGE_AVAILABLE_IN_1_0
guint ovstage_map_group_get_n_tensors (OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_map_group_ref_tensor (OvstageMapGroup *self, guint i);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_map_group_set_bytes (OvstageMapGroup *self, guint i, gsize offset, GBytes *bytes, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_map_group_is_writable (const OvstageMapGroup *self);

OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_map_group_get_write_floor (const OvstageMapGroup *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_map_group_get_layout_generation (const OvstageMapGroup *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageMapGroup, ovstage_map_group_unref)

G_END_DECLS
