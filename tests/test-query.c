/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Filters and the queries that evaluate them, through the GObject API. */

#include <ovstage/ovstage.h>

typedef struct
{
  OvstageStage *stage;
  OvstageQuery *all;
  OvstageToken mass, kind;
} Fixture;

static void
write_or_fail (Fixture *f, OvstageToken attribute, const void *values, gsize size, const OvstageDataType *dtype, OvstageSemantic semantic)
{
  const gint64 shape = 3;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new (values, size);
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, dtype, &shape, 1, &error);
  g_autoptr (OvstageWriteData) data = ovstage_write_data_new (tensor);
  g_autoptr (OvstageOperation) op = NULL;

  g_assert_no_error (error);
  ovstage_write_data_set_semantic (data, semantic);
  op = ovstage_stage_write_attribute (f->stage, f->all, attribute, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
}

static void
set_up (Fixture *f, gconstpointer unused)
{
  const char *const paths[] = { "/W", "/W/A", "/W/B", NULL };
  const double masses[] = { 1, 2, 4 };
  guint64 kinds[3];
  g_autoptr (OvstagePathList) list = NULL;
  OvstagePathDictionary *dictionary;
  g_autoptr (OvstageDataType) token_type = ovstage_data_type_parse ("uint64", NULL);

  f->stage = ovstage_stage_new (NULL);
  dictionary = ovstage_stage_get_path_dictionary (f->stage);
  list = ovstage_path_dictionary_create_path_list (dictionary, paths, NULL);
  f->all = ovstage_stage_query_path_list (f->stage, list);
  f->mass = ovstage_path_dictionary_intern_token (dictionary, "mass", NULL);
  f->kind = ovstage_path_dictionary_intern_token (dictionary, "kind", NULL);
  kinds[0] = ovstage_path_dictionary_intern_token (dictionary, "group", NULL);
  kinds[1] = kinds[2] = ovstage_path_dictionary_intern_token (dictionary, "body", NULL);
  write_or_fail (f, f->mass, masses, sizeof masses, &OVSTAGE_DATA_TYPE_FLOAT64, OVSTAGE_SEMANTIC_NONE);
  write_or_fail (f, f->kind, kinds, sizeof kinds, token_type, OVSTAGE_SEMANTIC_TOKEN_ID);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_object_unref (f->all);
  g_object_unref (f->stage);
}

/* The paths, or the message of the error. Takes @filter (nullable). */
static char *
match (Fixture *f, OvstageFilter *filter)
{
  g_autoptr (OvstageQuery) query = ovstage_stage_query_filter (f->stage, filter, NULL, 0);
  g_autoptr (OvstagePathList) list = NULL;
  g_autoptr (GError) error = NULL;
  GString *text = g_string_new (NULL);

  g_clear_pointer (&filter, ovstage_filter_unref);
  if (!ovstage_operation_wait (OVSTAGE_OPERATION (query), OVSTAGE_TIMEOUT_INFINITE, NULL, &error))
    {
      g_assert_null (ovstage_query_ref_path_list (query));
      g_assert_cmpuint (ovstage_query_get_prim_count (query), ==, 0);
      g_string_assign (text, error->message);
      return g_string_free (text, FALSE);
    }
  list = ovstage_query_ref_path_list (query);
  g_assert_cmpuint (ovstage_query_get_prim_count (query), ==, ovstage_path_list_get_length (list));
  for (guint i = 0; i < ovstage_path_list_get_length (list); i++)
    {
      g_autofree char *path = ovstage_path_list_dup_path_string (list, i);

      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", path);
    }
  return g_string_free (text, FALSE);
}

#define assert_matches(f, filter, expected)                                                                            \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_autofree char *text_ = match (f, filter);                                                                      \
      g_assert_cmpstr (text_, ==, expected);                                                                           \
    }                                                                                                                  \
  G_STMT_END

static void
test_filters (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageFilter) light = ovstage_filter_new_compare (f->mass, OVSTAGE_FILTER_OP_LT, g_variant_new_int32 (4));
  g_autoptr (OvstageFilter) body = ovstage_filter_new_in (f->kind, g_variant_new_string ("body"));
  OvstageFilter *const both[] = { light, body };

  assert_matches (f, NULL, "/W /W/A /W/B");
  assert_matches (f, ovstage_filter_new_has (f->mass), "/W /W/A /W/B");
  assert_matches (f, ovstage_filter_ref (light), "/W /W/A");
  assert_matches (f, ovstage_filter_new_subtree ("/W/A"), "/W/A");
  assert_matches (f, ovstage_filter_new_prefix (f->kind, "gr"), "/W");
  assert_matches (f, ovstage_filter_new_contains (f->kind, g_variant_new_string ("od")), "/W/A /W/B");
  assert_matches (f, ovstage_filter_new_all_of (both, 2), "/W/A");
  assert_matches (f, ovstage_filter_new_any_of (both, 2), "/W /W/A /W/B");
  assert_matches (f, ovstage_filter_new_not (light), "/W/B");
  assert_matches (f, ovstage_filter_new_all_of (NULL, 0), "/W /W/A /W/B");
  assert_matches (f, ovstage_filter_new_any_of (NULL, 0), "");
}

