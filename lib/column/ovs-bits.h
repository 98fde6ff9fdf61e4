/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A counted bitmap over rows. Shared ones are never changed. */

#pragma once

#include <glib.h>

typedef struct
{
  gint refs; /* (atomic) */
  guint32 n; /* bits */
  guint64 words[];
} OvsBits;

/* All bits clear, or all set; @from (nullable: all set) gives the first @n_from bits of the copy, the rest is clear. */
OvsBits *ovs_bits_new (guint32 n, gboolean set);
OvsBits *ovs_bits_new_from (const OvsBits *from, guint32 n_from, guint32 n);
/* NULL without memory, where the others abort. */
OvsBits *ovs_bits_try_new (guint32 n, gboolean set);
OvsBits *ovs_bits_try_new_from (const OvsBits *from, guint32 n_from, guint32 n);
OvsBits *ovs_bits_ref (OvsBits *bits);
void ovs_bits_unref (OvsBits *bits);
guint32 ovs_bits_count (const OvsBits *bits);
/* The bits [first, end), which there are. */
void ovs_bits_set_run (OvsBits *bits, guint32 first, guint32 end);
gboolean ovs_bits_meets_run (const OvsBits *bits, guint32 first, guint32 end);
/* What is set in both, and what is set in one of them; of one size. */
gboolean ovs_bits_meet (const OvsBits *a, const OvsBits *b);
void ovs_bits_add (OvsBits *bits, const OvsBits *more);

static inline gboolean
ovs_bits_get (const OvsBits *bits, guint32 i)
{
  return (bits->words[i / 64] >> (i % 64)) & 1;
}

/* Tells whether it was clear. */
static inline gboolean
ovs_bits_set (OvsBits *bits, guint32 i)
{
  guint64 bit = G_GUINT64_CONSTANT (1) << (i % 64);
  gboolean was_clear = (bits->words[i / 64] & bit) == 0;

  bits->words[i / 64] |= bit;
  return was_clear;
}

/* Tells whether it was set. */
static inline gboolean
ovs_bits_clear (OvsBits *bits, guint32 i)
{
  guint64 bit = G_GUINT64_CONSTANT (1) << (i % 64);
  gboolean was_set = (bits->words[i / 64] & bit) != 0;

  bits->words[i / 64] &= ~bit;
  return was_set;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsBits, ovs_bits_unref)
