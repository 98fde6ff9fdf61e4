/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Comparisons of numbers, exact whatever the types: the numbers of a type for which
 * one holds are an interval of that type. */

#pragma once

#include "query/ovs-filter.h"

/* Where a column's numbers lie: float16 and its like are all among float32. */
typedef enum
{
  OVS_DOMAIN_INT64,
  OVS_DOMAIN_UINT64,
  OVS_DOMAIN_FLOAT32,
  OVS_DOMAIN_FLOAT64,
} OvsNumberDomain;

typedef struct
{
  OvsNumberDomain domain;
  guint bits; /* of integers: narrower ones have narrower intervals */
} OvsNumberType;

typedef union
{
  gint64 i;
  guint64 u;
  double d; /* of both float domains */
} OvsNumber;

/* Both ends belong to it. */
typedef struct
{
  OvsNumber low;
  OvsNumber high;
} OvsInterval;

/* @op: LT to GE; whatever else means equal. @value: a number. FALSE: it holds for none. NaN is in no interval. */
gboolean ovs_interval_find (OvsNumberType type, gint op, const OvsValue *value, OvsInterval *interval);

/* Sorts them in place and makes one of those that overlap, or that are next to one another among integers. How many are left. */
gsize ovs_intervals_merge (OvsNumberDomain domain, OvsInterval *intervals, gsize n);

/* What a text spells. FALSE: no number. */
gboolean ovs_value_read_number (const char *text, OvsValue *number);
