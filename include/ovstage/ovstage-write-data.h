/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib-object.h>

#include <ovstage/ovstage-enums.h>
#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_WRITE_DATA (ovstage_write_data_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_write_data_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_new (OvstageTensor *tensor);
OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_new_take (OvstageTensor *tensor);
OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_new_array (OvstageTensor *const *tensors, gsize n_tensors);
OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_new_array_take (OvstageTensor *const *tensors, gsize n_tensors);
OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_new_packed_array (OvstageTensor *tensor);
OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_new_packed_array_take (OvstageTensor *tensor);
OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_new_strings (const char *const *strings);

OVSTAGE_AVAILABLE_IN_1_0
OvstageWriteData *ovstage_write_data_ref (OvstageWriteData *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_write_data_unref (OvstageWriteData *self);

OVSTAGE_AVAILABLE_IN_1_0
void ovstage_write_data_set_count (OvstageWriteData *self, guint32 count);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_write_data_set_index_map (OvstageWriteData *self, const guint32 *index_map, gsize n_index_map);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_write_data_set_mask (OvstageWriteData *self, const guint64 *words, gsize n_words);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_write_data_set_semantic (OvstageWriteData *self, OvstageSemantic semantic);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_write_data_set_sync (OvstageWriteData *self, guint64 stream, guint64 event);

/* The library itself has it from the core. */
#ifndef OVSTAGE_COMPILATION
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageWriteData, ovstage_write_data_unref)
#endif

G_END_DECLS
