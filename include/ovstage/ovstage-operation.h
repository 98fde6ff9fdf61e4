/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <gio/gio.h>

#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_OPERATION (ovstage_operation_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
G_DECLARE_DERIVABLE_TYPE (OvstageOperation, ovstage_operation, OVSTAGE, OPERATION, GObject)

/**
 * OvstageOperationClass:
 *
 * The class of [class@Ovstage.Operation], with room for later functions.
 *
 * Since: 1.0
 */
struct _OvstageOperationClass
{
  /*< private >*/
  GObjectClass parent_class;

  gpointer padding[8];
};

OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_operation_get_id (OvstageOperation *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_operation_is_done (OvstageOperation *self);
OVSTAGE_AVAILABLE_IN_1_0
const GError *ovstage_operation_get_error (OvstageOperation *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_operation_get_lowest_pending_id (OvstageOperation *self);

OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_operation_wait (OvstageOperation *self, gint64 timeout, GCancellable *cancellable, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_operation_wait_async (OvstageOperation *self,
                                   int io_priority,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_operation_wait_finish (OvstageOperation *self, GAsyncResult *result, GError **error);

OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_operation_cancel (OvstageOperation *self);

G_END_DECLS
