/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "query/ovs-match.h"

#include <math.h>
#include <string.h>

#include "query/ovs-interval.h"
#include "tensor/ovs-array.h"

/* So many rows are looked at in a go, while they are in the cache. */
#define BLOCK 4096

typedef enum
{
  KIND_NONE,
  KIND_NUMBER,
  KIND_TOKEN,
  KIND_PATH,
  KIND_BYTES, /* of a STRING */
} Kind;

typedef void (*PassFunc) (const guint8 *values, guint32 n, const OvsInterval *interval, guint64 *words);

struct _OvsMatcher
{
  OvsPathDict *dict; /* lent, as is what follows */
  const OvstageFilter *predicate;
  OvsSchema schema;
  Kind kind;
  gint op;

  /* Numbers and ids that are compared as such: */
  GArray *intervals; /* (owned) (nullable) OvsInterval */
  PassFunc pass;     /* (nullable) NULL: by the table */
  guint8 *table;     /* (owned) (nullable) of all values of 8 bits, which ones match */

  /* Texts behind ids: */
  guint8 *known; /* (owned) (nullable) by id: 0 not looked at, 1 no match, 2 a match */
  guint64 n_known;
  guint32 node;  /* SUBTREE: the path; PREFIX: the one above its last component; 0: none that exists */
  guint32 depth; /* of that */
  const char *rest; /* PREFIX: what is left of it; NULL: every path matches */
};

/* --- schemas --- */

static gboolean
is_number (OvstageDataType dtype)
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

static Kind
find_kind (const OvsSchema *schema)
{
  switch (schema->semantic)
    {
    case OVSTAGE_SEMANTIC_STRING:
      return KIND_BYTES;
    case OVSTAGE_SEMANTIC_TOKEN_ID:
    case OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING:
      return KIND_TOKEN;
    case OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID:
      return KIND_PATH;
    case OVSTAGE_SEMANTIC_ASSET_PATH_ID:
    case OVSTAGE_SEMANTIC_CONNECTION_PATH_ID:
      return KIND_NONE; /* two ids */
    default:
      return schema->dtype.lanes == 1 && is_number (schema->dtype) ? KIND_NUMBER : KIND_NONE;
    }
}

static gboolean
fits (Kind kind, gboolean is_array, gint op)
{
  if (kind == KIND_NONE)
    return FALSE;
  if (is_array && kind != KIND_BYTES)
    return op == OVSTAGE_FILTER_OP_CONTAINS;
  switch (op)
    {
    case OVSTAGE_FILTER_OP_CONTAINS:
    case OVSTAGE_FILTER_OP_PREFIX:
      return kind != KIND_NUMBER;
    case OVSTAGE_FILTER_OP_SUBTREE:
      return kind == KIND_PATH;
    default:
      return TRUE;
    }
}

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

/* The loop over 64 values becomes vector code: nothing in it depends on another. */
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

static PassFunc
find_pass (OvstageDataType dtype)
{
  gboolean is_signed = dtype.code == OVS_CODE_INT, is_float = dtype.code == OVS_CODE_FLOAT;

  if (dtype.code == OVS_CODE_BFLOAT)
    return pass_bfloat16;
  switch (dtype.bits)
    {
    case 16:
      return is_float ? pass_float16 : is_signed ? pass_int16 : pass_uint16;
    case 32:
      return is_float ? pass_float32 : is_signed ? pass_int32 : pass_uint32;
    case 64:
      return is_float ? pass_float64 : is_signed ? pass_int64 : pass_uint64;
    default:
      return NULL;
    }
}

static gboolean
is_in_intervals (OvsMatcher *matcher, OvstageDataType dtype, guint8 byte)
{
  for (guint i = 0; i < matcher->intervals->len; i++)
    {
      const OvsInterval *interval = &g_array_index (matcher->intervals, OvsInterval, i);
      gboolean within;

      if (dtype.code == OVS_CODE_INT)
        within = (gint8) byte >= interval->low.i && (gint8) byte <= interval->high.i;
      else if (dtype.code == OVS_CODE_UINT || dtype.code == OVS_CODE_BOOL)
        {
          guint64 value = dtype.code == OVS_CODE_BOOL ? byte != 0 : byte;

          within = value >= interval->low.u && value <= interval->high.u;
        }
      else
        {
          float value = decode_float8 (dtype.code, byte);

          within = value >= interval->low.d && value <= interval->high.d;
        }
      if (within)
        return TRUE;
    }
  return FALSE;
}

