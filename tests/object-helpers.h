/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What tests of the public API share: queries, and what became of an operation. */

#pragma once

#include <ovstage/ovstage.h>

static inline OvstageQuery *
query_or_fail (OvstageStage *stage, const char *const *paths)
{
  OvstagePathDictionary *dictionary = ovstage_stage_get_path_dictionary (stage);
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstagePathList) list = ovstage_path_dictionary_create_path_list (dictionary, paths, &error);

  g_assert_no_error (error);
  return ovstage_stage_query_path_list (stage, list);
}

/* Takes @operation, an OvstageOperation. */
static inline void
assert_done (gpointer operation)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (ovstage_operation_wait (operation, OVSTAGE_TIMEOUT_INFINITE, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (ovstage_operation_get_id (operation), >, 0);
  g_object_unref (operation);
}

/* Takes @operation, an OvstageOperation. */
static inline void
assert_refused (gpointer operation, OvstageError code)
{
  g_assert_true (ovstage_operation_is_done (operation));
  g_assert_error (ovstage_operation_get_error (operation), OVSTAGE_ERROR, (gint) code);
  g_assert_cmpuint (ovstage_operation_get_id (operation), ==, 0);
  g_object_unref (operation);
}
