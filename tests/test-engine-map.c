/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Maps: memory of the store that its user fills, and what becomes of it. */

#include "config.h"

#include "engine-helpers.h"
#include "op/ovs-map-group.h"

static OvsOp *
map_full (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, const OvsMapRequest *request, OvstagePrimMode mode)
{
  return ovs_stage_map (scene->stage, query, attribute, request, ordinal, mode, NULL);
}

#define MAP(...) &(OvsMapRequest) { __VA_ARGS__ }

/* A map of float32. */
static OvsOp *
map_floats (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal)
{
  return map_full (scene, query, attribute, ordinal, MAP (.dtype = float32), OVSTAGE_PRIM_MODE_UPSERT);
}

static OvsOp *
map_current (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal)
{
  return map_full (scene, query, attribute, ordinal, MAP (.dtype = float32, .flags = OVSTAGE_MAP_FLAGS_INITIALIZE),
                   OVSTAGE_PRIM_MODE_UPSERT);
}

/* (nullable) */
static OvstageMapGroup *
next_map_group (OvsOp *map)
{
  OvstageMapGroup *group;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (ovs_op_wait (map, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
  g_assert_true (ovs_map_next (map, &group, &error));
  g_assert_no_error (error);
  return group;
}

/* The one group of a map. */
static OvstageMapGroup *
only_map_group (OvsOp *map)
{
  OvstageMapGroup *group = next_map_group (map);

  g_assert_nonnull (group);
  g_assert_null (next_map_group (map));
  return group;
}

static float *
group_floats (OvstageMapGroup *group)
{
  OvstageTensor *tensor = ovs_map_group_ref_tensor (group, 0);
  float *data = (float *) tensor->data;

  g_assert_cmpint (tensor->ndim, ==, 1);
  g_assert_cmpint (tensor->shape[0], ==, group->prim_count);
  ovs_tensor_unref (tensor); /* the group has it */
  return data;
}

/* @text: numbers */
static void
fill_group (OvstageMapGroup *group, const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);

  g_assert_cmpuint (g_strv_length (words), ==, group->prim_count);
  for (guint i = 0; words[i] != NULL; i++)
    group_floats (group)[i] = (float) g_ascii_strtod (words[i], NULL);
}

static char *
group_to_text (OvstageMapGroup *group)
{
  GString *text = g_string_new (NULL);

  for (guint32 i = 0; i < group->prim_count; i++)
    g_string_append_printf (text, "%s%u:%g", i > 0 ? " " : "", ovs_map_group_prim_index (group, i), group_floats (group)[i]);
  return g_string_free (text, FALSE);
}

#define assert_group(group, expected)                                                                                  \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_autofree char *text_ = group_to_text (group);                                                                  \
      g_assert_cmpstr (text_, ==, expected);                                                                           \
    }                                                                                                                  \
  G_STMT_END

/* Fills the only group of a map. Gives @map. */
static OvsOp *
filled (OvsOp *map, const char *text)
{
  OvstageMapGroup *group = only_map_group (map);

  fill_group (group, text);
  ovs_map_group_unref (group);
  return map;
}

static OvsOp *
commit (OvsOp *map)
{
  return ovs_map_commit (map, 0, 0);
}

static OvsOp *
commit_group (OvsOp *map, OvstageMapGroup *group)
{
  return ovs_map_commit_group (map, group, 0, 0);
}

/* Takes @map. */
static void
commit_or_fail (OvsOp *map)
{
  assert_ok (commit (map));
  ovs_op_unref (map);
}

/* Maps, fills and commits. */
static void
put (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal, const char *text)
{
  commit_or_fail (filled (map_floats (scene, query, attribute, ordinal), text));
}

/* --- the way through --- */

static void
test_create (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 3);
  map = map_full (&scene, scene.query, scene.a, 2, MAP (.dtype = float32, .semantic = OVSTAGE_SEMANTIC_TIME_CODE),
                  OVSTAGE_PRIM_MODE_INSERT);
  g_assert_cmpuint (ovs_op_get_id (map), >, 0);
  group = only_map_group (map);
  g_assert_true (group->list == scene.list);
  g_assert_cmpuint (group->attribute, ==, scene.a);
  g_assert_cmpuint (group->ordinal, ==, 2);
  g_assert_cmpint (group->schema.semantic, ==, OVSTAGE_SEMANTIC_TIME_CODE);
  g_assert_null (group->prim_map);
  g_assert_cmpuint (group->prim_offset, ==, 0);
  g_assert_cmpuint (ovs_map_group_get_n_tensors (group), ==, 1);
  g_assert_null (ovs_map_group_ref_tensor (group, 1));
  fill_group (group, "1 2 3");

  /* Neither before the commit nor before the seal. */
  assert_values (&scene, scene.query, scene.a, OVSTAGE_ORDINAL_NEWEST, "- - -");
  assert_values (&scene, scene.query, scene.a, 2, "- - -");
  assert_ok (commit_group (map, group));
  assert_values (&scene, scene.query, scene.a, 2, "WRITE_FLOOR_VIOLATION");
  assert_values (&scene, scene.query, scene.a, OVSTAGE_ORDINAL_NEWEST, "- - -");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 2 3");

  ovs_map_group_unref (group);
  ovs_op_unref (map);
  scene_clear (&scene);
}

static const guint8 *
read_pointer (Scene *scene, OvsOp *query, guint64 attribute, guint64 ordinal)
{
  OvstageReadGroup *group = only_group_or_fail (scene, query, attribute, ordinal);
  const guint8 *data = group_row (group, 0);

  ovs_read_group_unref (group);
  return data;
}

static void
test_pointer (void)
{
  OvstageMapGroup *group;
  OvstageTensor *tensor;
  guint64 before;
  Scene scene;
  OvsOp *map;

  scene_init_plain (&scene, N_LARGE);
  for (guint64 ordinal = 1; ordinal <= 3; ordinal++)
    {
      before = scene.stage->n_bytes_folded;
      map = map_floats (&scene, scene.query, scene.a, ordinal);
      group = only_map_group (map);
      tensor = ovs_map_group_ref_tensor (group, 0);
      g_assert_cmpuint ((guintptr) tensor->data % OVS_BUFFER_ALIGNMENT, ==, 0);
      for (guint i = 0; i < N_LARGE; i++)
        ((float *) tensor->data)[i] = (float) (ordinal * 1000 + i);
      assert_ok (commit (map));
      seal_or_fail (&scene, ordinal);

      g_assert_true (read_pointer (&scene, scene.query, scene.a, ordinal) == tensor->data);
      g_assert_cmpuint (scene.stage->n_bytes_folded, ==, before);
      ovs_tensor_unref (tensor);
      ovs_map_group_unref (group);
      ovs_op_unref (map);
    }
  scene_clear (&scene);
}

/* Prims of a larger column, in whatever order, and prims that are not there. */
static void
test_parts_of_columns (void)
{
  Scene scene;
  OvsOp *some, *mixed;

  scene_init (&scene, 5);
  some = query_or_fail (&scene, "3 1");
  mixed = query_or_fail (&scene, "7 0 6 4");
  write_text (&scene, scene.query, scene.a, 1, "0 1 2 3 4");
  put (&scene, some, scene.a, 2, "30 10");
  put (&scene, mixed, scene.a, 2, "70 100 60 40");
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "100 10 2 30 40");
  assert_values (&scene, mixed, scene.a, 2, "70 100 60 40");
  ovs_op_unref (some);
  ovs_op_unref (mixed);
  scene_clear (&scene);
}

/* Prims that carry the attribute in two schemas, and one that does not. */
static OvsOp *
two_schemas (Scene *scene)
{
  OvsOp *points = query_or_fail (scene, "2 0"), *colors = query_or_fail (scene, "1");

  write_or_fail (scene, points, scene->a, 1, with_semantic (payload_text ("2 0"), OVSTAGE_SEMANTIC_POINT));
  write_or_fail (scene, colors, scene->a, 1, with_semantic (payload_text ("1"), OVSTAGE_SEMANTIC_COLOR));
  ovs_op_unref (points);
  ovs_op_unref (colors);
  return query_or_fail (scene, "0-3");
}

