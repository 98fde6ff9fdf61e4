/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the structs that are given out point to, and what keeps it. */

#pragma once

#include "capi/ovs-instance.h"
#include "op/ovs-map-group.h"
#include "op/ovs-read-group.h"

typedef struct
{
  guint n;
  DLTensor *tensors;      /* one, or (owned) */
  OvstageTensor **refs;   /* (owned) (nullable) one, or as many as tensors; NULL once they were let go of */
  DLTensor one;
  OvstageTensor *one_ref;
} OvsGivenTensors;

typedef struct
{
  OvstageReadGroup *group; /* (owned) */
  guint64 list;            /* an inner reference to its handle */
  OvsGivenTensors tensors;
} OvsGivenGroup;

typedef struct
{
  guint64 query;       /* the handle that goes with it */
  guint64 *attributes; /* (owned) (nullable) */
  gsize n_attributes;
} OvsGivenResult;

/* A group of a map is known by its tensors, so they stay where they are until the map is let go of. */
typedef struct
{
  OvstageMapGroup *group; /* (owned) (nullable) until it is committed */
  guint64 list;           /* an inner reference to its handle */
  OvsGivenTensors tensors;
} OvsGivenPiece;

typedef struct
{
  gint refs; /* (atomic) */
  OvsOp *op; /* (owned) */
  GPtrArray *pieces; /* (owned) OvsGivenPiece, protected by the lock of the instance */
} OvsGivenMap;

OvsGivenGroup *ovs_given_group_new (OvstageReadGroup *group);
void ovs_given_group_free (OvsGivenGroup *given);
void ovs_given_group_fill (const OvsGivenGroup *given, ovstage_read_group_t *out);
void ovs_given_result_free (OvsGivenResult *given);

OvsGivenMap *ovs_given_map_new (OvsOp *op);
void ovs_given_map_unref (OvsInstance *instance, OvsGivenMap *map);
OvsGivenPiece *ovs_given_piece_new (OvstageMapGroup *group);
void ovs_given_piece_fill (const OvsGivenPiece *piece, ovstage_map_group_t *out);
/* What was committed is nobody's to write to: nothing of ours holds it. For who took @group away. */
void ovs_given_piece_let_go (OvsGivenPiece *piece);
