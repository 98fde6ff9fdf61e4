/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Filters (BEHAVIOUR, fine print): each operator on each kind of attribute, against a
 * plain evaluator where there are many cases, and queries that wait. */

#include "config.h"

#include <float.h>
#include <math.h>

#include "engine-helpers.h"
#include "query/ovs-filter.h"
#include "query/ovs-interval.h"

/* --- filters --- */

static OvsValue
text_value (const char *text)
{
  return ovs_value_new_text (OVS_VALUE_TEXT, text, -1);
}

static OvsValue
literal (const char *text)
{
  return ovs_value_new_text (OVS_VALUE_LITERAL, text, -1);
}

static OvsValue
int_value (gint64 value)
{
  return (OvsValue){ .kind = OVS_VALUE_INT, .i = value };
}

static OvsValue
uint_value (guint64 value)
{
  return (OvsValue){ .kind = OVS_VALUE_UINT, .u = value };
}

static OvsValue
double_value (double value)
{
  return (OvsValue){ .kind = OVS_VALUE_DOUBLE, .d = value };
}

static OvstageFilter *
has (guint64 attribute)
{
  return ovs_filter_new_predicate (attribute, OVSTAGE_FILTER_OP_HAS, NULL, 0);
}

static OvstageFilter *
compare (guint64 attribute, OvstageFilterOp op, OvsValue value)
{
  return ovs_filter_new_predicate (attribute, op, &value, 1);
}

#define IN_LIST(attribute, ...)                                                                                        \
  ovs_filter_new_predicate (attribute, OVSTAGE_FILTER_OP_IN, (OvsValue[]){ __VA_ARGS__ },                              \
                            G_N_ELEMENTS (((OvsValue[]){ __VA_ARGS__ })))

/* Takes the parts. */
static OvstageFilter *
combine (OvsFilterKind kind, OvstageFilter *a, OvstageFilter *b)
{
  OvstageFilter *parts[2] = { a, b };
  OvstageFilter *filter = ovs_filter_new_combined (kind, parts, b != NULL ? 2 : 1);

  ovs_filter_unref (a);
  if (b != NULL)
    ovs_filter_unref (b);
  return filter;
}

static OvstageFilter *
not (OvstageFilter *part)
{
  return combine (OVS_FILTER_NOT, part, NULL);
}

/* Takes @filter. */
static OvsOp *
query_filter (Scene *scene, OvstageFilter *filter, const guint64 *attributes, gsize n_attributes)
{
  OvsOp *query = ovs_stage_query_filter (scene->stage, filter, attributes, n_attributes);

  if (filter != NULL)
    ovs_filter_unref (filter);
  return query;
}

/* The paths a query gives, or the code of its error. Takes @query. */
static char *
query_to_text (Scene *scene, OvsOp *query)
{
  GString *text = g_string_new (NULL);

  g_assert_cmpint (ovs_op_wait (query, 20 * G_GINT64_CONSTANT (1000000000), NULL), ==, OVS_WAIT_DONE);
  if (ovs_op_get_error (query) != NULL)
    g_string_append_printf (text, "error %d", ovs_op_get_error (query)->code);
  else
    {
      OvstagePathList *list = ovs_query_get_list (query);

      for (guint32 i = 0; i < list->n; i++)
        {
          g_autofree char *path = ovs_path_dict_dup_path (list->dict, list->ids[i]);

          g_assert_true (i == 0 || list->ids[i] > list->ids[i - 1]);
          g_string_append_printf (text, "%s%s", i > 0 ? " " : "", path);
        }
    }
  ovs_op_unref (query);
  return g_string_free (text, FALSE);
}

/* Takes @filter. */
#define assert_matches(scene, filter, expected)                                                                        \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_autofree char *text_ = query_to_text (scene, query_filter (scene, filter, NO_TOKENS));                         \
      g_assert_cmpstr (text_, ==, expected);                                                                           \
    }                                                                                                                  \
  G_STMT_END

/* Takes @filter. */
static void
assert_fault (Scene *scene, OvstageFilter *filter, gint code, const char *text, const char *other)
{
  OvsOp *query = query_filter (scene, filter, NO_TOKENS);
  const char *texts[] = { text, other, NULL };

  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  assert_error_says (ovs_op_get_error (query), code, texts);
  ovs_op_unref (query);
}

/* Rows as they are given: @bytes of @dtype, one for each of the first prims. */
static void
write_bytes (Scene *scene, guint64 attribute, guint64 ordinal, OvstageDataType dtype, OvstageSemantic semantic, const void *bytes, guint n)
{
  OvstageWriteData *payload = payload_rows (dtype, n);

  memcpy (payload->tensor->data, bytes, (gsize) n * ovs_dtype_row_bits (dtype) / 8);
  payload->semantic = semantic;
  payload->count = n;
  write_or_fail (scene, scene->query, attribute, ordinal, payload);
}

/* --- numbers --- */

static void
test_numbers (void)
{
  Scene scene;

  scene_init (&scene, 5);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 2.5 -1");
  assert_matches (&scene, has (scene.a), "/p0 /p1 /p2 /p3 /p4");
  assert_matches (&scene, has (scene.b), "");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (2)), "/p2 /p3");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GE, uint_value (2)), "/p1 /p2 /p3");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, double_value (1)), "/p4");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LE, literal ("2.5")), "/p0 /p1 /p3 /p4");
  assert_matches (&scene, IN_LIST (scene.a, int_value (3), literal ("-1"), double_value (2.5)), "/p2 /p3 /p4");
  assert_matches (&scene, ovs_filter_new_predicate (scene.a, OVSTAGE_FILTER_OP_IN, NULL, 0), "");
  scene_clear (&scene);
}

/* Nothing is staged: the version that is sealed answers for what is newest. */
static void
test_sealed_only (void)
{
  Scene scene;

  scene_init (&scene, 3);
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GE, int_value (2)), "/p1 /p2");
  scene_clear (&scene);
}

static void
test_nan (void)
{
  Scene scene;
  const float values[] = { NAN, 1, -NAN, INFINITY, -INFINITY };

  scene_init (&scene, 5);
  write_bytes (&scene, scene.a, 1, float32, OVSTAGE_SEMANTIC_NONE, values, 5);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GE, double_value (-INFINITY)), "/p1 /p3 /p4");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, double_value (INFINITY)), "/p1 /p4");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, double_value (1e300)), "/p3");
  for (gint op = OVSTAGE_FILTER_OP_LT; op <= OVSTAGE_FILTER_OP_GE; op++)
    assert_matches (&scene, compare (scene.a, (OvstageFilterOp) op, double_value (NAN)), "");
  assert_matches (&scene, IN_LIST (scene.a, double_value (NAN), double_value (-INFINITY)), "/p4");
  assert_matches (&scene, not(compare (scene.a, OVSTAGE_FILTER_OP_GE, literal ("nan"))), "/p0 /p1 /p2 /p3 /p4");
  scene_clear (&scene);
}

static void
test_exact (void)
{
  Scene scene;
  const gint64 numbers[] = { 9007199254740992, 9007199254740993, 9007199254740994, G_MAXINT64, G_MININT64 };
  const double doubles[] = { 9007199254740992.0, 9007199254740994.0, 0x1p63, -0x1p63, 0x1p64 };
  const OvstageDataType int64 = { OVS_CODE_INT, 64, 1 }, float64 = { OVS_CODE_FLOAT, 64, 1 };

  scene_init (&scene, 5);
  write_bytes (&scene, scene.a, 1, int64, OVSTAGE_SEMANTIC_NONE, numbers, 5);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, double_value (9007199254740992.0)), "/p1 /p2 /p3");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, literal ("9007199254740993")), "/p1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, double_value (0x1p63)), "/p0 /p1 /p2 /p3 /p4");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GE, uint_value (G_MAXUINT64)), "");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LE, double_value (-0x1p63)), "/p4");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, double_value (-0x1p63)), "");
  for (gint op = OVSTAGE_FILTER_OP_LT; op <= OVSTAGE_FILTER_OP_GE; op++)
    assert_matches (&scene, compare (scene.a, (OvstageFilterOp) op, double_value (NAN)), "");

  write_bytes (&scene, scene.b, 1, float64, OVSTAGE_SEMANTIC_NONE, doubles, 5);
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_GE, int_value (9007199254740993)), "/p1 /p2 /p4");
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_IN, int_value (9007199254740993)), "");
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_GT, int_value (G_MAXINT64)), "/p2 /p4");
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_GT, uint_value (G_MAXUINT64)), "/p4");
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_IN, int_value (G_MININT64)), "/p3");
  scene_clear (&scene);
}

