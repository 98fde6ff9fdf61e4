/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-bits.h"

#include <string.h>

static void
set_first (OvsBits *bits, guint32 n)
{
  memset (bits->words, 0xff, (gsize) (n / 64) * 8);
  if (n % 64 != 0)
    bits->words[n / 64] = (G_GUINT64_CONSTANT (1) << (n % 64)) - 1;
}

OvsBits *
ovs_bits_try_new (guint32 n, gboolean set)
{
  OvsBits *bits = g_try_malloc0 (sizeof *bits + ((gsize) n + 63) / 64 * 8);

  if (bits == NULL)
    return NULL;
  bits->refs = 1;
  bits->n = n;
  if (set)
    set_first (bits, n);
  return bits;
}

OvsBits *
ovs_bits_try_new_from (const OvsBits *from, guint32 n_from, guint32 n)
{
  OvsBits *bits = ovs_bits_try_new (n, FALSE);

  if (bits == NULL)
    return NULL;
  if (from == NULL)
    set_first (bits, MIN (n_from, n));
  else
    {
      n_from = MIN (MIN (n_from, from->n), n);
      memcpy (bits->words, from->words, (gsize) (n_from / 64) * 8);
      if (n_from % 64 != 0)
        bits->words[n_from / 64] = from->words[n_from / 64] & ((G_GUINT64_CONSTANT (1) << (n_from % 64)) - 1);
    }
  return bits;
}

static OvsBits *
need (OvsBits *bits, guint32 n)
{
  if (bits == NULL)
    g_error ("out of memory for %u bits", n);
  return bits;
}

OvsBits *
ovs_bits_new (guint32 n, gboolean set)
{
  return need (ovs_bits_try_new (n, set), n);
}

OvsBits *
ovs_bits_new_from (const OvsBits *from, guint32 n_from, guint32 n)
{
  return need (ovs_bits_try_new_from (from, n_from, n), n);
}

OvsBits *
ovs_bits_ref (OvsBits *bits)
{
  g_atomic_int_inc (&bits->refs);
  return bits;
}

void
ovs_bits_unref (OvsBits *bits)
{
  if (g_atomic_int_dec_and_test (&bits->refs))
    g_free (bits);
}

guint32
ovs_bits_count (const OvsBits *bits)
{
  guint32 count = 0;

  for (gsize i = 0; i < ((gsize) bits->n + 63) / 64; i++)
    if (bits->words[i] != 0)
      count += (guint32) __builtin_popcountll (bits->words[i]);
  return count;
}

/* The bits of word @i that are in the run. */
static guint64
run_mask (guint32 i, guint32 first, guint32 end)
{
  guint64 mask = ~G_GUINT64_CONSTANT (0);

  if (i == first / 64)
    mask &= ~G_GUINT64_CONSTANT (0) << (first % 64);
  if (i == end / 64)
    mask &= (G_GUINT64_CONSTANT (1) << (end % 64)) - 1;
  return mask;
}

void
ovs_bits_set_run (OvsBits *bits, guint32 first, guint32 end)
{
  for (guint32 i = first / 64; first < end && i <= (end - 1) / 64; i++)
    bits->words[i] |= run_mask (i, first, end);
}

gboolean
ovs_bits_meets_run (const OvsBits *bits, guint32 first, guint32 end)
{
  for (guint32 i = first / 64; first < end && i <= (end - 1) / 64; i++)
    if ((bits->words[i] & run_mask (i, first, end)) != 0)
      return TRUE;
  return FALSE;
}

gboolean
ovs_bits_meet (const OvsBits *a, const OvsBits *b)
{
  for (gsize i = 0; i < ((gsize) a->n + 63) / 64; i++)
    if ((a->words[i] & b->words[i]) != 0)
      return TRUE;
  return FALSE;
}

void
ovs_bits_add (OvsBits *bits, const OvsBits *more)
{
  for (gsize i = 0; i < ((gsize) bits->n + 63) / 64; i++)
    bits->words[i] |= more->words[i];
}
