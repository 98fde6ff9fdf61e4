/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Records that somebody holds beyond the budget.
 *
 * Who is slow wants to know what changed since, with the newest change of each prim,
 * and not how often it did. So of the records up to the oldest version that is kept,
 * the newest of each row is left, and the rest is forgotten: a log is bounded by rows
 * then, however long nobody looks. What cannot be told any more are ranges that end
 * below the newest of these records. */

#include "config.h"

#include "column/ovs-column.h"

#include <string.h>

/* Prims and records that were met already: from the newest to the oldest. */
typedef struct
{
  GHashTable *deltas; /* (owned) OvsDelta */
  guint64 *words;     /* (owned) by path id */
  gsize n_words;
} Seen;

static void
clear_seen (Seen *seen)
{
  g_clear_pointer (&seen->deltas, g_hash_table_unref);
  g_clear_pointer (&seen->words, g_free);
  seen->n_words = 0;
}

/* Tells whether it is new. */
static gboolean
see (Seen *seen, guint32 prim)
{
  guint64 bit = G_GUINT64_CONSTANT (1) << (prim % 64);
  gsize n_words = seen->n_words;
  gboolean is_new;

  if (prim / 64 >= n_words)
    {
      seen->n_words = MAX ((gsize) prim / 64 + 1, 2 * n_words);
      seen->words = g_renew (guint64, seen->words, seen->n_words);
      memset (seen->words + n_words, 0, sizeof *seen->words * (seen->n_words - n_words));
    }
  is_new = (seen->words[prim / 64] & bit) == 0;
  seen->words[prim / 64] |= bit;
  return is_new;
}

static void
see_deaths (Seen *seen, const OvsDeaths *deaths)
{
  for (guint32 i = 0; i < deaths->n; i++)
    see (seen, deaths->prims[i]);
}

/* Numbers them as the head of the column does, if it has all of them: no layout is to be kept for a few rows. */
static gboolean
renumber (OvsColumn *column, const OvsDelta *delta, guint32 *rows, guint n)
{
  g_autofree guint32 *now = NULL;

  if (delta->numbering == column->numbering)
    return FALSE;
  now = g_new (guint32, n);
  for (guint i = 0; i < n; i++)
    {
      now[i] = ovs_layout_find (column->layout, ovs_layout_get_prim (delta->layout, rows[i]));
      if (now[i] == OVS_INDEX_NONE)
        return FALSE;
    }
  memcpy (rows, now, sizeof *rows * n);
  return TRUE;
}

/* A record of @rows, which stand where those of @like do, or in the head of the column. */
static OvsDelta *
new_delta (OvsColumn *column, const OvsDelta *like, gboolean renumbered, const guint32 *rows, guint n)
{
  guint n_runs = 1;
  gboolean as_runs;
  OvsDelta *delta;

  for (guint i = 1; i < n; i++)
    n_runs += rows[i] != rows[i - 1] + 1;
  as_runs = n_runs * sizeof (OvsTarget) <= sizeof (OvsTarget) + sizeof (OvsBuffer) + n * sizeof *rows;
  delta = renumbered ? ovs_delta_new (column->numbering, column->layout, as_runs ? n_runs : 1)
                     : ovs_delta_new (like->numbering, like->layout, as_runs ? n_runs : 1);
  if (!as_runs)
    {
      gsize size = sizeof *rows * n;
      guint32 *kept = g_memdup2 (rows, size);

      delta->targets[0] = (OvsTarget){ 0, n, ovs_buffer_new_adopted (kept, size, g_free, kept) };
      delta->n_targets = 1;
      delta->bytes += sizeof (OvsBuffer) + size;
      return delta;
    }
  for (guint i = 0; i < n; i++)
    if (i > 0 && rows[i] == rows[i - 1] + 1)
      delta->targets[delta->n_targets - 1].n++;
    else
      delta->targets[delta->n_targets++] = (OvsTarget){ rows[i], 1, NULL };
  return delta;
}

