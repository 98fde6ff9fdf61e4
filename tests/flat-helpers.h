/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A stage with three prims through the flat API, and what tests do with it. */

#pragma once

#include <ovstage/ovstage_api/ovstage_api.h>

#include <glib.h>
#include <string.h>

#define assert_status(call, expected) g_assert_cmpint ((call), ==, (expected))
#define assert_ok(call) assert_status (call, OVSTAGE_OK)

/* The last error of the thread has this in it. */
#define assert_error(call, expected, part)                                                                             \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_assert_cmpint ((call), ==, (expected));                                                                          \
    assert_last_error (part);                                                                                          \
  }                                                                                                                    \
  G_STMT_END

#define assert_refused(call, expected, part)                                                                           \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    ovstage_enqueue_result_t refused_ = (call);                                                                        \
    g_assert_cmpint (refused_.status, ==, (expected));                                                                 \
    g_assert_cmpuint (refused_.op_index, ==, 0);                                                                       \
    assert_last_error (part);                                                                                          \
  }                                                                                                                    \
  G_STMT_END

typedef struct
{
  ovstage_instance_t *stage;
  path_dictionary_instance_t *dictionary;
  ovx_primpath_list_t prims;
  ovstage_query_handle_t query;
  ovx_token_t mass;
} Flat;

static inline ovx_string_t
text_of (const char *text)
{
  return (ovx_string_t) { text, strlen (text) };
}

static inline ovx_string_or_token_t
named (const char *name)
{
  return (ovx_string_or_token_t) { .string = text_of (name) };
}

static inline ovx_string_or_token_t
token_of (ovx_token_t token)
{
  return (ovx_string_or_token_t) { .token = token };
}

static inline void
assert_last_error (const char *part)
{
  ovx_string_t text = ovstage_get_last_error ();

  g_assert_nonnull (text.ptr);
  g_assert_cmpuint (text.length, ==, strlen (text.ptr));
  if (strstr (text.ptr, part) == NULL)
    g_error ("'%s' is not in '%s'", part, text.ptr);
}

static inline void
assert_done (ovstage_instance_t *stage, ovstage_enqueue_result_t result)
{
  ovstage_op_wait_result_t wait;

  if (result.status != OVSTAGE_OK)
    g_error ("refused: %s", ovstage_get_last_error ().ptr);
  assert_ok (ovstage_wait_op (stage, result.op_index, OVSTAGE_TIMEOUT_INFINITE, &wait));
  if (wait.error_op_id_count > 0)
    g_error ("failed: %s", ovstage_get_last_op_error (stage, wait.error_op_ids[0]).ptr);
  g_assert_cmpuint (wait.lowest_pending_op_id, ==, 0);
  assert_ok (ovstage_release_op (stage, result.op_index));
}

static inline void
assert_in_dictionary (path_dictionary_instance_t *dictionary, ovx_api_result_t result)
{
  if (result.status != OVX_API_SUCCESS)
    g_error ("%s", result.error.ptr);
  g_assert_null (result.error.ptr);
}

static inline void
assert_not_in_dictionary (path_dictionary_instance_t *dictionary, ovx_api_result_t result, const char *part)
{
  g_assert_cmpint (result.status, ==, OVX_API_ERROR);
  g_assert_nonnull (result.error.ptr);
  g_assert_cmpuint (result.error.length, ==, strlen (result.error.ptr));
  if (strstr (result.error.ptr, part) == NULL)
    g_error ("'%s' is not in '%s'", part, result.error.ptr);
  path_dictionary_release_error (dictionary, result.error);
}

static inline ovx_token_t
make_token (path_dictionary_instance_t *dictionary, const char *name)
{
  ovx_string_t text = text_of (name);
  ovx_token_t token = 0;

  assert_in_dictionary (dictionary, path_dictionary_create_tokens_from_strings (dictionary, &text, 1, &token));
  return token;
}

static inline ovx_primpath_list_t
make_list (path_dictionary_instance_t *dictionary, gsize n, ...)
{
  ovx_string_t texts[8];
  ovx_primpath_list_t list = 0;
  va_list args;

  va_start (args, n);
  for (gsize i = 0; i < n; i++)
    texts[i] = text_of (va_arg (args, const char *));
  va_end (args);
  assert_in_dictionary (dictionary, path_dictionary_create_path_list_from_strings (dictionary, texts, n, &list));
  return list;
}

