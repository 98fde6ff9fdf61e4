/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-fold-private.h"

#include <string.h>

#include "base/ovs-copy.h"
#include "base/ovs-debug.h"
#include "device/ovs-device.h"

#define LEAST_CHANGE_BUDGET (256 * 1024)

OvsFold *
ovs_fold_new (const OvsFoldContext *context)
{
  OvsFold *fold = g_new (OvsFold, 1);

  ovs_fold_begin (fold, context);
  return fold;
}

void
ovs_fold_begin (OvsFold *fold, const OvsFoldContext *context)
{
  g_assert (context->n_pins <= OVS_FOLD_MAX_PINS);

  fold->context = *context;
  for (guint i = 0; i < context->n_pins; i++)
    fold->pins[i] = context->pins[i];
  fold->context.pins = fold->pins;
  fold->attrs = NULL;
  fold->finishes = FALSE;
  fold->work = 0;
  fold->n_columns = 0;
  fold->structure = NULL;
  fold->retired = NULL;
}

static void
clear_column (OvsFoldColumn *column)
{
  for (guint i = 0; i < column->n_steps; i++)
    {
      g_clear_pointer (&column->steps[i].live, ovs_bits_unref);
      if (column->steps[i].version != NULL && column->steps[i].lent)
        column->steps[i].version->values = NULL;
      g_clear_pointer (&column->steps[i].version, ovs_version_unref);
      g_clear_pointer (&column->steps[i].fresh, g_array_unref);
    }
  if (column->steps != &column->first_step)
    g_free (column->steps);
  g_clear_pointer (&column->compaction, ovs_compaction_free);
}

void
ovs_fold_clear (OvsFold *fold)
{
  while (fold->attrs != NULL)
    {
      OvsFoldAttr *attr = fold->attrs;

      fold->attrs = attr->next;
      while (attr->columns != NULL)
        {
          OvsFoldColumn *column = attr->columns;

          attr->columns = column->next;
          clear_column (column);
          if (column != &attr->first_column)
            g_free (column);
        }
      g_clear_pointer (&attr->changes, g_array_unref);
      g_clear_pointer (&attr->deaths, g_ptr_array_unref);
      if (attr != &fold->first_attr)
        g_free (attr);
    }
  g_clear_pointer (&fold->structure, g_array_unref);
  g_clear_pointer (&fold->retired, g_ptr_array_unref);
}

void
ovs_fold_free (OvsFold *fold)
{
  ovs_fold_clear (fold);
  g_free (fold);
}

static gboolean
has_deletes (const OvsDeletes *deletes, guint32 token, guint64 floor, guint64 ordinal)
{
  for (guint i = 0; i < deletes->len; i++)
    {
      const OvsDelete *delete = deletes->pdata[i];

      if (delete->ordinal > floor && delete->ordinal <= ordinal && ovs_delete_touches (delete, token))
        return TRUE;
    }
  return FALSE;
}

/* The step or version visible at @pin is kept beside the newest ones. */
static void
keep_pinned (OvsFoldColumn *column, guint64 pin)
{
  for (guint i = column->n_steps; i > 0; i--)
    if (column->steps[i - 1].ordinal <= pin)
      {
        column->steps[i - 1].keep = TRUE;
        return;
      }
  column->keep_base = TRUE;
}

/* No row of the version is live from @n on. */
static gboolean
covers_live (const OvsFoldStep *step, guint32 n)
{
  if (n >= step->n_rows)
    return TRUE;
  if (step->live == NULL)
    return FALSE;
  for (guint32 i = n; i < step->n_rows; i++)
    if (ovs_bits_get (step->live, i))
      return FALSE;
  return TRUE;
}

static gboolean
part_covers (const OvsFoldColumn *column, const OvsFoldStep *step, const OvsPart *part)
{
  if (part->rows == NULL)
    return part->first == 0 && covers_live (step, part->n);
  return part->capacity == 0 && !column->moved && part->n == step->n_live;
}