/* What is left of a record once the rows that changed or died later are out: @delta itself, another one, or NULL. */
static OvsDelta *
keep_unseen (OvsColumn *column, OvsDelta *delta, Seen *seen)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (guint32));
  gboolean renumbered, whole = TRUE;

  for (guint t = 0; t < delta->n_targets; t++)
    {
      const OvsTarget *target = &delta->targets[t];
      const guint32 *named = target->rows != NULL ? (const guint32 *) target->rows->data : NULL;

      for (guint32 i = 0; i < target->n; i++)
        {
          guint32 row = named != NULL ? named[i] : target->first + i;

          if (see (seen, ovs_layout_get_prim (delta->layout, row)))
            g_array_append_val (rows, row);
          else
            whole = FALSE;
        }
    }
  if (rows->len == 0)
    return NULL;
  renumbered = renumber (column, delta, (guint32 *) rows->data, rows->len);
  return whole && !renumbered ? delta : new_delta (column, delta, renumbered, (const guint32 *) rows->data, rows->len);
}

static void
merge_column (OvsColumn *column)
{
  OvsAttr *attr = column->attr;
  OvsChanges *changes = &column->changes;
  guint64 end = ((OvsVersion *) column->versions->pdata[0])->ordinal;
  guint n = ovs_changes_count (changes, end), kept = n, n_deaths = ovs_changes_count (&attr->deaths, end);
  OvsChange *records = changes->records + changes->first;
  Seen seen = { g_hash_table_new (NULL, NULL) };
  gboolean all = FALSE, forgotten = FALSE;
  guint64 newest = n > 0 ? records[n - 1].ordinal : 0;

  if (n_deaths > 0)
    newest = MAX (newest, ovs_changes_get (&attr->deaths, n_deaths - 1)->ordinal);
  for (guint i = n; i > 0; i--)
    {
      OvsChange record = records[i - 1];
      OvsDelta *delta = record.what, *left = NULL;

      for (; n_deaths > 0 && ovs_changes_get (&attr->deaths, n_deaths - 1)->ordinal >= record.ordinal; n_deaths--)
        see_deaths (&seen, ovs_changes_get (&attr->deaths, n_deaths - 1)->what);
      if (!all && g_hash_table_add (seen.deltas, delta))
        left = delta->all ? delta : keep_unseen (column, delta, &seen);
      /* Whatever lived at a change of all changed then, and the rest had died or moved. */
      all = all || delta->all;
      forgotten = forgotten || left != delta;
      if (left != NULL && left != delta)
        {
          left->n_records = 1;
          attr->change_bytes += OVS_CHANGE_BYTES + left->bytes;
        }
      if (left != NULL)
        records[--kept] = (OvsChange){ record.ordinal, left };
      if (left != delta)
        ovs_attr_drop_delta (attr, delta);
    }
  changes->first += kept;
  changes->n -= kept;
  if (forgotten)
    attr->merged = MAX (attr->merged, newest);
  clear_seen (&seen);
}

/* The same for the prims that ceased to carry the attribute. */
static void
merge_deaths (OvsAttr *attr, guint64 end)
{
  OvsChanges *log = &attr->deaths;
  guint n = ovs_changes_count (log, end), kept = n;
  OvsChange *records = log->records + log->first;
  guint64 newest = n > 0 ? records[n - 1].ordinal : 0;
  Seen seen = { NULL };

  for (guint i = n; i > 0; i--)
    {
      OvsDeaths *deaths = records[i - 1].what;
      g_autofree guint32 *prims = g_new (guint32, deaths->n);
      guint32 n_left = 0;

      for (guint32 p = 0; p < deaths->n; p++)
        if (see (&seen, deaths->prims[p]))
          prims[n_left++] = deaths->prims[p];
      if (n_left == deaths->n)
        {
          records[--kept] = records[i - 1];
          continue;
        }
      attr->merged = MAX (attr->merged, newest);
      attr->change_bytes -= ovs_deaths_get_bytes (deaths);
      if (n_left > 0)
        {
          OvsDeaths *left = ovs_deaths_new (deaths->ordinal, prims, n_left);

          attr->change_bytes += ovs_deaths_get_bytes (left);
          records[--kept] = (OvsChange){ left->ordinal, left };
        }
      ovs_deaths_unref (deaths);
    }
  log->first += kept;
  log->n -= kept;
  clear_seen (&seen);
}

void
ovs_attr_merge_changes (OvsAttr *attr)
{
  guint64 end = 0;

  for (guint i = 0; i < attr->columns->len; i++)
    {
      OvsColumn *column = attr->columns->pdata[i];

      if (column->versions->len == 0)
        continue;
      merge_column (column);
      end = MAX (end, ((OvsVersion *) column->versions->pdata[0])->ordinal);
    }
  merge_deaths (attr, end);
  attr->merged_bytes = attr->change_bytes;
}