static void
test_values (Fixture *f, gconstpointer unused)
{
  static const char *const types[] = { "b true", "y 1", "n 1", "q 1", "i 1", "u 1", "x 1", "t 1", "d 1", "v <1>" };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autofree char *type = g_strndup (types[i], 1);
      g_autoptr (GError) error = NULL;
      g_autoptr (GVariant) value = g_variant_parse (G_VARIANT_TYPE (type), types[i] + 2, NULL, NULL, &error);

      g_assert_no_error (error);
      assert_matches (f, ovstage_filter_new_compare (f->mass, OVSTAGE_FILTER_OP_LE, value), "/W");
    }
  assert_matches (f, ovstage_filter_new_in (f->mass, g_variant_new_parsed ("[2.0, 4.0, 9.0]")), "/W/A /W/B");
  assert_matches (f, ovstage_filter_new_in (f->mass, g_variant_new_parsed ("(1, 2.0, uint64 9)")), "/W /W/A");
  assert_matches (f, ovstage_filter_new_in (f->mass, g_variant_new_parsed ("[<1>, <4.0>]")), "/W /W/B");
  assert_matches (f, ovstage_filter_new_in (f->mass, g_variant_new_parsed ("4.0")), "/W/B");
  assert_matches (f, ovstage_filter_new_in (f->kind, g_variant_new_parsed ("['body', 'x']")), "/W/A /W/B");
  assert_matches (f, ovstage_filter_new_compare (f->kind, OVSTAGE_FILTER_OP_GT, g_variant_new_bytestring ("body")), "/W");
  assert_matches (f, ovstage_filter_new_compare (f->mass, OVSTAGE_FILTER_OP_GT, g_variant_new_parsed ("{'a': 1}")),
                  "predicates[0]: values[0] is a variant of type 'a{si}', expected a number or a text");
}

static void
test_attributes (Fixture *f, gconstpointer unused)
{
  g_autoptr (OvstageFilter) none = ovstage_filter_new_any_of (NULL, 0);
  g_autoptr (OvstageQuery) query = ovstage_stage_query_filter (f->stage, NULL, NULL, 0);
  g_autoptr (OvstageQuery) one = ovstage_stage_query_filter (f->stage, NULL, &f->kind, 1);
  g_autoptr (OvstageQuery) empty = ovstage_stage_query_filter (f->stage, none, NULL, 0);
  g_autofree guint64 *tokens = NULL, *token = NULL;
  gsize n = 9;

  g_assert_true (ovstage_operation_wait (OVSTAGE_OPERATION (query), -1, NULL, NULL));
  g_assert_true (ovstage_operation_wait (OVSTAGE_OPERATION (one), -1, NULL, NULL));
  g_assert_true (ovstage_operation_wait (OVSTAGE_OPERATION (empty), -1, NULL, NULL));
  tokens = ovstage_query_dup_attributes (query, &n);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpuint (tokens[0], ==, MIN (f->mass, f->kind));
  g_assert_cmpuint (tokens[1], ==, MAX (f->mass, f->kind));
  token = ovstage_query_dup_attributes (one, &n);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (token[0], ==, f->kind);
  g_assert_null (ovstage_query_dup_attributes (empty, &n));
  g_assert_cmpuint (n, ==, 0);
  g_assert_null (ovstage_query_dup_attributes (f->all, &n));
}

/* Used before it may be done. */
static void
test_write_through (Fixture *f, gconstpointer unused)
{
  const double value = 8;
  const gint64 shape = 1;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new (&value, sizeof value);
  g_autoptr (OvstageTensor) tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT64, &shape, 1, &error);
  g_autoptr (OvstageWriteData) data = ovstage_write_data_new (tensor);
  g_autoptr (OvstageFilter) filter = ovstage_filter_new_compare (f->mass, OVSTAGE_FILTER_OP_GT, g_variant_new_double (2));
  g_autoptr (OvstageQuery) query = ovstage_stage_query_filter (f->stage, filter, NULL, 0);
  g_autoptr (OvstageOperation) op = ovstage_stage_write_attribute (f->stage, query, f->mass, 2, data, OVSTAGE_PRIM_MODE_UPDATE, NULL);

  ovstage_operation_wait (op, OVSTAGE_TIMEOUT_INFINITE, NULL, &error);
  g_assert_no_error (error);
  assert_matches (f, ovstage_filter_new_in (f->mass, g_variant_new_int32 (8)), "/W/B");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add ("/query/filters", Fixture, NULL, set_up, test_filters, tear_down);
  g_test_add ("/query/values", Fixture, NULL, set_up, test_values, tear_down);
  g_test_add ("/query/attributes", Fixture, NULL, set_up, test_attributes, tear_down);
  g_test_add ("/query/write-through", Fixture, NULL, set_up, test_write_through, tear_down);

  return g_test_run ();
}
