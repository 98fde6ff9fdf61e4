/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* One result of a read: the prims of a query that carry one attribute in one
 * schema, and where their values are. Holds the version and never points at a
 * stage or column, so that it outlives all of them and blocks nobody. */

#pragma once

#include <ovstage/ovstage-data-type.h>

#include "path/ovs-path-list.h"
#include "tensor/ovs-tensor.h"

struct _OvstageReadGroup
{
  gint refs; /* (atomic) */
  guint32 attribute; /* token */
  OvstageDataType dtype;
  OvstageSemantic semantic;
  gboolean is_array;
  gboolean is_delete;
  guint64 ordinal;
  guint64 write_floor;
  guint64 layout_generation;
  OvstagePathList *list; /* (owned) */
  guint32 prim_offset;
  guint32 prim_count;
  const guint32 *prim_map; /* (nullable) prim_count entries of the list; held by places */
  guint32 data_count;      /* rows of the tensor */
  const guint32 *data_map; /* (nullable) prim_count rows of the tensor */
  guint n_tensors;
  /* private to the core */
  guint32 first_row;
  const guint32 *row_map; /* (nullable) of arrays, rows of the version; held by places */
  gpointer version; /* (owned) (nullable) NULL: of prims that lost the attribute */
  gpointer places;  /* (owned) (nullable) */
  OvstageTensor *tensor; /* (atomic) (owned) (nullable) made on first use */
  OvstageTensor **tensors; /* (atomic) (owned) (nullable) of arrays, each (atomic) (owned) (nullable), made on first use */
  gpointer packed;         /* (atomic) (owned) (nullable) of arrays, made on first use */
};

OvstageReadGroup *ovs_read_group_ref (OvstageReadGroup *group);
void ovs_read_group_unref (OvstageReadGroup *group);
/* A reference to tensor @i; NULL past the end. */
OvstageTensor *ovs_read_group_ref_tensor (OvstageReadGroup *group, guint i);

/* Of arrays: all rows one behind another, and where each begins; lent. FALSE without memory. */
gboolean ovs_read_group_get_packed (OvstageReadGroup *group, OvstageTensor **values, OvstageTensor **offsets, GError **error);
/* Of arrays of bytes: row @i as text. */
char *ovs_read_group_dup_string (OvstageReadGroup *group, guint32 i, GError **error);
char **ovs_read_group_dup_strings (OvstageReadGroup *group, GError **error);

/* The entry of the list that prim @i of the group is, offset included. */
static inline guint32
ovs_read_group_prim_index (const OvstageReadGroup *group, guint32 i)
{
  return group->prim_map != NULL ? group->prim_map[i] : group->prim_offset + i;
}

static inline guint32
ovs_read_group_data_row (const OvstageReadGroup *group, guint32 i)
{
  return group->data_map != NULL ? group->data_map[i] : i;
}
