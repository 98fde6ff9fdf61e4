/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-block.h"

__thread OvsBlocks *ovs_blocks;

/* The thread ends. What is freed in it after this is kept, and comes here again. */
static void
free_kept (gpointer data)
{
  OvsBlocks *kept = data;

  ovs_blocks = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (kept->rings); i++)
    for (OvsBlockRing *ring = &kept->rings[i]; ring->n > 0; ring->n--)
      g_free (ring->blocks[(ring->top + OVS_BLOCKS_KEPT - ring->n) % OVS_BLOCKS_KEPT]);
  g_free (kept);
}

static GPrivate kept_blocks = G_PRIVATE_INIT (free_kept);

OvsBlocks *
ovs_blocks_new (void)
{
  ovs_blocks = g_new0 (OvsBlocks, 1);
  g_private_set (&kept_blocks, ovs_blocks);
  return ovs_blocks;
}
