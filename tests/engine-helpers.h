/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the tests of the engine share: a stage with some prims, payloads and values
 * as text, and a picture of everything a stage knows, so that a test can say that
 * nothing has changed. */

#pragma once

#include <stdio.h>
#include <string.h>

#include "base/ovs-debug.h"
#include "op/ovs-op-private.h"
#include "op/ovs-read-group.h"
#include "op/ovs-read.h"

#define N_(...) G_N_ELEMENTS (((guint64[]) { __VA_ARGS__ }))
/* (attributes, n) of a list of tokens */
#define TOKENS(...) (guint64[]){ __VA_ARGS__ }, N_ (__VA_ARGS__)
#define NO_TOKENS NULL, 0

/* More than the calling thread copies by itself, in float32 rows. */
#define N_LARGE 100000u

static const OvstageDataType float32 G_GNUC_UNUSED = { OVS_CODE_FLOAT, 32, 1 };
static const OvstageDataType float32x3 G_GNUC_UNUSED = { OVS_CODE_FLOAT, 32, 3 };
static const OvstageDataType float32x4 G_GNUC_UNUSED = { OVS_CODE_FLOAT, 32, 4 };
static const OvstageDataType uint64x1 G_GNUC_UNUSED = { OVS_CODE_UINT, 64, 1 };

typedef struct
{
  OvsStage *stage;
  OvstagePathList *list; /* prims /p0, /p1, ... */
  OvsOp *query;          /* of all of them */
  guint n;
  guint64 a, b, c;       /* attributes that may be written */
  OvsDebugFlags flags;   /* of the environment */
} Scene;

/* Under valgrind or ThreadSanitizer. */
static inline gboolean
is_slow (void)
{
#ifdef __SANITIZE_THREAD__
  return TRUE;
#else
  return g_getenv ("OVSTAGE_TEST_SLOW") != NULL;
#endif
}

/* --- set-up --- */

static inline guint64
token_or_fail (OvsStage *stage, const char *name)
{
  g_autoptr (GError) error = NULL;
  guint64 token = ovs_path_dict_intern_token (ovs_stage_get_dict (stage), name, -1, &error);

  g_assert_no_error (error);
  return token;
}

static inline OvstagePathList *
list_or_fail (OvsStage *stage, const guint *prims, guint n)
{
  g_autofree guint64 *ids = g_new (guint64, MAX (n, 1));
  g_autoptr (GError) error = NULL;
  OvstagePathList *list;
  char path[16];

  for (guint i = 0; i < n; i++)
    {
      g_snprintf (path, sizeof path, "/p%u", prims[i]);
      ids[i] = ovs_path_dict_intern_path (ovs_stage_get_dict (stage), path, -1, &error);
      g_assert_no_error (error);
    }
  list = ovs_path_list_new (ovs_stage_get_dict (stage), ids, n, &error);
  g_assert_no_error (error);
  return list;
}

static inline OvsOp *
query_prims_or_fail (OvsStage *stage, const guint *prims, guint n)
{
  OvstagePathList *list = list_or_fail (stage, prims, n);
  OvsOp *query = ovs_stage_query_list (stage, list);

  g_assert_true (ovs_op_is_done (query));
  g_assert_no_error (ovs_op_get_error (query));
  ovs_path_list_unref (list);
  return query;
}

/* @text: numbers of prims and runs of them, such as "3 0-2" */
static inline OvsOp *
query_or_fail (Scene *scene, const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  g_autoptr (GArray) prims = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; words[i] != NULL && words[i][0] != '\0'; i++)
    {
      guint first = 0, last = 0;

      if (sscanf (words[i], "%u-%u", &first, &last) < 2)
        last = first;
      for (guint prim = first; prim <= last; prim++)
        g_array_append_val (prims, prim);
    }
  return query_prims_or_fail (scene->stage, (const guint *) prims->data, prims->len);
}

