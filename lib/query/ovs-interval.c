/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "query/ovs-interval.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define TWO_63 9223372036854775808.0
#define TWO_64 18446744073709551616.0

/* The whole number at or below a value. */
typedef struct
{
  gboolean is_low;  /* it is below all of both integer domains, */
  gboolean is_high; /* or above them */
  gboolean negative;
  gint64 i;         /* when negative, */
  guint64 u;        /* else */
  gboolean exact;   /* the value is whole */
} Floor;

static gboolean
find_floor (const OvsValue *value, Floor *floor_out)
{
  Floor result = { .exact = TRUE };

  if (value->kind == OVS_VALUE_INT && value->i < 0)
    {
      result.negative = TRUE;
      result.i = value->i;
    }
  else if (value->kind != OVS_VALUE_DOUBLE)
    result.u = value->kind == OVS_VALUE_INT ? (guint64) value->i : value->u;
  else
    {
      double whole = floor (value->d);

      if (isnan (value->d))
        return FALSE;
      result.exact = whole == value->d;
      result.is_low = whole < -TWO_63;
      result.is_high = whole >= TWO_64;
      result.negative = whole < 0;
      if (!result.is_low && !result.is_high && result.negative)
        result.i = (gint64) whole;
      else if (!result.is_low && !result.is_high)
        result.u = (guint64) whole;
    }
  *floor_out = result;
  return TRUE;
}

