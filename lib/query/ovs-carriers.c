/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "query/ovs-carriers.h"

void
ovs_carriers_init (OvsCarriers *carriers, OvsLayout *layout, guint32 n_rows, OvsBits *live, OvsVersion *version)
{
  *carriers = (OvsCarriers){ .layout = ovs_layout_ref (layout), .n_rows = n_rows, .live = live, .version = version };
  if (n_rows > layout->n_base)
    carriers->more = g_memdup2 (layout->more, sizeof (guint32) * (n_rows - layout->n_base));
}

void
ovs_carriers_clear (OvsCarriers *carriers)
{
  ovs_layout_unref (carriers->layout);
  g_clear_pointer (&carriers->live, ovs_bits_unref);
  g_clear_pointer (&carriers->version, ovs_version_unref);
  g_free (carriers->more);
}

static guint32
get_prim (const OvsCarriers *carriers, guint32 row)
{
  return row < carriers->layout->n_base ? carriers->layout->base->ids[row] : carriers->more[row - carriers->layout->n_base];
}

/* Those of rows [64 * @word, + 64) that live and are in @rows (nullable: all). */
static guint64
get_row_word (const OvsCarriers *carriers, const OvsBits *rows, gsize word)
{
  guint64 bits = rows != NULL ? rows->words[word] : G_MAXUINT64;

  if (carriers->live != NULL)
    bits &= carriers->live->words[word];
  if ((word + 1) * 64 > carriers->n_rows)
    bits &= (G_GUINT64_CONSTANT (1) << (carriers->n_rows % 64)) - 1;
  return bits;
}

/* Where row and path id go in step, words at a time. */
void
ovs_carriers_add_to (const OvsCarriers *carriers, const OvsBits *rows, OvsBits *prims)
{
  const OvstagePathList *base = carriers->layout->base;
  gsize n_in_step = base != NULL && base->consecutive && base->n > 0 ? MIN (carriers->n_rows, carriers->layout->n_base) : 0;
  guint32 first = n_in_step > 0 ? base->ids[0] : 0;

  for (gsize word = 0; word < ((gsize) carriers->n_rows + 63) / 64; word++)
    {
      guint64 bits = get_row_word (carriers, rows, word);
      gsize at = word * 64 + first;

      if (bits == 0)
        continue;
      if ((word + 1) * 64 <= n_in_step)
        {
          prims->words[at / 64] |= bits << (at % 64);
          if (at % 64 != 0 && bits >> (64 - at % 64) != 0)
            prims->words[at / 64 + 1] |= bits >> (64 - at % 64);
          continue;
        }
      for (; bits != 0; bits &= bits - 1)
        ovs_bits_set (prims, get_prim (carriers, (guint32) (word * 64) + (guint32) __builtin_ctzll (bits)));
    }
}

gboolean
ovs_carriers_meet (const OvsCarriers *carriers, const OvsBits *prims)
{
  for (gsize word = 0; word < ((gsize) carriers->n_rows + 63) / 64; word++)
    for (guint64 bits = get_row_word (carriers, NULL, word); bits != 0; bits &= bits - 1)
      if (ovs_bits_get (prims, get_prim (carriers, (guint32) (word * 64) + (guint32) __builtin_ctzll (bits))))
        return TRUE;
  return FALSE;
}

guint32
ovs_carriers_find_lowest (const OvsCarriers *carriers)
{
  guint32 lowest = G_MAXUINT32;

  for (guint32 row = 0; row < carriers->n_rows; row++)
    if (carriers->live == NULL || ovs_bits_get (carriers->live, row))
      lowest = MIN (lowest, get_prim (carriers, row));
  return lowest;
}