static inline void
flat_init (Flat *flat)
{
  ovstage_instance_desc_t desc = { "test.flat" };

  assert_ok (ovstage_create_instance (&desc, &flat->stage));
  flat->dictionary = ovstage_get_path_dictionary (flat->stage);
  g_assert_nonnull (flat->dictionary);
  flat->mass = make_token (flat->dictionary, "mass");
  flat->prims = make_list (flat->dictionary, 3, "/World/A", "/World/B", "/World/C");
  assert_ok (ovstage_query_from_path_list (flat->stage, flat->prims, &flat->query));
}

/* Everything else is released: G_DEBUG=fatal-warnings minds a leak. */
static inline void
flat_clear (Flat *flat)
{
  assert_in_dictionary (flat->dictionary, path_dictionary_release_path_list_reference (flat->dictionary, flat->prims));
  assert_ok (ovstage_release_query (flat->stage, flat->query).status);
  ovstage_destroy_instance (flat->stage);
}

static inline DLTensor
float_tensor (float *values, int64_t *n)
{
  return (DLTensor) {
    .data = values,
    .device = { kDLCPU, 0 },
    .ndim = 1,
    .dtype = { kDLFloat, 32, 1 },
    .shape = n,
  };
}

/* Memory to hand over: 7, 8 and 9, and a count of how often it was let go of. */
typedef struct
{
  DLManagedTensorVersioned managed;
  float values[6];
  int64_t n;
  gint n_deleted; /* (atomic) */
  void (*deleted) (gpointer data); /* (nullable) called first */
  gpointer data;
} Owned;

static inline void
delete_owned (DLManagedTensorVersioned *managed)
{
  Owned *owned = managed->manager_ctx;

  if (owned->deleted != NULL)
    owned->deleted (owned->data);
  g_atomic_int_inc (&owned->n_deleted);
}

static inline void
owned_init (Owned *owned)
{
  *owned = (Owned) { .values = { 7, 8, 9 }, .n = 3 };
  owned->managed.version.major = 1;
  owned->managed.manager_ctx = owned;
  owned->managed.deleter = delete_owned;
  owned->managed.dl_tensor = float_tensor (owned->values, &owned->n);
}

/* What was logged. */
typedef struct
{
  guint n;
  ovstage_log_level_t level; /* of the last, as is */
  char *text;                /* (owned) (nullable) */
} Logged;

static inline void
log_cb (ovstage_log_level_t level, ovx_string_t message, void *user_data)
{
  Logged *logged = user_data;

  logged->n++;
  logged->level = level;
  g_free (logged->text);
  logged->text = g_strndup (message.ptr, message.length);
}

/* Three floats at an ordinal. */
static inline ovstage_enqueue_result_t
write_floats (Flat *flat, ovstage_ordinal_t ordinal, float a, float b, float c)
{
  float values[] = { a, b, c };
  int64_t n = 3;
  DLTensor tensor = float_tensor (values, &n);
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1 };
  ovstage_enqueue_result_t result;

  result = ovstage_write_attribute (flat->stage, flat->query, token_of (flat->mass), ordinal, data, OVSTAGE_PRIM_MODE_UPSERT);
  if (result.status == OVSTAGE_OK)
    assert_ok (ovstage_wait_op (flat->stage, result.op_index, OVSTAGE_TIMEOUT_INFINITE, NULL));
  return result;
}

static inline void
seal (Flat *flat, ovstage_ordinal_t ordinal)
{
  ovstage_write_floor_desc_t desc = { .ordinal = ordinal, .scope = OVSTAGE_SCOPE_ALL };

  assert_done (flat->stage, ovstage_advance_write_floor (flat->stage, &desc));
}

static inline ovstage_read_handle_t
read_at (Flat *flat, ovstage_ordinal_t ordinal)
{
  ovstage_ordinal_range_t range = { .end_ordinal = ordinal };
  ovstage_read_handle_t read = 0;

  assert_done (flat->stage, ovstage_read_attributes (flat->stage, flat->query, &flat->mass, 1, range, &read));
  g_assert_cmpuint (read, !=, 0);
  return read;
}
