/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Both installed headers from C++17, linked against the library. */

#include <ovstage/ovstage.h>

#include <ovstage/ovstage-dlpack.h>

static void
test_link (void)
{
  g_autoptr (GError) error = nullptr;
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("test.include-cxx");
  OvstagePathDictionary *dictionary = ovstage_stage_get_path_dictionary (stage);
  OvstageToken token = ovstage_path_dictionary_intern_token (dictionary, "temperature", &error);

  g_assert_no_error (error);
  g_assert_cmpstr (ovstage_path_dictionary_get_token_string (dictionary, token), ==, "temperature");
}

static void
test_dlpack (void)
{
  static_assert (sizeof (OvstageDataType) == sizeof (DLDataType), "OvstageDataType has the layout of DLDataType");
  DLManagedTensorVersioned managed = {};

  managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  g_assert_cmpuint (managed.flags, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, nullptr);
  g_test_add_func ("/include-cxx/link", test_link);
  g_test_add_func ("/include-cxx/dlpack", test_dlpack);
  return g_test_run ();
}