/* Of arrays, the elements. */
static void
find_numbers (OvsMatcher *matcher, const OvsSchema *schema, const OvsValue *values, gsize n_values)
{
  matcher->intervals = g_array_new (FALSE, FALSE, sizeof (OvsInterval));
  for (gsize i = 0; i < n_values; i++)
    {
      OvsInterval interval;

      if (ovs_interval_find (get_number_type (schema->dtype), matcher->op, &values[i], &interval))
        g_array_append_val (matcher->intervals, interval);
    }
  matcher->pass = find_pass (schema->dtype);
  if (matcher->pass != NULL)
    return;
  matcher->table = g_malloc (256);
  for (guint byte = 0; byte < 256; byte++)
    matcher->table[byte] = (guint8) is_in_intervals (matcher, schema->dtype, (guint8) byte);
}

/* --- texts --- */

static gboolean
compare_texts (gint op, const char *text, gsize length, const OvsValue *value)
{
  gint order = memcmp (text, value->text, MIN (length, value->length));

  if (order == 0)
    order = length < value->length ? -1 : length > value->length;
  switch (op)
    {
    case OVSTAGE_FILTER_OP_LT:
      return order < 0;
    case OVSTAGE_FILTER_OP_LE:
      return order <= 0;
    case OVSTAGE_FILTER_OP_GT:
      return order > 0;
    case OVSTAGE_FILTER_OP_GE:
      return order >= 0;
    case OVSTAGE_FILTER_OP_PREFIX:
      return length >= value->length && memcmp (text, value->text, value->length) == 0;
    case OVSTAGE_FILTER_OP_CONTAINS:
      return value->length == 0 || memmem (text, length, value->text, value->length) != NULL;
    default:
      return order == 0;
    }
}

static gboolean
test_text (OvsMatcher *matcher, const char *text, gsize length)
{
  for (gsize i = 0; i < matcher->predicate->n_values; i++)
    if (compare_texts (matcher->op, text, length, &matcher->predicate->values[i]))
      return TRUE;
  return FALSE;
}

static guint32
find_above (OvsMatcher *matcher, guint32 path, guint32 depth)
{
  for (guint32 d = ovs_path_dict_get_depth (matcher->dict, path); d > depth; d--)
    path = ovs_path_dict_get_parent (matcher->dict, path);
  return path;
}

/* By component for SUBTREE. A prefix ends within a component, or before one. */
static gboolean
test_node (OvsMatcher *matcher, guint32 path)
{
  guint32 depth = ovs_path_dict_get_depth (matcher->dict, path);

  if (matcher->op == OVSTAGE_FILTER_OP_SUBTREE)
    return matcher->node != 0 && depth >= matcher->depth && find_above (matcher, path, matcher->depth) == matcher->node;
  if (matcher->rest == NULL)
    return TRUE;
  if (matcher->node == 0 || depth <= matcher->depth)
    return FALSE;
  path = find_above (matcher, path, matcher->depth + 1);
  return ovs_path_dict_get_parent (matcher->dict, path) == matcher->node &&
         g_str_has_prefix (ovs_path_dict_get_token_text (matcher->dict, ovs_path_dict_get_name (matcher->dict, path), NULL), matcher->rest);
}

/* An id that is unknown has no text; 0 has the empty one. */
static gboolean
look_at_id (OvsMatcher *matcher, guint64 id)
{
  g_autofree char *path = NULL;
  const char *text = "";
  gsize length = 0;

  if (id != 0 && matcher->kind == KIND_TOKEN)
    text = ovs_path_dict_get_token_text (matcher->dict, id, &length);
  else if (id != 0)
    {
      if (!ovs_path_dict_has_path (matcher->dict, id))
        return FALSE;
      if (matcher->op == OVSTAGE_FILTER_OP_SUBTREE || matcher->op == OVSTAGE_FILTER_OP_PREFIX)
        return test_node (matcher, (guint32) id);
      text = path = ovs_path_dict_dup_path (matcher->dict, id);
      length = strlen (path);
    }
  else if (matcher->op == OVSTAGE_FILTER_OP_SUBTREE)
    return FALSE;
  return text != NULL && test_text (matcher, text, length);
}

static gboolean
test_id (OvsMatcher *matcher, guint64 id)
{
  gboolean matches;

  if (matcher->intervals != NULL)
    {
      for (guint i = 0; i < matcher->intervals->len; i++)
        if (g_array_index (matcher->intervals, OvsInterval, i).low.u == id)
          return TRUE;
      return FALSE;
    }
  if (id < matcher->n_known && matcher->known[id] != 0)
    return matcher->known[id] == 2;
  matches = look_at_id (matcher, id);
  if (id < matcher->n_known)
    matcher->known[id] = matches ? 2 : 1;
  return matches;
}