/* Whether bytes follow part @p of step @from, up to step @s. */
static gboolean
has_parts (const OvsFoldColumn *column, guint from, guint p, guint s)
{
  for (guint i = from; i <= s; i++, p = 0)
    if (column->steps[i].set != NULL && column->steps[i].set->n_parts > p)
      return TRUE;
  return FALSE;
}

/* The bytes of a covering run, number @p of step @i, can be those of step @s. What was handed over is never written,
 * nor what a peek or a user holds. */
static gboolean
can_become_version (const OvsFold *fold, const OvsFoldColumn *column, guint i, guint p, guint s, gsize size)
{
  const OvsWriteSet *set = column->steps[i].set;
  const OvsPart *part = &set->parts[p];

  if (part->rows != NULL || part->values->capacity < size)
    return FALSE;
  if (!has_parts (column, i, p + 1, s))
    return TRUE;
  return !fold->context.is_peek && ovs_buffer_is_writable (part->values) && ovs_buffer_is_exclusive (part->values);
}

static gboolean
may_fold_in_place (const OvsVersion *base, gboolean keep_base, gsize size)
{
  OvsDebugFlags flags = ovs_debug_flags ();

  if (flags & OVS_DEBUG_COPY || (flags & OVS_DEBUG_RANDOM && g_random_boolean ()))
    return FALSE;
  return !keep_base && ovs_buffer_is_writable (base->values) && g_atomic_int_get (&base->refs) == 1 &&
         ovs_buffer_is_exclusive (base->values) && base->values->capacity >= size;
}

static gboolean
may_fold_arrays_in_place (const OvsVersion *base, gboolean keep_base)
{
  OvsDebugFlags flags = ovs_debug_flags ();

  if (flags & OVS_DEBUG_COPY || (flags & OVS_DEBUG_RANDOM && g_random_boolean ()))
    return FALSE;
  return !keep_base && g_atomic_int_get (&base->refs) == 1 && g_atomic_int_get (&base->ragged->refs) == 1;
}

/* Takes @values. */
static void
make_version (OvsFold *fold, OvsColumn *target, OvsFoldStep *step, OvsBuffer *values)
{
  OvsVersion *version = !fold->context.is_peek ? g_steal_pointer (&target->spare_version) : NULL;

  step->version = ovs_version_renew (version, &target->schema, target->row_size, step->ordinal, target->layout, step->n_rows, step->n_live,
                                     step->live != NULL ? ovs_bits_ref (step->live) : NULL, values);
  step->version->numbering = target->numbering;
}

/* The last part after step @previous that covers what is live makes everything before it moot. */
static gboolean
find_cover (OvsFoldColumn *column, gint previous, guint s)
{
  OvsFoldStep *step = &column->steps[s];

  for (guint i = s + 1; i > (guint) (previous + 1); i--)
    {
      const OvsWriteSet *set = column->steps[i - 1].set;

      for (guint p = set != NULL ? set->n_parts : 0; p > 0; p--)
        if (part_covers (column, step, &set->parts[p - 1]))
          {
            step->base = NULL;
            step->from_step = i - 1;
            step->from_part = p - 1;
            return TRUE;
          }
    }
  return FALSE;
}

/* Finds where the bytes of step @s come from, after those of step @previous (-1: the current version), and makes its
 * version around them. */