static void
test_group_for_each_schema (void)
{
  OvstageMapGroup *groups[3];
  Scene scene;
  OvsOp *query, *map;

  scene_init (&scene, 4);
  query = two_schemas (&scene);
  map = map_current (&scene, query, scene.a, 2);
  for (guint i = 0; i < 3; i++)
    groups[i] = next_map_group (map);
  g_assert_null (next_map_group (map));
  g_assert_cmpint (groups[0]->schema.semantic, ==, OVSTAGE_SEMANTIC_POINT);
  assert_group (groups[0], "0:0 2:2");
  g_assert_cmpint (groups[1]->schema.semantic, ==, OVSTAGE_SEMANTIC_COLOR);
  assert_group (groups[1], "1:1");
  g_assert_cmpint (groups[2]->schema.semantic, ==, OVSTAGE_SEMANTIC_NONE);
  assert_group (groups[2], "3:0");

  fill_group (groups[0], "10 12");
  fill_group (groups[1], "11");
  fill_group (groups[2], "13");
  assert_ok (commit_group (map, groups[1]));
  assert_ok (commit (map));
  seal_or_fail (&scene, 2);
  assert_values (&scene, query, scene.a, 2, "10 11 12 13");

  for (guint i = 0; i < 3; i++)
    ovs_map_group_unref (groups[i]);
  ovs_op_unref (map);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* What is left is written as one, also where every prim of it has lost the attribute meanwhile. */
static void
test_rest_is_one_write (void)
{
  Scene scene;
  OvsOp *query, *map, *gone, *op;
  OvstageMapGroup *group;
  guint64 id;

  scene_init (&scene, 4);
  query = two_schemas (&scene);
  map = map_floats (&scene, query, scene.a, 2);
  while ((group = next_map_group (map)) != NULL)
    {
      for (guint32 i = 0; i < group->prim_count; i++)
        group_floats (group)[i] = (float) ovs_map_group_prim_index (group, i) + 5;
      ovs_map_group_unref (group);
    }
  gone = query_or_fail (&scene, "1-2");
  assert_ok (ovs_stage_delete (scene.stage, gone, TOKENS (scene.a), 2));
  id = scene.stage->next_id;
  op = commit (map);
  g_assert_cmpuint (ovs_op_get_id (op), ==, id);
  g_assert_cmpuint (scene.stage->next_id, ==, id + 1);
  assert_ok (op);
  seal_or_fail (&scene, 2);
  assert_values (&scene, query, scene.a, 2, "5 6 7 8");

  ovs_op_unref (map);
  ovs_op_unref (gone);
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_meta (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 3, "1 2");
  seal_or_fail (&scene, 3);
  map = map_floats (&scene, scene.query, scene.a, 5);
  group = only_map_group (map);
  g_assert_cmpuint (group->write_floor, ==, 3);
  g_assert_cmpuint (group->layout_generation, ==, 1);
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  scene_clear (&scene);
}

static void
test_empty_query (void)
{
  const gsize one = 1;
  Scene scene;
  OvsOp *none, *map;

  scene_init (&scene, 2);
  none = query_or_fail (&scene, "");
  seal_or_fail (&scene, 5);
  /* Form and names are checked, and nothing else. */
  map = map_full (&scene, none, scene.a, 1, MAP (.dtype = { 0 }), OVSTAGE_PRIM_MODE_UPDATE);
  g_assert_null (next_map_group (map));
  commit_or_fail (map);
  map = map_full (&scene, none, scene.a, 1, MAP (.element_counts = &one), OVSTAGE_PRIM_MODE_UPDATE);
  commit_or_fail (map);
  assert_refused (&scene, map_full (&scene, none, scene.a, 1, MAP (.element_counts = &one, .n_element_counts = 1), 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "1", "0");
  assert_refused (&scene, map_full (&scene, none, scene.a, 1, MAP (.dtype = { OVS_CODE_FLOAT, 32, 0 }), 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "lanes");
  ovs_op_unref (none);
  scene_clear (&scene);
}

/* --- the schema --- */

static void
test_dtype_of_targets (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map, *query, *same;

  scene_init (&scene, 2);
  write_or_fail (&scene, scene.query, scene.a, 1, with_semantic (payload_fill (float32x3, 2, 1), OVSTAGE_SEMANTIC_POINT));
  query = query_or_fail (&scene, "0-2");
  map = map_full (&scene, query, scene.a, 2, MAP (.semantic = 0), OVSTAGE_PRIM_MODE_UPSERT);
  group = only_map_group (map);
  g_assert_true (ovs_dtype_equal (group->schema.dtype, float32x3));
  g_assert_cmpint (group->schema.semantic, ==, OVSTAGE_SEMANTIC_POINT);
  /* That semantic may be named, and no other. */
  same = map_full (&scene, query, scene.a, 2, MAP (.semantic = OVSTAGE_SEMANTIC_POINT), OVSTAGE_PRIM_MODE_UPSERT);
  assert_ok (same);
  assert_refused (&scene, map_full (&scene, query, scene.a, 2, MAP (.semantic = OVSTAGE_SEMANTIC_COLOR), OVSTAGE_PRIM_MODE_UPSERT),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic is COLOR", "'a' is", "POINT");
  for (guint i = 0; i < 9; i++)
    group_floats (group)[i] = (float) i;
  assert_ok (commit (map));
  seal_or_fail (&scene, 2);
  assert_values (&scene, query, scene.a, 2, "0,1,2 3,4,5 6,7,8");
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Of the targets nobody has the attribute, so it is what anybody has, as of the ordinal. */
static void
test_dtype_of_stage (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map, *other;

  scene_init (&scene, 2);
  other = query_or_fail (&scene, "8-9");
  assert_refused (&scene, map_full (&scene, scene.query, scene.a, 2, MAP (.semantic = 0), 0), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "dtype", "'a'");
  /* Known by a delete of nothing. */
  assert_ok (ovs_stage_delete (scene.stage, other, TOKENS (scene.a), 5));
  assert_refused (&scene, map_full (&scene, scene.query, scene.a, 4, MAP (.semantic = 0), 0), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "dtype", "ordinal 4");
  write_or_fail (&scene, other, scene.a, 5, payload_fill (float32x3, 2, 1));
  assert_refused (&scene, map_full (&scene, scene.query, scene.a, 4, MAP (.semantic = 0), 0), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "dtype", "ordinal 4");
  map = map_full (&scene, scene.query, scene.a, 5, MAP (.semantic = 0), 0);
  group = only_map_group (map);
  g_assert_true (ovs_dtype_equal (group->schema.dtype, float32x3));
  ovs_map_group_unref (group);
  ovs_op_unref (map);

  /* What died does not count. */
  assert_ok (ovs_stage_delete (scene.stage, other, TOKENS (scene.a), 6));
  write_or_fail (&scene, other, scene.a, 7, payload_fill (float32, 2, 1));
  assert_refused (&scene, map_full (&scene, scene.query, scene.a, 6, MAP (.semantic = 0), 0), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "dtype", "ordinal 6");
  map = map_full (&scene, scene.query, scene.a, 5, MAP (.semantic = 0), 0);
  group = only_map_group (map);
  g_assert_true (ovs_dtype_equal (group->schema.dtype, float32x3));
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  map = map_full (&scene, scene.query, scene.a, 7, MAP (.semantic = 0), 0);
  group = only_map_group (map);
  g_assert_true (ovs_dtype_equal (group->schema.dtype, float32));
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  ovs_op_unref (other);
  scene_clear (&scene);
}

static void
test_dtype_ambiguous (void)
{
  Scene scene;
  OvsOp *query, *fresh, *point, *map;

  scene_init (&scene, 4);
  query = two_schemas (&scene);
  fresh = query_or_fail (&scene, "3");
  point = query_or_fail (&scene, "3 0");
  assert_refused (&scene, map_full (&scene, query, scene.a, 2, MAP (.semantic = 0), 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype",
                  "POINT", "COLOR");
  assert_refused (&scene, map_full (&scene, fresh, scene.a, 2, MAP (.semantic = 0), 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "dtype",
                  "POINT", "COLOR");
  /* The targets come first. */
  map = map_full (&scene, point, scene.a, 2, MAP (.semantic = 0), 0);
  commit_or_fail (filled (map, "3 0"));
  seal_or_fail (&scene, 2);
  assert_values (&scene, query, scene.a, 2, "0 1 2 3");
  ovs_op_unref (query);
  ovs_op_unref (fresh);
  ovs_op_unref (point);
  scene_clear (&scene);
}

static void
test_conflict (void)
{
  Scene scene;
  OvsOp *fresh;

  scene_init (&scene, 2);
  fresh = query_or_fail (&scene, "5");
  write_or_fail (&scene, scene.query, scene.a, 1, with_semantic (payload_text ("1 2"), OVSTAGE_SEMANTIC_POINT));
  assert_refused (&scene, map_full (&scene, scene.query, scene.a, 2, MAP (.dtype = float32x3), 0), OVSTAGE_ERROR_INVALID_ARGUMENT,
                  "float32x3", "float32 POINT", "/p0");
  assert_refused (&scene, map_full (&scene, scene.query, scene.a, 2, MAP (.dtype = float32, .semantic = OVSTAGE_SEMANTIC_COLOR), 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "COLOR", "POINT");
  assert_refused (&scene, map_full (&scene, scene.query, scene.a, 2, MAP (.semantic = OVSTAGE_SEMANTIC_COLOR), 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "COLOR", "POINT");
  assert_refused (&scene, map_full (&scene, fresh, scene.a, 2, MAP (.semantic = OVSTAGE_SEMANTIC_COLOR), 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "COLOR", "POINT");
  /* W21, W22 */
  assert_refused (&scene, map_full (&scene, scene.query, scene.b, 2, MAP (.dtype = float32, .semantic = OVSTAGE_SEMANTIC_TOKEN_ID), 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "TOKEN_ID");
  assert_refused (&scene, map_full (&scene, scene.query, token_or_fail (scene.stage, "usd-prim-type"), 2, MAP (.dtype = uint64x1), 0),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-prim-type");
  ovs_op_unref (fresh);
  scene_clear (&scene);
}

/* --- faults --- */

static void
test_faults (void)
{
  const gsize counts[] = { 1, 2 };
  OvstagePlacement cuda = { OVS_DEVICE_CUDA, 0, 0, 0 };
  Scene scene, other;
  guint64 path;

  scene_init (&scene, 2);
  scene_init (&other, 2);
  path = token_or_fail (scene.stage, "usd-path");
  write_text (&scene, scene.query, scene.b, 1, "1 2");
  seal_or_fail (&scene, 3);

#define REFUSED(query, attribute, ordinal, request, mode, code, ...) \
  assert_refused (&scene, map_full (&scene, query, attribute, ordinal, request, mode), code, __VA_ARGS__)
  /* Each line has the faults of the lines below it too, for as long as they have room for them. */
  REFUSED (other.query, 999, 3, MAP (.flags = 2, .semantic = 99, .dtype = { 2, 0, 0 }), 7, OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode", "7");
  REFUSED (other.query, 999, 3, MAP (.flags = 2, .semantic = 99, .dtype = { 2, 0, 0 }), 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic", "99");
  REFUSED (other.query, 999, 3, MAP (.n_element_counts = 2), 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "NULL", "2");
  REFUSED (other.query, 999, 3, MAP (.flags = 2, .dtype = { 2, 0, 0 }), 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "flags", "0x2");
  REFUSED (other.query, 999, OVSTAGE_ORDINAL_NEWEST, MAP (.dtype = { 2, 0, 0 }), 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "ordinal");
  REFUSED (other.query, 999, 3, MAP (.dtype = { 2, 0, 0 }), 1, OVSTAGE_ERROR_INVALID_HANDLE, "query");
  REFUSED (scene.query, 999, 3, MAP (.dtype = { 2, 0, 0 }), 1, OVSTAGE_ERROR_INVALID_HANDLE, "attribute", "999");
  REFUSED (scene.query, path, 3, MAP (.dtype = { 2, 0, 0 }), 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "bits");
  REFUSED (scene.query, path, 3, MAP (.dtype = { 2, 32, 0 }), 1, OVSTAGE_ERROR_INVALID_ARGUMENT, "lanes");
  REFUSED (scene.query, path, 3, MAP (.dtype = { 17, 4, 1 }), 1, OVSTAGE_ERROR_NOT_SUPPORTED, "float4");
  REFUSED (scene.query, path, 3, MAP (.dtype = float32, .element_counts = counts, .n_element_counts = 1), 1, OVSTAGE_ERROR_NOT_SUPPORTED, "usd-path");
  REFUSED (scene.query, scene.b, 3, MAP (.dtype = float32x3, .element_counts = counts, .n_element_counts = 1), 1,
           OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "1", "2");
  REFUSED (scene.query, scene.b, 3, MAP (.dtype = float32x3), 1, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, "3", "'b'");
  REFUSED (scene.query, scene.b, 4, MAP (.dtype = float32x3), 1, OVSTAGE_ERROR_ALREADY_EXISTS, "/p0", "4");
  REFUSED (scene.query, scene.b, 4, MAP (.dtype = float32x3), 0, OVSTAGE_ERROR_INVALID_ARGUMENT, "float32x3");
#undef REFUSED
  assert_refused (&scene, ovs_stage_map (scene.stage, scene.query, scene.b, MAP (.dtype = float32x3), 4, 0, &cuda),
                  OVSTAGE_ERROR_INVALID_ARGUMENT, "float32x3");
  assert_refused (&scene, ovs_stage_map (scene.stage, scene.query, scene.b, MAP (.dtype = float32), 4, 0, &cuda),
                  OVSTAGE_ERROR_NOT_SUPPORTED, "placement");
  assert_refused (&other, map_full (&other, other.query, other.a, 4, MAP (.dtype = float32), OVSTAGE_PRIM_MODE_UPDATE),
                  OVSTAGE_ERROR_NOT_FOUND, "/p0");

  ovs_stage_close (scene.stage);
  assert_refused (&scene, map_floats (&scene, scene.query, scene.b, 4), OVSTAGE_ERROR_INVALID_HANDLE, "closed");
  scene_clear (&other);
  scene_clear (&scene);
}

static void
test_failed_map (void)
{
  g_autoptr (GError) error = NULL;
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 1);
  map = map_full (&scene, scene.query, scene.a, 1, MAP (.semantic = 0), 0);
  g_assert_false (ovs_map_next (map, &group, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  assert_refused (&scene, commit (map), OVSTAGE_ERROR_OP_FAILED, "map", "dtype");
  ovs_op_unref (map);
  scene_clear (&scene);
}

static void
test_sync (void)
{
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 1);
  map = filled (map_floats (&scene, scene.query, scene.a, 1), "1");
  check_refused (ovs_map_commit (map, 1, 0), OVSTAGE_ERROR_NOT_SUPPORTED, (const char *const[]){ "sync: stream is 1 and event is 0", NULL });
  ovs_op_unref (map);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "-");
  scene_clear (&scene);
}

static void
test_budget (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 16, .n_threads = 2, .staging_budget = 64 * 1024 };
  Scene scene;
  OvsOp *map, *second;

  scene_init_full (&scene, 8 * 1024, &config);
  ovs_debug_set_flags (0);
  map = map_floats (&scene, scene.query, scene.a, 1);
  assert_refused (&scene, map_full (&scene, scene.query, scene.b, 1, MAP (.dtype = float32x3), 0), OVSTAGE_ERROR_OUT_OF_MEMORY,
                  "32768", "98304", "65536");
  second = map_floats (&scene, scene.query, scene.b, 1);
  assert_refused (&scene, write_payload (&scene, scene.query, scene.c, 1, payload_fill (float32, 8 * 1024, 1)),
                  OVSTAGE_ERROR_OUT_OF_MEMORY, "65536");
  /* What is committed counted before. */
  assert_ok (commit (map));
  g_assert_cmpuint (scene.stage->staged_bytes, ==, 32 * 1024);
  g_assert_cmpint (scene.stage->mapped_bytes, ==, 32 * 1024);
  ovs_map_discard (second);
  g_assert_cmpint (scene.stage->mapped_bytes, ==, 0);
  write_or_fail (&scene, scene.query, scene.c, 1, payload_fill (float32, 8 * 1024, 1));
  seal_or_fail (&scene, 1);
  g_assert_cmpuint (scene.stage->staged_bytes, ==, 0);
  ovs_op_unref (map);
  ovs_op_unref (second);
  scene_clear (&scene);
}

/* Every allocation of a map and of its commit fails in turn; nothing is left of it. */
static void
test_out_of_memory (void)
{
  Scene scene;
  OvsOp *query, *map, *op;
  gboolean failed = TRUE;

  for (gint n = 0; failed; n++)
    {
      scene_init_plain (&scene, 4);
      query = two_schemas (&scene);
      ovs_pool_fail_after (scene.stage->pool, n);
      map = map_current (&scene, query, scene.a, 2);
      ovs_pool_fail_after (scene.stage->pool, -1);
      failed = ovs_op_get_error (map) != NULL;
      if (failed)
        {
          g_assert_error (ovs_op_get_error (map), OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
          g_assert_cmpuint (ovs_op_get_id (map), ==, 0);
        }
      g_assert_cmpint (scene.stage->mapped_bytes > 0, ==, !failed);
      if (!failed)
        {
          assert_ok (commit (map));
          seal_or_fail (&scene, 2);
          assert_values (&scene, query, scene.a, 2, "0 1 2 0");
        }
      ovs_op_unref (map);
      g_assert_cmpint (scene.stage->mapped_bytes, ==, 0);
      ovs_op_unref (query);
      scene_clear (&scene);
      g_assert_cmpint (n, <, 50);
    }

  failed = TRUE;
  for (gint n = 0; failed; n++)
    {
      scene_init_plain (&scene, 4);
      query = two_schemas (&scene);
      map = map_current (&scene, query, scene.a, 2);
      ovs_pool_fail_after (scene.stage->pool, n);
      op = commit (map);
      ovs_pool_fail_after (scene.stage->pool, -1);
      failed = ovs_op_get_error (op) != NULL;
      if (failed)
        g_assert_error (ovs_op_get_error (op), OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
      ovs_op_unref (op);
      check_refused (commit (map), OVSTAGE_ERROR_INVALID_HANDLE, (const char *const[]){ "map", NULL });
      seal_or_fail (&scene, 2);
      assert_values (&scene, query, scene.a, 2, failed ? "0 1 2 -" : "0 1 2 0");
      ovs_op_unref (map);
      ovs_op_unref (query);
      scene_clear (&scene);
      g_assert_cmpint (n, <, 50);
    }
}

/* --- the end of a map --- */

static void
test_ends_once (void)
{
  OvstageMapGroup *group, *other_group;
  Scene scene;
  OvsOp *map, *other;

  scene_init (&scene, 2);
  map = map_floats (&scene, scene.query, scene.a, 1);
  other = map_floats (&scene, scene.query, scene.a, 1);
  group = only_map_group (map);
  other_group = only_map_group (other);
  fill_group (group, "1 2");
  assert_refused (&scene, commit_group (map, other_group), OVSTAGE_ERROR_INVALID_HANDLE, "group", "another map");
  assert_ok (commit_group (map, group));
  assert_refused (&scene, commit_group (map, group), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  assert_ok (commit (map)); /* nothing is left */
  assert_refused (&scene, commit (map), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  assert_refused (&scene, commit_group (map, group), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  ovs_map_discard (map); /* nothing is left to drop */

  ovs_map_discard (other);
  assert_refused (&scene, commit_group (other, other_group), OVSTAGE_ERROR_INVALID_HANDLE, "group");
  assert_refused (&scene, commit (other), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  g_assert_null (ovs_map_group_ref_tensor (other_group, 0));
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1 2");

  ovs_map_group_unref (group);
  ovs_map_group_unref (other_group);
  ovs_op_unref (map);
  ovs_op_unref (other);
  scene_clear (&scene);
}

static void
test_discard (void)
{
  g_autofree char *before = NULL, *after = NULL;
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 2);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  before = dump_state (scene.stage);
  map = map_current (&scene, scene.query, scene.a, 2);
  group = next_map_group (map);
  ovs_map_discard (map);
  g_assert_null (next_map_group (map));
  ovs_map_group_unref (group);
  ovs_op_unref (map);

  /* Letting it go does the same. */
  map = map_floats (&scene, scene.query, scene.b, 2);
  group = next_map_group (map);
  ovs_op_unref (map);
  g_assert_null (ovs_map_group_ref_tensor (group, 0));
  ovs_map_group_unref (group);
  after = dump_state (scene.stage);
  g_assert_cmpstr (before, ==, after);
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1 2");
  assert_values (&scene, scene.query, scene.b, 2, "- -");
  scene_clear (&scene);
}

/* After the commit the values can be looked at, and written no more. */
static void
test_read_only (void)
{
  OvstageMapGroup *group;
  OvstageTensor *tensor;
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 2);
  map = map_floats (&scene, scene.query, scene.a, 1);
  group = only_map_group (map);
  tensor = ovs_map_group_ref_tensor (group, 0);
  g_assert_cmpuint (tensor->flags & OVS_TENSOR_READ_ONLY, ==, 0);
  ovs_tensor_unref (tensor);
  fill_group (group, "1 2");
  assert_ok (commit_group (map, group));
  tensor = ovs_map_group_ref_tensor (group, 0);
  g_assert_cmpuint (tensor->flags & OVS_TENSOR_READ_ONLY, ==, OVS_TENSOR_READ_ONLY);
  g_assert_cmpfloat (((float *) tensor->data)[1], ==, 2);
  ovs_tensor_unref (tensor);
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  scene_clear (&scene);
}

/* Tensors outlive the map, its commit and the stage, and nothing is written to their memory. */
static void
test_tensors_stay (void)
{
  OvstageTensor *committed, *discarded;
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map, *one;

  scene_init (&scene, 3);
  one = query_or_fail (&scene, "1");
  map = map_floats (&scene, scene.query, scene.a, 1);
  group = only_map_group (map);
  fill_group (group, "1 2 3");
  committed = ovs_map_group_ref_tensor (group, 0);
  ovs_map_group_unref (group);
  assert_ok (commit (map));
  ovs_op_unref (map);

  /* At the same ordinal, in place of it, and in the order of later ones. */
  write_text (&scene, one, scene.a, 1, "20");
  seal_or_fail (&scene, 1);
  write_text (&scene, one, scene.a, 2, "21");
  seal_or_fail (&scene, 2);
  put (&scene, scene.query, scene.a, 3, "4 5 6");
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, "4 5 6");
  g_assert_cmpfloat (((float *) committed->data)[1], ==, 2);

  map = map_floats (&scene, scene.query, scene.a, 4);
  group = only_map_group (map);
  fill_group (group, "7 8 9");
  discarded = ovs_map_group_ref_tensor (group, 0);
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  put (&scene, scene.query, scene.a, 4, "0 0 0");
  ((float *) discarded->data)[0] = 1; /* nobody else's by now */
  seal_or_fail (&scene, 4);
  assert_values (&scene, scene.query, scene.a, 4, "0 0 0");

  ovs_op_unref (one);
  ovs_op_unref (scene.query);
  ovs_stage_close (scene.stage);
  ovs_stage_unref (scene.stage);
  g_assert_cmpfloat (((float *) committed->data)[0], ==, 1);
  g_assert_cmpfloat (((float *) committed->data)[2], ==, 3);
  ovs_tensor_unref (committed);
  ovs_tensor_unref (discarded);
}

/* An export that is held when the seal comes: what was written beside it goes elsewhere. Without one the memory is used on. */
static void
test_in_place_without_exports (void)
{
  OvstageTensor *tensor = NULL;
  OvstageMapGroup *group;
  const guint8 *data;
  Scene scene;
  OvsOp *map, *one;

  scene_init_plain (&scene, 3);
  one = query_or_fail (&scene, "1");
  for (guint held = 0; held < 2; held++)
    {
      guint64 ordinal = 1 + 10 * held;

      map = map_floats (&scene, scene.query, scene.a, ordinal);
      group = only_map_group (map);
      fill_group (group, "1 2 3");
      data = (guint8 *) group_floats (group);
      if (held)
        tensor = ovs_map_group_ref_tensor (group, 0);
      ovs_map_group_unref (group);
      assert_ok (commit (map));
      ovs_op_unref (map);
      write_text (&scene, one, scene.a, ordinal, "20");
      seal_or_fail (&scene, ordinal);
      assert_values (&scene, scene.query, scene.a, ordinal, "1 20 3");
      g_assert_true ((read_pointer (&scene, scene.query, scene.a, ordinal) == data) == !held);
    }
  g_assert_cmpfloat (((float *) tensor->data)[1], ==, 2);
  ovs_tensor_unref (tensor);
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_closed_stage (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 2);
  map = map_floats (&scene, scene.query, scene.a, 1);
  group = next_map_group (map);
  fill_group (group, "1 2");
  ovs_stage_close (scene.stage);
  fill_group (group, "3 4");
  check_refused (commit_group (map, group), OVSTAGE_ERROR_INVALID_HANDLE, (const char *const[]){ "closed", NULL });
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  scene_clear (&scene);
}

/* --- ordinals --- */

static void
test_order (void)
{
  OvsOp *first, *second;
  Scene scene;

  scene_init (&scene, 2);
  first = filled (map_floats (&scene, scene.query, scene.a, 5), "1 1");
  second = filled (map_floats (&scene, scene.query, scene.a, 5), "2 2");
  write_text (&scene, scene.query, scene.a, 5, "3 3");
  /* By commits, not by maps. */
  commit_or_fail (second);
  commit_or_fail (first);
  put (&scene, scene.query, scene.a, 4, "4 4");
  seal_or_fail (&scene, 4);
  assert_values (&scene, scene.query, scene.a, 4, "4 4");
  seal_or_fail (&scene, 5);
  assert_values (&scene, scene.query, scene.a, 5, "1 1");

  first = filled (map_floats (&scene, scene.query, scene.a, 6), "6 6");
  commit_or_fail (first);
  write_text (&scene, scene.query, scene.a, 6, "7 7");
  seal_or_fail (&scene, 6);
  assert_values (&scene, scene.query, scene.a, 6, "7 7");
  scene_clear (&scene);
}

/* A map that is open holds up nobody; the floor passes it, and then it is too late. */
static void
test_floor (void)
{
  Scene scene;
  OvsOp *map, *scoped;

  scene_init (&scene, 2);
  map = filled (map_floats (&scene, scene.query, scene.a, 5), "1 2");
  scoped = filled (map_floats (&scene, scene.query, scene.b, 5), "1 2");
  write_text (&scene, scene.query, scene.a, 3, "3 4");
  seal_or_fail (&scene, 4);
  assert_values (&scene, scene.query, scene.a, 4, "3 4");
  seal_scope_or_fail (&scene, 5, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  check_refused (commit (map), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, (const char *const[]){ "5", "'a'", NULL });
  ovs_op_unref (map);

  map = filled (map_floats (&scene, scene.query, scene.a, 6), "1 2");
  seal_scope_or_fail (&scene, 6, OVSTAGE_SCOPE_INCLUDE, TOKENS (scene.a));
  check_refused (commit (map), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, (const char *const[]){ "6", "'a'", NULL });
  /* It is not tried again. */
  assert_refused (&scene, commit (map), OVSTAGE_ERROR_INVALID_HANDLE, "map");
  g_assert_cmpint (scene.stage->mapped_bytes, >, 0); /* the other one's */
  ovs_op_unref (map);
  commit_or_fail (scoped);
  g_assert_cmpint (scene.stage->mapped_bytes, ==, 0);
  seal_or_fail (&scene, 6);
  assert_values (&scene, scene.query, scene.a, 6, "3 4");
  assert_values (&scene, scene.query, scene.b, 6, "1 2");
  scene_clear (&scene);
}

/* What was true of the prims when the map was made need not be so when it is committed. */
static void
test_ages (void)
{
  const char *const none[] = { NULL };
  Scene scene;
  OvsOp *insert, *update, *typed, *grown, *all;

  scene_init (&scene, 2);
  all = query_or_fail (&scene, "0-3");
  insert = map_full (&scene, scene.query, scene.a, 2, MAP (.dtype = float32), OVSTAGE_PRIM_MODE_INSERT);
  write_text (&scene, scene.query, scene.a, 1, "1 2");
  check_refused (commit (insert), OVSTAGE_ERROR_ALREADY_EXISTS, none);
  update = map_full (&scene, scene.query, scene.a, 2, MAP (.dtype = float32), OVSTAGE_PRIM_MODE_UPDATE);
  assert_ok (ovs_stage_delete (scene.stage, scene.query, NO_TOKENS, 2));
  check_refused (commit (update), OVSTAGE_ERROR_NOT_FOUND, none);
  write_text (&scene, scene.query, scene.a, 2, "1 2");
  typed = filled (map_floats (&scene, scene.query, scene.a, 3), "7 8");
  assert_ok (ovs_stage_delete (scene.stage, scene.query, TOKENS (scene.a), 3));
  write_or_fail (&scene, scene.query, scene.a, 3, payload_fill (float32x3, 2, 1));
  check_refused (commit (typed), OVSTAGE_ERROR_INVALID_ARGUMENT, none);

  /* Rows are looked up anew: the column grows, dies and is laid out again. */
  grown = filled (map_floats (&scene, scene.query, scene.b, 9), "7 8");
  write_text (&scene, all, scene.b, 4, "1 2 3 4");
  seal_or_fail (&scene, 4);
  assert_ok (ovs_stage_delete (scene.stage, scene.query, TOKENS (scene.b), 5));
  ovs_debug_set_flags (scene.flags | OVS_DEBUG_COMPACT);
  seal_or_fail (&scene, 5);
  commit_or_fail (grown);
  seal_or_fail (&scene, 9);
  assert_values (&scene, all, scene.b, 9, "7 8 3 4");

  ovs_op_unref (insert);
  ovs_op_unref (update);
  ovs_op_unref (typed);
  ovs_op_unref (all);
  scene_clear (&scene);
}

/* --- current values --- */

static void
test_initialize (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map, *one, *query, *gone;

  scene_init (&scene, 4);
  one = query_or_fail (&scene, "1");
  gone = query_or_fail (&scene, "2");
  query = query_or_fail (&scene, "5 3 2 1 0");
  write_text (&scene, scene.query, scene.a, 1, "1 2 3 4");
  seal_or_fail (&scene, 1);
  write_text (&scene, one, scene.a, 4, "20");
  write_text (&scene, one, scene.a, 6, "21");
  assert_ok (ovs_stage_delete (scene.stage, gone, TOKENS (scene.a), 3));

  map = map_current (&scene, query, scene.a, 5);
  write_text (&scene, one, scene.a, 5, "22"); /* too late */
  group = only_map_group (map);
  assert_group (group, "0:0 1:4 2:0 3:20 4:1");
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  map = map_current (&scene, query, scene.a, 2);
  group = only_map_group (map);
  assert_group (group, "0:0 1:4 2:3 3:2 4:1");
  group_floats (group)[0] = 50;
  ovs_map_group_unref (group);
  /* What is committed as it was is a change, too. */
  commit_or_fail (map);
  seal_or_fail (&scene, 5);
  assert_values (&scene, query, scene.a, 5, "50 4 - 22 1");

  /* Of what nobody has. */
  map = map_current (&scene, scene.query, scene.b, 6);
  group = only_map_group (map);
  assert_group (group, "0:0 1:0 2:0 3:0");
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  ovs_op_unref (one);
  ovs_op_unref (gone);
  ovs_op_unref (query);
  scene_clear (&scene);
}

/* Bytes that are on their way are waited for, by the map and by its commit. */
static void
test_initialize_in_flight (void)
{
  OvstageMapGroup *group;
  OvsOp *write, *map, *rest, *seal, *dropped, *read;
  Scene scene;

  scene_init_paused (&scene, 2);
  write = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2"));
  map = map_current (&scene, scene.query, scene.a, 2);
  rest = map_current (&scene, scene.query, scene.a, 3);
  dropped = map_current (&scene, scene.query, scene.a, 3);
  g_assert_false (ovs_op_is_done (map));
  g_assert_cmpuint (ovs_op_get_lowest_pending (map), ==, ovs_op_get_id (write));
  g_assert_false (ovs_op_cancel (map)); /* its targets are known */
  ovs_map_discard (dropped);
  ovs_op_unref (dropped);
  dropped = commit (rest);
  g_assert_false (ovs_op_is_done (dropped));
  g_assert_false (ovs_op_cancel (dropped));
  seal = advance (&scene, 3);
  read = read_at (&scene, scene.query, TOKENS (scene.a), 3);
  g_assert_false (ovs_op_is_done (seal));
  scene_resume (&scene);

  assert_ok (write);
  assert_ok (dropped);
  assert_ok (seal);
  assert_read (read, "1 2");
  group = only_map_group (map);
  assert_group (group, "0:1 1:2");
  check_refused (commit (map), OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION, (const char *const[]){ NULL });
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  ovs_op_unref (rest);
  scene_clear (&scene);
}

/* A commit that has to be copied, since its prims have come to stand in two columns, keeps what it copies until the map is filled. */
static void
test_initialize_later_copy (void)
{
  OvsOp *one, *write, *moved, *map, *ended, *seal;
  Scene scene;

  scene_init_paused (&scene, 2);
  one = query_or_fail (&scene, "1");
  write = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2"));
  map = map_current (&scene, scene.query, scene.a, 2);
  assert_ok (ovs_stage_delete (scene.stage, one, TOKENS (scene.a), 2));
  moved = write_payload (&scene, one, scene.a, 2, with_semantic (payload_text ("3"), OVSTAGE_SEMANTIC_COLOR));
  ended = commit (map);
  ovs_op_unref (map);
  seal = advance (&scene, 2);
  g_assert_false (ovs_op_is_done (ended));
  scene_resume (&scene);

  assert_ok (write);
  assert_ok (moved);
  assert_ok (ended);
  assert_ok (seal);
  assert_values (&scene, scene.query, scene.a, 2, "1 2");
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_initialize_queue_full (void)
{
  OvsStageConfig config = { .history_depth = 1, .queue_capacity = 1, .n_threads = 2 };
  OvsOp *write;
  Scene scene;

  scene_init_full (&scene, 2, &config);
  ovs_debug_set_flags (OVS_DEBUG_ASYNC);
  ovs_workers_pause (scene.stage->workers);
  write = write_payload (&scene, scene.query, scene.a, 1, payload_text ("1 2"));
  assert_refused (&scene, map_current (&scene, scene.query, scene.a, 2), OVSTAGE_ERROR_QUEUE_FULL, "1");
  scene_resume (&scene);
  assert_ok (write);
  scene_clear (&scene);
}

/* Large ones are filled by the stage's threads. */
static void
test_initialize_large (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map, *other;

  scene_init (&scene, N_LARGE);
  write_or_fail (&scene, scene.query, scene.a, 1, payload_fill (float32, N_LARGE, 5));
  map = map_current (&scene, scene.query, scene.a, 2);
  other = map_current (&scene, scene.query, scene.a, 3);
  group = only_map_group (map);
  for (guint i = 0; i < N_LARGE; i++)
    g_assert_cmpfloat (group_floats (group)[i], ==, 5);
  group_floats (group)[7] = 7;
  ovs_map_group_unref (group);
  commit_or_fail (map);
  seal_or_fail (&scene, 2);
  commit_or_fail (other);
  seal_or_fail (&scene, 3);
  assert_filled (&scene, scene.query, scene.a, 3, 5);
  scene_clear (&scene);
}

/* --- arrays --- */

#define COUNTS(...) .element_counts = (gsize[]){ __VA_ARGS__ }, .n_element_counts = N_ (__VA_ARGS__)

/* @text: as for payload_arrays(), of as many elements as there are */
static void
fill_arrays (OvstageMapGroup *group, const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);

  g_assert_cmpuint (g_strv_length (words), ==, group->prim_count);
  g_assert_cmpuint (ovs_map_group_get_n_tensors (group), ==, group->prim_count);
  for (guint i = 0; i < group->prim_count; i++)
    {
      OvstageTensor *tensor = ovs_map_group_ref_tensor (group, i);
      g_auto (GStrv) values = g_strsplit (words[i], ",", -1);

      g_assert_cmpint (tensor->ndim, ==, 1);
      g_assert_cmpint (tensor->shape[0], ==, g_str_equal (words[i], ".") ? 0 : g_strv_length (values));
      for (gint64 e = 0; e < tensor->shape[0]; e++)
        ((float *) tensor->data)[e] = (float) g_ascii_strtod (values[e], NULL);
      ovs_tensor_unref (tensor);
    }
  g_assert_null (ovs_map_group_ref_tensor (group, group->prim_count));
}

static void
test_arrays (void)
{
  OvstageMapGroup *group;
  OvstageTensor *tensor;
  OvstageReadGroup *read;
  Scene scene;
  OvsOp *map, *one;

  scene_init (&scene, 3);
  one = query_or_fail (&scene, "1");
  map = map_full (&scene, scene.query, scene.a, 1, MAP (.dtype = float32, COUNTS (2, 0, 3)), OVSTAGE_PRIM_MODE_INSERT);
  group = only_map_group (map);
  g_assert_true (group->schema.is_array);
  fill_arrays (group, "1,2 . 3,4,5");
  tensor = ovs_map_group_ref_tensor (group, 2);
  assert_ok (commit (map));
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  seal_or_fail (&scene, 1);
  assert_values (&scene, scene.query, scene.a, 1, "1,2 . 3,4,5");
  read = only_group_or_fail (&scene, scene.query, scene.a, 1);
  {
    OvstageTensor *same = ovs_read_group_ref_tensor (read, ovs_read_group_data_row (read, 2));

    g_assert_true (same->data == tensor->data); /* nothing was copied */
    ovs_tensor_unref (same);
  }
  ovs_read_group_unref (read);

  /* Of other lengths, of some, of prims that come. */
  map = map_full (&scene, one, scene.a, 2, MAP (.dtype = float32, COUNTS (4)), OVSTAGE_PRIM_MODE_UPDATE);
  group = only_map_group (map);
  fill_arrays (group, "6,7,8,9");
  ovs_map_group_unref (group);
  commit_or_fail (map);
  seal_or_fail (&scene, 2);
  assert_values (&scene, scene.query, scene.a, 2, "1,2 6,7,8,9 3,4,5");
  g_assert_cmpfloat (((float *) tensor->data)[1], ==, 4);
  ovs_tensor_unref (tensor);

  /* No elements at all. */
  map = map_full (&scene, scene.query, scene.a, 3, MAP (.dtype = float32, COUNTS (0, 0, 0)), OVSTAGE_PRIM_MODE_UPDATE);
  commit_or_fail (map);
  seal_or_fail (&scene, 3);
  assert_values (&scene, scene.query, scene.a, 3, ". . .");
  ovs_op_unref (one);
  scene_clear (&scene);
}

static void
test_arrays_initialize (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map, *query;

  scene_init (&scene, 3);
  query = query_or_fail (&scene, "2 5 0 1");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_arrays ("1,2 3,4,5 ."));
  seal_or_fail (&scene, 1);
  /* The data type is taken, too. What is longer than it was ends with zeroes, as does what was not there. */
  map = map_full (&scene, query, scene.a, 2, MAP (COUNTS (2, 1, 2, 1), .flags = OVSTAGE_MAP_FLAGS_INITIALIZE), OVSTAGE_PRIM_MODE_UPSERT);
  group = only_map_group (map);
  ovs_map_group_unref (group);
  commit_or_fail (map);
  map = map_full (&scene, scene.query, scene.a, 2, MAP (COUNTS (3, 2, 2), .flags = OVSTAGE_MAP_FLAGS_INITIALIZE), OVSTAGE_PRIM_MODE_UPSERT);
  commit_or_fail (map);
  seal_or_fail (&scene, 2);
  assert_values (&scene, query, scene.a, 2, "0,0 0 1,2,0 3,0");
  ovs_op_unref (query);
  scene_clear (&scene);
}

static void
test_arrays_faults (void)
{
  const OvstageDataType float4 = { 17, 4, 1 };
  Scene scene;
  OvsOp *fresh;

  scene_init (&scene, 2);
  fresh = query_or_fail (&scene, "7");
  write_or_fail (&scene, scene.query, scene.a, 1, payload_arrays ("1,2 3"));
  write_text (&scene, scene.query, scene.b, 1, "1 2");
#define REFUSED(query, attribute, request, code, ...) \
  assert_refused (&scene, map_full (&scene, query, attribute, 2, request, 0), code, __VA_ARGS__)
  REFUSED (scene.query, scene.a, MAP (.dtype = float32, COUNTS (1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "1", "2");
  REFUSED (scene.query, scene.a, MAP (.dtype = float32, COUNTS (1, 2, 3)), OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "3", "2");
  REFUSED (scene.query, scene.a, MAP (.dtype = float32), OVSTAGE_ERROR_INVALID_ARGUMENT, "float32[]");
  REFUSED (scene.query, scene.b, MAP (.dtype = float32, COUNTS (1, 2)), OVSTAGE_ERROR_INVALID_ARGUMENT, "float32[]");
  REFUSED (scene.query, scene.a, MAP (.semantic = 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "float32[]");
  REFUSED (fresh, scene.a, MAP (.semantic = 0), OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "float32[]");
  REFUSED (scene.query, scene.b, MAP (COUNTS (1, 2)), OVSTAGE_ERROR_INVALID_ARGUMENT, "element counts", "none");
  REFUSED (scene.query, scene.c, MAP (.dtype = float4, COUNTS (2, 3)), OVSTAGE_ERROR_NOT_SUPPORTED, "element counts: [1]", "3");
  REFUSED (scene.query, scene.c, MAP (.dtype = float32, COUNTS (G_MAXSIZE, 1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "overflows", "[0]");
  REFUSED (scene.query, scene.c, MAP (.dtype = float32, COUNTS (G_MAXSIZE / 64, G_MAXSIZE / 64)), OVSTAGE_ERROR_INVALID_ARGUMENT, "overflows", "[1]");
  REFUSED (scene.query, scene.c, MAP (.dtype = float32, COUNTS (G_MAXSIZE / 256, 1)), OVSTAGE_ERROR_OUT_OF_MEMORY, "staging-budget");
  REFUSED (scene.query, scene.a, MAP (COUNTS (G_MAXSIZE, 1)), OVSTAGE_ERROR_INVALID_ARGUMENT, "overflows");
#undef REFUSED
  /* Elements of less than a byte, whole together. */
  commit_or_fail (map_full (&scene, scene.query, scene.c, 2, MAP (.dtype = float4, COUNTS (2, 4)), 0));
  seal_or_fail (&scene, 2);
  {
    OvstageReadGroup *group = only_group_or_fail (&scene, scene.query, scene.c, 2);
    OvstageTensor *tensor = ovs_read_group_ref_tensor (group, ovs_read_group_data_row (group, 1));

    g_assert_cmpint (tensor->shape[0], ==, 4);
    ovs_tensor_unref (tensor);
    ovs_read_group_unref (group);
  }
  ovs_op_unref (fresh);
  scene_clear (&scene);
}

/* Every allocation of an array map and its commit fails in turn. */
static void
test_arrays_out_of_memory (void)
{
  gboolean failed = TRUE;
  Scene scene;
  OvsOp *map, *op;

  for (gint n = 0; failed; n++)
    {
      scene_init_plain (&scene, 3);
      write_or_fail (&scene, scene.query, scene.a, 1, payload_arrays ("1,2 3 ."));
      map = map_full (&scene, scene.query, scene.a, 2, MAP (COUNTS (1, 1, 1), .flags = OVSTAGE_MAP_FLAGS_INITIALIZE), 0);
      ovs_pool_fail_after (scene.stage->pool, n);
      op = commit (map);
      ovs_pool_fail_after (scene.stage->pool, -1);
      failed = ovs_op_get_error (op) != NULL;
      if (failed)
        g_assert_error (ovs_op_get_error (op), OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
      ovs_op_unref (op);
      ovs_op_unref (map);
      seal_or_fail (&scene, 2);
      assert_values (&scene, scene.query, scene.a, 2, failed ? "1,2 3 ." : "1 3 0");
      scene_clear (&scene);
      g_assert_cmpint (n, <, 20);
    }
}

/* --- memory --- */

static void
test_poison (void)
{
  OvstageMapGroup *group;
  Scene scene;
  OvsOp *map;

  scene_init (&scene, 2);
  ovs_debug_set_flags (OVS_DEBUG_POISON);
  map = map_floats (&scene, scene.query, scene.a, 1);
  group = next_map_group (map);
  g_assert_cmphex (((guint32 *) group_floats (group))[0], ==, 0xa5a5a5a5u);
  g_assert_cmpuint ((guintptr) group_floats (group) % OVS_BUFFER_ALIGNMENT, ==, 0);
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  scene_clear (&scene);
}

#ifndef __SANITIZE_THREAD__
/* What uses the memory when it is no longer its own is caught. */
static void
test_trap (gconstpointer data)
{
  const char *how = data;
  OvstageMapGroup *group;
  volatile float *values;
  Scene scene;
  OvsOp *map;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
      g_test_trap_assert_failed ();
      g_test_trap_assert_stdout ("*about to*");
      g_test_trap_assert_stdout_unmatched ("*went on*");
      return;
    }
  scene_init (&scene, 2);
  ovs_debug_set_flags (OVS_DEBUG_POISON);
  map = map_floats (&scene, scene.query, scene.a, 1);
  group = next_map_group (map);
  values = group_floats (group);
  values[0] = 1;
  if (g_str_equal (how, "commit"))
    assert_ok (commit (map));
  else
    ovs_map_discard (map);
  ovs_map_group_unref (group);
  ovs_op_unref (map);
  g_print ("about to\n");
  fflush (stdout);
  values[0] = 2;
  g_print ("went on\n");
  scene_clear (&scene);
}
#endif

/* Frames by map recycle their memory. */
static void
test_recycles (void)
{
  OvsPoolStats stats;
  gsize n_mapped = 0;
  Scene scene;

  scene_init_plain (&scene, N_LARGE);
  for (guint64 ordinal = 1; ordinal <= 40; ordinal++)
    {
      OvsOp *map = map_floats (&scene, scene.query, scene.a, ordinal);

      if (ordinal % 3 != 0)
        assert_ok (commit (map));
      ovs_op_unref (map);
      seal_or_fail (&scene, ordinal);
      ovs_pool_get_stats (scene.stage->pool, &stats);
      if (ordinal == 10)
        n_mapped = stats.n_mapped;
    }
  g_assert_cmpuint (stats.n_mapped, ==, n_mapped);
  g_assert_cmpuint (scene.stage->staged_bytes, ==, 0);
  scene_clear (&scene);
}

/* --- threads --- */

typedef struct
{
  Scene scene;
  guint64 n_frames;
  gint frame; /* (atomic) */
} World;

#define WORLD_PRIMS 3000

static gpointer
produce (gpointer data)
{
  World *world = data;

  for (guint64 ordinal = 1; ordinal <= world->n_frames; ordinal++)
    {
      OvsOp *map = ordinal % 2 ? map_floats (&world->scene, world->scene.query, world->scene.a, ordinal)
                               : map_current (&world->scene, world->scene.query, world->scene.a, ordinal);
      OvstageMapGroup *group = only_map_group (map);

      for (guint i = 0; i < WORLD_PRIMS; i++)
        group_floats (group)[i] = (float) ordinal;
      ovs_map_group_unref (group);
      assert_ok (commit (map));
      ovs_op_unref (map);
      seal_or_fail (&world->scene, ordinal);
      g_atomic_int_set (&world->frame, (gint) ordinal);
    }
  return NULL;
}

static gpointer
consume (gpointer data)
{
  World *world = data;
  gint last = 0;

  while ((guint64) last < world->n_frames)
    {
      gint known = g_atomic_int_get (&world->frame);
      OvsOp *read = read_at (&world->scene, world->scene.query, TOKENS (world->scene.a), OVSTAGE_ORDINAL_NEWEST);
      OvstageReadGroup *group;

      g_assert_cmpint (ovs_op_wait (read, OVSTAGE_TIMEOUT_INFINITE, NULL), ==, OVS_WAIT_DONE);
      group = next_group_or_fail (read);
      if (group != NULL)
        {
          const float *values = (const float *) group_row (group, 0);

          g_assert_cmpfloat (values[0], >=, known);
          for (guint i = 1; i < WORLD_PRIMS; i++)
            g_assert_cmpfloat (values[i], ==, values[0]);
          ovs_read_group_unref (group);
        }
      ovs_op_unref (read);
      last = known;
    }
  return NULL;
}

/* Opens maps beside it, and drops them in whatever state. */
static gpointer
disturb (gpointer data)
{
  World *world = data;

  while ((guint64) g_atomic_int_get (&world->frame) < world->n_frames)
    {
      OvsOp *map = map_current (&world->scene, world->scene.query, world->scene.b, world->n_frames + 1);
      OvstageMapGroup *group = only_map_group (map);

      group_floats (group)[0] += 1;
      ovs_map_group_unref (group);
      if (g_random_boolean ())
        assert_ok (commit (map));
      else
        ovs_map_discard (map);
      ovs_op_unref (map);
    }
  return NULL;
}

static void
test_threads (void)
{
  GThread *threads[4];
  World world = { .n_frames = is_slow () ? 60 : 300 };

  scene_init (&world.scene, WORLD_PRIMS);
  threads[0] = g_thread_new ("produce", produce, &world);
  threads[1] = g_thread_new ("consume", consume, &world);
  threads[2] = g_thread_new ("consume", consume, &world);
  threads[3] = g_thread_new ("disturb", disturb, &world);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  seal_or_fail (&world.scene, world.n_frames + 1);
  g_assert_cmpuint (world.scene.stage->staged_bytes, ==, 0);
  g_assert_cmpint (world.scene.stage->mapped_bytes, ==, 0);
  scene_clear (&world.scene);
}

typedef struct
{
  OvsOp *map;
  OvstageMapGroup *group;
  gint n_committed; /* (atomic) */
} Race;

static gpointer
commit_in_race (gpointer data)
{
  Race *race = data;
  OvsOp *op = commit_group (race->map, race->group);

  if (ovs_op_get_error (op) == NULL)
    g_atomic_int_inc (&race->n_committed);
  ovs_op_unref (op);
  return NULL;
}

/* Of those who commit a group or discard it at the same time, one does. */
static void
test_end_races (void)
{
  Scene scene;

  scene_init (&scene, 2);
  for (guint i = 0; i < (is_slow () ? 50 : 300); i++)
    {
      Race race = { .map = map_floats (&scene, scene.query, scene.a, i + 1) };
      GThread *threads[2];

      race.group = only_map_group (race.map);
      for (guint t = 0; t < 2; t++)
        threads[t] = g_thread_new ("commit", commit_in_race, &race);
      if (i % 2)
        ovs_map_discard (race.map);
      for (guint t = 0; t < 2; t++)
        g_thread_join (threads[t]);
      g_assert_cmpint (race.n_committed, <=, 1);
      if (i % 2 == 0)
        g_assert_cmpint (race.n_committed, ==, 1);
      ovs_map_group_unref (race.group);
      ovs_op_unref (race.map);
      g_assert_cmpint (scene.stage->mapped_bytes, ==, 0);
    }
  scene_clear (&scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/engine-map/create", test_create);
  g_test_add_func ("/engine-map/pointer", test_pointer);
  g_test_add_func ("/engine-map/parts-of-columns", test_parts_of_columns);
  g_test_add_func ("/engine-map/group-for-each-schema", test_group_for_each_schema);
  g_test_add_func ("/engine-map/rest-is-one-write", test_rest_is_one_write);
  g_test_add_func ("/engine-map/meta", test_meta);
  g_test_add_func ("/engine-map/empty-query", test_empty_query);
  g_test_add_func ("/engine-map/dtype/of-targets", test_dtype_of_targets);
  g_test_add_func ("/engine-map/dtype/of-stage", test_dtype_of_stage);
  g_test_add_func ("/engine-map/dtype/ambiguous", test_dtype_ambiguous);
  g_test_add_func ("/engine-map/conflict", test_conflict);
  g_test_add_func ("/engine-map/faults/order", test_faults);
  g_test_add_func ("/engine-map/faults/failed-map", test_failed_map);
  g_test_add_func ("/engine-map/faults/sync", test_sync);
  g_test_add_func ("/engine-map/faults/budget", test_budget);
  g_test_add_func ("/engine-map/out-of-memory", test_out_of_memory);
  g_test_add_func ("/engine-map/end/once", test_ends_once);
  g_test_add_func ("/engine-map/end/discard", test_discard);
  g_test_add_func ("/engine-map/end/read-only", test_read_only);
  g_test_add_func ("/engine-map/end/tensors-stay", test_tensors_stay);
  g_test_add_func ("/engine-map/end/in-place-without-exports", test_in_place_without_exports);
  g_test_add_func ("/engine-map/end/closed-stage", test_closed_stage);
  g_test_add_func ("/engine-map/order", test_order);
  g_test_add_func ("/engine-map/floor", test_floor);
  g_test_add_func ("/engine-map/ages", test_ages);
  g_test_add_func ("/engine-map/initialize/values", test_initialize);
  g_test_add_func ("/engine-map/initialize/in-flight", test_initialize_in_flight);
  g_test_add_func ("/engine-map/initialize/later-copy", test_initialize_later_copy);
  g_test_add_func ("/engine-map/initialize/queue-full", test_initialize_queue_full);
  g_test_add_func ("/engine-map/initialize/large", test_initialize_large);
  g_test_add_func ("/engine-map/arrays/way-through", test_arrays);
  g_test_add_func ("/engine-map/arrays/initialize", test_arrays_initialize);
  g_test_add_func ("/engine-map/arrays/faults", test_arrays_faults);
  g_test_add_func ("/engine-map/arrays/out-of-memory", test_arrays_out_of_memory);
  g_test_add_func ("/engine-map/memory/poison", test_poison);
#ifndef __SANITIZE_THREAD__
  g_test_add_data_func ("/engine-map/memory/trap-commit", "commit", test_trap);
  g_test_add_data_func ("/engine-map/memory/trap-discard", "discard", test_trap);
#endif
  g_test_add_func ("/engine-map/memory/recycles", test_recycles);
  g_test_add_func ("/engine-map/threads", test_threads);
  g_test_add_func ("/engine-map/end/races", test_end_races);
  return g_test_run ();
}
