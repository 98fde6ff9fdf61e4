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

#define OVSTAGE_TYPE_WATCH (ovstage_watch_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (OvstageWatch, ovstage_watch, OVSTAGE, WATCH, GObject)

/**
 * OvstageWatchFunc:
 * @watch: the watch
 * @groups: (element-type OvstageReadGroup): what changed, at least one group
 * @user_data: the data of the watch
 *
 * Tells of changes that were sealed.
 *
 * @groups are those of a read of a range of ordinals: one of values for each
 * attribute and data type, and one that lists the prims which lost an attribute. They
 * may be kept, each with a reference of its own.
 *
 * The callback may submit requests, and cancel or drop the watch.
 *
 * Since: 1.0
 */
typedef void (*OvstageWatchFunc) (OvstageWatch *watch, GPtrArray *groups, gpointer user_data);

OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_watch_get_cursor (OvstageWatch *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_watch_next_async (OvstageWatch *self,
                               int io_priority,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data);
OVSTAGE_AVAILABLE_IN_1_0
GPtrArray *ovstage_watch_next_finish (OvstageWatch *self, GAsyncResult *result, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_watch_cancel (OvstageWatch *self);

G_END_DECLS