static inline void
scene_init_full (Scene *scene, guint n, const OvsStageConfig *config)
{
  g_autofree guint *prims = g_new (guint, MAX (n, 1));

  scene->flags = ovs_debug_flags ();
  scene->stage = ovs_stage_new (config);
  scene->n = n;
  for (guint i = 0; i < n; i++)
    prims[i] = i;
  scene->query = query_prims_or_fail (scene->stage, prims, n);
  scene->list = ovs_query_get_list (scene->query);
  scene->a = token_or_fail (scene->stage, "a");
  scene->b = token_or_fail (scene->stage, "b");
  scene->c = token_or_fail (scene->stage, "c");
}

static inline void
scene_init (Scene *scene, guint n)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096, .n_threads = 2, .caller_limit = 256 * 1024 };

  scene_init_full (scene, n, &config);
}

static inline void
scene_init_depth (Scene *scene, guint n, guint depth)
{
  OvsStageConfig config = { .history_depth = depth, .queue_capacity = 4096, .n_threads = 2, .caller_limit = 256 * 1024 };

  scene_init_full (scene, n, &config);
}

/* The test is about one way to do things. */
static inline void
scene_init_plain (Scene *scene, guint n)
{
  scene_init (scene, n);
  ovs_debug_set_flags (0);
}

/* Everything runs on the stage's threads, which stand still: writes are pending, however small. */
static inline void
scene_init_paused (Scene *scene, guint n)
{
  scene_init (scene, n);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene->stage->workers);
}

static inline void
scene_resume (Scene *scene)
{
  ovs_workers_resume (scene->stage->workers);
}

static inline void
scene_clear (Scene *scene)
{
  OvsPoolStats stats;
  OvsPool *pool = ovs_pool_ref (scene->stage->pool);

  ovs_op_unref (scene->query);
  ovs_stage_close (scene->stage);
  ovs_stage_unref (scene->stage);
  /* The test has let go of everything: so must the stage. */
  ovs_pool_get_stats (pool, &stats);
  g_assert_cmpuint (stats.n_live, ==, 0);
  ovs_pool_unref (pool);
  ovs_debug_set_flags (scene->flags);
}

/* --- payloads --- */

static inline OvstageWriteData *
payload_new (OvstageDataType dtype, gint ndim, const gint64 *shape, const gint64 *strides, gpointer data, GDestroyNotify destroy,
             gpointer owner)
{
  OvstageTensor *tensor = ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, ndim, shape, strides, data, 0, destroy, owner);
  OvstageWriteData *payload = ovs_payload_new (tensor);

  ovs_tensor_unref (tensor);
  return payload;
}

/* Rows of zeroes. */
static inline OvstageWriteData *
payload_rows (OvstageDataType dtype, gint64 n)
{
  gpointer data = g_malloc0 ((gsize) MAX (n, 1) * ((ovs_dtype_row_bits (dtype) + 7) / 8));

  return payload_new (dtype, 1, &n, NULL, data, g_free, data);
}

static inline float *
payload_floats (OvstageWriteData *payload)
{
  return (float *) payload->tensor->data;
}

/* @text: numbers, a row of float32 each */
static inline OvstageWriteData *
payload_text (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  guint n = words[0] != NULL && words[0][0] != '\0' ? g_strv_length (words) : 0;
  OvstageWriteData *payload = payload_rows (float32, n);

  for (guint i = 0; i < n; i++)
    payload_floats (payload)[i] = (float) g_ascii_strtod (words[i], NULL);
  return payload;
}

/* A tensor of numbers; @text: "." for none, else with commas in between. */
static inline OvstageTensor *
tensor_text (const char *text)
{
  g_auto (GStrv) words = g_strsplit (g_str_equal (text, ".") ? "" : text, ",", -1);
  gint64 n = words[0] != NULL ? (gint64) g_strv_length (words) : 0;
  float *data = g_new (float, MAX (n, 1));

  for (gint64 i = 0; i < n; i++)
    data[i] = (float) g_ascii_strtod (words[i], NULL);
  return ovs_tensor_new (float32, OVS_DEVICE_CPU, 0, 1, &n, NULL, data, 0, g_free, data);
}

