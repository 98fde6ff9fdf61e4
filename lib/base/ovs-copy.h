/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Copies of more than the cache can keep. */

#pragma once

#include <glib.h>

/* Whether a copy of so many bytes, taken together, had better leave the cache to others. */
gboolean ovs_copy_is_large (gsize n_bytes);
/* As memcpy(), past the cache where the processor can. */
void ovs_copy_large (gpointer dst, gconstpointer src, gsize n_bytes);
/* A piece of such a copy, from what is in the cache. @next: where what follows will be read, which is asked for meanwhile. Others may
 * look at the bytes after ovs_copy_end_pieces(). */
void ovs_copy_piece (gpointer dst, gconstpointer src, gsize n_bytes, gconstpointer next);
void ovs_copy_end_pieces (void);
