/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The bytes of a fold: no lock is held, and slices of the rows may be made at the same
 * time. */

#include "config.h"

#include "column/ovs-fold-private.h"

#include <string.h>

#include "base/ovs-copy.h"
#include "device/ovs-device.h"

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