/* The same for both integer domains, in which @f is the floor. */
#define FIND_IN_INTEGERS(field, f, lowest, highest)                                                                    \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      interval->low.field = (lowest);                                                                                  \
      interval->high.field = (highest);                                                                                \
      switch (op)                                                                                                      \
        {                                                                                                              \
        case OVSTAGE_FILTER_OP_LT:                                                                                     \
          if (exact && (f) == (lowest))                                                                                \
            return FALSE;                                                                                              \
          interval->high.field = (f) - exact;                                                                          \
          break;                                                                                                       \
        case OVSTAGE_FILTER_OP_LE:                                                                                     \
          interval->high.field = (f);                                                                                  \
          break;                                                                                                       \
        case OVSTAGE_FILTER_OP_GT:                                                                                     \
        case OVSTAGE_FILTER_OP_GE:                                                                                     \
          if ((op == OVSTAGE_FILTER_OP_GT || !exact) && (f) == (highest))                                              \
            return FALSE;                                                                                              \
          interval->low.field = (f) + (op == OVSTAGE_FILTER_OP_GT || !exact);                                          \
          break;                                                                                                       \
        default:                                                                                                       \
          if (!exact)                                                                                                  \
            return FALSE;                                                                                              \
          interval->low.field = interval->high.field = (f);                                                            \
          break;                                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
  G_STMT_END

static gboolean
find_in_int64 (gint op, const Floor *value, gint64 lowest, gint64 highest, OvsInterval *interval)
{
  gboolean is_low = value->is_low || (value->negative && value->i < lowest);
  gboolean is_high = value->is_high || (!value->is_low && !value->negative && value->u > (guint64) highest);
  gboolean exact = value->exact;
  gint64 f = value->negative ? value->i : (gint64) value->u;

  interval->low.i = lowest;
  interval->high.i = highest;
  if (is_low)
    return op == OVSTAGE_FILTER_OP_GT || op == OVSTAGE_FILTER_OP_GE;
  if (is_high)
    return op == OVSTAGE_FILTER_OP_LT || op == OVSTAGE_FILTER_OP_LE;
  FIND_IN_INTEGERS (i, f, lowest, highest);
  return TRUE;
}

static gboolean
find_in_uint64 (gint op, const Floor *value, guint64 highest, OvsInterval *interval)
{
  gboolean exact = value->exact;
  guint64 f = value->u;

  interval->low.u = 0;
  interval->high.u = highest;
  if (value->is_low || value->negative)
    return op == OVSTAGE_FILTER_OP_GT || op == OVSTAGE_FILTER_OP_GE;
  if (value->is_high || f > highest)
    return op == OVSTAGE_FILTER_OP_LT || op == OVSTAGE_FILTER_OP_LE;
  FIND_IN_INTEGERS (u, f, (guint64) 0, highest);
  return TRUE;
}

/* The doubles next to a value: equal when it is one. */
typedef struct
{
  double down;
  double up;
} Neighbours;

static Neighbours
find_doubles (const OvsValue *value)
{
  gboolean negative = value->kind == OVS_VALUE_INT && value->i < 0;
  guint64 magnitude = value->kind == OVS_VALUE_UINT ? value->u : negative ? -(guint64) value->i : (guint64) value->i;
  double nearest = (double) magnitude;
  Neighbours found = { nearest, nearest };

  if (value->kind == OVS_VALUE_DOUBLE)
    return (Neighbours){ value->d, value->d };
  if (nearest >= TWO_64 || (guint64) nearest > magnitude)
    found.down = nextafter (nearest, 0);
  else if ((guint64) nearest < magnitude)
    found.up = nextafter (nearest, INFINITY);
  return negative ? (Neighbours){ -found.up, -found.down } : found;
}

static Neighbours
find_floats (Neighbours doubles)
{
  float down = (float) doubles.down, up = (float) doubles.up;

  if ((double) down > doubles.down)
    down = nextafterf (down, -INFINITY);
  if ((double) up < doubles.up)
    up = nextafterf (up, INFINITY);
  return (Neighbours){ down, up };
}

static double
step_from (OvsNumberDomain domain, double from, double towards)
{
  return domain == OVS_DOMAIN_FLOAT32 ? (double) nextafterf ((float) from, (float) towards) : nextafter (from, towards);
}

static gboolean
find_in_floats (OvsNumberDomain domain, gint op, const OvsValue *value, OvsInterval *interval)
{
  Neighbours at = find_doubles (value);
  gboolean exact;

  if (isnan (at.down))
    return FALSE;
  if (domain == OVS_DOMAIN_FLOAT32)
    at = find_floats (at);
  exact = at.down == at.up;
  interval->low.d = -INFINITY;
  interval->high.d = INFINITY;
  switch (op)
    {
    case OVSTAGE_FILTER_OP_LT:
      if (at.down == -INFINITY && exact)
        return FALSE;
      interval->high.d = exact ? step_from (domain, at.down, -INFINITY) : at.down;
      return TRUE;
    case OVSTAGE_FILTER_OP_LE:
      interval->high.d = at.down;
      return TRUE;
    case OVSTAGE_FILTER_OP_GT:
      if (at.up == INFINITY && exact)
        return FALSE;
      interval->low.d = exact ? step_from (domain, at.up, INFINITY) : at.up;
      return TRUE;
    case OVSTAGE_FILTER_OP_GE:
      interval->low.d = at.up;
      return TRUE;
    default:
      interval->low.d = interval->high.d = at.down;
      return exact;
    }
}

gboolean
ovs_interval_find (OvsNumberType type, gint op, const OvsValue *value, OvsInterval *interval)
{
  Floor at;

  if (type.domain == OVS_DOMAIN_FLOAT32 || type.domain == OVS_DOMAIN_FLOAT64)
    return find_in_floats (type.domain, op, value, interval);
  if (!find_floor (value, &at))
    return FALSE;
  if (type.domain == OVS_DOMAIN_UINT64)
    return find_in_uint64 (op, &at, G_MAXUINT64 >> (64 - type.bits), interval);
  return find_in_int64 (op, &at, -(G_MAXINT64 >> (64 - type.bits)) - 1, G_MAXINT64 >> (64 - type.bits), interval);
}

/* @one: how far apart neighbours are; 0 where that differs. */
#define DEFINE_MERGE(name, field, one)                                                                                 \
  static gint order_##name (gconstpointer a, gconstpointer b)                                                          \
  {                                                                                                                    \
    const OvsInterval *x = a, *y = b;                                                                                  \
                                                                                                                       \
    return x->low.field < y->low.field ? -1 : x->low.field > y->low.field;                                             \
  }                                                                                                                    \
                                                                                                                       \
  static gsize merge_##name (OvsInterval *intervals, gsize n)                                                          \
  {                                                                                                                    \
    gsize last = 0;                                                                                                    \
                                                                                                                       \
    qsort (intervals, n, sizeof *intervals, order_##name);                                                             \
    for (gsize i = 1; i < n; i++)                                                                                      \
      if (intervals[i].low.field > intervals[last].high.field &&                                                       \
          intervals[i].low.field - (one) > intervals[last].high.field)                                                 \
        intervals[++last] = intervals[i];                                                                              \
      else if (intervals[i].high.field > intervals[last].high.field)                                                   \
        intervals[last].high = intervals[i].high;                                                                      \
    return n > 0 ? last + 1 : 0;                                                                                       \
  }

DEFINE_MERGE (int64, i, 1)
DEFINE_MERGE (uint64, u, 1)
DEFINE_MERGE (floats, d, 0)

gsize
ovs_intervals_merge (OvsNumberDomain domain, OvsInterval *intervals, gsize n)
{
  switch (domain)
    {
    case OVS_DOMAIN_INT64:
      return merge_int64 (intervals, n);
    case OVS_DOMAIN_UINT64:
      return merge_uint64 (intervals, n);
    default:
      return merge_floats (intervals, n);
    }
}

gboolean
ovs_value_read_number (const char *text, OvsValue *number)
{
  gboolean negative = text[0] == '-';
  const char *digits = negative || text[0] == '+' ? text + 1 : text;
  char *end;

  if (!g_ascii_isdigit (digits[0]) && digits[0] != '.' && g_ascii_strncasecmp (digits, "inf", 3) != 0 &&
      g_ascii_strncasecmp (digits, "nan", 3) != 0)
    return FALSE;
  *number = (OvsValue){ .kind = OVS_VALUE_UINT };
  errno = 0;
  number->u = g_ascii_strtoull (digits, &end, 10);
  if (end != digits && *end == '\0' && errno == 0 && (!negative || number->u <= (guint64) G_MAXINT64 + 1))
    {
      if (negative)
        {
          number->kind = OVS_VALUE_INT;
          number->i = (gint64) -number->u;
        }
      return TRUE;
    }
  number->kind = OVS_VALUE_DOUBLE;
  number->d = g_ascii_strtod (text, &end);
  return end != text && *end == '\0';
}
