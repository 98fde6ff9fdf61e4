/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Versions of array columns: the fold moves records, in chunks, and lets go of buffers.
 * Few bytes compared with those of the elements, so one thread does it all.
 *
 * The plan finds the chunks that will change and gets memory for those that are not the
 * version's own. Rows that die lose their elements. */

#include "config.h"

#include "column/ovs-fold-private.h"

#include <stdlib.h>
#include <string.h>

/* Up to so many elements may be moved at once when few bytes change hands otherwise. */
#define REPACK_AT_ONCE (32 * 1024)

static void
clear_fresh (gpointer data)
{
  g_clear_pointer (&((OvsFreshChunk *) data)->records, ovs_buffer_unref);
}

static gint
compare_u32 (gconstpointer a, gconstpointer b)
{
  return *(const guint32 *) a < *(const guint32 *) b ? -1 : *(const guint32 *) a > *(const guint32 *) b;
}

static void
touch (GArray *touched, guint32 chunk)
{
  if (touched->len == 0 || g_array_index (touched, guint32, touched->len - 1) != chunk)
    g_array_append_val (touched, chunk);
}

static void
touch_all (GArray *touched, guint32 n_chunks)
{
  g_array_set_size (touched, 0);
  for (guint32 c = 0; c < n_chunks; c++)
    g_array_append_val (touched, c);
}

/* FALSE: so many rows that a look at each costs more than it saves. */
static gboolean
touch_part (GArray *touched, const OvsPart *part, guint32 n_chunks)
{
  g_autofree guint32 *scratch = NULL;
  const guint32 *rows;

  if (part->n == 0)
    return TRUE;
  if (part->rows == NULL)
    {
      for (guint32 c = part->first / OVS_CHUNK_ROWS; c <= (part->first + part->n - 1) / OVS_CHUNK_ROWS; c++)
        touch (touched, c);
      return TRUE;
    }
  if ((guint64) touched->len + part->n > 16 * (guint64) n_chunks + 256)
    return FALSE;
  rows = ovs_part_peek_rows (part, &scratch);
  for (guint32 i = 0; i < part->n; i++)
    touch (touched, rows[i] / OVS_CHUNK_ROWS);
  return TRUE;
}

static guint64
get_word (const OvsBits *bits, guint32 n, guint32 w)
{
  guint32 end = n - MIN (n, w * 64);
  guint64 word = bits == NULL ? G_MAXUINT64 : w * 64 < bits->n ? bits->words[w] : 0;

  return end >= 64 ? word : word & ((G_GUINT64_CONSTANT (1) << end) - 1);
}

/* Rows that may have elements and are not live. */
static void
touch_dead (GArray *touched, const OvsFoldStep *step)
{
  if (step->live == NULL || (step->base != NULL && step->base->live == step->live) || (step->base == NULL && !step->flat))
    return;
  for (guint32 w = 0; w < (step->n_rows + 63) / 64; w++)
    {
      guint64 before = step->base != NULL ? get_word (step->base->live, step->base->n_rows, w) : G_MAXUINT64;

      if (before & ~get_word (step->live, step->n_rows, w) & get_word (NULL, step->n_rows, w))
        touch (touched, w * 64 / OVS_CHUNK_ROWS);
    }
}

/* The chunks that the step changes, once each. */
static GArray *
find_touched (const OvsFoldColumn *column, const OvsFoldStep *step, guint s)
{
  GArray *touched = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint32 n_chunks = ovs_ragged_n_chunks (step->n_rows);
  guint n = 0;

  for (guint i = step->from_step; i <= s; i++)
    {
      const OvsWriteSet *set = column->steps[i].set;

      for (guint p = i == step->from_step ? step->from_part + step->flat : 0; set != NULL && p < set->n_parts; p++)
        if (!touch_part (touched, &set->parts[p], n_chunks))
          {
            touch_all (touched, n_chunks);
            return touched;
          }
    }
  touch_dead (touched, step);
  g_array_sort (touched, compare_u32);
  for (guint i = 0; i < touched->len; i++)
    if (n == 0 || g_array_index (touched, guint32, i) != g_array_index (touched, guint32, n - 1))
      g_array_index (touched, guint32, n++) = g_array_index (touched, guint32, i);
  g_array_set_size (touched, n);
  return touched;
}

static gboolean
plan_chunks (OvsFold *fold, OvsFoldStep *step, const GArray *touched)
{
  for (guint i = 0; i < touched->len; i++)
    {
      guint32 chunk = g_array_index (touched, guint32, i);
      guint32 last = MIN (chunk * OVS_CHUNK_ROWS + OVS_CHUNK_ROWS, step->n_rows) - 1;
      gsize size = ovs_ragged_chunk_size (last, step->n_rows);
      OvsFreshChunk fresh = { last, NULL };

      if (step->in_place && ovs_ragged_owns_chunk (step->base->ragged, last))
        continue;
      fresh.records = ovs_pool_alloc (fold->context.pool, size);
      if (fresh.records == NULL)
        return FALSE;
      if (step->fresh == NULL)
        {
          step->fresh = g_array_new (FALSE, FALSE, sizeof (OvsFreshChunk));
          g_array_set_clear_func (step->fresh, clear_fresh);
        }
      g_array_append_val (step->fresh, fresh);
      fold->work += size;
    }
  return TRUE;
}

