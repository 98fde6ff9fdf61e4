/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The end of a fold: its versions become those of the columns, what changed is noted,
 * and what nobody can ask for any more is forgotten. Under the stage lock, so bytes are
 * not looked at. */

#include "config.h"

#include "column/ovs-fold-private.h"

#include <string.h>

#define LEAST_CHANGE_BUDGET (256 * 1024)
/* Of a table of rows. */
#define FEW_CHUNKS 16

static void
set_target (OvsDelta *delta, const OvsPart *part)
{
  OvsTarget *target = &delta->targets[delta->n_targets++];

  target->first = part->first;
  target->n = part->n;
  if (part->rows == NULL)
    return;
  target->rows = ovs_buffer_ref (part->rows);
  delta->bytes += part->rows->capacity;
}

/* Notes what the set of a step changed. */
static void
note_change (const OvsFoldColumn *fold_column, const OvsFoldStep *step)
{
  OvsColumn *column = fold_column->column;
  const OvsWriteSet *set = step->set;
  const OvsPart *all = NULL;
  OvsDelta *delta;

  for (guint i = 0; i < set->n_parts && all == NULL; i++)
    if (ovs_fold_part_covers (fold_column, step, &set->parts[i]))
      all = &set->parts[i];
  if (all != NULL && all->rows == NULL)
    {
      ovs_column_add_change_of_run (column, step->ordinal, all->n);
      return;
    }

  delta = ovs_delta_new (column->numbering, column->layout, all != NULL ? 1 : set->n_parts);
  delta->all = all != NULL;
  if (all != NULL)
    set_target (delta, all);
  for (guint i = 0; i < set->n_parts && all == NULL; i++)
    set_target (delta, &set->parts[i]);
  ovs_column_add_change (column, step->ordinal, delta);
}

static void
drop_version (OvsFold *fold, OvsColumn *column, OvsVersion *version)
{
  gboolean is_last = g_atomic_int_get (&version->refs) == 1;

  if (is_last && version->values != NULL && fold->context.spares != NULL)
    ovs_spares_unref (fold->context.spares, g_steal_pointer (&version->values));
  /* A table of many rows is not taken apart under the lock. */
  if (is_last && version->ragged != NULL && version->ragged->n_chunks > FEW_CHUNKS)
    {
      if (fold->dropped == NULL)
        fold->dropped = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_ragged_unref);
      g_ptr_array_add (fold->dropped, g_steal_pointer (&version->ragged));
    }
  if (!ovs_version_retire (version))
    return;
  if (column->spare_version == NULL && version->layout == column->layout)
    column->spare_version = version;
  else
    ovs_version_free_retired (version);
}

static void
remove_version (OvsFold *fold, OvsColumn *column, guint i)
{
  GPtrArray *versions = column->versions;
  OvsVersion *version = versions->pdata[i];

  versions->len--;
  memmove (versions->pdata + i, versions->pdata + i + 1, (versions->len - i) * sizeof *versions->pdata);
  drop_version (fold, column, version);
}

/* Drops the versions that neither history nor a pin keeps, and tells the column's frontier. */
static void
trim_history (OvsFold *fold, OvsColumn *column, guint n_new)
{
  GPtrArray *versions = column->versions;
  guint n_before = versions->len - n_new;
  guint n_kept_before = fold->context.history_depth > n_new ? fold->context.history_depth - n_new : 0;

  for (guint i = n_before; i > 0; i--)
    {
      const OvsVersion *version = versions->pdata[i - 1];
      gboolean by_history = version->ordinal >= column->frontier && n_kept_before > 0;
      gboolean by_pin = FALSE;

      if (by_history)
        {
          n_kept_before--;
          continue;
        }
      for (guint p = 0; p < fold->context.n_pins; p++)
        by_pin = by_pin || (version->ordinal <= fold->context.pins[p] && fold->context.pins[p] < version->until);
      if (!by_pin)
        remove_version (fold, column, i - 1);
    }
}

/* What a step made, for the column to keep. */
static OvsVersion *
take_version (OvsFoldColumn *column, guint i)
{
  OvsFoldStep *step = &column->steps[i];

  if (step->lent)
    column->steps[step->from_step].set->parts[step->from_part - 1].values = NULL;
  return g_steal_pointer (&step->version);
}

/* The usual seal: one version takes the place of another. */
static void
replace_version (OvsFold *fold, OvsFoldColumn *fold_column)
{
  OvsColumn *column = fold_column->column;
  OvsVersion *before = column->versions->pdata[0];
  guint64 ordinal = fold_column->steps[0].ordinal;

  before->until = ordinal;
  column->versions->pdata[0] = take_version (fold_column, 0);
  if (before->ordinal >= column->frontier)
    column->frontier = MAX (column->frontier, ordinal);
  drop_version (fold, column, before);
}