#define N_NUMBERS 200u

/* What a value of a type is, the plain way. */
static long double
decode (OvstageDataType dtype, const guint8 *bytes)
{
  gint exponent_bits = 0, mantissa_bits = 0, bias = 0;
  gboolean ieee = TRUE, fnuz = FALSE;
  guint64 bits = 0;

  switch (dtype.code)
    {
    case OVS_CODE_INT:
      switch (dtype.bits)
        {
        case 8: return *(const gint8 *) bytes;
        case 16: return *(const gint16 *) bytes;
        case 32: return *(const gint32 *) bytes;
        default: return (long double) *(const gint64 *) bytes;
        }
    case OVS_CODE_UINT:
      switch (dtype.bits)
        {
        case 8: return *bytes;
        case 16: return *(const guint16 *) bytes;
        case 32: return *(const guint32 *) bytes;
        default: return (long double) *(const guint64 *) bytes;
        }
    case OVS_CODE_BOOL:
      return *bytes != 0;
    case OVS_CODE_FLOAT:
      if (dtype.bits == 32)
        return *(const float *) bytes;
      if (dtype.bits == 64)
        return *(const double *) bytes;
      exponent_bits = 5, mantissa_bits = 10, bias = 15;
      break;
    case OVS_CODE_BFLOAT:
      exponent_bits = 8, mantissa_bits = 7, bias = 127;
      break;
    case OVS_CODE_FLOAT8_E3M4:
      exponent_bits = 3, mantissa_bits = 4, bias = 3;
      break;
    case OVS_CODE_FLOAT8_E4M3:
      exponent_bits = 4, mantissa_bits = 3, bias = 7;
      break;
    case OVS_CODE_FLOAT8_E4M3FN:
      exponent_bits = 4, mantissa_bits = 3, bias = 7, ieee = FALSE;
      break;
    case OVS_CODE_FLOAT8_E4M3FNUZ:
      exponent_bits = 4, mantissa_bits = 3, bias = 8, ieee = FALSE, fnuz = TRUE;
      break;
    case OVS_CODE_FLOAT8_E4M3B11FNUZ:
      exponent_bits = 4, mantissa_bits = 3, bias = 11, ieee = FALSE, fnuz = TRUE;
      break;
    case OVS_CODE_FLOAT8_E5M2:
      exponent_bits = 5, mantissa_bits = 2, bias = 15;
      break;
    case OVS_CODE_FLOAT8_E5M2FNUZ:
      exponent_bits = 5, mantissa_bits = 2, bias = 16, ieee = FALSE, fnuz = TRUE;
      break;
    default:
      return *bytes == 0xff ? (long double) NAN : powl (2, (long double) *bytes - 127);
    }

  for (guint i = 0; i < dtype.bits / 8u; i++)
    bits |= (guint64) bytes[G_BYTE_ORDER == G_LITTLE_ENDIAN ? i : dtype.bits / 8u - 1 - i] << (8 * i);
  {
    guint64 mantissa = bits & ((1u << mantissa_bits) - 1), exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
    long double sign = bits >> (dtype.bits - 1) ? -1 : 1;

    if (fnuz && bits == 0x80)
      return (long double) NAN;
    if (!ieee && !fnuz && exponent == (1u << exponent_bits) - 1 && mantissa == (1u << mantissa_bits) - 1)
      return (long double) NAN;
    if (ieee && exponent == (1u << exponent_bits) - 1)
      return mantissa != 0 ? (long double) NAN : sign * (long double) INFINITY;
    if (exponent == 0)
      return sign * (long double) mantissa * powl (2, 1 - bias - mantissa_bits);
    return sign * (1 + (long double) mantissa * powl (2, -mantissa_bits)) * powl (2, (long double) exponent - bias);
  }
}

static gboolean
holds (long double one, gint op, long double other)
{
  switch (op)
    {
    case OVSTAGE_FILTER_OP_LT: return one < other;
    case OVSTAGE_FILTER_OP_LE: return one <= other;
    case OVSTAGE_FILTER_OP_GT: return one > other;
    case OVSTAGE_FILTER_OP_GE: return one >= other;
    default: return one == other;
    }
}

/* A value near those of the column, or one at the edges. */
static OvsValue
random_value (long double near, long double *exact)
{
  static const double edges[] = { 0, -0.0, 0x1p53, 0x1p63, -0x1p63, 0x1p64, 1e-50, 1e300, -1e300, INFINITY, -INFINITY, 65504, 127.5, -128.5, 254.999, 255 };
  OvsValue value;

  switch (g_random_int_range (0, 4))
    {
    case 0:
      value = int_value (fabsl (near) < 0x1p62L ? (gint64) near + g_random_int_range (-1, 2) : G_MAXINT64 - g_random_int_range (0, 2));
      *exact = (long double) value.i;
      return value;
    case 1:
      value = uint_value (near >= 0 && near < 0x1p63L ? (guint64) near + (guint) g_random_int_range (0, 2) : G_MAXUINT64 - (guint) g_random_int_range (0, 2));
      *exact = (long double) value.u;
      return value;
    case 2:
      value = double_value (edges[g_random_int_range (0, G_N_ELEMENTS (edges))]);
      break;
    default:
      value = double_value ((double) near);
      if (g_random_boolean ())
        value.d = nextafter (value.d, g_random_boolean () ? INFINITY : -INFINITY);
      break;
    }
  *exact = value.d;
  return value;
}

/* One value, or for IN also none, some, or more than there are numbers. Some of them repeat. */
static gsize
choose_n_values (gint op)
{
  static const gint most[] = { 1, 2, 6, 20, 3 * N_NUMBERS };

  return op == OVSTAGE_FILTER_OP_IN ? (gsize) g_random_int_range (0, most[g_random_int_range (0, G_N_ELEMENTS (most))] + 1) : 1;
}

static gboolean
holds_for_one (long double number, gint op, const long double *others, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (holds (number, op, others[i]))
      return TRUE;
  return FALSE;
}

static void
check_type (OvstageDataType dtype)
{
  guint row_size = dtype.bits / 8u;
  g_autofree guint8 *bytes = g_malloc ((gsize) N_NUMBERS * row_size);
  Scene scene;

  scene_init (&scene, N_NUMBERS);
  for (guint i = 0; i < N_NUMBERS * row_size; i++)
    bytes[i] = (guint8) g_random_int ();
  for (guint i = 0; i < N_NUMBERS && dtype.code <= OVS_CODE_FLOAT && i % 2 == 0; i += 2)
    {
      double small = g_random_int_range (-5, 6) / 2.0;

      if (dtype.code == OVS_CODE_FLOAT && dtype.bits == 32)
        ((float *) bytes)[i] = (float) small;
      else if (dtype.code == OVS_CODE_FLOAT && dtype.bits == 64)
        ((double *) bytes)[i] = small;
      else if (dtype.bits == 64)
        ((gint64 *) bytes)[i] = 9007199254740992 + (gint64) (2 * small);
    }
  write_bytes (&scene, scene.a, 1, dtype, OVSTAGE_SEMANTIC_NONE, bytes, N_NUMBERS);

  for (guint round = 0; round < 150; round++)
    {
      gint op = round % 3 == 0 ? OVSTAGE_FILTER_OP_IN : OVSTAGE_FILTER_OP_LT + g_random_int_range (0, 4);
      gsize n_values = choose_n_values (op);
      g_autofree long double *exact = g_new (long double, MAX (n_values, 1));
      g_autofree OvsValue *values = g_new (OvsValue, MAX (n_values, 1));
      OvsOp *query;

      for (gsize i = 0; i < n_values; i++)
        {
          long double near = decode (dtype, bytes + (gsize) g_random_int_range (0, N_NUMBERS) * row_size);

          values[i] = random_value (isnan (near) ? 1 : near, &exact[i]);
        }
      query = query_filter (&scene, ovs_filter_new_predicate (scene.a, op, values, n_values), NO_TOKENS);

      g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      g_assert_no_error (ovs_op_get_error (query));
      for (guint i = 0; i < N_NUMBERS; i++)
        {
          long double number = decode (dtype, bytes + (gsize) i * row_size);
          gboolean found = ovs_path_list_index_of (ovs_query_get_list (query), scene.list->ids[i]) != OVS_INDEX_NONE;

          if (found != holds_for_one (number, op, exact, n_values))
            g_error ("%d/%d: %.25Lg %s %.25Lg and others, %" G_GSIZE_FORMAT " in all: %d", dtype.code, dtype.bits, number,
                     ovs_filter_op_get_name (op), n_values > 0 ? exact[0] : 0, n_values, found);
        }
      ovs_op_unref (query);
    }
  scene_clear (&scene);
}

