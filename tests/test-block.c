/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-block.h"

#include <string.h>

/* So that every size is empty to begin with. */
static void
run_in_thread (GThreadFunc func)
{
  g_thread_join (g_thread_new ("blocks", func, NULL));
}

static gpointer
use_again (gpointer data)
{
  gpointer a = ovs_block_alloc (100), b = ovs_block_alloc (128), c;

  g_assert_true (a != b);
  memset (a, 1, 100);
  memset (b, 2, 128);
  ovs_block_free (a, 100);
  ovs_block_free (b, 128);
  if (OVS_BLOCK_MAX == 0)
    return NULL;
  /* The last that came, for any size of the same step. */
  c = ovs_block_alloc (97);
  g_assert_true (c == b);
  g_assert_true (ovs_block_alloc (128) == a);
  ovs_block_free (c, 97);
  /* But for no other. */
  b = ovs_block_alloc (96);
  g_assert_true (b != c);
  ovs_block_free (b, 96);
  ovs_block_free (a, 128);
  return NULL;
}

static void
test_used_again (void)
{
  run_in_thread (use_again);
}

static gpointer
use_many (gpointer data)
{
  gpointer blocks[3 * OVS_BLOCKS_KEPT];

  for (guint round = 0; round < 3; round++)
    {
      for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
        {
          blocks[i] = ovs_block_alloc (200);
          memset (blocks[i], (int) i, 200);
        }
      for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
        {
          for (guint k = 0; k < 200; k++)
            g_assert_cmpuint (((guint8 *) blocks[i])[k], ==, i);
          ovs_block_free (blocks[i], 200);
        }
      if (OVS_BLOCK_MAX > 0)
        g_assert_cmpuint (ovs_blocks->rings[199 / OVS_BLOCK_STEP].n, ==, OVS_BLOCKS_KEPT);
    }
  /* The last of them. */
  for (guint i = 0; OVS_BLOCK_MAX > 0 && i < OVS_BLOCKS_KEPT; i++)
    g_assert_true (ovs_block_alloc (200) == blocks[G_N_ELEMENTS (blocks) - 1 - i]);
  for (guint i = 0; OVS_BLOCK_MAX > 0 && i < OVS_BLOCKS_KEPT; i++)
    ovs_block_free (blocks[G_N_ELEMENTS (blocks) - 1 - i], 200);
  return NULL;
}

static void
test_few_are_kept (void)
{
  run_in_thread (use_many);
}

static gpointer
use_sizes (gpointer data)
{
  for (gsize size = 1; size <= 1100; size += 3)
    {
      gpointer block = ovs_block_alloc (size);

      memset (block, 0xff, size);
      ovs_block_free (block, size);
    }
  return NULL;
}

static void
test_sizes (void)
{
  run_in_thread (use_sizes);
}

static gpointer
free_it (gpointer block)
{
  ovs_block_free (block, 300);
  return NULL;
}

/* Each keeps what it frees, and nothing when it ends: a leak that valgrind and the sanitizer would see. */
static void
test_other_thread (void)
{
  for (guint i = 0; i < 20; i++)
    g_thread_join (g_thread_new ("blocks", free_it, ovs_block_alloc (300)));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/block/used-again", test_used_again);
  g_test_add_func ("/block/few-are-kept", test_few_are_kept);
  g_test_add_func ("/block/sizes", test_sizes);
  g_test_add_func ("/block/other-thread", test_other_thread);
  return g_test_run ();
}