static gboolean
plan_version (OvsFold *fold, OvsFoldColumn *column, gint previous, guint s)
{
  OvsFoldStep *step = &column->steps[s];
  OvsColumn *target = column->column;
  const OvsVersion *base = previous >= 0 ? column->steps[previous].version : ovs_column_get_current (target);
  gsize size = (gsize) step->n_rows * target->row_size;
  OvsBuffer *values = NULL;
  gboolean covered;

  step->from_step = (guint) (previous + 1);
  step->from_part = 0;
  step->base = base;

  covered = find_cover (column, previous, s);
  if (target->schema.is_array)
    {
      gboolean in_place = !covered && previous < 0 && base != NULL && may_fold_arrays_in_place (base, column->keep_base);

      make_version (fold, target, step, NULL);
      fold->finishes = TRUE;
      return ovs_fold_plan_array (fold, column, in_place, s);
    }
  if (covered)
    {
      const OvsPart *part = &column->steps[step->from_step].set->parts[step->from_part];

      if (can_become_version (fold, column, step->from_step, step->from_part, s, size))
        {
          /* The part has no use for them once it is folded. */
          values = fold->context.is_peek ? ovs_buffer_ref (part->values) : part->values;
          step->lent = !fold->context.is_peek;
          step->from_part++; /* its bytes are there */
        }
      else if ((values = ovs_pool_alloc (fold->context.pool, size)) == NULL)
        return FALSE;
      base = NULL;
    }

  if (values == NULL && base != NULL && base->n_rows == step->n_rows && !has_parts (column, step->from_step, 0, s))
    {
      /* Rows went, and no bytes came. */
      values = ovs_buffer_ref (base->values);
      step->base = NULL;
    }
  if (values == NULL && base != NULL && previous < 0 && may_fold_in_place (base, column->keep_base, size))
    {
      values = ovs_buffer_ref (base->values);
      step->base = NULL;
    }
  if (values == NULL)
    {
      values = ovs_pool_alloc (fold->context.pool, size);
      if (values == NULL)
        return FALSE;
      if (base != NULL)
        fold->work += (gsize) MIN (base->n_rows, step->n_rows) * target->row_size;
    }

  for (guint i = step->from_step; i <= s; i++)
    {
      const OvsWriteSet *set = column->steps[i].set;

      for (guint p = i == step->from_step ? step->from_part : 0; set != NULL && p < set->n_parts; p++)
        fold->work += (gsize) set->parts[p].n * target->row_size;
    }
  make_version (fold, target, step, values);
  return TRUE;
}

static gboolean
plan_column (OvsFold *fold, OvsFoldAttr *attr, OvsFoldColumn *column, GError **error)
{
  guint depth = fold->context.history_depth;
  gint previous = -1;

  for (guint i = column->n_steps - MIN (column->n_steps, depth); i < column->n_steps; i++)
    column->steps[i].keep = TRUE;
  column->keep_base = column->n_steps < depth || fold->context.is_peek;
  for (guint i = 0; i < fold->context.n_pins; i++)
    {
      const OvsVersion *current = ovs_column_get_current (column->column);

      if (fold->context.pins[i] >= column->steps[0].ordinal || (current != NULL && fold->context.pins[i] >= current->ordinal))
        keep_pinned (column, fold->context.pins[i]);
    }

  for (guint i = 0; i < column->n_steps; i++)
    {
      if (!column->steps[i].keep)
        continue;
      if (!plan_version (fold, column, previous, i))
        return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %u rows of %u bytes",
                         column->steps[i].n_rows, column->column->row_size);
      previous = (gint) i;
    }
  if (!fold->context.is_peek)
    ovs_fold_plan_compaction (fold, attr, column);
  return TRUE;
}

gboolean
ovs_fold_plan (OvsFold *fold, OvsAttr *attr, guint64 floor, guint64 ordinal, GError **error)
{
  guint n_sets = ovs_attr_count_sets (attr, ordinal);
  gboolean deletes = has_deletes (attr->deletes, attr->token, 0, ordinal) ||
                     has_deletes (fold->context.prim_deletes, attr->token, floor, ordinal);
  OvsFoldAttr *fold_attr;

  if (n_sets == 0 && !deletes)
    return TRUE;
  fold_attr = fold->attrs == NULL ? &fold->first_attr : g_new (OvsFoldAttr, 1);
  fold_attr->attr = attr;
  fold_attr->ordinal = ordinal;
  fold_attr->n_sets = n_sets;
  fold_attr->columns = NULL;
  fold_attr->changes = NULL;
  fold_attr->deaths = NULL;
  fold_attr->next = fold->attrs;
  fold->attrs = fold_attr;

  if (!(deletes ? ovs_fold_plan_entries (fold, fold_attr, floor) : ovs_fold_plan_sets (fold, fold_attr)))
    return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for the rows of an attribute");
  for (OvsFoldColumn *column = fold_attr->columns; column != NULL; column = column->next)
    {
      if (column->n_steps == 0)
        continue;
      fold->n_columns++;
      if (!plan_column (fold, fold_attr, column, error))
        return FALSE;
    }
  return TRUE;
}