static void
test_types (void)
{
  if (LDBL_MANT_DIG < 64)
    {
      g_test_skip ("long double does not hold every integer");
      return;
    }
  for (guint8 bits = 8; bits <= 64; bits *= 2)
    {
      check_type ((OvstageDataType){ OVS_CODE_INT, bits, 1 });
      check_type ((OvstageDataType){ OVS_CODE_UINT, bits, 1 });
      if (bits > 8)
        check_type ((OvstageDataType){ OVS_CODE_FLOAT, bits, 1 });
      if (bits == 64)
        break;
    }
  check_type ((OvstageDataType){ OVS_CODE_BOOL, 8, 1 });
  check_type ((OvstageDataType){ OVS_CODE_BFLOAT, 16, 1 });
  for (guint8 code = OVS_CODE_FLOAT8_E3M4; code <= OVS_CODE_FLOAT8_E8M0FNU; code++)
    check_type ((OvstageDataType){ code, 8, 1 });
}

#define NUMBER_MAX 6

static void
assert_merged_integers (const gint64 (*given)[2], gsize n, const gint64 (*expected)[2], gsize n_expected)
{
  OvsInterval intervals[NUMBER_MAX];

  for (gsize i = 0; i < n; i++)
    intervals[i] = (OvsInterval){ { .i = given[i][0] }, { .i = given[i][1] } };
  g_assert_cmpuint (ovs_intervals_merge (OVS_DOMAIN_INT64, intervals, n), ==, n_expected);
  for (gsize i = 0; i < n_expected; i++)
    {
      g_assert_cmpint (intervals[i].low.i, ==, expected[i][0]);
      g_assert_cmpint (intervals[i].high.i, ==, expected[i][1]);
    }
}

static void
test_intervals (void)
{
  OvsInterval floats[] = { { { .d = 1 }, { .d = 1 } }, { { .d = 0.0 }, { .d = 0.0 } }, { { .d = -INFINITY }, { .d = -3 } },
                           { { .d = -0.0 }, { .d = -0.0 } }, { { .d = -4 }, { .d = -2 } } };
  OvsInterval edges[] = { { { .u = G_MAXUINT64 }, { .u = G_MAXUINT64 } }, { { .u = 0 }, { .u = 0 } }, { { .u = G_MAXUINT64 - 1 }, { .u = G_MAXUINT64 - 1 } } };

  assert_merged_integers (NULL, 0, NULL, 0);
  assert_merged_integers ((const gint64[][2]){ { 5, 5 }, { 3, 3 }, { 4, 4 }, { 7, 7 }, { 3, 3 } }, 5, (const gint64[][2]){ { 3, 5 }, { 7, 7 } }, 2);
  assert_merged_integers ((const gint64[][2]){ { 0, 9 }, { 2, 3 }, { 11, 12 } }, 3, (const gint64[][2]){ { 0, 9 }, { 11, 12 } }, 2);
  assert_merged_integers ((const gint64[][2]){ { G_MAXINT64, G_MAXINT64 }, { G_MININT64, G_MININT64 }, { G_MAXINT64 - 1, G_MAXINT64 } }, 3,
                          (const gint64[][2]){ { G_MININT64, G_MININT64 }, { G_MAXINT64 - 1, G_MAXINT64 } }, 2);

  g_assert_cmpuint (ovs_intervals_merge (OVS_DOMAIN_UINT64, edges, G_N_ELEMENTS (edges)), ==, 2);
  g_assert_cmpuint (edges[0].high.u, ==, 0);
  g_assert_cmpuint (edges[1].low.u, ==, G_MAXUINT64 - 1);
  g_assert_cmpuint (edges[1].high.u, ==, G_MAXUINT64);

  g_assert_cmpuint (ovs_intervals_merge (OVS_DOMAIN_FLOAT64, floats, G_N_ELEMENTS (floats)), ==, 3); /* neither is next to the other */
  g_assert_cmpfloat (floats[0].high.d, ==, -2);
  g_assert_cmpfloat (floats[1].low.d, ==, 0);
  g_assert_cmpfloat (floats[2].low.d, ==, 1);
}

static void
test_literals (void)
{
  static const struct
  {
    const char *text;
    OvsValueKind kind; /* INVALID: no number */
    double value;
  } cases[] = {
    { "0", OVS_VALUE_UINT, 0 },          { "+7", OVS_VALUE_UINT, 7 },      { "-7", OVS_VALUE_INT, -7 },
    { "1.5", OVS_VALUE_DOUBLE, 1.5 },    { ".5", OVS_VALUE_DOUBLE, 0.5 },  { "1e3", OVS_VALUE_DOUBLE, 1000 },
    { "-inf", OVS_VALUE_DOUBLE, -INFINITY }, { "", OVS_VALUE_INVALID, 0 }, { " 1", OVS_VALUE_INVALID, 0 },
    { "1 ", OVS_VALUE_INVALID, 0 },      { "1x", OVS_VALUE_INVALID, 0 },   { "--1", OVS_VALUE_INVALID, 0 },
    { "1,5", OVS_VALUE_INVALID, 0 },     { "x", OVS_VALUE_INVALID, 0 },    { "18446744073709551616", OVS_VALUE_DOUBLE, 0x1p64 },
    { "-9223372036854775808", OVS_VALUE_INT, -0x1p63 }, { "-9223372036854775809", OVS_VALUE_DOUBLE, -0x1p63 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      OvsValue value;

      if (!ovs_value_read_number (cases[i].text, &value))
        value = (OvsValue){ .kind = OVS_VALUE_INVALID };
      g_assert_cmpint (value.kind, ==, cases[i].kind);
      g_assert_cmpfloat (value.kind == OVS_VALUE_UINT ? (double) value.u : value.kind == OVS_VALUE_INT ? (double) value.i : value.d, ==,
                         cases[i].value);
    }
}

/* --- texts --- */

static void
test_tokens (void)
{
  Scene scene;
  guint64 tokens[6];

  scene_init (&scene, 6);
  tokens[0] = token_or_fail (scene.stage, "Mesh");
  tokens[1] = token_or_fail (scene.stage, "Cube");
  tokens[2] = 0; /* the empty text */
  tokens[3] = G_GUINT64_CONSTANT (1) << 40; /* nobody made it */
  tokens[4] = token_or_fail (scene.stage, "Meshes");
  tokens[5] = token_or_fail (scene.stage, "\303\204hre");
  write_bytes (&scene, scene.a, 1, uint64x1, OVSTAGE_SEMANTIC_TOKEN_ID, tokens, 6);
  assert_matches (&scene, IN_LIST (scene.a, text_value ("Cube"), text_value ("Mesh"), text_value ("nowhere")), "/p0 /p1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, text_value ("")), "/p2");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_PREFIX, text_value ("Mesh")), "/p0 /p4");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_PREFIX, text_value ("")), "/p0 /p1 /p2 /p4 /p5");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, literal ("e")), "/p0 /p1 /p4 /p5");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, text_value ("Mesh")), "/p1 /p2");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LE, text_value ("Mesh")), "/p0 /p1 /p2");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, text_value ("Mesh")), "/p4 /p5"); /* by byte */
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GE, text_value ("Mesh")), "/p0 /p4 /p5");
  scene_clear (&scene);
}

