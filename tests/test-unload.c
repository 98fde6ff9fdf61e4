/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The library in a program that loads it itself, and lets go of it before its threads end. */

#include <ovstage/ovstage_api/ovstage_api.h>

#include <dlfcn.h>
#include <glib.h>

static gpointer
use_thread (gpointer data)
{
  g_autofree char *path = g_test_build_filename (G_TEST_BUILT, "..", "lib", ".libs", "libovstage.so.0", NULL);
  gpointer library = dlopen (path, RTLD_NOW);
  __typeof__ (&ovstage_create_instance) create_instance;
  __typeof__ (&ovstage_destroy_instance) destroy_instance;
  ovstage_instance_desc_t desc = { 0 };
  ovstage_instance_t *stage = NULL;

  if (library == NULL)
    g_error ("%s", dlerror ());
  create_instance = (__typeof__ (create_instance)) dlsym (library, "ovstage_create_instance");
  destroy_instance = (__typeof__ (destroy_instance)) dlsym (library, "ovstage_destroy_instance");
  g_assert_nonnull (create_instance);
  g_assert_nonnull (destroy_instance);

  /* It keeps an error for the thread until that ends. */
  g_assert_cmpint (create_instance (&desc, NULL), ==, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpint (create_instance (&desc, &stage), ==, OVSTAGE_OK);
  destroy_instance (stage);
  g_assert_cmpint (dlclose (library), ==, 0);
  return NULL;
}

static void
test_thread_ends_later (void)
{
  for (guint i = 0; i < 3; i++)
    g_thread_join (g_thread_new ("use", use_thread, NULL));
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/unload/thread-ends-later", test_thread_ends_later);

  return g_test_run ();
}