/* @text: rows of an array attribute, such as "1,2 . 3" */
static inline OvstageWriteData *
payload_arrays_full (const char *text, gboolean take)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  guint n = words[0] != NULL && words[0][0] != '\0' ? g_strv_length (words) : 0;
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_tensor_unref);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (tensors, tensor_text (words[i]));
  return ovs_payload_new_rows ((OvstageTensor *const *) tensors->pdata, n, take);
}

static inline OvstageWriteData *
payload_arrays (const char *text)
{
  return payload_arrays_full (text, FALSE);
}

/* @n rows of one number in every lane. */
static inline OvstageWriteData *
payload_fill (OvstageDataType dtype, guint n, double value)
{
  OvstageWriteData *payload = payload_rows (dtype, n);
  gsize n_values = (gsize) n * dtype.lanes;

  g_assert_cmpuint (dtype.bits, ==, 32);
  for (gsize i = 0; i < n_values; i++)
    payload_floats (payload)[i] = (float) value;
  return payload;
}

/* @mask: one digit an element, 0 or 1; the count is their number. Gives @payload. */
static inline OvstageWriteData *
with_mask (OvstageWriteData *payload, const char *mask)
{
  gsize n = strlen (mask), n_words = (n + 63) / 64;
  g_autofree guint64 *words = g_new0 (guint64, n_words);

  for (gsize i = 0; i < n; i++)
    if (mask[i] == '1')
      words[i / 64] |= G_GUINT64_CONSTANT (1) << (i % 64);
  payload->count = (guint32) n;
  ovs_payload_set_mask (payload, words, n_words);
  return payload;
}

/* @map: one digit an element; the count is their number. Gives @payload. */
static inline OvstageWriteData *
with_map (OvstageWriteData *payload, const char *map)
{
  gsize n = strlen (map);
  g_autofree guint32 *entries = g_new (guint32, MAX (n, 1));

  for (gsize i = 0; i < n; i++)
    entries[i] = (guint32) (map[i] - '0');
  payload->count = (guint32) n;
  ovs_payload_set_index_map (payload, entries, n);
  return payload;
}

static inline OvstageWriteData *
with_count (OvstageWriteData *payload, guint32 count)
{
  payload->count = count;
  return payload;
}

static inline OvstageWriteData *
with_semantic (OvstageWriteData *payload, OvstageSemantic semantic)
{
  payload->semantic = semantic;
  return payload;
}

/* --- operations --- */

/* Takes @payload. */
static inline OvsOp *
write_mode (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *payload, OvstagePrimMode mode)
{
  OvsOp *op = ovs_stage_write (scene->stage, query, attribute, ordinal, payload, mode, NULL);

  ovs_payload_unref (payload);
  return op;
}

/* Takes @payload. */
static inline OvsOp *
write_payload (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *payload)
{
  return write_mode (scene, query, attribute, ordinal, payload, OVSTAGE_PRIM_MODE_UPSERT);
}

