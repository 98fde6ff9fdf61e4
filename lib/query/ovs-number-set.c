/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "query/ovs-number-set.h"

#include <math.h>
#include <string.h>

#include "query/ovs-interval.h"
#include "tensor/ovs-dtype.h"

typedef void (*PassFunc) (const guint8 *values, guint32 n, const OvsInterval *interval, guint64 *words);
typedef void (*SearchFunc) (const guint8 *values, guint32 n, const OvsInterval *intervals, guint n_intervals, guint64 *words);

struct _OvsNumberSet
{
  OvsInterval *intervals; /* (owned) sorted, apart from one another */
  guint n_intervals;
  PassFunc pass;     /* (nullable) NULL: by the table */
  SearchFunc search; /* (nullable) likewise */
  guint few;         /* up to so many intervals a pass for each is quicker than a search for each number */
  guint8 *table;     /* (owned) (nullable) of all values of 8 bits, which ones match */
};

/* --- numbers --- */

/* Bit i of the result is byte i, which is 0 or 1. */
static guint64
gather_bits (const guint8 *bytes)
{
  guint64 word = 0;

  for (guint i = 0; i < 8; i++)
    {
      guint64 eight;

      memcpy (&eight, bytes + 8 * i, 8);
      eight = GUINT64_FROM_LE (eight);
      word |= ((eight * G_GUINT64_CONSTANT (0x0102040810204080)) >> 56) << (8 * i);
    }
  return word;
}

/* The last interval that begins at or below the value has it, or none has. Without branches: which way it goes is a coin's toss. */
#define DEFINE_SEARCH(field, type)                                                                                     \
  static inline gboolean is_in_##field (type value, const OvsInterval *intervals, guint n)                             \
  {                                                                                                                    \
    for (; n > 1; n -= n / 2)                                                                                          \
      intervals += intervals[n / 2].low.field <= value ? n / 2 : 0;                                                    \
    return n > 0 && value >= intervals->low.field && value <= intervals->high.field;                                   \
  }

DEFINE_SEARCH (i, gint64)
DEFINE_SEARCH (u, guint64)
DEFINE_SEARCH (d, double)

/* For one interval the loop over 64 values becomes vector code: nothing in it depends on another. */
#define DEFINE_PASS(name, type, field, convert)                                                                        \
  static void pass_##name (const guint8 *bytes, guint32 n, const OvsInterval *interval, guint64 *words)                \
  {                                                                                                                    \
    const type *values = (const type *) bytes;                                                                         \
    const __typeof__ (convert (values[0])) low = (__typeof__ (convert (values[0]))) interval->low.field;               \
    const __typeof__ (convert (values[0])) high = (__typeof__ (convert (values[0]))) interval->high.field;             \
    guint8 hits[64];                                                                                                   \
                                                                                                                       \
    for (; n >= 64; n -= 64, values += 64, words++)                                                                    \
      {                                                                                                                \
        for (guint i = 0; i < 64; i++)                                                                                 \
          hits[i] = (convert (values[i]) >= low) & (convert (values[i]) <= high);                                      \
        *words |= gather_bits (hits);                                                                                  \
      }                                                                                                                \
    for (guint i = 0; i < n; i++)                                                                                      \
      if ((convert (values[i]) >= low) & (convert (values[i]) <= high))                                                \
        *words |= G_GUINT64_CONSTANT (1) << i;                                                                         \
  }                                                                                                                    \
                                                                                                                       \
  static void search_##name (const guint8 *bytes, guint32 n, const OvsInterval *intervals, guint n_intervals,          \
                             guint64 *words)                                                                           \
  {                                                                                                                    \
    const type *values = (const type *) bytes;                                                                         \
                                                                                                                       \
    for (guint32 i = 0; i < n; i++)                                                                                    \
      words[i / 64] |= (guint64) is_in_##field (convert (values[i]), intervals, n_intervals) << (i % 64);              \
  }

static inline float
decode_bfloat16 (guint16 bits)
{
  guint32 wide = (guint32) bits << 16;
  float value;

  memcpy (&value, &wide, sizeof value);
  return value;
}

