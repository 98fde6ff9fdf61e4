/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A map hands out the memory of a write before the write: whoever fills it need not
 * copy. It is an operation and keeps a query, an attribute, a schema, an ordinal and
 * a prim mode; a commit is an ordinary write of all these, checked and booked when it
 * comes, whose values are in the store's memory already (ENGINE rules 35, 36). What
 * is checked when the map is made is a courtesy: it blocks nobody, and nothing holds
 * the stage to what it found. */

#pragma once

#include "op/ovs-booking.h"
#include "op/ovs-map-group.h"

/* What one group is made of. */
typedef struct
{
  OvstageMapGroup *group; /* (owned) */
  OvsQuery *query;        /* (owned) its prims */
  gsize mapped;           /* bytes that count while it is open */
  OvsVersion *version;    /* (owned) (nullable) what it is filled with, */
  OvsBinding *binding;    /* (owned) (nullable) from these rows */
} OvsMapPiece;

typedef struct
{
  OvsOp op;
  OvsQuery *query; /* (owned) */
  guint32 attribute;
  guint64 ordinal;
  OvstagePrimMode prim_mode;
  OvstageMapFlags flags;
  gsize *counts;    /* (owned) (nullable) of arrays: elements of each prim of the query */
  gsize n_counts;
  OvsSchema schema; /* of the writes: a semantic of NONE keeps that of the prims */
  gint next;        /* (atomic) group to be fetched */
  gint ended;       /* (atomic) */
  OvsPeek *peek;    /* (owned) (nullable) to be run before the groups are filled */
  guint n_pieces;
  OvsMapPiece *pieces; /* (owned) */
} OvsMap;

/* Everything that needs no lock; notes what is asked for in @map. */
gboolean ovs_map_check_request (OvsMap *map, OvsOp *query, guint64 attribute, const OvsMapRequest *request, GError **error);
/* The prims are known. */
gboolean ovs_map_check_counts (const OvsMap *map, GError **error);
/* Stage lock held; the targets were found. A data type that was left open is taken, with all that belongs to the schema, from what
 * is there. */
gboolean ovs_map_find_schema (OvsMap *map, OvsBooking *booking, GError **error);

/* Stage lock held. One for each schema that the prims will have. */
gboolean ovs_map_make_pieces (OvsMap *map, OvsBooking *booking, GError **error);

/* It is to have the current values. */
static inline gboolean
ovs_map_fills (const OvsMap *map)
{
  return (map->flags & OVSTAGE_MAP_FLAGS_INITIALIZE) != 0;
}

/* Stage lock held. Takes what the pieces are filled with; the map waits for the bytes among it. @attr: (nullable) */
gboolean ovs_map_plan_fill (OvsMap *map, OvsAttr *attr, GError **error);
/* About how many bytes a fill moves. */
gsize ovs_map_get_work (const OvsMap *map);
/* No lock held. */
void ovs_map_fill (OvsMap *map);

/* Tells whether the piece was open. */
gboolean ovs_map_end_piece (OvsMap *map, OvsMapPiece *piece, OvsMapGroupState state);
/* Those that are open are dropped. */
void ovs_map_drop_pieces (OvsMap *map);
/* The same, and lets go of all of them. */
void ovs_map_clear_pieces (OvsMap *map);
/* What a piece brings to its write: a tensor like any other, but of the store's own memory. */
OvstageWriteData *ovs_map_new_data (OvsMap *map, OvsMapPiece *piece);