static inline OvsOp *
advance (Scene *scene, guint64 ordinal)
{
  return ovs_stage_advance (scene->stage, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
}

static inline OvsOp *
read_at (Scene *scene, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 ordinal)
{
  return ovs_stage_read (scene->stage, query, attributes, n_attributes, &OVSTAGE_ORDINAL_RANGE_LATEST (ordinal), NULL);
}

/* Takes @op. */
static inline void
assert_ok (OvsOp *op)
{
  g_assert_cmpint (ovs_op_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (op));
  g_assert_cmpuint (ovs_op_get_id (op), >, 0);
  ovs_op_unref (op);
}

static inline void
assert_error_says (const GError *error, gint code, const char *const *texts)
{
  g_assert_error (error, OVSTAGE_ERROR, code);
  for (; *texts != NULL; texts++)
    if (strstr (error->message, *texts) == NULL)
      g_error ("\"%s\" does not say \"%s\"", error->message, *texts);
}

/* Takes @op. */
static inline void
assert_failed (OvsOp *op, gint code, const char *text)
{
  const char *texts[] = { text, NULL };

  g_assert_cmpint (ovs_op_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  assert_error_says (ovs_op_get_error (op), code, texts);
  g_assert_cmpuint (ovs_op_get_id (op), >, 0);
  ovs_op_unref (op);
}

/* Takes @payload. */
static inline void
write_or_fail (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *payload)
{
  assert_ok (write_payload (scene, query, attribute, ordinal, payload));
}

static inline void
write_text (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, const char *text)
{
  write_or_fail (scene, query, attribute, ordinal, payload_text (text));
}

static inline void
seal_or_fail (Scene *scene, guint64 ordinal)
{
  assert_ok (advance (scene, ordinal));
}

static inline void
seal_scope_or_fail (Scene *scene, guint64 ordinal, OvstageScope scope, const guint64 *attributes, gsize n_attributes)
{
  assert_ok (ovs_stage_advance (scene->stage, ordinal, scope, attributes, n_attributes));
}

static inline OvsOp *
read_or_fail (Scene *scene, OvsOp *query, const guint64 *attributes, gsize n_attributes, guint64 ordinal)
{
  OvsOp *read = read_at (scene, query, attributes, n_attributes, ordinal);

  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_no_error (ovs_op_get_error (read));
  return read;
}

/* (nullable) */
static inline OvstageReadGroup *
next_group_or_fail (OvsOp *read)
{
  OvstageReadGroup *group;
  g_autoptr (GError) error = NULL;

  g_assert_true (ovs_read_next (read, &group, &error));
  g_assert_no_error (error);
  return group;
}

/* The one group of a read of one attribute. */
static inline OvstageReadGroup *
only_group_or_fail (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal)
{
  OvsOp *read = read_or_fail (scene, query, &attribute, 1, ordinal);
  OvstageReadGroup *group = next_group_or_fail (read);

  g_assert_nonnull (group);
  g_assert_null (next_group_or_fail (read));
  ovs_op_unref (read);
  return group;
}

static inline const guint8 *
group_row (OvstageReadGroup *group, guint32 i)
{
  OvstageTensor *tensor = ovs_read_group_ref_tensor (group, 0);
  gsize row_size = ovs_dtype_row_bits (group->dtype) / 8;
  guint32 row = ovs_read_group_data_row (group, i);
  const guint8 *bytes = tensor->data + row * row_size;

  g_assert_cmpuint (row, <, (guint64) tensor->shape[0]);
  ovs_tensor_unref (tensor); /* the group has it */
  return bytes;
}

static inline void
append_row (GString *text, OvstageDataType dtype, const guint8 *row)
{
  for (guint lane = 0; lane < dtype.lanes; lane++)
    {
      if (lane > 0)
        g_string_append_c (text, ',');
      if (dtype.code == OVS_CODE_FLOAT && dtype.bits == 32)
        g_string_append_printf (text, "%g", ((const float *) row)[lane]);
      else if (dtype.code == OVS_CODE_UINT && dtype.bits == 64)
        g_string_append_printf (text, "%" G_GUINT64_FORMAT, ((const guint64 *) row)[lane]);
      else
        for (guint byte = 0; byte < dtype.bits / 8; byte++)
          g_string_append_printf (text, "%02x", row[lane * dtype.bits / 8 + byte]);
    }
}

/* As payload_arrays() takes it. */
static inline void
append_array (GString *text, OvstageReadGroup *group, guint32 i)
{
  OvstageTensor *tensor = ovs_read_group_ref_tensor (group, ovs_read_group_data_row (group, i));
  gsize size = ovs_dtype_row_bits (group->dtype) / 8;

  g_assert_cmpint (tensor->ndim, ==, 1);
  if (tensor->shape[0] == 0)
    g_string_append_c (text, '.');
  for (gint64 e = 0; e < tensor->shape[0]; e++)
    {
      if (e > 0)
        g_string_append_c (text, ',');
      append_row (text, group->dtype, tensor->data + (gsize) e * size);
    }
  ovs_tensor_unref (tensor);
}

static inline const char *
error_name (const GError *error)
{
  switch (error->code)
    {
    case OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION: return "WRITE_FLOOR_VIOLATION";
    case OVSTAGE_ERROR_OUT_OF_RANGE: return "OUT_OF_RANGE";
    case OVSTAGE_ERROR_OUT_OF_MEMORY: return "OUT_OF_MEMORY";
    case OVSTAGE_ERROR_OP_FAILED: return "OP_FAILED";
    default: return error->message;
    }
}

/* The values of each prim of a read's list, "-" where it has none; the name of the error if it failed. Takes @read. */
static inline char *
read_to_text (OvsOp *read)
{
  OvstagePathList *list;
  GString *text = g_string_new (NULL);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);
  OvstageReadGroup *group;

  g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  if (ovs_op_get_error (read) != NULL)
    {
      g_string_append (text, error_name (ovs_op_get_error (read)));
      ovs_op_unref (read);
      return g_string_free (text, FALSE);
    }

  list = ((OvsRead *) read)->list; /* a filter query may have told it just now */
  g_ptr_array_set_size (rows, (gint) list->n);
  while ((group = next_group_or_fail (read)) != NULL)
    {
      g_assert_cmpuint (group->prim_count, >, 0);
      for (guint32 i = 0; i < group->prim_count; i++)
        {
          GString *row = g_string_new (NULL);
          guint32 entry = ovs_read_group_prim_index (group, i);

          g_assert_cmpuint (entry, <, list->n);
          g_assert_null (rows->pdata[entry]); /* placed once */
          if (group->is_array)
            append_array (row, group, i);
          else
            append_row (row, group->dtype, group_row (group, i));
          rows->pdata[entry] = g_string_free (row, FALSE);
        }
      ovs_read_group_unref (group);
    }
  for (guint i = 0; i < rows->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "", rows->pdata[i] != NULL ? (char *) rows->pdata[i] : "-");
  ovs_op_unref (read);
  return g_string_free (text, FALSE);
}

#define assert_read(read, expected)                                                                                    \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_autofree char *text_ = read_to_text (read);                                                                    \
      g_assert_cmpstr (text_, ==, expected);                                                                           \
    }                                                                                                                  \
  G_STMT_END

