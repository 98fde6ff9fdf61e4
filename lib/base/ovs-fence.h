/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The end of some device work. NULL stands for work that is done, which is all
 * there is on the CPU. A fence starts PENDING and is completed once, as DONE or
 * FAILED; its callbacks then run in the completing thread, without a lock. */

#pragma once

#include <glib.h>

typedef struct _OvsFence OvsFence;

typedef enum
{
  OVS_FENCE_PENDING,
  OVS_FENCE_DONE,
  OVS_FENCE_FAILED,
} OvsFenceState;

typedef void (*OvsFenceFunc) (OvsFence *fence, gpointer user_data);

OvsFence *ovs_fence_new (gint32 device_type, gint32 device_id, guint64 handle);
OvsFence *ovs_fence_ref (OvsFence *fence);
void ovs_fence_unref (OvsFence *fence);

OvsFenceState ovs_fence_get_state (OvsFence *fence); /* NULL is DONE */
guint64 ovs_fence_get_handle (OvsFence *fence);
void ovs_fence_complete (OvsFence *fence, OvsFenceState state);
/* FALSE when the fence is over already: the callback will not be called. */
gboolean ovs_fence_add_callback (OvsFence *fence, OvsFenceFunc func, gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsFence, ovs_fence_unref)
