/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The core behind both faces: requests go in, operations come out. Every request
 * gives a new reference to an operation, never NULL, and never fails by itself. */

#pragma once

#include <ovstage/ovstage-ordinal-range.h>
#include <ovstage/ovstage-placement.h>

#include "op/ovs-op.h"
#include "path/ovs-path-list.h"
#include "query/ovs-filter.h"
#include "tensor/ovs-payload.h"

#define OVS_QUEUE_CAPACITY 4096 /* unless the user says otherwise */

typedef struct
{
  guint history_depth;    /* sealed versions kept per column, >= 1 */
  guint queue_capacity;   /* unfinished operations, >= 1 */
  guint64 change_budget;  /* bytes of change records per attribute; 0: a share of the column */
  guint64 staging_budget; /* unsealed bytes; 0: half of the machine's memory */
  guint n_threads;        /* 0: one per processor */
  gsize caller_limit;     /* up to so many bytes are moved by the calling thread; 0: a measured default */
} OvsStageConfig;

OvsStage *ovs_stage_new (const OvsStageConfig *config);
OvsStage *ovs_stage_ref (OvsStage *stage);
void ovs_stage_unref (OvsStage *stage);
/* Withdraws what has not begun, lets what runs end, refuses what comes later. Idempotent. */
void ovs_stage_close (OvsStage *stage);

OvsPathDict *ovs_stage_get_dict (OvsStage *stage);

/* A query over a path list is done when it is made. INVALID_HANDLE for a list of another dictionary. */
OvsOp *ovs_stage_query_list (OvsStage *stage, OvstagePathList *list);
/* The prims that match a filter (nullable: all that exist), as of all that was submitted. It may not be done at once, and can be
 * withdrawn while it waits. @attributes: of these (none: of all), it tells which ones occur on the prims. */
OvsOp *ovs_stage_query_filter (OvsStage *stage, OvstageFilter *filter, const guint64 *attributes, gsize n_attributes);
/* Of one that is done. NULL when it failed. */
OvstagePathList *ovs_query_get_list (OvsOp *query);
/* Lent; ascending. */
const guint32 *ovs_query_get_attributes (OvsOp *query, gsize *n);

OvsOp *ovs_stage_write (OvsStage *stage, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *data,
                        OvstagePrimMode prim_mode, const OvstagePlacement *placement);
/* Several attributes of the same prims at once: accepted, refused and staged as one. */
typedef struct
{
  guint64 attribute;
  OvstageWriteData *data;
} OvsAttributeWrite;

OvsOp *ovs_stage_write_batch (OvsStage *stage, OvsOp *query, const OvsAttributeWrite *entries, gsize n, guint64 ordinal,
                              OvstagePrimMode prim_mode, const OvstagePlacement *placement);
/* What a map asks for. */
typedef struct
{
  OvstageDataType dtype; /* all zero: that of what is there */
  OvstageSemantic semantic;
  const gsize *element_counts; /* (nullable) one for each prim: arrays. NULL: fixed-size */
  gsize n_element_counts;
  OvstageMapFlags flags;
} OvsMapRequest;

OvsOp *ovs_stage_map (OvsStage *stage, OvsOp *query, guint64 attribute, const OvsMapRequest *request, guint64 ordinal,
                      OvstagePrimMode prim_mode, const OvstagePlacement *placement);
/* An operation that is refused with @error, which it takes, before it was one of those here. */
OvsOp *ovs_stage_refuse (OvsStage *stage, GError *error);
/* An operation that is done when it is made: for what a face does by itself and tells as an operation. */
OvsOp *ovs_stage_accept (OvsStage *stage);
/* Of no attributes: whole prims. */
OvsOp *ovs_stage_delete (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 ordinal);
/* Everything at and below @source, on each of @targets in its place. */
OvsOp *ovs_stage_clone (OvsStage *stage, const char *source, const char *const *targets, gsize n, guint64 ordinal);
OvsOp *ovs_stage_advance (OvsStage *stage, guint64 ordinal, OvstageScope scope, const guint64 *attributes, gsize n_attributes);
OvsOp *ovs_stage_read (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes,
                       const OvstageOrdinalRange *range, const OvstagePlacement *placement);

/* Sealed floors and frontiers: in the order of requests, */
typedef enum
{
  OVS_ORDINAL_FLOOR,
  OVS_ORDINAL_ATTRIBUTE_FLOOR,
  OVS_ORDINAL_OLDEST_PRESERVED,
} OvsOrdinalKind;

OvsOp *ovs_stage_query_ordinal (OvsStage *stage, OvsOrdinalKind what, guint64 attribute);
guint64 ovs_ordinal_get_value (OvsOp *op);
/* and as they are now. */
guint64 ovs_stage_get_floor (OvsStage *stage);
guint64 ovs_stage_get_attribute_floor (OvsStage *stage, guint64 attribute);
guint64 ovs_stage_get_oldest_preserved (OvsStage *stage);
guint64 ovs_stage_get_value_frontier (OvsStage *stage);
void ovs_stage_trim (OvsStage *stage);

/* The next group of a read that is done. TRUE with NULL at the end. FALSE with the read's error. Thread-safe. */
gboolean ovs_read_next (OvsOp *read, OvstageReadGroup **group, GError **error);
guint64 ovs_read_get_as_of (OvsOp *read);

/* The next group of a map that is done: as ovs_read_next(). */
gboolean ovs_map_next (OvsOp *map, OvstageMapGroup **group, GError **error);
/* These give an operation, and may be called in any order, by any thread. A stream or event of 0: none. */
OvsOp *ovs_map_commit_group (OvsOp *map, OvstageMapGroup *group, guint64 stream, guint64 event);
/* What was not committed, as one write. The map is over. */
OvsOp *ovs_map_commit (OvsOp *map, guint64 stream, guint64 event);
/* Drops what was not committed. The map is over. */
void ovs_map_discard (OvsOp *map);

/* The face's side of the `sealed` signal. @wanted is asked before an advance publishes, without a lock: while it says
 * TRUE, the core remembers the newest global floor that nobody was told of and pins it. @risen is called after a publish
 * that raised the global floor while wanted, without a lock, in whatever thread. The face then, in its main context, calls
 * ovs_stage_begin_emission(), emits, and calls ovs_stage_end_emission(); values at the emitted ordinal stay readable in between. */
typedef gboolean (*OvsFloorWantedFunc) (gpointer user_data);
typedef void (*OvsFloorRisenFunc) (gpointer user_data);
/* @destroy frees @user_data when the core stage goes, which may be long after the face closed it. Set once, right after
 * ovs_stage_new(). */
void ovs_stage_set_floor_funcs (OvsStage *stage, OvsFloorWantedFunc wanted, OvsFloorRisenFunc risen, gpointer user_data,
                                GDestroyNotify destroy);
/* 0: nothing to emit. */
guint64 ovs_stage_begin_emission (OvsStage *stage);
void ovs_stage_end_emission (OvsStage *stage);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsStage, ovs_stage_unref)