/* What a read of one attribute gives, as text. */
#define assert_values(scene, query, attribute, ordinal, expected)                                                      \
  assert_read (read_at (scene, query, (guint64[]){ attribute }, 1, ordinal), expected)

/* Every prim of the query has @value in every float32 lane. */
static inline void
assert_filled (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, double value)
{
  OvstageReadGroup *group = only_group_or_fail (scene, query, attribute, ordinal);

  g_assert_cmpuint (group->prim_count, ==, ovs_query_get_list (query)->n);
  for (guint32 i = 0; i < group->prim_count; i++)
    for (guint lane = 0; lane < group->dtype.lanes; lane++)
      if (((const float *) group_row (group, i))[lane] != (float) value)
        g_error ("prim %u is %g, not %g", i, ((const float *) group_row (group, i))[lane], value);
  ovs_read_group_unref (group);
}

/* --- the whole state --- */

static inline guint64
add_hash (guint64 hash, const void *bytes, gsize n)
{
  for (gsize i = 0; i < n; i++)
    hash = (hash ^ ((const guint8 *) bytes)[i]) * G_GUINT64_CONSTANT (1099511628211);
  return hash;
}

static inline void
dump_deletes (GString *text, const OvsDeletes *deletes)
{
  for (guint i = 0; i < deletes->len; i++)
    {
      const OvsDelete *delete = deletes->pdata[i];

      g_string_append_printf (text, " delete at %" G_GUINT64_FORMAT ": %u prims, %u spared\n", delete->ordinal, delete->list->n,
                              delete->n_spared);
    }
}

