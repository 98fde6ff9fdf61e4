/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-fence.h"

#include "base/ovs-sync.h"

typedef struct _Waiter Waiter;

struct _Waiter
{
  OvsFenceFunc func;
  gpointer user_data;
  Waiter *next;
};

struct _OvsFence
{
  gint refs; /* (atomic) */
  gint32 device_type;
  gint32 device_id;
  guint64 handle;

  OvsMutex lock;
  gint state;            /* (atomic) OvsFenceState; written under lock */
  Waiter *first, **last; /* protected by lock; in the order they came */
};

OvsFence *
ovs_fence_new (gint32 device_type, gint32 device_id, guint64 handle)
{
  OvsFence *fence = g_new0 (OvsFence, 1);

  fence->refs = 1;
  fence->device_type = device_type;
  fence->device_id = device_id;
  fence->handle = handle;
  fence->state = OVS_FENCE_PENDING;
  fence->last = &fence->first;
  ovs_mutex_init (&fence->lock);

  return fence;
}

OvsFence *
ovs_fence_ref (OvsFence *fence)
{
  g_atomic_int_inc (&fence->refs);
  return fence;
}

void
ovs_fence_unref (OvsFence *fence)
{
  if (!g_atomic_int_dec_and_test (&fence->refs))
    return;

  /* Nobody is left who could complete it: whoever waits must still be told. */
  if (fence->first != NULL)
    {
      fence->refs = 1;
      ovs_fence_complete (fence, OVS_FENCE_FAILED);
      ovs_fence_unref (fence);
      return;
    }

  ovs_mutex_clear (&fence->lock);
  g_free (fence);
}

OvsFenceState
ovs_fence_get_state (OvsFence *fence)
{
  return fence != NULL ? (OvsFenceState) g_atomic_int_get (&fence->state) : OVS_FENCE_DONE;
}

guint64
ovs_fence_get_handle (OvsFence *fence)
{
  return fence != NULL ? fence->handle : 0;
}

void
ovs_fence_complete (OvsFence *fence, OvsFenceState state)
{
  Waiter *waiter;

  g_return_if_fail (state != OVS_FENCE_PENDING);

  /* A callback may drop what the caller relied on to keep the fence. */
  ovs_fence_ref (fence);

  ovs_mutex_lock (&fence->lock);
  if (fence->state != OVS_FENCE_PENDING)
    {
      ovs_mutex_unlock (&fence->lock);
      ovs_fence_unref (fence);
      return;
    }
  waiter = fence->first;
  fence->first = NULL;
  fence->last = &fence->first;
  g_atomic_int_set (&fence->state, state);
  ovs_mutex_unlock (&fence->lock);

  while (waiter != NULL)
    {
      Waiter *next = waiter->next;

      waiter->func (fence, waiter->user_data);
      g_free (waiter);
      waiter = next;
    }

  ovs_fence_unref (fence);
}

gboolean
ovs_fence_add_callback (OvsFence *fence, OvsFenceFunc func, gpointer user_data)
{
  Waiter *waiter;

  if (ovs_fence_get_state (fence) != OVS_FENCE_PENDING)
    return FALSE;

  waiter = g_new (Waiter, 1);
  waiter->func = func;
  waiter->user_data = user_data;
  waiter->next = NULL;

  ovs_mutex_lock (&fence->lock);
  if (fence->state != OVS_FENCE_PENDING)
    {
      ovs_mutex_unlock (&fence->lock);
      g_free (waiter);
      return FALSE;
    }
  *fence->last = waiter;
  fence->last = &waiter->next;
  ovs_mutex_unlock (&fence->lock);

  return TRUE;
}
