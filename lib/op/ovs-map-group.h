/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* One writable piece of a map: prims of a query, and the memory that becomes their
 * values. Holds the memory and never points at a stage or map. */

#pragma once

#include <ovstage/ovstage-types.h>

#include "base/ovs-pool.h"
#include "column/ovs-schema.h"
#include "path/ovs-path-list.h"
#include "tensor/ovs-tensor.h"

typedef enum
{
  OVS_MAP_GROUP_OPEN,
  OVS_MAP_GROUP_COMMITTED, /* or the commit failed: it is over */
  OVS_MAP_GROUP_DROPPED,
} OvsMapGroupState;

struct _OvstageMapGroup
{
  gint refs;  /* (atomic) */
  gint state; /* (atomic) OvsMapGroupState */
  guint32 attribute; /* token */
  OvsSchema schema;
  gsize row_size; /* bytes; 0 for arrays */
  guint64 ordinal;
  guint64 write_floor;
  guint64 layout_generation;
  OvstagePathList *list; /* (owned) of the query */
  guint32 prim_offset;
  guint32 prim_count;
  guint32 *prim_map; /* (owned) (nullable) prim_count entries of the list */
  guint64 *offsets;  /* (owned) (nullable) of arrays: where those of each prim begin, in elements, and the last ends */
  OvsBuffer *buffer; /* (owned) */
};

/* Refs @list. Takes @prim_map (nullable), @offsets (nullable) and @buffer. */
OvstageMapGroup *ovs_map_group_new (const OvsSchema *schema, OvstagePathList *list, guint32 prim_count, guint32 *prim_map,
                                    guint64 *offsets, OvsBuffer *buffer);
OvstageMapGroup *ovs_map_group_ref (OvstageMapGroup *group);
void ovs_map_group_unref (OvstageMapGroup *group);
/* Tells whether it was open. */
gboolean ovs_map_group_end (OvstageMapGroup *group, OvsMapGroupState state);

guint ovs_map_group_get_n_tensors (OvstageMapGroup *group);
/* A new tensor: writable while the group is open, read-only once it was committed. NULL past the end, and of a group that was
 * dropped. */
OvstageTensor *ovs_map_group_ref_tensor (OvstageMapGroup *group, guint i);

/* Copies @n bytes to @offset of tensor @i. */
gboolean ovs_map_group_set_bytes (OvstageMapGroup *group, guint i, gsize offset, const void *bytes, gsize n, GError **error);

/* All elements as one tensor, whatever the state. */
OvstageTensor *ovs_map_group_ref_values (OvstageMapGroup *group);

static inline gboolean
ovs_map_group_is_open (const OvstageMapGroup *group)
{
  return g_atomic_int_get (&group->state) == OVS_MAP_GROUP_OPEN;
}

/* The entry of the list that prim @i of the group is, offset included. */
static inline guint32
ovs_map_group_prim_index (const OvstageMapGroup *group, guint32 i)
{
  return group->prim_map != NULL ? group->prim_map[i] : group->prim_offset + i;
}
