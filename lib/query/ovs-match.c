/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "query/ovs-match.h"

#include <string.h>

#include "path/ovs-path-hash.h"
#include "path/ovs-path-text.h"
#include "query/ovs-interval.h"
#include "query/ovs-number-set.h"
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

struct _OvsMatcher
{
  OvsPathDict *dict; /* lent, as is what follows */
  const OvstageFilter *predicate;
  OvsSchema schema;
  Kind kind;
  gint op;

  gboolean prepared;
  OvsValue *values;        /* (owned) (nullable) numbers, read from what the predicate has; NULL for texts, and once prepared */
  OvsNumberSet *numbers;   /* (owned) (nullable) numbers, or ids that are compared as such */
  GHashTable *texts;       /* (owned) (nullable) those of IN, for bytes: OvsValue */
  gsize longest;           /* of them */

  /* Texts behind ids: */
  guint8 *known; /* (owned) (nullable) by id: 0 not looked at, 1 no match, 2 a match */
  guint64 n_known;
  guint32 node;  /* SUBTREE: the path; PREFIX: the one above its last component; 0: none that exists */
  guint32 depth; /* of that */
  const char *rest; /* PREFIX: what is left of it; NULL: every path matches */
};

/* --- schemas --- */

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
      return schema->dtype.lanes == 1 && ovs_number_set_fits (schema->dtype) ? KIND_NUMBER : KIND_NONE;
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
    default: /* CONTAINS */
      return value->length == 0 || memmem (text, length, value->text, value->length) != NULL;
    }
}

static guint
hash_text (gconstpointer data)
{
  const OvsValue *value = data;

  return ovs_hash_text (0, value->text, value->length);
}

static gboolean
same_text (gconstpointer a, gconstpointer b)
{
  const OvsValue *x = a, *y = b;

  return x->length == y->length && ovs_same_bytes (x->text, y->text, x->length);
}

/* An operator other than IN has one value. */
static gboolean
test_text (OvsMatcher *matcher, const char *text, gsize length)
{
  const OvsValue key = { .text = (char *) text, .length = length };

  if (matcher->op != OVSTAGE_FILTER_OP_IN)
    return compare_texts (matcher->op, text, length, &matcher->predicate->values[0]);
  return length <= matcher->longest && g_hash_table_contains (matcher->texts, &key);
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

  if (matcher->numbers != NULL)
    return ovs_number_set_has_id (matcher->numbers, id);
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
  gsize n = 0;

  for (gsize i = 0; i < predicate->n_values; i++)
    {
      const OvsValue *value = &predicate->values[i];
      guint64 id = matcher->kind == KIND_TOKEN ? ovs_path_dict_find_token (matcher->dict, value->text, (gssize) value->length)
                                               : ovs_path_dict_find_path (matcher->dict, value->text, (gssize) value->length);

      if (id != 0 || value->length == 0)
        ids[n++] = (OvsValue){ .kind = OVS_VALUE_UINT, .u = id };
    }
  matcher->numbers = ovs_number_set_new ((OvstageDataType){ OVS_CODE_UINT, 64, 1 }, OVSTAGE_FILTER_OP_IN, ids, n);
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
collect_texts (OvsMatcher *matcher)
{
  const OvstageFilter *predicate = matcher->predicate;

  matcher->texts = g_hash_table_new (hash_text, same_text);
  for (gsize i = 0; i < predicate->n_values; i++)
    {
      g_hash_table_add (matcher->texts, &predicate->values[i]);
      matcher->longest = MAX (matcher->longest, predicate->values[i].length);
    }
}

static void
find_texts (OvsMatcher *matcher)
{
  gboolean of_element = matcher->schema.is_array && matcher->op == OVSTAGE_FILTER_OP_CONTAINS;

  if (matcher->kind == KIND_BYTES)
    {
      if (matcher->op == OVSTAGE_FILTER_OP_IN)
        collect_texts (matcher);
      return;
    }
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

static gboolean
check_values (OvsMatcher *matcher, const char *name, GError **error)
{
  const OvstageFilter *predicate = matcher->predicate;

  if (matcher->kind == KIND_NUMBER)
    matcher->values = g_new (OvsValue, MAX (predicate->n_values, 1));
  for (gsize i = 0; i < predicate->n_values; i++)
    {
      const OvsValue *value = &predicate->values[i];
      gboolean is_text = value->kind == OVS_VALUE_TEXT || value->kind == OVS_VALUE_LITERAL;

      if (matcher->kind == KIND_NUMBER)
        matcher->values[i] = *value;
      if (matcher->kind == KIND_NUMBER && value->kind == OVS_VALUE_LITERAL && read_literal (&matcher->schema, value, &matcher->values[i]))
        continue;
      if (is_text != (matcher->kind != KIND_NUMBER))
        return fail_value (&matcher->schema, predicate, i, name, error);
    }
  return TRUE;
}

OvsMatcher *
ovs_matcher_new (OvsPathDict *dict, const OvstageFilter *predicate, const OvsSchema *schema, const char *name, GError **error)
{
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
  if (!check_values (matcher, name, error))
    {
      ovs_matcher_free (matcher);
      return NULL;
    }
  return matcher;
}

void
ovs_matcher_free (OvsMatcher *matcher)
{
  g_clear_pointer (&matcher->numbers, ovs_number_set_free);
  g_free (matcher->values);
  g_clear_pointer (&matcher->texts, g_hash_table_unref);
  g_free (matcher->known);
  g_free (matcher);
}

/* --- running it --- */

/* Not when it is made: that is under the stage lock, and there may be many values. */
static void
prepare (OvsMatcher *matcher)
{
  if (matcher->prepared)
    return;
  matcher->prepared = TRUE;
  if (matcher->kind != KIND_NUMBER)
    find_texts (matcher);
  else
    matcher->numbers = ovs_number_set_new (matcher->schema.dtype, matcher->op, matcher->values, matcher->predicate->n_values);
  g_clear_pointer (&matcher->values, g_free);
}

static void
run_fixed (OvsMatcher *matcher, const OvsVersion *version, OvsBits *rows)
{
  OvsFence *ready;
  const guint8 *values = ovs_version_get_values (version, &ready);

  g_assert (ready == NULL);
  if (matcher->numbers == NULL)
    {
      for (guint32 row = 0; row < version->n_rows; row++)
        if (ovs_version_has_row (version, row) && test_id (matcher, ((const guint64 *) values)[row]))
          ovs_bits_set (rows, row);
      return;
    }
  for (guint32 first = 0; first < version->n_rows; first += BLOCK)
    ovs_number_set_run (matcher->numbers, values + (gsize) first * version->row_size, MIN (BLOCK, version->n_rows - first), rows->words + first / 64);
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
      ovs_number_set_run (matcher->numbers, (const guint8 *) aligned, n_here, &word);
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
  prepare (matcher);
  if (matcher->schema.is_array)
    run_arrays (matcher, version, rows);
  else
    run_fixed (matcher, version, rows);
}

gboolean
ovs_matcher_test_path (OvsMatcher *matcher, guint32 path)
{
  prepare (matcher);
  return test_id (matcher, path);
}
