/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Memory for small structs that come and go with every call: operations, groups,
 * tensors. Each thread keeps a few of those that it freed, by size, and takes one
 * of them without a call to malloc(), which costs a tenth of a small frame. */

#pragma once

#include <glib.h>

#ifdef __SANITIZE_ADDRESS__
#define OVS_BLOCK_MAX 0 /* every use after it was freed shall be seen */
#else
#define OVS_BLOCK_MAX 512 /* larger ones are malloc()'s */
#endif
#define OVS_BLOCK_STEP 32
#define OVS_BLOCKS_KEPT 4 /* of each size, those that were freed last */

typedef struct
{
  gpointer blocks[OVS_BLOCKS_KEPT]; /* (owned) the n before top, in a ring */
  guint top;
  guint n;
} OvsBlockRing;

typedef struct
{
  OvsBlockRing rings[OVS_BLOCK_MAX / OVS_BLOCK_STEP + 1]; /* by size */
} OvsBlocks;

/* private: (owned) (nullable) the thread's, from its first ovs_block_free() on */
extern __thread __attribute__ ((tls_model ("initial-exec"), visibility ("hidden"))) OvsBlocks *ovs_blocks;
OvsBlocks *ovs_blocks_new (void); /* private */

/* @size: not 0 */
static inline gpointer
ovs_block_alloc (gsize size)
{
  gsize size_class = (size - 1) / OVS_BLOCK_STEP;
  OvsBlockRing *ring;

  if (size > OVS_BLOCK_MAX)
    return g_malloc (size);
  ring = ovs_blocks != NULL ? &ovs_blocks->rings[size_class] : NULL;
  if (G_UNLIKELY (ring == NULL || ring->n == 0))
    return g_malloc ((size_class + 1) * OVS_BLOCK_STEP);
  ring->n--;
  ring->top = (ring->top + OVS_BLOCKS_KEPT - 1) % OVS_BLOCKS_KEPT;
  return ring->blocks[ring->top];
}

/* @size: as it was allocated. Any thread may do this. */
static inline void
ovs_block_free (gpointer block, gsize size)
{
  OvsBlocks *blocks = ovs_blocks;
  OvsBlockRing *ring;

  if (size > OVS_BLOCK_MAX)
    {
      g_free (block);
      return;
    }
  if (G_UNLIKELY (blocks == NULL))
    blocks = ovs_blocks_new ();
  ring = &blocks->rings[(size - 1) / OVS_BLOCK_STEP];
  /* Of many that are freed one after another the last stay, and with them the end of the heap: it does not shrink and grow again. */
  if (ring->n == OVS_BLOCKS_KEPT)
    g_free (ring->blocks[ring->top]);
  else
    ring->n++;
  ring->blocks[ring->top] = block;
  ring->top = (ring->top + 1) % OVS_BLOCKS_KEPT;
}
