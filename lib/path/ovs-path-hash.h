/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Hashing and comparing texts of a few words. */

#pragma once

#include <glib.h>
#include <string.h>

static inline guint64
ovs_load_word (const char *p)
{
  guint64 word;

  memcpy (&word, p, sizeof word);
  return GUINT64_FROM_LE (word);
}

static inline guint32
ovs_load_half (const char *p)
{
  guint32 half;

  memcpy (&half, p, sizeof half);
  return GUINT32_FROM_LE (half);
}

/* The @n < 8 bytes from @p on, with loads that overlap in place of a loop. */
static inline guint64
ovs_load_tail (const char *p, gsize n)
{
  const guint8 *bytes = (const guint8 *) p;

  if (n >= 4)
    return ovs_load_half (p) | (guint64) ovs_load_half (p + n - 4) << (8 * (n - 4));
  if (n == 0)
    return 0;
  return bytes[0] | (guint32) bytes[n / 2] << (8 * (n / 2)) | (guint32) bytes[n - 1] << (8 * (n - 1));
}

/* memcmp() for texts of a few bytes, where the call is the larger part. */
static inline gboolean
ovs_same_bytes (const char *a, const char *b, gsize n)
{
  if (n < 4)
    return ovs_load_tail (a, n) == ovs_load_tail (b, n);
  if (n < 8)
    return ovs_load_half (a) == ovs_load_half (b) && ovs_load_half (a + n - 4) == ovs_load_half (b + n - 4);
  if (n > 16)
    return memcmp (a, b, n) == 0;
  return ovs_load_word (a) == ovs_load_word (b) && ovs_load_word (a + n - 8) == ovs_load_word (b + n - 8);
}

static inline guint64
ovs_mix_hash (guint64 state, guint64 word)
{
  state = (state ^ word) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return state ^ state >> 32;
}

static inline guint32
ovs_finish_hash (guint64 state)
{
  return state * G_GUINT64_CONSTANT (0xff51afd7ed558ccd) >> 32;
}

/* The hash of a text whose whole words have gone into @state. */
static inline guint32
ovs_hash_tail (guint64 state, const char *tail, gsize n)
{
  return ovs_finish_hash (ovs_mix_hash (state, ovs_load_tail (tail, n) | (guint64) (n + 1) << 56));
}

static inline guint32
ovs_hash_text (guint64 seed, const char *text, gsize length)
{
  guint64 state = seed;

  for (; length >= 8; text += 8, length -= 8)
    state = ovs_mix_hash (state, ovs_load_word (text));
  return ovs_hash_tail (state, text, length);
}
