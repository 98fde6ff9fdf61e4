/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the handles of an instance stand for.
 *
 * Handles come from one counter of the process and are never given out twice, so
 * a stale one, or one of another instance, is found nowhere. A handle lies in the
 * slot that its low bits name: numbers whose slot is taken are passed over, and as
 * no two handles of a table share those bits, none do in a table twice the size.
 * Finding one is a look at one slot. Not locked. */

#pragma once

#include <glib.h>

typedef enum
{
  OVS_HANDLE_NONE,
  OVS_HANDLE_PATH_LIST,
  OVS_HANDLE_QUERY,
  OVS_HANDLE_QUERY_RESULT,
  OVS_HANDLE_READ,
  OVS_HANDLE_READ_GROUP,
  OVS_HANDLE_MAP,
  OVS_HANDLE_ORDINAL_QUERY,
  OVS_N_HANDLE_KINDS
} OvsHandleKind;

typedef struct
{
  guint64 handle; /* 0: free */
  OvsHandleKind kind;
  gpointer object;
} OvsSlot;

typedef struct
{
  OvsSlot *slots; /* (owned) */
  guint64 mask;
  guint64 n;
} OvsHandles;

void ovs_handles_init (OvsHandles *handles);
void ovs_handles_clear (OvsHandles *handles);
guint64 ovs_handles_add (OvsHandles *handles, OvsHandleKind kind, gpointer object);
/* NULL: there is none of this kind. */
gpointer ovs_handles_steal (OvsHandles *handles, OvsHandleKind kind, guint64 handle);
/* In slots from *@position on, the next; NULL at the end. */
OvsSlot *ovs_handles_next (OvsHandles *handles, guint64 *position);

static inline gpointer
ovs_handles_find (const OvsHandles *handles, OvsHandleKind kind, guint64 handle)
{
  const OvsSlot *slot = &handles->slots[handle & handles->mask];

  return handle != 0 && slot->handle == handle && slot->kind == kind ? slot->object : NULL;
}
