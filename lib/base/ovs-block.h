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
#define OVS_BLOCK_STEP 64
#define OVS_BLOCKS_KEPT 4 /* of each size */

typedef struct _OvsBlock OvsBlock;

struct _OvsBlock
{
  OvsBlock *next;
  guint n; /* from this on */
};

typedef struct
{
  gboolean known; /* they are freed when the thread ends */
  OvsBlock *first[OVS_BLOCK_MAX / OVS_BLOCK_STEP + 1];
} OvsBlocks;

extern __thread __attribute__ ((tls_model ("initial-exec"), visibility ("hidden"))) OvsBlocks ovs_blocks; /* private */
void ovs_blocks_keep (gpointer block, gsize size_class);                                                 /* private */

/* @size: not 0 */
static inline gpointer
ovs_block_alloc (gsize size)
{
  gsize size_class = (size - 1) / OVS_BLOCK_STEP;
  OvsBlock *block;

  if (size > OVS_BLOCK_MAX)
    return g_malloc (size);
  block = ovs_blocks.first[size_class];
  if (G_UNLIKELY (block == NULL))
    return g_malloc ((size_class + 1) * OVS_BLOCK_STEP);
  ovs_blocks.first[size_class] = block->next;
  return block;
}

/* @size: as it was allocated. Any thread may do this. */
static inline void
ovs_block_free (gpointer block, gsize size)
{
  gsize size_class = (size - 1) / OVS_BLOCK_STEP;
  OvsBlock *before;

  if (size > OVS_BLOCK_MAX)
    {
      g_free (block);
      return;
    }
  before = ovs_blocks.first[size_class];
  if (G_LIKELY (before == NULL && ovs_blocks.known))
    {
      *(OvsBlock *) block = (OvsBlock){ NULL, 1 };
      ovs_blocks.first[size_class] = block;
    }
  else
    ovs_blocks_keep (block, size_class);
}