/* Equal texts are equal ids. */
static void
find_ids (OvsMatcher *matcher)
{
  const OvstageFilter *predicate = matcher->predicate;
  g_autofree OvsValue *ids = g_new (OvsValue, MAX (predicate->n_values, 1));
  OvsSchema as_numbers = { { OVS_CODE_UINT, 64, 1 }, FALSE, OVSTAGE_SEMANTIC_NONE };
  gsize n = 0;

  for (gsize i = 0; i < predicate->n_values; i++)
    {
      const OvsValue *value = &predicate->values[i];
      guint64 id = matcher->kind == KIND_TOKEN ? ovs_path_dict_find_token (matcher->dict, value->text, (gssize) value->length)
                                               : ovs_path_dict_find_path (matcher->dict, value->text, (gssize) value->length);

      if (id != 0 || value->length == 0)
        ids[n++] = (OvsValue){ .kind = OVS_VALUE_UINT, .u = id };
    }
  matcher->op = OVSTAGE_FILTER_OP_IN;
  find_numbers (matcher, &as_numbers, ids, n);
}

static void
find_node (OvsMatcher *matcher)
{
  const OvsValue *value = &matcher->predicate->values[0];
  const char *slash;

  if (matcher->op == OVSTAGE_FILTER_OP_SUBTREE)
    matcher->node = ovs_path_dict_find_path (matcher->dict, value->text, (gssize) value->length);
  else if (value->length == 0 || (value->length == 1 && value->text[0] == '/'))
    return; /* every path begins so */
  else
    {
      slash = strrchr (value->text, '/');
      matcher->rest = slash != NULL ? slash + 1 : value->text;
      if (slash == value->text)
        matcher->node = ovs_path_dict_get_root (matcher->dict);
      else if (slash != NULL && slash > value->text + 1 && strlen (value->text) == value->length)
        matcher->node = ovs_path_dict_find_path (matcher->dict, value->text, slash - value->text);
    }
  if (matcher->node != 0)
    matcher->depth = ovs_path_dict_get_depth (matcher->dict, matcher->node);
}

static void
find_texts (OvsMatcher *matcher)
{
  gboolean of_element = matcher->schema.is_array && matcher->op == OVSTAGE_FILTER_OP_CONTAINS;

  if (matcher->kind == KIND_BYTES)
    return;
  if (matcher->op == OVSTAGE_FILTER_OP_IN || of_element)
    {
      find_ids (matcher);
      return;
    }
  if (matcher->kind == KIND_PATH && (matcher->op == OVSTAGE_FILTER_OP_SUBTREE || matcher->op == OVSTAGE_FILTER_OP_PREFIX))
    {
      find_node (matcher);
      return;
    }
  matcher->n_known = 1 + (guint64) (matcher->kind == KIND_TOKEN ? ovs_path_dict_get_last_token (matcher->dict)
                                                                 : ovs_path_dict_get_last_path (matcher->dict));
  matcher->known = g_malloc0 (matcher->n_known);
}

/* --- making one --- */

static gboolean
read_literal (const OvsSchema *schema, const OvsValue *value, OvsValue *number)
{
  if (strlen (value->text) != value->length)
    return FALSE;
  if (schema->dtype.code == OVS_CODE_BOOL && (strcmp (value->text, "true") == 0 || strcmp (value->text, "false") == 0))
    {
      *number = (OvsValue){ .kind = OVS_VALUE_UINT, .u = value->text[0] == 't' };
      return TRUE;
    }
  return ovs_value_read_number (value->text, number);
}

static gboolean
fail_value (const OvsSchema *schema, const OvstageFilter *predicate, gsize i, const char *name, GError **error)
{
  const OvsValue *value = &predicate->values[i];
  g_autofree char *quoted = value->text != NULL ? ovs_quote_text (value->text, (gssize) value->length) : NULL;
  char text[OVS_SCHEMA_TEXT_MAX];

  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: values[%" G_GSIZE_FORMAT "] is %s%s, attribute '%s' is %s, expected a %s",
                   ovs_filter_op_get_name (predicate->op), i, quoted != NULL ? "the text " : "a number", quoted != NULL ? quoted : "", name,
                   ovs_schema_format (schema, text), find_kind (schema) == KIND_NUMBER ? "number" : "text");
}

/* @numbers: room for n_values */
static gboolean
check_values (OvsMatcher *matcher, const char *name, OvsValue *numbers, GError **error)
{
  const OvstageFilter *predicate = matcher->predicate;

  for (gsize i = 0; i < predicate->n_values; i++)
    {
      const OvsValue *value = &predicate->values[i];
      gboolean is_text = value->kind == OVS_VALUE_TEXT || value->kind == OVS_VALUE_LITERAL;

      numbers[i] = *value;
      if (matcher->kind == KIND_NUMBER && value->kind == OVS_VALUE_LITERAL && read_literal (&matcher->schema, value, &numbers[i]))
        continue;
      if (is_text != (matcher->kind != KIND_NUMBER))
        return fail_value (&matcher->schema, predicate, i, name, error);
    }
  return TRUE;
}

