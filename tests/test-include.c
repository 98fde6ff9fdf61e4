/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The umbrella header, built as a stranger builds it: first thing in the file,
 * strict C11, nothing of ours defined. */

#include <ovstage/ovstage.h>

#ifdef OVSTAGE_COMPILATION
#error "OVSTAGE_COMPILATION is for the library itself"
#endif
#if !OVSTAGE_CHECK_VERSION(1, 0, 0) || OVSTAGE_CHECK_VERSION(99, 0, 0)
#error "OVSTAGE_CHECK_VERSION is wrong"
#endif

static void
test_version (void)
{
  g_assert_cmpint (OVSTAGE_MAJOR_VERSION, ==, 1);
  g_assert_true (OVSTAGE_CHECK_VERSION (OVSTAGE_MAJOR_VERSION, OVSTAGE_MINOR_VERSION, OVSTAGE_MICRO_VERSION));
  g_assert_false (OVSTAGE_CHECK_VERSION (OVSTAGE_MAJOR_VERSION, OVSTAGE_MINOR_VERSION, OVSTAGE_MICRO_VERSION + 1));
}

static void
test_types (void)
{
  g_assert_true (g_type_is_a (OVSTAGE_TYPE_STAGE, G_TYPE_OBJECT));
  g_assert_true (g_type_is_a (OVSTAGE_TYPE_READ, OVSTAGE_TYPE_OPERATION));
  g_assert_true (g_type_is_a (OVSTAGE_TYPE_QUERY, OVSTAGE_TYPE_OPERATION));
  g_assert_true (G_TYPE_IS_BOXED (OVSTAGE_TYPE_TENSOR));
  g_assert_true (G_TYPE_IS_ENUM (OVSTAGE_TYPE_PRIM_MODE));
  g_assert_true (G_TYPE_IS_ENUM (OVSTAGE_TYPE_ERROR));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/include/version", test_version);
  g_test_add_func ("/include/types", test_types);
  return g_test_run ();
}
