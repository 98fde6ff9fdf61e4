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

#define OVSTAGE_TYPE_TENSOR (ovstage_tensor_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_tensor_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_tensor_new_for_bytes (GBytes *bytes, const OvstageDataType *dtype, const gint64 *shape,
                                             gsize n_dims, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_tensor_new_take (gpointer data, gint32 device_type, gint32 device_id,
                                        const OvstageDataType *dtype, const gint64 *shape, gsize n_dims,
                                        const gint64 *strides, GDestroyNotify destroy, gpointer user_data,
                                        GError **error);
OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_tensor_new_take_dlpack (gpointer managed, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_tensor_new_take_dlpack_legacy (gpointer managed, GError **error);

OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_tensor_ref (OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_tensor_unref (OvstageTensor *self);

OVSTAGE_AVAILABLE_IN_1_0
gpointer ovstage_tensor_dup_dlpack (OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
gpointer ovstage_tensor_dup_dlpack_legacy (OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
GBytes *ovstage_tensor_ref_bytes (OvstageTensor *self, GError **error);

OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType *ovstage_tensor_get_data_type (const OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
OvstageDataType *ovstage_tensor_dup_data_type (const OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
gsize ovstage_tensor_get_n_dims (const OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
const gint64 *ovstage_tensor_get_shape (const OvstageTensor *self, gsize *n_dims);
OVSTAGE_AVAILABLE_IN_1_0
const gint64 *ovstage_tensor_get_strides (const OvstageTensor *self, gsize *n_dims);
OVSTAGE_AVAILABLE_IN_1_0
gint32 ovstage_tensor_get_device_type (const OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
gint32 ovstage_tensor_get_device_id (const OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
gsize ovstage_tensor_get_alignment (const OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_tensor_is_read_only (const OvstageTensor *self);
OVSTAGE_AVAILABLE_IN_1_0
gpointer ovstage_tensor_get_data (const OvstageTensor *self);

/* The library itself has it from the core. */
#ifndef OVSTAGE_COMPILATION
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageTensor, ovstage_tensor_unref)
#endif

G_END_DECLS
