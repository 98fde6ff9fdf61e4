/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <ovstage/ovstage-map-group.h>
#include <ovstage/ovstage-operation.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_MAP (ovstage_map_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (OvstageMap, ovstage_map, OVSTAGE, MAP, OvstageOperation)

OVSTAGE_AVAILABLE_IN_1_0
OvstageMapGroup *ovstage_map_fetch_next (OvstageMap *self,
                                         gint64 timeout,
                                         GCancellable *cancellable,
                                         GError **error);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_map_fetch_next_async (OvstageMap *self,
                                   int io_priority,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data);
OVSTAGE_AVAILABLE_IN_1_0
OvstageMapGroup *ovstage_map_fetch_next_finish (OvstageMap *self, GAsyncResult *result, GError **error);

OVSTAGE_AVAILABLE_IN_1_0
OvstageOperation *ovstage_map_commit_group (OvstageMap *self, OvstageMapGroup *group, guint64 stream, guint64 event);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOperation *ovstage_map_commit (OvstageMap *self, guint64 stream, guint64 event);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_map_discard (OvstageMap *self);

G_END_DECLS