static void
write_prims (Scene *scene, const char *const *paths)
{
  OvstagePathList *list = ovs_path_list_new_for_strings (scene->stage->dict, paths, g_strv_length ((char **) paths), NULL);
  OvsOp *query = ovs_stage_query_list (scene->stage, list);

  write_or_fail (scene, query, scene->a, 1, payload_fill (float32, list->n, 1));
  ovs_op_unref (query);
  ovs_path_list_unref (list);
}

static void
test_built_ins (void)
{
  static const char *const paths[] = { "/", "/W", "/W/Arm", "/W/Arm/Hand", "/W/Armada", "/Wide", "/X/Far/Off", NULL };
  Scene scene;
  guint64 path, parent, children;

  scene_init (&scene, 0);
  path = token_or_fail (scene.stage, "usd-path");
  parent = token_or_fail (scene.stage, "usd-parent");
  children = token_or_fail (scene.stage, "usd-children");
  assert_matches (&scene, NULL, "");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_GT, int_value (1)), ""); /* on no prim */
  write_prims (&scene, paths);
  assert_matches (&scene, NULL, "/ /W /W/Arm /W/Arm/Hand /W/Armada /Wide /X/Far/Off");

  assert_matches (&scene, compare (0, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/W/Arm")), "/W/Arm /W/Arm/Hand");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_SUBTREE, literal ("/X")), "/X/Far/Off");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/")), "/ /W /W/Arm /W/Arm/Hand /W/Armada /Wide /X/Far/Off");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/W/Ar")), "");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("/W/Arm")), "/W/Arm /W/Arm/Hand /W/Armada");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("/W/Arm/")), "/W/Arm/Hand");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("/W")), "/W /W/Arm /W/Arm/Hand /W/Armada /Wide");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("/")), "/ /W /W/Arm /W/Arm/Hand /W/Armada /Wide /X/Far/Off");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("")), "/ /W /W/Arm /W/Arm/Hand /W/Armada /Wide /X/Far/Off");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("W")), "");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("//")), "");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_PREFIX, text_value ("/N/o")), "");
  assert_matches (&scene, IN_LIST (path, text_value ("/Wide"), text_value ("/X"), text_value ("/W")), "/W /Wide");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_CONTAINS, text_value ("ar")), "/X/Far/Off");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_LT, text_value ("/W/Arm")), "/ /W");
  assert_matches (&scene, compare (path, OVSTAGE_FILTER_OP_GE, text_value ("/W/Armada")), "/W/Armada /Wide /X/Far/Off");

  assert_matches (&scene, has (path), "/ /W /W/Arm /W/Arm/Hand /W/Armada /Wide /X/Far/Off");
  assert_matches (&scene, has (parent), "/W /W/Arm /W/Arm/Hand /W/Armada /Wide /X/Far/Off");
  assert_matches (&scene, compare (parent, OVSTAGE_FILTER_OP_IN, text_value ("/")), "/W /Wide");
  assert_matches (&scene, compare (parent, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/W")), "/W/Arm /W/Arm/Hand /W/Armada");
  assert_matches (&scene, compare (parent, OVSTAGE_FILTER_OP_PREFIX, text_value ("/X/F")), "/X/Far/Off");
  assert_matches (&scene, has (children), "/ /W /W/Arm /W/Arm/Hand /W/Armada /Wide /X/Far/Off");
  assert_matches (&scene, compare (children, OVSTAGE_FILTER_OP_CONTAINS, text_value ("/W/Arm/Hand")), "/W/Arm");
  assert_matches (&scene, compare (children, OVSTAGE_FILTER_OP_CONTAINS, text_value ("/X/Far/Off")), "");
  assert_fault (&scene, compare (children, OVSTAGE_FILTER_OP_IN, text_value ("/W")), OVSTAGE_ERROR_NOT_SUPPORTED, "IN", "'usd-children'");
  scene_clear (&scene);
}

/* "/" has no parent: alone, nobody has one that a predicate could be wrong about. */
static void
test_root_alone (void)
{
  static const char *const paths[] = { "/", NULL };
  Scene scene;
  guint64 path, parent;

  scene_init (&scene, 0);
  path = token_or_fail (scene.stage, "usd-path");
  parent = token_or_fail (scene.stage, "usd-parent");
  write_prims (&scene, paths);
  assert_matches (&scene, has (parent), "");
  assert_matches (&scene, compare (parent, OVSTAGE_FILTER_OP_GT, int_value (1)), "");
  assert_fault (&scene, compare (path, OVSTAGE_FILTER_OP_GT, int_value (1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "'usd-path'", "text");
  scene_clear (&scene);
}

/* --- arrays --- */

/* One row for each of @rows, of @size bytes an element. */
static void
write_rows (Scene *scene, guint64 attribute, OvstageDataType dtype, OvstageSemantic semantic, const void *const *rows, const gint64 *n_elements,
            guint n)
{
  OvstageTensor *tensors[8] = { NULL };
  OvstageWriteData *payload;

  for (guint i = 0; i < n; i++)
    tensors[i] = ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, 1, &n_elements[i], NULL, (gpointer) rows[i], 0, NULL, NULL);
  payload = ovs_payload_new_rows (tensors, n, FALSE);
  for (guint i = 0; i < n; i++)
    ovs_tensor_unref (tensors[i]);
  payload->semantic = semantic;
  payload->count = n;
  write_or_fail (scene, scene->query, attribute, 1, payload);
}

static void
test_arrays (void)
{
  Scene scene;

  scene_init (&scene, 4);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_arrays ("1,2 . 3 2.5,1"));
  assert_matches (&scene, has (scene.a), "/p0 /p1 /p2 /p3");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, int_value (1)), "/p0 /p3");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, literal ("2.5")), "/p3");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, double_value (NAN)), "");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, text_value ("1")), OVSTAGE_ERROR_INVALID_ARGUMENT, "float32[]", "text");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1)), OVSTAGE_ERROR_NOT_SUPPORTED, "GT", "float32[]");
  scene_clear (&scene);
}

/* What a deleted row had, whose memory is gone, is not looked at. */
static void
test_dead_arrays (void)
{
  Scene scene;
  OvsOp *one;

  scene_init (&scene, 3);
  one = query_or_fail (&scene, "1");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_arrays_full ("1,2 1 3", TRUE));
  seal_or_fail (&scene, 1);
  assert_ok (ovs_stage_delete (scene.stage, one, TOKENS (scene.a), 2));
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, int_value (1)), "/p0");
  seal_or_fail (&scene, 2);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, int_value (1)), "/p0");
  write_or_fail (&scene, one, scene.a, 3, payload_arrays ("4,1"));
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, int_value (1)), "/p0 /p1");
  ovs_op_unref (one);
  scene_clear (&scene);
}

/* 0 and 1; as a literal by name, too, but for bools only. */
static void
test_bools (void)
{
  guint8 *data = g_memdup2 ("\1\0\1", 3);
  gint64 n = 3;
  Scene scene;

  scene_init (&scene, 3);
  write_or_fail (&scene, scene.query, scene.a, 1,
                 payload_new ((OvstageDataType){ OVS_CODE_BOOL, 8, 1 }, 1, &n, NULL, data, g_free, data));
  write_text (&scene, scene.query, scene.b, 1, "1 0 1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, int_value (1)), "/p0 /p2");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, literal ("0")), "/p1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, literal ("true")), "/p0 /p2");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, literal ("false")), "/p1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, literal ("true")), "/p1");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, literal ("True")), OVSTAGE_ERROR_INVALID_ARGUMENT, "\"True\"", "number");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, text_value ("true")), OVSTAGE_ERROR_INVALID_ARGUMENT, "\"true\"", "number");
  assert_fault (&scene, compare (scene.b, OVSTAGE_FILTER_OP_IN, literal ("true")), OVSTAGE_ERROR_INVALID_ARGUMENT, "\"true\"", "float32");
  scene_clear (&scene);
}