OvsMatcher *
ovs_matcher_new (OvsPathDict *dict, const OvstageFilter *predicate, const OvsSchema *schema, const char *name, GError **error)
{
  g_autofree OvsValue *numbers = g_new (OvsValue, MAX (predicate->n_values, 1));
  OvsMatcher *matcher;
  char text[OVS_SCHEMA_TEXT_MAX];

  if (!fits (find_kind (schema), schema->is_array, predicate->op))
    {
      ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "%s is not for attribute '%s', which is %s", ovs_filter_op_get_name (predicate->op), name,
                ovs_schema_format (schema, text));
      return NULL;
    }
  matcher = g_new0 (OvsMatcher, 1);
  matcher->dict = dict;
  matcher->predicate = predicate;
  matcher->schema = *schema;
  matcher->kind = find_kind (schema);
  matcher->op = predicate->op;
  if (!check_values (matcher, name, numbers, error))
    {
      ovs_matcher_free (matcher);
      return NULL;
    }
  if (matcher->kind == KIND_NUMBER)
    find_numbers (matcher, schema, numbers, predicate->n_values);
  else
    find_texts (matcher);
  return matcher;
}

void
ovs_matcher_free (OvsMatcher *matcher)
{
  g_clear_pointer (&matcher->intervals, g_array_unref);
  g_free (matcher->table);
  g_free (matcher->known);
  g_free (matcher);
}

/* --- running it --- */

/* @words: as many as @n needs */
static void
run_intervals (OvsMatcher *matcher, const guint8 *values, guint32 n, guint64 *words)
{
  if (matcher->table != NULL)
    {
      for (guint32 i = 0; i < n; i++)
        words[i / 64] |= (guint64) matcher->table[values[i]] << (i % 64);
      return;
    }
  for (guint i = 0; i < matcher->intervals->len; i++)
    matcher->pass (values, n, &g_array_index (matcher->intervals, OvsInterval, i), words);
}

static void
run_fixed (OvsMatcher *matcher, const OvsVersion *version, OvsBits *rows)
{
  OvsFence *ready;
  const guint8 *values = ovs_version_get_values (version, &ready);

  g_assert (ready == NULL);
  if (matcher->intervals == NULL)
    {
      for (guint32 row = 0; row < version->n_rows; row++)
        if (ovs_version_has_row (version, row) && test_id (matcher, ((const guint64 *) values)[row]))
          ovs_bits_set (rows, row);
      return;
    }
  for (guint32 first = 0; first < version->n_rows; first += BLOCK)
    run_intervals (matcher, values + (gsize) first * version->row_size, MIN (BLOCK, version->n_rows - first), rows->words + first / 64);
}

/* Whether one of @n elements matches. They need not be aligned. */
static gboolean
has_element (OvsMatcher *matcher, const guint8 *elements, gint64 n)
{
  gsize size = matcher->schema.dtype.bits / 8;
  guint64 aligned[64], word = 0;

  for (gint64 first = 0; first < n && word == 0; first += 64)
    {
      guint32 n_here = (guint32) MIN (64, n - first);

      memcpy (aligned, elements + (gsize) first * size, n_here * size);
      run_intervals (matcher, (const guint8 *) aligned, n_here, &word);
    }
  return word != 0;
}

static void
run_arrays (OvsMatcher *matcher, const OvsVersion *version, OvsBits *rows)
{
  for (guint32 row = 0; row < version->n_rows; row++)
    {
      const OvsArrayRow *record;
      const guint8 *data;

      if (!ovs_version_has_row (version, row))
        continue;
      record = ovs_version_get_array (version, row);
      data = ovs_array_row_get_data (record);
      if (matcher->kind == KIND_BYTES ? test_text (matcher, (const char *) data, record->size)
                                      : has_element (matcher, data, ovs_array_row_n_elements (record, matcher->schema.dtype)))
        ovs_bits_set (rows, row);
    }
}

void
ovs_matcher_run (OvsMatcher *matcher, const OvsVersion *version, OvsBits *rows)
{
  if (matcher->schema.is_array)
    run_arrays (matcher, version, rows);
  else
    run_fixed (matcher, version, rows);
}

gboolean
ovs_matcher_test_path (OvsMatcher *matcher, guint32 path)
{
  return test_id (matcher, path);
}