gboolean
ovs_fold_plan_array (OvsFold *fold, OvsFoldColumn *column, gboolean may_fold_in_place, guint s)
{
  OvsFoldStep *step = &column->steps[s];
  guint32 n_chunks = ovs_ragged_n_chunks (step->n_rows);
  const OvsRagged *below = step->base != NULL ? step->base->ragged : NULL;
  g_autoptr (GArray) touched = NULL;

  step->flat = step->base == NULL && column->steps[step->from_step].set != NULL &&
               step->from_part < column->steps[step->from_step].set->n_parts &&
               column->steps[step->from_step].set->parts[step->from_part].rows == NULL &&
               column->steps[step->from_step].set->parts[step->from_part].first == 0;
  step->in_place = may_fold_in_place && below->n_chunks >= n_chunks;
  if (step->in_place)
    step->version->ragged = ovs_ragged_ref (step->base->ragged);
  else
    {
      step->version->ragged = ovs_ragged_new (step->n_rows);
      fold->work += n_chunks * sizeof (gpointer);
    }
  step->repack = !fold->context.is_peek && s + 1 == column->n_steps && below != NULL && ovs_ragged_is_wasteful (below);
  if (step->repack)
    fold->work += below->named;

  touched = find_touched (column, step, s);
  if (!plan_chunks (fold, step, touched))
    return FALSE;
  for (guint i = step->from_step; i <= s; i++)
    {
      const OvsWriteSet *set = column->steps[i].set;

      for (guint p = i == step->from_step ? step->from_part + step->flat : 0; set != NULL && p < set->n_parts; p++)
        fold->work += (gsize) set->parts[p].n * sizeof (OvsArrayRow);
    }
  return TRUE;
}

/* Of the buffers that come with a part, what its records do not name. */
static void
count_waste (OvsRagged *ragged, const OvsPart *part, gsize named)
{
  ragged->waste += part->heap_bytes - MIN (part->heap_bytes, named);
}

static void
run_part (OvsRagged *ragged, const OvsPart *part)
{
  const OvsArrayRow *records = (const OvsArrayRow *) part->values->data;
  const guint32 *rows = ovs_part_get_rows (part);
  gsize named = 0;

  for (guint32 i = 0; i < part->n; i++)
    {
      ovs_ragged_set_row (ragged, rows != NULL ? rows[i] : part->first + i, &records[i]);
      named += records[i].size;
    }
  count_waste (ragged, part, named);
}

static void
clear_dead (OvsRagged *ragged, const OvsFoldStep *step)
{
  static const OvsArrayRow none = { NULL, 0, 0 };

  if (step->live == NULL || (step->base != NULL && step->base->live == step->live))
    return;
  for (guint32 w = 0; w < (step->n_rows + 63) / 64; w++)
    for (guint64 dead = ~get_word (step->live, step->n_rows, w) & get_word (NULL, step->n_rows, w); dead != 0; dead &= dead - 1)
      {
        guint32 row = w * 64 + (guint32) __builtin_ctzll (dead);

        if (ovs_ragged_get_row (ragged, row)->buffer != NULL)
          ovs_ragged_set_row (ragged, row, &none);
      }
}

void
ovs_fold_run_array (OvsFold *fold, OvsFoldColumn *column, guint s)
{
  OvsFoldStep *step = &column->steps[s];
  OvsRagged *ragged = step->version->ragged;

  if (step->base != NULL && !step->in_place)
    ovs_ragged_share (ragged, step->base->ragged);
  if (step->flat)
    {
      const OvsPart *part = &column->steps[step->from_step].set->parts[step->from_part];

      ovs_ragged_set_flat (ragged, part->values, part->n);
      count_waste (ragged, part, ragged->named);
    }
  for (guint i = 0; step->fresh != NULL && i < step->fresh->len; i++)
    {
      OvsFreshChunk *fresh = &g_array_index (step->fresh, OvsFreshChunk, i);

      ovs_ragged_own_chunk (ragged, fresh->row, g_steal_pointer (&fresh->records));
    }
  for (guint i = step->from_step; i <= s; i++)
    {
      const OvsWriteSet *set = column->steps[i].set;

      for (guint p = i == step->from_step ? step->from_part + step->flat : 0; set != NULL && p < set->n_parts; p++)
        run_part (ragged, &set->parts[p]);
    }
  clear_dead (ragged, step);
  if (step->repack || (!fold->context.is_peek && s + 1 == column->n_steps && ragged->named <= REPACK_AT_ONCE && ovs_ragged_is_wasteful (ragged)))
    ovs_ragged_repack (ragged, fold->context.pool);
}