static void
test_strings (void)
{
  static const char *const texts[] = { "red", "reddish", "", "blue\0x" };
  const OvstageDataType uint8 = { OVS_CODE_UINT, 8, 1 };
  Scene scene;

  scene_init (&scene, 4);
  write_rows (&scene, scene.a, uint8, OVSTAGE_SEMANTIC_STRING, (const void *const *) texts, (const gint64[]){ 3, 7, 0, 6 }, 4);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_PREFIX, text_value ("red")), "/p0 /p1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, text_value ("dis")), "/p1");
  assert_matches (&scene, IN_LIST (scene.a, text_value (""), text_value ("red")), "/p0 /p2");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, text_value ("red")), "/p2 /p3");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, text_value ("red")), "/p1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, text_value ("blue")), "");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, ovs_value_new_text (OVS_VALUE_TEXT, "blue\0x", 6)), "/p3");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, int_value (1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "STRING", "text");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/")), OVSTAGE_ERROR_NOT_SUPPORTED, "STRING", "SUBTREE");
  scene_clear (&scene);
}

static void
test_arrays_of_ids (void)
{
  Scene scene;
  guint64 tokens[3], paths[2];

  scene_init (&scene, 3);
  tokens[0] = token_or_fail (scene.stage, "PhysicsAPI");
  tokens[1] = token_or_fail (scene.stage, "LightAPI");
  tokens[2] = G_GUINT64_CONSTANT (1) << 33;
  paths[0] = scene.list->ids[1];
  paths[1] = scene.list->ids[2];
  write_rows (&scene, scene.a, uint64x1, OVSTAGE_SEMANTIC_TOKEN_ID, (const void *const[]){ tokens, tokens + 1, tokens + 2 },
              (const gint64[]){ 2, 1, 1 }, 3);
  write_rows (&scene, scene.b, uint64x1, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID, (const void *const[]){ paths, paths + 1, paths },
              (const gint64[]){ 2, 1, 0 }, 3);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, text_value ("LightAPI")), "/p0 /p1");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, text_value ("Light")), ""); /* whole elements */
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_CONTAINS, text_value ("/p2")), "/p0 /p1");
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_CONTAINS, text_value ("/nowhere")), "");
  assert_fault (&scene, compare (scene.b, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/")), OVSTAGE_ERROR_NOT_SUPPORTED, "SUBTREE", "uint64[]");
  scene_clear (&scene);
}

/* --- IN with many texts --- */

#define N_TEXTS 200u

/* The prims whose text is one of @values. */
static void
assert_texts_match (Scene *scene, guint64 attribute, char *const *texts, char *const *values, gsize n_values)
{
  g_autofree OvsValue *list = g_new (OvsValue, MAX (n_values, 1));
  OvsOp *query;

  for (gsize i = 0; i < n_values; i++)
    list[i] = text_value (values[i]);
  query = query_filter (scene, ovs_filter_new_predicate (attribute, OVSTAGE_FILTER_OP_IN, list, n_values), NO_TOKENS);
  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (query));
  for (guint i = 0; i < N_TEXTS; i++)
    {
      gboolean found = ovs_path_list_index_of (ovs_query_get_list (query), scene->list->ids[i]) != OVS_INDEX_NONE, expected = FALSE;

      for (gsize j = 0; j < n_values; j++)
        expected |= strcmp (texts[i], values[j]) == 0;
      if (found != expected)
        g_error ("prim %u, \"%s\", %" G_GSIZE_FORMAT " values: %d", i, texts[i], n_values, found);
    }
  ovs_op_unref (query);
}

static void
test_many_texts (void)
{
  g_auto (GStrv) texts = g_new0 (char *, N_TEXTS + 1), paths = g_new0 (char *, N_TEXTS + 1);
  guint64 tokens[N_TEXTS], own_path;
  Scene scene;

  scene_init (&scene, N_TEXTS);
  own_path = token_or_fail (scene.stage, "usd-path");
  for (guint i = 0; i < N_TEXTS; i++)
    {
      texts[i] = i == 0 ? g_strdup ("") : g_strdup_printf ("%.*st%d", g_random_int_range (0, 4), "sss", g_random_int_range (0, 100));
      tokens[i] = i == 0 ? 0 : token_or_fail (scene.stage, texts[i]);
      paths[i] = ovs_path_dict_dup_path (scene.stage->dict, scene.list->ids[i]);
    }
  write_bytes (&scene, scene.a, 1, uint64x1, OVSTAGE_SEMANTIC_TOKEN_ID, tokens, N_TEXTS);
  write_or_fail (&scene, scene.query, scene.b, 1, ovs_payload_new_strings ((const char *const *) texts));

  for (guint round = 0; round < 200; round++)
    {
      gsize n = (gsize) g_random_int_range (0, round % 4 == 0 ? 400 : 20);
      g_auto (GStrv) some = g_new0 (char *, n + 1), places = g_new0 (char *, n + 1);
      gint first = g_random_int_range (0, N_TEXTS);

      for (gsize i = 0; i < n; i++)
        {
          /* Of what is there, now and then all in a row, and of what is not. */
          some[i] = g_random_int_range (0, 4) > 0 ? g_strdup (texts[g_random_int_range (0, N_TEXTS)]) : g_strdup_printf ("t%d", g_random_int_range (90, 300));
          places[i] = g_strdup_printf ("/p%d", round % 3 == 0 ? first + (gint) i : g_random_int_range (0, 2 * N_TEXTS));
        }
      assert_texts_match (&scene, scene.a, texts, some, n);
      assert_texts_match (&scene, scene.b, texts, some, n);
      assert_texts_match (&scene, own_path, paths, places, n);
    }
  scene_clear (&scene);
}

/* Each value against each prim would take minutes. */
static void
test_many_values (void)
{
  const guint n = N_LARGE, n_values = N_LARGE / 4;
  g_autofree float *numbers = g_new (float, n);
  g_autofree OvsValue *values = g_new (OvsValue, n_values);
  g_autofree guint *indices = g_new (guint, n_values);
  OvsOp *query, *expected;
  Scene scene;

  for (guint i = 0; i < n; i++)
    numbers[i] = (float) i;
  for (guint i = 0; i < n_values; i++)
    {
      indices[i] = 4 * i;
      values[n_values - 1 - i] = double_value (4 * i);
    }
  scene_init (&scene, n);
  write_bytes (&scene, scene.a, 1, float32, OVSTAGE_SEMANTIC_NONE, numbers, n);
  query = query_filter (&scene, ovs_filter_new_predicate (scene.a, OVSTAGE_FILTER_OP_IN, values, n_values), NO_TOKENS);
  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (query));
  expected = query_prims_or_fail (scene.stage, indices, n_values);
  g_assert_true (ovs_query_get_list (query) == ovs_query_get_list (expected));
  ovs_op_unref (expected);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* --- trees --- */