static void
publish_versions (OvsFold *fold, OvsFoldColumn *fold_column)
{
  OvsColumn *column = fold_column->column;
  OvsVersion *current = ovs_column_get_current (column);
  guint depth = fold->context.history_depth;
  guint n_history = 0, n_new = 0;
  guint64 oldest;

  /* History counts ordinals, also those whose versions were merged into a later one. */
  for (guint i = 0; i < column->versions->len; i++)
    n_history += ((OvsVersion *) column->versions->pdata[i])->ordinal >= column->frontier;
  oldest = 0;
  if (n_history + fold_column->n_steps > depth)
    {
      if (fold_column->n_steps >= depth)
        oldest = fold_column->steps[fold_column->n_steps - depth].ordinal;
      else
        {
          guint n_kept = depth - fold_column->n_steps;

          oldest = ((OvsVersion *) column->versions->pdata[column->versions->len - n_kept])->ordinal;
        }
    }

  if (current != NULL)
    current->until = fold_column->steps[0].ordinal;
  for (guint i = 0; i < fold_column->n_steps; i++)
    {
      OvsFoldStep *step = &fold_column->steps[i];

      if (!step->keep)
        continue;
      if (i + 1 < fold_column->n_steps)
        step->version->until = fold_column->steps[i + 1].ordinal;
      g_ptr_array_add (column->versions, take_version (fold_column, i));
      n_new++;
    }
  trim_history (fold, column, n_new);
  column->frontier = MAX (column->frontier, oldest);
}

static void
publish_column (OvsFold *fold, OvsFoldAttr *fold_attr, OvsFoldColumn *fold_column)
{
  OvsColumn *column = fold_column->column;

  if (column->versions->len == 1 && fold_column->n_steps == 1 && fold->context.history_depth == 1 && fold->context.n_pins == 0)
    replace_version (fold, fold_column);
  else
    publish_versions (fold, fold_column);
  for (guint i = 0; i < fold_column->n_steps; i++)
    if (fold_column->steps[i].set != NULL)
      note_change (fold_column, &fold_column->steps[i]);
  if (fold_column->compaction != NULL)
    ovs_fold_publish_compaction (fold, fold_attr, fold_column);
}

/* Forgets the generations that no read can ask for: neither of a version nor of a range. */
static void
trim_generations (OvsAttr *attr)
{
  const OvsGeneration *generations = (const OvsGeneration *) attr->generations->data;
  guint64 oldest = MAX (attr->change_frontier, attr->merged);
  guint n = 0;

  for (guint i = 0; i < attr->columns->len; i++)
    {
      const OvsColumn *column = attr->columns->pdata[i];

      if (column->versions->len > 0)
        oldest = MIN (oldest, ((OvsVersion *) column->versions->pdata[0])->ordinal);
    }
  while (n + 1 < attr->generations->len && generations[n + 1].ordinal <= oldest)
    n++;
  if (n > attr->generations->len / 2)
    g_array_remove_range (attr->generations, 0, n);
}

/* Records of changes are kept within a budget. */
static void
trim_changes (const OvsFold *fold, OvsAttr *attr)
{
  gsize budget = fold->context.change_budget, size = 0;

  if (attr->change_bytes <= (budget != 0 ? budget : LEAST_CHANGE_BUDGET))
    return;
  for (guint i = 0; i < attr->columns->len && budget == 0; i++)
    {
      const OvsVersion *current = ovs_column_get_current (attr->columns->pdata[i]);

      size += current != NULL ? (gsize) current->n_rows * current->row_size : 0;
    }
  if (budget == 0)
    budget = MAX (LEAST_CHANGE_BUDGET, size / 4);
  if (attr->change_bytes > budget)
    ovs_attr_trim_changes (attr, budget, ovs_change_holds_get_lowest (fold->context.holds, attr->token));
}

gsize
ovs_fold_publish (OvsFold *fold)
{
  gsize bytes = 0;

  for (OvsFoldAttr *fold_attr = fold->attrs; fold_attr != NULL; fold_attr = fold_attr->next)
    {
      OvsAttr *attr = fold_attr->attr;

      for (OvsFoldColumn *column = fold_attr->columns; column != NULL; column = column->next)
        if (column->n_steps > 0)
          publish_column (fold, fold_attr, column);
      for (guint i = 0; fold_attr->changes != NULL && i < fold_attr->changes->len; i++)
        {
          OvsGeneration generation = { g_array_index (fold_attr->changes, guint64, i), 1 };

          if (attr->generations->len > 0)
            generation.generation += g_array_index (attr->generations, OvsGeneration, attr->generations->len - 1).generation;
          g_array_append_val (attr->generations, generation);
        }
      for (guint i = 0; fold_attr->deaths != NULL && i < fold_attr->deaths->len; i++)
        ovs_attr_add_deaths (attr, ovs_deaths_ref (fold_attr->deaths->pdata[i]));
      trim_changes (fold, attr);
      if (fold_attr->changes != NULL)
        trim_generations (attr);
      if (attr->deletes->len > 0)
        ovs_deletes_retire (attr->deletes, fold_attr->ordinal);
      for (guint i = 0; i < fold_attr->n_sets; i++)
        bytes += ((OvsWriteSet *) attr->sets->pdata[i])->bytes;
      ovs_attr_remove_sets (attr, fold_attr->n_sets);
      if (attr->structure_max <= fold_attr->ordinal)
        attr->structure_max = 0;
    }
  return bytes;
}