static inline void
dump_column (GString *text, OvsColumn *column)
{
  guint64 hash = 0;

  for (guint32 row = 0; row < column->n_head_rows; row++)
    if (ovs_column_is_head_live (column, row))
      {
        guint32 prim = ovs_layout_get_prim (column->layout, row);

        hash = add_hash (hash, &prim, sizeof prim);
      }
  g_string_append_printf (text, " column %u: head %u/%u %" G_GINT64_MODIFIER "x frontier %" G_GUINT64_FORMAT "\n", column->index,
                          column->n_head_live, column->n_head_rows, hash, column->frontier);
  for (guint i = 0; i < column->versions->len; i++)
    {
      const OvsVersion *version = column->versions->pdata[i];

      hash = 0;
      for (guint32 row = 0; row < version->n_rows; row++)
        if (ovs_version_has_row (version, row) && version->ragged != NULL)
          hash = add_hash (hash, ovs_array_row_get_data (ovs_version_get_array (version, row)), ovs_version_get_array (version, row)->size);
        else if (ovs_version_has_row (version, row))
          hash = add_hash (hash, version->values->data + (gsize) row * version->row_size, version->row_size);
      g_string_append_printf (text, "  version %" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT ": %u/%u %" G_GINT64_MODIFIER "x\n",
                              version->ordinal, version->until, version->n_live, version->n_rows, hash);
    }
}

/* Everything a stage holds that could make a difference. Bytes still in flight are left out. */
static inline char *
dump_state (OvsStage *stage)
{
  GString *text = g_string_new (NULL);

  ovs_mutex_lock (&stage->lock);
  g_string_append_printf (text, "staged %" G_GSIZE_FORMAT " mapped %" G_GSSIZE_FORMAT " pending %u\n", stage->staged_bytes,
                          stage->mapped_bytes, stage->pending.length);
  for (guint32 token = 0; token <= ovs_path_dict_get_last_token (stage->dict); token++)
    g_string_append_printf (text, "%u: closing %" G_GUINT64_FORMAT " sealed %" G_GUINT64_FORMAT "\n", token,
                            ovs_floors_get (&stage->closing, token), ovs_floors_get (&stage->sealed, token));
  for (gsize i = 0; i < stage->n_live; i++)
    if (stage->live[i] > 0)
      g_string_append_printf (text, "%" G_GSIZE_FORMAT ":%u ", i, stage->live[i]);
  dump_deletes (text, stage->prim_deletes);
  for (guint i = 0; i < stage->attrs->len; i++)
    {
      OvsAttr *attr = stage->attrs->pdata[i];

      if (attr == NULL)
        continue;
      g_string_append_printf (text, "\nattribute %u: structure %" G_GUINT64_FORMAT "\n", i, attr->structure_max);
      for (guint c = 0; c < attr->columns->len; c++)
        dump_column (text, attr->columns->pdata[c]);
      dump_deletes (text, attr->deletes);
      for (guint s = 0; s < attr->sets->len; s++)
        {
          const OvsWriteSet *set = attr->sets->pdata[s];

          g_string_append_printf (text, " set of %u at %" G_GUINT64_FORMAT ":", set->column->index, set->ordinal);
          for (guint p = 0; p < set->n_parts; p++)
            g_string_append_printf (text, " %u %" G_GINT64_MODIFIER "x", set->parts[p].n,
                                    stage->pending.length > 0 ? 0
                                    : add_hash (0, set->parts[p].values->data, (gsize) set->parts[p].n * set->column->row_size));
          g_string_append_c (text, '\n');
        }
    }
  ovs_mutex_unlock (&stage->lock);
  return g_string_free (text, FALSE);
}

static inline void
check_refused (OvsOp *op, gint code, const char *const *texts)
{
  g_assert_true (ovs_op_is_done (op));
  assert_error_says (ovs_op_get_error (op), code, texts);
  g_assert_cmpuint (ovs_op_get_id (op), ==, 0);
  ovs_op_unref (op);
}

/* The operation that @call gives was refused with @code, its message says each of the texts, and nothing has changed. */
#define assert_refused(scene, call, code, ...)                                                                         \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_autofree char *before_ = dump_state ((scene)->stage);                                                          \
      OvsOp *op_ = call;                                                                                               \
      g_autofree char *after_ = dump_state ((scene)->stage);                                                           \
      check_refused (op_, code, (const char *const[]){ __VA_ARGS__, NULL });                                           \
      g_assert_cmpstr (before_, ==, after_);                                                                           \
    }                                                                                                                  \
  G_STMT_END