static inline float
decode_float16 (guint16 bits)
{
  guint32 magnitude = bits & 0x7fffu, wide;
  float value;

  if (magnitude < 0x0400) /* below the least normal one: a whole number of 2^-24 */
    value = (float) magnitude * 0x1p-24f;
  else
    {
      /* Another exponent, and more of the mantissa; infinity and NaN have the highest exponent in both. */
      wide = magnitude >= 0x7c00 ? 0x7f800000u | (magnitude & 0x3ff) << 13 : (magnitude << 13) + (112u << 23);
      memcpy (&value, &wide, sizeof value);
    }
  return bits & 0x8000 ? -value : value;
}

#define AS_IT_IS(x) (x)

DEFINE_PASS (int16, gint16, i, AS_IT_IS)
DEFINE_PASS (int32, gint32, i, AS_IT_IS)
DEFINE_PASS (int64, gint64, i, AS_IT_IS)
DEFINE_PASS (uint16, guint16, u, AS_IT_IS)
DEFINE_PASS (uint32, guint32, u, AS_IT_IS)
DEFINE_PASS (uint64, guint64, u, AS_IT_IS)
DEFINE_PASS (float16, guint16, d, decode_float16)
DEFINE_PASS (bfloat16, guint16, d, decode_bfloat16)
DEFINE_PASS (float32, float, d, AS_IT_IS)
DEFINE_PASS (float64, double, d, AS_IT_IS)

/* The formats of 8 bits differ in the widths, the bias, and what they spend on infinity and NaN. */
typedef struct
{
  guint mantissa; /* bits */
  gint bias;
  enum
  {
    FLOAT8_LIKE_IEEE, /* the highest exponent is for both */
    FLOAT8_FN,        /* all ones is NaN, there is no infinity */
    FLOAT8_FNUZ,      /* minus zero is NaN, there is no infinity */
  } style;
} Float8;

static const Float8 float8_formats[] = {
  [OVS_CODE_FLOAT8_E3M4] = { 4, 3, FLOAT8_LIKE_IEEE },        [OVS_CODE_FLOAT8_E4M3] = { 3, 7, FLOAT8_LIKE_IEEE },
  [OVS_CODE_FLOAT8_E4M3B11FNUZ] = { 3, 11, FLOAT8_FNUZ },     [OVS_CODE_FLOAT8_E4M3FN] = { 3, 7, FLOAT8_FN },
  [OVS_CODE_FLOAT8_E4M3FNUZ] = { 3, 8, FLOAT8_FNUZ },         [OVS_CODE_FLOAT8_E5M2] = { 2, 15, FLOAT8_LIKE_IEEE },
  [OVS_CODE_FLOAT8_E5M2FNUZ] = { 2, 16, FLOAT8_FNUZ },
};

static float
decode_float8 (guint8 code, guint8 bits)
{
  const Float8 *format;
  guint mantissa, exponent, highest;
  float value;

  if (code == OVS_CODE_FLOAT8_E8M0FNU)
    return bits == 0xff ? NAN : ldexpf (1, (int) bits - 127);
  format = &float8_formats[code];
  highest = (0x80u >> format->mantissa) - 1;
  exponent = (bits & 0x7fu) >> format->mantissa;
  mantissa = bits & ((1u << format->mantissa) - 1);
  if ((format->style == FLOAT8_FNUZ && bits == 0x80) || (format->style == FLOAT8_FN && (bits & 0x7f) == 0x7f))
    return NAN;
  if (format->style == FLOAT8_LIKE_IEEE && exponent == highest)
    value = mantissa == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    value = ldexpf ((float) mantissa, 1 - format->bias - (int) format->mantissa);
  else
    value = ldexpf ((float) (mantissa | 1u << format->mantissa), (int) exponent - format->bias - (int) format->mantissa);
  return bits & 0x80 ? -value : value;
}

static OvsNumberType
get_number_type (OvstageDataType dtype)
{
  switch (dtype.code)
    {
    case OVS_CODE_INT:
      return (OvsNumberType){ OVS_DOMAIN_INT64, dtype.bits };
    case OVS_CODE_UINT:
      return (OvsNumberType){ OVS_DOMAIN_UINT64, dtype.bits };
    case OVS_CODE_BOOL:
      return (OvsNumberType){ OVS_DOMAIN_UINT64, 8 };
    default:
      return (OvsNumberType){ dtype.bits == 64 ? OVS_DOMAIN_FLOAT64 : OVS_DOMAIN_FLOAT32, dtype.bits };
    }
}