static void
test_trees (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "0 2");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  write_text (&scene, some, scene.b, 1, "5 6");
  assert_matches (&scene, combine (OVS_FILTER_ALL, has (scene.b), compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1))), "/p2");
  assert_matches (&scene, combine (OVS_FILTER_ANY, has (scene.b), compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (3))), "/p0 /p2 /p3");
  assert_matches (&scene, not(has (scene.b)), "/p1 /p3");
  assert_matches (&scene, not(compare (scene.b, OVSTAGE_FILTER_OP_GT, int_value (5))), "/p0 /p1 /p3"); /* also where there is none */
  assert_matches (&scene, not(not(has (scene.b))), "/p0 /p2");
  assert_matches (&scene, ovs_filter_new_combined (OVS_FILTER_ALL, NULL, 0), "/p0 /p1 /p2 /p3");
  assert_matches (&scene, ovs_filter_new_combined (OVS_FILTER_ANY, NULL, 0), "");
  assert_matches (&scene,
                  combine (OVS_FILTER_ANY, combine (OVS_FILTER_ALL, not(has (scene.b)), compare (scene.a, OVSTAGE_FILTER_OP_LT, int_value (3))),
                           combine (OVS_FILTER_ALL, has (scene.b), compare (scene.b, OVSTAGE_FILTER_OP_IN, int_value (6)))),
                  "/p1 /p2");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_deep (void)
{
  Scene scene;
  OvstageFilter *filter;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  filter = has (scene.a);
  for (guint i = 0; i < 3000; i++)
    filter = combine (OVS_FILTER_ALL, filter, has (scene.a)); /* a list, however long */
  g_assert_cmpuint (filter->depth, ==, 2);
  assert_matches (&scene, filter, "/p0 /p1");
  filter = has (scene.a);
  for (guint i = 0; i < 3000; i++)
    filter = not(filter);
  assert_fault (&scene, filter, OVSTAGE_ERROR_INVALID_ARGUMENT, "3001 deep", "1000");
  filter = has (scene.a);
  for (guint i = 0; i < 999; i++)
    filter = not(filter);
  assert_matches (&scene, ovs_filter_ref (filter), "");
  filter = combine (OVS_FILTER_ANY, filter, has (scene.a));
  assert_fault (&scene, filter, OVSTAGE_ERROR_INVALID_ARGUMENT, "1001 deep", "1000");
  scene_clear (&scene);
}

/* As deep as anybody likes: neither making such a tree, nor letting go of it, nor asking needs a stack of that size. */
static void
test_bottomless (void)
{
  Scene scene;
  OvstageFilter *filter, *whole;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  filter = has (scene.a);
  for (guint i = 0; i < 1000000; i++)
    filter = not(filter);
  /* What is too deep is not lost in a list. */
  whole = combine (OVS_FILTER_ALL, combine (OVS_FILTER_ALL, filter, has (scene.a)), has (scene.b));
  assert_fault (&scene, whole, OVSTAGE_ERROR_INVALID_ARGUMENT, "1000003 deep", "1000");
  scene_clear (&scene);
}

/* What is no path has nothing below it: that is told, by whichever attribute it is asked, and before anything is looked at. */
static void
test_no_path (void)
{
  static const struct
  {
    const char *text, *says;
  } cases[] = {
    { "W", "\"W\" does not start with" }, { "", "\"\" is empty" }, { "/W/", "\"/W/\" ends with" }, { "/W//A", "\"/W//A\" has an empty component" },
    { "/\xff", "is not valid UTF-8" },
  };
  Scene scene;
  guint64 path;

  scene_init (&scene, 2);
  path = token_or_fail (scene.stage, "usd-path");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      assert_fault (&scene, compare (0, OVSTAGE_FILTER_OP_SUBTREE, text_value (cases[i].text)), OVSTAGE_ERROR_INVALID_ARGUMENT,
                    "predicates[0]: SUBTREE: path", cases[i].says);
      assert_fault (&scene, combine (OVS_FILTER_ANY, has (scene.a), compare (path, OVSTAGE_FILTER_OP_SUBTREE, literal (cases[i].text))),
                    OVSTAGE_ERROR_INVALID_ARGUMENT, "predicates[1]: SUBTREE: path", cases[i].says);
    }
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_SUBTREE, text_value ("p0")), OVSTAGE_ERROR_INVALID_ARGUMENT, "SUBTREE", "\"p0\"");
  /* After handles, before what is built in. */
  assert_fault (&scene, combine (OVS_FILTER_ALL, compare (0, OVSTAGE_FILTER_OP_SUBTREE, text_value ("p0")), has (4711)),
                OVSTAGE_ERROR_INVALID_HANDLE, "predicates[1]", "4711");
  assert_fault (&scene, combine (OVS_FILTER_ALL, has (token_or_fail (scene.stage, "usd-active")),
                                 compare (0, OVSTAGE_FILTER_OP_SUBTREE, text_value ("p0"))),
                OVSTAGE_ERROR_INVALID_ARGUMENT, "predicates[1]", "\"p0\"");
  /* Nobody has to be there. */
  assert_matches (&scene, compare (0, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/nobody/there")), "");
  scene_clear (&scene);
}

/* --- faults --- */

static void
test_faults (void)
{
  Scene scene;
  OvsOp *some;
  guint64 tokens[1] = { 1 };
  guint64 active;
  OvstageFilter *good;

  scene_init (&scene, 3);
  some = query_or_fail (&scene, "0");
  active = token_or_fail (scene.stage, "usd-active");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_or_fail (&scene, some, scene.b, 1, payload_fill (float32x3, 1, 1));
  write_bytes (&scene, scene.c, 1, uint64x1, OVSTAGE_SEMANTIC_TOKEN_ID, tokens, 1);

  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, text_value ("x")), OVSTAGE_ERROR_INVALID_ARGUMENT, "'a' is float32", "\"x\"");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, literal ("x")), OVSTAGE_ERROR_INVALID_ARGUMENT, "\"x\"", "number");
  assert_fault (&scene, compare (scene.c, OVSTAGE_FILTER_OP_GT, int_value (1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "TOKEN_ID", "text");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_PREFIX, text_value ("x")), OVSTAGE_ERROR_NOT_SUPPORTED, "PREFIX", "float32");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_CONTAINS, int_value (1)), OVSTAGE_ERROR_NOT_SUPPORTED, "CONTAINS", "float32");
  assert_fault (&scene, compare (scene.b, OVSTAGE_FILTER_OP_GT, int_value (1)), OVSTAGE_ERROR_NOT_SUPPORTED, "GT", "float32x3");
  assert_fault (&scene, compare (scene.c, OVSTAGE_FILTER_OP_SUBTREE, text_value ("/p")), OVSTAGE_ERROR_NOT_SUPPORTED, "SUBTREE", "TOKEN_ID");
  assert_fault (&scene, has (active), OVSTAGE_ERROR_NOT_SUPPORTED, "usd-active", "predicates[0]");
  assert_fault (&scene, has (0), OVSTAGE_ERROR_INVALID_HANDLE, "predicates[0]", "token 0");
  assert_fault (&scene, has (G_MAXUINT32), OVSTAGE_ERROR_INVALID_HANDLE, "predicates[0]", "unknown");
  assert_fault (&scene, compare (scene.a, (OvstageFilterOp) 9, int_value (1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "op is 9", "8");
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_HAS, int_value (1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "HAS takes no value", "1 are given");
  assert_fault (&scene, ovs_filter_new_predicate (scene.a, OVSTAGE_FILTER_OP_LT, NULL, 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "LT takes one value", "0 are given");

  /* In the order in which they stand; the form of all before the handles of all before what is there. */
  assert_fault (&scene, combine (OVS_FILTER_ANY, compare (scene.b, OVSTAGE_FILTER_OP_GT, int_value (1)),
                                 compare (scene.a, OVSTAGE_FILTER_OP_GT, text_value ("x"))),
                OVSTAGE_ERROR_NOT_SUPPORTED, "predicates[0]", "'b'");
  assert_fault (&scene, combine (OVS_FILTER_ANY, compare (scene.a, OVSTAGE_FILTER_OP_GT, text_value ("x")),
                                 not(compare (scene.b, OVSTAGE_FILTER_OP_GT, int_value (1)))),
                OVSTAGE_ERROR_INVALID_ARGUMENT, "predicates[0]", "'a'");
  assert_fault (&scene, combine (OVS_FILTER_ALL, compare (scene.b, OVSTAGE_FILTER_OP_GT, int_value (1)), has (active)),
                OVSTAGE_ERROR_NOT_SUPPORTED, "predicates[1]", "usd-active");
  assert_fault (&scene, combine (OVS_FILTER_ALL, has (active), has (G_MAXUINT32)), OVSTAGE_ERROR_INVALID_HANDLE, "predicates[1]", "unknown");
  assert_fault (&scene, combine (OVS_FILTER_ALL, has (G_MAXUINT32), compare (scene.a, (OvstageFilterOp) -1, int_value (1))),
                OVSTAGE_ERROR_INVALID_ARGUMENT, "predicates[1]", "-1");

  /* What fits no schema that is there fits where nothing is there. */
  assert_ok (ovs_stage_delete (scene.stage, some, &scene.b, 1, 2));
  assert_matches (&scene, compare (scene.b, OVSTAGE_FILTER_OP_PREFIX, int_value (1)), "");

  good = has (scene.a);
  assert_refused (&scene, ovs_stage_query_filter (scene.stage, good, TOKENS (scene.a, active)), OVSTAGE_ERROR_NOT_SUPPORTED, "attributes[1]",
                  "'usd-active'");
  assert_refused (&scene, ovs_stage_query_filter (scene.stage, good, TOKENS (scene.a, 0)), OVSTAGE_ERROR_INVALID_HANDLE, "attributes[1]");
  assert_refused (&scene, ovs_stage_query_filter (scene.stage, good, NULL, 1), OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL", "1 tokens");
  ovs_filter_unref (good);
  ovs_op_unref (some);
  scene_clear (&scene);
}

/* Of two schemas that do not fit, that of the prim with the lowest path id is told. */
static void
test_faults_of_schemas (void)
{
  Scene scene;
  OvsOp *one, *other;
  guint64 token = 1;
  OvstageWriteData *payload = payload_rows (uint64x1, 1);

  scene_init (&scene, 2);
  one = query_or_fail (&scene, "1");
  other = query_or_fail (&scene, "0");
  memcpy (payload->tensor->data, &token, sizeof token);
  write_or_fail (&scene, one, scene.a, 1, with_semantic (payload, OVSTAGE_SEMANTIC_TOKEN_ID));
  write_or_fail (&scene, other, scene.a, 1, payload_fill (float32x3, 1, 1));
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1)), OVSTAGE_ERROR_NOT_SUPPORTED, "float32x3", "GT");
  assert_ok (ovs_stage_delete (scene.stage, other, &scene.a, 1, 2));
  assert_fault (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "TOKEN_ID", "GT");
  write_text (&scene, other, scene.a, 3, "7");
  assert_matches (&scene, has (scene.a), "/p0 /p1");
  ovs_op_unref (one);
  ovs_op_unref (other);
  scene_clear (&scene);
}