gsize
ovs_fold_get_work (OvsFold *fold)
{
  return fold->work;
}

GArray *
ovs_fold_steal_structure (OvsFold *fold)
{
  return g_steal_pointer (&fold->structure);
}

GPtrArray *
ovs_fold_steal_retired (OvsFold *fold)
{
  return g_steal_pointer (&fold->retired);
}

guint
ovs_fold_get_n_columns (OvsFold *fold)
{
  return fold->n_columns;
}

/* The rows [first, end) of a column, which one slice of a fold makes. */
typedef struct
{
  guint32 first;
  guint32 end;
} Slice;

static gboolean
is_ascending (const guint32 *rows, guint32 n)
{
  guint32 descents = 0;

  for (guint32 i = 1; i < n; i++)
    descents += rows[i] <= rows[i - 1];
  return descents == 0;
}

static guint32
bisect (const guint32 *rows, guint32 n, guint32 row)
{
  guint32 low = 0, high = n;

  while (low < high)
    {
      guint32 middle = low + (high - low) / 2;

      if (rows[middle] < row)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Calls out for each longest run of entries of a part that lie in the slice, in their order. */
static void
scatter_slice (guint8 *values, const OvsPart *part, guint32 row_size, Slice slice)
{
  const guint32 *rows = ovs_part_get_rows (part);

  for (guint32 i = 0; i < part->n;)
    {
      guint32 start;

      while (i < part->n && (rows[i] < slice.first || rows[i] >= slice.end))
        i++;
      for (start = i; i < part->n && rows[i] >= slice.first && rows[i] < slice.end;)
        i++;
      ovs_cpu_scatter (values, part->values->data + (gsize) start * row_size, rows + start, i - start, row_size);
    }
}

static void
run_part (guint8 *values, const OvsPart *part, guint32 row_size, Slice slice, gboolean whole)
{
  const guint32 *rows = ovs_part_get_rows (part);
  guint32 first = MAX (part->first, slice.first), end = MIN (part->first + part->n, slice.end);

  if (rows == NULL && first < end)
    memcpy (values + (gsize) first * row_size, part->values->data + (gsize) (first - part->first) * row_size,
            (gsize) (end - first) * row_size);
  else if (rows != NULL && whole)
    ovs_cpu_scatter (values, part->values->data, rows, part->n, row_size);
  else if (rows != NULL)
    scatter_slice (values, part, row_size, slice);
}

/* The base of a step, with the first part on top of it in one go if that is possible. Tells how many parts that was. */
static guint
copy_base (const OvsFoldColumn *column, const OvsFoldStep *step, guint8 *values, Slice slice)
{
  const OvsWriteSet *set = column->steps[step->from_step].set;
  const OvsPart *part = set != NULL && step->from_part < set->n_parts ? &set->parts[step->from_part] : NULL;
  const guint32 *rows = part != NULL ? ovs_part_get_rows (part) : NULL;
  const guint8 *base = step->base->values->data;
  guint32 row_size = column->column->row_size, end = MIN (MIN (step->base->n_rows, step->n_rows), slice.end);

  if (end <= slice.first)
    return 0;
  if (rows != NULL && is_ascending (rows, part->n))
    {
      guint32 from = bisect (rows, part->n, slice.first), to = bisect (rows, part->n, slice.end);

      ovs_cpu_copy_and_scatter (values, base, slice.first, end - slice.first, part->values->data + (gsize) from * row_size, rows + from,
                                to - from, row_size, ovs_copy_is_large ((gsize) step->base->n_rows * row_size));
      return 1;
    }
  memcpy (values + (gsize) slice.first * row_size, base + (gsize) slice.first * row_size, (gsize) (end - slice.first) * row_size);
  return 0;
}

static void
run_step (OvsFoldColumn *column, guint s, Slice slice, gboolean whole)
{
  const OvsFoldStep *step = &column->steps[s];
  guint8 *values = step->version->values->data;
  guint from_part = step->from_part;

  if (step->base != NULL)
    from_part += copy_base (column, step, values, slice);
  for (guint i = step->from_step; i <= s; i++)
    {
      const OvsWriteSet *set = column->steps[i].set;

      for (guint p = i == step->from_step ? from_part : 0; set != NULL && p < set->n_parts; p++)
        run_part (values, &set->parts[p], column->column->row_size, slice, whole);
    }
}

/* Slices meet at whole cache lines, whatever the size of a row. */
static guint32
slice_boundary (guint32 n_rows, guint slice, guint n_slices)
{
  return slice == n_slices ? G_MAXUINT32 : (guint32) ((guint64) n_rows * slice / n_slices / 64 * 64);
}

void
ovs_fold_run (OvsFold *fold, guint slice, guint n_slices)
{
  if (fold->work == 0)
    return;
  for (OvsFoldAttr *attr = fold->attrs; attr != NULL; attr = attr->next)
    for (OvsFoldColumn *column = attr->columns; column != NULL; column = column->next)
      {
        guint32 n_rows = column->n_steps > 0 ? column->steps[column->n_steps - 1].n_rows : 0;
        Slice rows = { slice_boundary (n_rows, slice, n_slices), slice_boundary (n_rows, slice + 1, n_slices) };

        for (guint i = 0; i < column->n_steps; i++)
          if (column->steps[i].keep && !column->column->schema.is_array)
            run_step (column, i, rows, n_slices == 1);
      }
}

void
ovs_fold_finish (OvsFold *fold)
{
  if (!fold->finishes)
    return;
  for (OvsFoldAttr *attr = fold->attrs; attr != NULL; attr = attr->next)
    for (OvsFoldColumn *column = attr->columns; column != NULL; column = column->next)
      {
        for (guint i = 0; column->column->schema.is_array && i < column->n_steps; i++)
          if (column->steps[i].keep)
            ovs_fold_run_array (fold, column, i);
        if (column->compaction != NULL)
          ovs_fold_run_compaction (column);
      }
}

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
    if (part_covers (fold_column, step, &set->parts[i]))
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
drop_version (const OvsFold *fold, OvsColumn *column, OvsVersion *version)
{
  if (g_atomic_int_get (&version->refs) == 1 && version->values != NULL && fold->context.spares != NULL)
    ovs_spares_unref (fold->context.spares, g_steal_pointer (&version->values));
  if (!ovs_version_retire (version))
    return;
  if (column->spare_version == NULL && version->layout == column->layout)
    column->spare_version = version;
  else
    ovs_version_free_retired (version);
}

static void
remove_version (const OvsFold *fold, OvsColumn *column, guint i)
{
  GPtrArray *versions = column->versions;
  OvsVersion *version = versions->pdata[i];

  versions->len--;
  memmove (versions->pdata + i, versions->pdata + i + 1, (versions->len - i) * sizeof *versions->pdata);
  drop_version (fold, column, version);
}

/* Drops the versions that neither history nor a pin keeps, and tells the column's frontier. */
static void
trim_history (const OvsFold *fold, OvsColumn *column, guint n_new)
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
replace_version (const OvsFold *fold, OvsFoldColumn *fold_column)
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
publish_versions (const OvsFold *fold, OvsFoldColumn *fold_column)
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