typedef struct
{
  PassFunc pass;
  SearchFunc search;
} Loops;

#define LOOPS(name) ((Loops){ pass_##name, search_##name })

/* None for 8 bits. */
static Loops
find_loops (OvstageDataType dtype)
{
  gboolean is_signed = dtype.code == OVS_CODE_INT, is_float = dtype.code == OVS_CODE_FLOAT;

  if (dtype.code == OVS_CODE_BFLOAT)
    return LOOPS (bfloat16);
  switch (dtype.bits)
    {
    case 16:
      return is_float ? LOOPS (float16) : is_signed ? LOOPS (int16) : LOOPS (uint16);
    case 32:
      return is_float ? LOOPS (float32) : is_signed ? LOOPS (int32) : LOOPS (uint32);
    case 64:
      return is_float ? LOOPS (float64) : is_signed ? LOOPS (int64) : LOOPS (uint64);
    default:
      return (Loops){ NULL, NULL };
    }
}

static gboolean
has_byte (const OvsNumberSet *set, OvstageDataType dtype, guint8 byte)
{
  switch (dtype.code)
    {
    case OVS_CODE_INT:
      return is_in_i ((gint8) byte, set->intervals, set->n_intervals);
    case OVS_CODE_UINT:
      return is_in_u (byte, set->intervals, set->n_intervals);
    case OVS_CODE_BOOL:
      return is_in_u (byte != 0, set->intervals, set->n_intervals);
    default:
      return is_in_d (decode_float8 (dtype.code, byte), set->intervals, set->n_intervals);
    }
}

/* --- sets --- */

gboolean
ovs_number_set_fits (OvstageDataType dtype)
{
  switch (dtype.code)
    {
    case OVS_CODE_INT:
    case OVS_CODE_UINT:
      return dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
    case OVS_CODE_FLOAT:
      return dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64;
    case OVS_CODE_BFLOAT:
      return dtype.bits == 16;
    case OVS_CODE_BOOL:
      return dtype.bits == 8;
    default:
      return dtype.code >= OVS_CODE_FLOAT8_E3M4 && dtype.code <= OVS_CODE_FLOAT8_E8M0FNU && dtype.bits == 8;
    }
}

OvsNumberSet *
ovs_number_set_new (OvstageDataType dtype, gint op, const OvsValue *values, gsize n_values)
{
  OvsNumberSet *set = g_new0 (OvsNumberSet, 1);
  OvsNumberType type = get_number_type (dtype);
  Loops loops = find_loops (dtype);
  gsize n = 0;

  set->intervals = g_new (OvsInterval, MAX (n_values, 1));
  for (gsize i = 0; i < n_values; i++)
    if (ovs_interval_find (type, op, &values[i], &set->intervals[n]))
      n++;
  set->n_intervals = (guint) ovs_intervals_merge (type.domain, set->intervals, n);
  set->pass = loops.pass;
  set->search = loops.search;
  set->few = dtype.bits == 64 ? 4 : 16; /* as measured: a vector has half as many of them */
  if (set->pass != NULL)
    return set;
  set->table = g_malloc (256);
  for (guint byte = 0; byte < 256; byte++)
    set->table[byte] = (guint8) has_byte (set, dtype, (guint8) byte);
  return set;
}

void
ovs_number_set_free (OvsNumberSet *set)
{
  g_free (set->intervals);
  g_free (set->table);
  g_free (set);
}

void
ovs_number_set_run (const OvsNumberSet *set, const guint8 *values, guint32 n, guint64 *words)
{
  if (set->table != NULL)
    {
      for (guint32 i = 0; i < n; i++)
        words[i / 64] |= (guint64) set->table[values[i]] << (i % 64);
      return;
    }
  if (set->n_intervals > set->few)
    {
      set->search (values, n, set->intervals, set->n_intervals, words);
      return;
    }
  for (guint i = 0; i < set->n_intervals; i++)
    set->pass (values, n, &set->intervals[i], words);
}

gboolean
ovs_number_set_has_id (const OvsNumberSet *set, guint64 id)
{
  return is_in_u (id, set->intervals, set->n_intervals);
}