/* --- state --- */

static void
test_newest_state (void)
{
  Scene scene;
  OvsOp *some;

  scene_init (&scene, 4);
  some = query_or_fail (&scene, "1 2");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GE, int_value (4)), "/p3");
  write_text (&scene, some, scene.a, 5, "20 30");
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GE, int_value (4)), "/p1 /p2 /p3");
  write_text (&scene, scene.query, scene.a, 3, "7 7 7 7"); /* below */
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, int_value (7)), "/p0 /p3");
  write_or_fail (&scene, scene.query, scene.a, 6, with_mask (payload_text ("8 8 8 8"), "0100"));
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, int_value (8)), "/p1");
  assert_ok (ovs_stage_delete (scene.stage, some, &scene.a, 1, 7));
  assert_matches (&scene, has (scene.a), "/p0 /p3");
  assert_matches (&scene, not(has (scene.a)), ""); /* the others do not exist */
  seal_or_fail (&scene, 6);
  assert_matches (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (0)), "/p0 /p3");
  seal_or_fail (&scene, 7);
  write_or_fail (&scene, some, scene.a, 8, payload_fill (float32x3, 2, 1));
  assert_matches (&scene, has (scene.a), "/p0 /p1 /p2 /p3");
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
assert_discovered (OvsOp *query, const guint64 *attributes, gsize n)
{
  gsize n_found;
  const guint32 *found;

  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (query));
  found = ovs_query_get_attributes (query, &n_found);
  g_assert_cmpuint (n_found, ==, n);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpuint (found[i], ==, attributes[i]);
  ovs_op_unref (query);
}

static void
test_discovered (void)
{
  Scene scene;
  OvsOp *first, *second;

  scene_init (&scene, 3);
  first = query_or_fail (&scene, "0");
  second = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  write_text (&scene, first, scene.b, 1, "1");
  write_text (&scene, second, scene.c, 1, "1");
  assert_discovered (query_filter (&scene, NULL, NO_TOKENS), TOKENS (scene.a, scene.b, scene.c));
  assert_discovered (query_filter (&scene, has (scene.b), NO_TOKENS), TOKENS (scene.a, scene.b));
  assert_discovered (query_filter (&scene, not(has (scene.b)), TOKENS (scene.c, scene.b, scene.c)), TOKENS (scene.c));
  assert_discovered (query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, int_value (3)), NO_TOKENS), TOKENS (scene.a));
  assert_discovered (query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, int_value (4)), NO_TOKENS), NO_TOKENS);
  assert_ok (ovs_stage_delete (scene.stage, second, &scene.c, 1, 2));
  assert_discovered (query_filter (&scene, NULL, NO_TOKENS), TOKENS (scene.a, scene.b));
  ovs_op_unref (first);
  ovs_op_unref (second);
  scene_clear (&scene);
}

/* Rows of a list that is not in step with the path ids, and rows beyond it. */
static void
test_layouts (void)
{
  Scene scene;
  OvsOp *shuffled, *few, *more;
  OvsOp *query;

  scene_init (&scene, 300);
  shuffled = query_or_fail (&scene, "150-299 0-149");
  few = query_or_fail (&scene, "70-200");
  more = query_or_fail (&scene, "0-69");
  write_or_fail (&scene, shuffled, scene.a, 1, payload_fill (float32, 300, 1));
  write_or_fail (&scene, few, scene.b, 1, payload_fill (float32, 131, 1));
  write_or_fail (&scene, more, scene.b, 1, payload_fill (float32, 70, 2));
  write_or_fail (&scene, few, scene.a, 2, payload_fill (float32, 131, 3));
  query = query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_IN, int_value (3)), NO_TOKENS);
  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_true (ovs_query_get_list (query) == ovs_query_get_list (few));
  ovs_op_unref (query);
  query = query_filter (&scene, compare (scene.b, OVSTAGE_FILTER_OP_IN, int_value (1)), NO_TOKENS);
  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_true (ovs_query_get_list (query) == ovs_query_get_list (few));
  ovs_op_unref (query);
  query = query_filter (&scene, compare (scene.b, OVSTAGE_FILTER_OP_IN, int_value (2)), NO_TOKENS);
  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_true (ovs_query_get_list (query) == ovs_query_get_list (more));
  ovs_op_unref (query);
  ovs_op_unref (shuffled);
  ovs_op_unref (few);
  ovs_op_unref (more);
  scene_clear (&scene);
}

/* --- waiting --- */

static void
test_waits_for_bytes (void)
{
  Scene scene;
  OvsOp *first, *second, *query, *later, *write, *seal, *read;

  scene_init_paused (&scene, 3);
  first = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2 3"));
  query = query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1)), NO_TOKENS);
  g_assert_false (ovs_op_is_done (query));
  g_assert_null (ovs_query_get_list (query));
  g_assert_cmpuint (ovs_op_get_lowest_pending (query), ==, ovs_op_get_id (first));
  second = write_payload (&scene, scene.query, scene.a, 1, payload_text ("9 9 9"));
  write = write_payload (&scene, query, scene.b, 2, payload_text ("5 6"));
  later = query_filter (&scene, has (scene.b), NO_TOKENS); /* behind the write */
  seal = advance (&scene, 2);
  read = read_at (&scene, query, &scene.b, 1, 2);
  scene_resume (&scene);
  assert_ok (first);
  assert_ok (second);
  assert_ok (write);
  assert_ok (seal);
  assert_read (read, "5 6");
  {
    g_autofree char *found = query_to_text (&scene, query), *behind = query_to_text (&scene, later);

    g_assert_cmpstr (found, ==, "/p1 /p2"); /* what was submitted later does not count */
    g_assert_cmpstr (behind, ==, "/p1 /p2");
  }
  scene_clear (&scene);
}

