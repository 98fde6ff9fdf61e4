/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-block.h"

__thread OvsBlocks ovs_blocks;

/* The thread ends. What is freed in it after this is kept, and comes here again. */
static void
free_kept (gpointer data)
{
  OvsBlocks *blocks = data;

  for (guint i = 0; i < G_N_ELEMENTS (blocks->first); i++)
    while (blocks->first[i] != NULL)
      {
        OvsBlock *block = blocks->first[i];

        blocks->first[i] = block->next;
        g_free (block);
      }
  blocks->known = FALSE;
}

static GPrivate known_blocks = G_PRIVATE_INIT (free_kept);

void
ovs_blocks_keep (gpointer block, gsize size_class)
{
  OvsBlock **first = &ovs_blocks.first[size_class];
  guint n = *first != NULL ? (*first)->n : 0;

  if (!ovs_blocks.known)
    g_private_set (&known_blocks, &ovs_blocks);
  ovs_blocks.known = TRUE;
  if (n == OVS_BLOCKS_KEPT)
    {
      g_free (block);
      return;
    }
  *(OvsBlock *) block = (OvsBlock){ *first, n + 1 };
  *first = block;
}
