/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <ovstage/ovstage-operation.h>
#include <ovstage/ovstage-read-group.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_READ (ovstage_read_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (OvstageRead, ovstage_read, OVSTAGE, READ, OvstageOperation)

OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_read_get_as_of (OvstageRead *self);

OVSTAGE_AVAILABLE_IN_1_0
OvstageReadGroup *ovstage_read_fetch_next (OvstageRead *self,
                                           gint64 timeout,
                                           GCancellable *cancellable,
                                           GError **error);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_read_fetch_next_async (OvstageRead *self,
                                    int io_priority,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data);
OVSTAGE_AVAILABLE_IN_1_0
OvstageReadGroup *ovstage_read_fetch_next_finish (OvstageRead *self, GAsyncResult *result, GError **error);

G_END_DECLS
