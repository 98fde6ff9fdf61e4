/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-handles.h"

#define FEWEST_SLOTS 64

static guint64 last_handle; /* (atomic) */

void
ovs_handles_init (OvsHandles *handles)
{
  handles->slots = g_new0 (OvsSlot, FEWEST_SLOTS);
  handles->mask = FEWEST_SLOTS - 1;
  handles->n = 0;
}

void
ovs_handles_clear (OvsHandles *handles)
{
  g_clear_pointer (&handles->slots, g_free);
  handles->mask = handles->n = 0;
}

static void
grow (OvsHandles *handles)
{
  guint64 mask = handles->mask * 2 + 1;
  OvsSlot *slots = g_new0 (OvsSlot, mask + 1);

  for (guint64 i = 0; i <= handles->mask; i++)
    if (handles->slots[i].handle != 0)
      slots[handles->slots[i].handle & mask] = handles->slots[i];
  g_free (handles->slots);
  handles->slots = slots;
  handles->mask = mask;
}

guint64
ovs_handles_add (OvsHandles *handles, OvsHandleKind kind, gpointer object)
{
  if (handles->n * 2 > handles->mask)
    grow (handles);
  for (;;)
    {
      guint64 handle = __atomic_add_fetch (&last_handle, 1, __ATOMIC_RELAXED);
      OvsSlot *slot = &handles->slots[handle & handles->mask];

      if (slot->handle != 0)
        continue;
      *slot = (OvsSlot) { handle, kind, object };
      handles->n++;
      return handle;
    }
}

gpointer
ovs_handles_steal (OvsHandles *handles, OvsHandleKind kind, guint64 handle)
{
  gpointer object = ovs_handles_find (handles, kind, handle);

  if (object != NULL)
    {
      handles->slots[handle & handles->mask] = (OvsSlot) { 0 };
      handles->n--;
    }
  return object;
}

OvsSlot *
ovs_handles_next (OvsHandles *handles, guint64 *position)
{
  while (*position <= handles->mask)
    {
      OvsSlot *slot = &handles->slots[(*position)++];

      if (slot->handle != 0)
        return slot;
    }
  return NULL;
}
