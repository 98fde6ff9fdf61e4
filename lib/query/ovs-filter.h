/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a filter asks for: a tree of predicates. Immutable and counted. */

#pragma once

#include <ovstage/ovstage-enums.h>
#include <ovstage/ovstage-types.h>

#include "base/ovs-error.h"

typedef enum
{
  OVS_VALUE_TEXT,    /* bytes */
  OVS_VALUE_LITERAL, /* a text, or what it spells where the attribute holds numbers */
  OVS_VALUE_INT,
  OVS_VALUE_UINT,
  OVS_VALUE_DOUBLE,
  OVS_VALUE_INVALID, /* nothing to compare with; text says what was given */
} OvsValueKind;

typedef struct
{
  OvsValueKind kind;
  gint64 i;
  guint64 u;
  double d;
  char *text; /* (owned) (nullable) terminated */
  gsize length;
} OvsValue;

typedef enum
{
  OVS_FILTER_PREDICATE,
  OVS_FILTER_ALL,
  OVS_FILTER_ANY,
  OVS_FILTER_NOT,
} OvsFilterKind;

struct _OvstageFilter
{
  gint refs; /* (atomic) */
  OvsFilterKind kind;
  guint depth;
  gint op;           /* of a predicate, with */
  guint64 attribute; /* 0 with SUBTREE: the path of the prim itself */
  OvsValue *values;  /* (owned) */
  gsize n_values;
  OvstageFilter **parts; /* (owned) of the others, unless they are nested too deep */
  gsize n_parts;
};

/* Takes what @values hold, not the array. */
OvstageFilter *ovs_filter_new_predicate (guint64 attribute, gint op, const OvsValue *values, gsize n_values);
/* ALL, ANY, or NOT of one. Refs @parts. */
OvstageFilter *ovs_filter_new_combined (OvsFilterKind kind, OvstageFilter *const *parts, gsize n_parts);
OvstageFilter *ovs_filter_ref (OvstageFilter *filter);
void ovs_filter_unref (OvstageFilter *filter);

/* @length: bytes, or -1 for a terminated text. */
OvsValue ovs_value_new_text (OvsValueKind kind, const char *text, gssize length);

/* The predicates in the order in which they stand; OvstageFilter, none of them owned. @filter: (nullable) */
GPtrArray *ovs_filter_list_predicates (OvstageFilter *filter);
/* Enum ranges, and values that no attribute could be compared with. @filter: (nullable) */
gboolean ovs_filter_check_form (OvstageFilter *filter, GError **error);
const char *ovs_filter_op_get_name (gint op);
