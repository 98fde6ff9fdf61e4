/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A column that is written each frame goes to two buffers in turn, from a third.
 * When these do not fit the last cache together, each line of the target is first
 * read from memory for nothing. Stores that go past the cache save that, and leave
 * in it the source and what others work on. Below that size they cost more than
 * they save, since the reader then finds nothing in the cache. */

#include "config.h"

#include "base/ovs-copy.h"

#include <string.h>

#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>
#define HAVE_STREAM 1
#endif

/* Measured on processors whose last cache is 32 MiB and 300 MiB. Part of the cache is what counts: it is shared. */
#define LARGE ((gsize) 6 << 20)

gboolean
ovs_copy_is_large (gsize n_bytes)
{
#ifdef HAVE_STREAM
  return n_bytes >= LARGE;
#else
  return FALSE;
#endif
}

#ifdef HAVE_STREAM

#define LINE 64
#define AHEAD 1024

void
ovs_copy_piece (gpointer dst, gconstpointer src, gsize n_bytes, gconstpointer next)
{
  guint8 *to = dst;
  const guint8 *from = src, *ahead = next;
  gsize head = MIN (-(guintptr) to & (LINE - 1), n_bytes), n_lines;

  memcpy (to, from, head);
  to += head;
  from += head;
  n_lines = (n_bytes - head) / LINE;
  for (gsize i = 0; i < n_lines; i++)
    {
      __m128i a = _mm_loadu_si128 ((const __m128i *) from);
      __m128i b = _mm_loadu_si128 ((const __m128i *) (from + 16));
      __m128i c = _mm_loadu_si128 ((const __m128i *) (from + 32));
      __m128i d = _mm_loadu_si128 ((const __m128i *) (from + 48));

      __builtin_prefetch (ahead);
      _mm_stream_si128 ((__m128i *) to, a);
      _mm_stream_si128 ((__m128i *) (to + 16), b);
      _mm_stream_si128 ((__m128i *) (to + 32), c);
      _mm_stream_si128 ((__m128i *) (to + 48), d);
      to += LINE;
      from += LINE;
      ahead += LINE;
    }
  memcpy (to, from, (n_bytes - head) % LINE);
}

void
ovs_copy_end_pieces (void)
{
  /* These stores are in no order with later ones, such as the one that tells others of the bytes. */
  _mm_sfence ();
}

void
ovs_copy_large (gpointer dst, gconstpointer src, gsize n_bytes)
{
  ovs_copy_piece (dst, src, n_bytes, (const guint8 *) src + AHEAD);
  ovs_copy_end_pieces ();
}

#else

void
ovs_copy_piece (gpointer dst, gconstpointer src, gsize n_bytes, gconstpointer next)
{
  memcpy (dst, src, n_bytes);
}

void
ovs_copy_end_pieces (void)
{
}

void
ovs_copy_large (gpointer dst, gconstpointer src, gsize n_bytes)
{
  memcpy (dst, src, n_bytes);
}

#endif