static void
test_withdrawn (void)
{
  Scene scene;
  OvsOp *first, *query, *write, *seal;

  scene_init_paused (&scene, 3);
  first = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2 3"));
  query = query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1)), NO_TOKENS);
  write = write_payload (&scene, query, scene.b, 2, payload_text ("5 6"));
  seal = advance (&scene, 2);
  g_assert_true (ovs_op_cancel (query));
  assert_failed (write, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  scene_resume (&scene);
  assert_ok (first);
  assert_ok (seal);
  g_assert_true (ovs_op_is_withdrawn (query));
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_closed (void)
{
  Scene scene;
  OvsOp *first, *query, *write, *blocked, *late;

  scene_init_paused (&scene, 3);
  first = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2 3"));
  query = query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1)), NO_TOKENS);
  write = write_payload (&scene, query, scene.b, 2, payload_text ("5 6"));
  blocked = query_filter (&scene, NULL, NO_TOKENS);
  ovs_stage_close (scene.stage);
  assert_ok (first);
  assert_failed (query, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  assert_failed (write, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  assert_failed (blocked, OVSTAGE_ERROR_OP_FAILED, "cancelled");
  late = query_filter (&scene, NULL, NO_TOKENS);
  g_assert_error (ovs_op_get_error (late), OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
  ovs_op_unref (late);
  scene_clear (&scene);
}

/* An advance that folds in place has the values a filter needs in its hands. */
static void
test_during_a_fold (void)
{
  Scene scene;
  OvsOp *some, *seal, *query;
  g_autofree char *found = NULL;

  scene_init (&scene, 3);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  some = query_or_fail (&scene, "1");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3");
  seal_or_fail (&scene, 1);
  write_text (&scene, some, scene.a, 2, "20");
  ovs_workers_pause (scene.stage->workers);
  seal = advance (&scene, 2);
  query = query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (2)), NO_TOKENS);
  g_assert_cmpuint (ovs_op_get_lowest_pending (query), ==, ovs_op_get_id (seal));
  scene_resume (&scene);
  found = query_to_text (&scene, query);
  g_assert_cmpstr (found, ==, "/p1 /p2");
  assert_ok (seal);
  ovs_op_unref (some);
  scene_clear (&scene);
}

static void
test_large (void)
{
  Scene scene;
  g_autofree guint *even = g_new (guint, N_LARGE / 2);
  g_autofree float *values = g_new (float, N_LARGE);
  OvsOp *query, *expected;

  for (guint i = 0; i < N_LARGE; i++)
    values[i] = (float) (i % 2);
  for (guint i = 0; i < N_LARGE / 2; i++)
    even[i] = 2 * i;
  scene_init (&scene, N_LARGE);
  write_bytes (&scene, scene.a, 1, float32, OVSTAGE_SEMANTIC_NONE, values, N_LARGE);
  query = query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_LT, double_value (0.5)), NO_TOKENS);
  g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  expected = query_prims_or_fail (scene.stage, even, N_LARGE / 2);
  g_assert_true (ovs_query_get_list (query) == ovs_query_get_list (expected));
  ovs_op_unref (expected);
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_queue_capacity (void)
{
  Scene scene;
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 1, .n_threads = 1 };
  OvsOp *write;

  scene_init_full (&scene, 3, &config);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2 3"));
  assert_refused (&scene, query_filter (&scene, compare (scene.a, OVSTAGE_FILTER_OP_GT, int_value (1)), NO_TOKENS),
                  OVSTAGE_ERROR_QUEUE_FULL, "1");
  scene_resume (&scene);
  assert_ok (write);
  scene_clear (&scene);
}

/* --- threads --- */

static gpointer
keep_writing (gpointer data)
{
  Scene *scene = data;

  for (guint64 i = 1; i <= 150; i++)
    {
      ovs_op_unref (write_payload (scene, scene->query, scene->a, i, payload_fill (float32, scene->n, (double) i)));
      if (i % 3 == 0)
        ovs_op_unref (advance (scene, i));
      if (i % 20 == 0)
        ovs_op_unref (ovs_stage_delete (scene->stage, scene->query, &scene->b, 1, i + 1));
    }
  return NULL;
}

/* Each filter sees one write whole. */
static gpointer
keep_filtering (gpointer data)
{
  Scene *scene = data;

  for (guint i = 0; i < 150; i++)
    {
      OvsOp *query = query_filter (scene, compare (scene->a, OVSTAGE_FILTER_OP_GT, int_value ((gint64) i)), NO_TOKENS);
      OvsOp *write = write_payload (scene, query, scene->b, 1000 + i, payload_fill (float32, scene->n, 1));

      g_assert_cmpint (ovs_op_wait (query, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      if (!ovs_op_is_withdrawn (query))
        {
          g_assert_no_error (ovs_op_get_error (query));
          g_assert_true (ovs_query_get_list (query)->n == 0 || ovs_query_get_list (query)->n == scene->n);
        }
      if (i % 7 == 0)
        ovs_op_cancel (write);
      ovs_op_unref (write);
      ovs_op_unref (query);
    }
  return NULL;
}

static void
test_threads (void)
{
  for (guint round = 0; round < (is_slow () ? 3 : 20); round++)
    {
      Scene scene;
      GThread *threads[3];

      scene_init (&scene, round % 2 == 0 ? 20 : 30000);
      threads[0] = g_thread_new ("writer", keep_writing, &scene);
      threads[1] = g_thread_new ("filter", keep_filtering, &scene);
      threads[2] = g_thread_new ("filter", keep_filtering, &scene);
      for (guint i = 0; i < 3; i++)
        g_thread_join (threads[i]);
      scene_clear (&scene);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/engine/filter/numbers", test_numbers);
  g_test_add_func ("/engine/filter/sealed-only", test_sealed_only);
  g_test_add_func ("/engine/filter/nan", test_nan);
  g_test_add_func ("/engine/filter/exact", test_exact);
  g_test_add_func ("/engine/filter/types", test_types);
  g_test_add_func ("/engine/filter/intervals", test_intervals);
  g_test_add_func ("/engine/filter/literals", test_literals);
  g_test_add_func ("/engine/filter/bools", test_bools);
  g_test_add_func ("/engine/filter/dead-arrays", test_dead_arrays);
  g_test_add_func ("/engine/filter/tokens", test_tokens);
  g_test_add_func ("/engine/filter/built-ins", test_built_ins);
  g_test_add_func ("/engine/filter/root-alone", test_root_alone);
  g_test_add_func ("/engine/filter/arrays", test_arrays);
  g_test_add_func ("/engine/filter/strings", test_strings);
  g_test_add_func ("/engine/filter/arrays-of-ids", test_arrays_of_ids);
  g_test_add_func ("/engine/filter/many-texts", test_many_texts);
  g_test_add_func ("/engine/filter/many-values", test_many_values);
  g_test_add_func ("/engine/filter/trees", test_trees);
  g_test_add_func ("/engine/filter/deep", test_deep);
  g_test_add_func ("/engine/filter/bottomless", test_bottomless);
  g_test_add_func ("/engine/filter/no-path", test_no_path);
  g_test_add_func ("/engine/filter/faults", test_faults);
  g_test_add_func ("/engine/filter/faults-of-schemas", test_faults_of_schemas);
  g_test_add_func ("/engine/filter/newest-state", test_newest_state);
  g_test_add_func ("/engine/filter/discovered", test_discovered);
  g_test_add_func ("/engine/filter/layouts", test_layouts);
  g_test_add_func ("/engine/filter/waits-for-bytes", test_waits_for_bytes);
  g_test_add_func ("/engine/filter/withdrawn", test_withdrawn);
  g_test_add_func ("/engine/filter/closed", test_closed);
  g_test_add_func ("/engine/filter/during-a-fold", test_during_a_fold);
  g_test_add_func ("/engine/filter/large", test_large);
  g_test_add_func ("/engine/filter/queue-capacity", test_queue_capacity);
  g_test_add_func ("/engine/filter/threads", test_threads);

  return g_test_run ();
}
