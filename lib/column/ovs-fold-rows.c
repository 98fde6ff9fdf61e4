/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Which rows are live after each ordinal of a fold: rows that writes make appear,
 * prims that go from one schema to another, and deletes. */

#include "config.h"

#include "column/ovs-fold-private.h"

#include <string.h>

static OvsFoldColumn *
get_column (OvsFoldAttr *attr, OvsColumn *column)
{
  OvsFoldColumn *fold_column;

  for (fold_column = attr->columns; fold_column != NULL; fold_column = fold_column->next)
    if (fold_column->column == column)
      return fold_column;

  fold_column = attr->columns == NULL ? &attr->first_column : g_new (OvsFoldColumn, 1);
  fold_column->column = column;
  fold_column->keep_base = FALSE;
  fold_column->moved = FALSE;
  fold_column->n_steps = 0;
  fold_column->steps_capacity = 1;
  fold_column->steps = &fold_column->first_step;
  fold_column->compaction = NULL;
  fold_column->next = attr->columns;
  attr->columns = fold_column;
  return fold_column;
}

/* The state before the next step: the last step's, else the current version's. */
static void
get_state (OvsFoldColumn *column, OvsBits **live, guint32 *n_rows, guint32 *n_live)
{
  const OvsFoldStep *last = column->n_steps > 0 ? &column->steps[column->n_steps - 1] : NULL;
  const OvsVersion *current = ovs_column_get_current (column->column);

  *live = last != NULL ? last->live : current != NULL ? current->live : NULL;
  *n_rows = last != NULL ? last->n_rows : current != NULL ? current->n_rows : 0;
  *n_live = last != NULL ? last->n_live : current != NULL ? current->n_live : 0;
}

static OvsFoldStep *
get_step (OvsFoldColumn *column, guint64 ordinal)
{
  OvsFoldStep *step;
  OvsBits *live;
  guint32 n_rows, n_live;

  if (column->n_steps > 0 && column->steps[column->n_steps - 1].ordinal == ordinal)
    return &column->steps[column->n_steps - 1];

  get_state (column, &live, &n_rows, &n_live);
  if (column->n_steps == column->steps_capacity)
    {
      OvsFoldStep *steps = g_new (OvsFoldStep, column->steps_capacity * 2);

      memcpy (steps, column->steps, sizeof *steps * column->n_steps);
      if (column->steps != &column->first_step)
        g_free (column->steps);
      column->steps = steps;
      column->steps_capacity *= 2;
    }
  step = &column->steps[column->n_steps++];
  memset (step, 0, sizeof *step);
  step->ordinal = ordinal;
  step->live = live != NULL ? ovs_bits_ref (live) : NULL;
  step->n_rows = n_rows;
  step->n_live = n_live;
  return step;
}

/* Sees to it that the step's bitmap is its own, to be changed, and has room for @n_rows rows. A shared one is the state
 * of another step or version. */
static gboolean
own_live (OvsFoldStep *step, guint32 n_rows)
{
  OvsBits *live;

  n_rows = MAX (n_rows, step->n_rows);
  if (step->live != NULL && step->live->n == n_rows && g_atomic_int_get (&step->live->refs) == 1)
    return TRUE;
  live = ovs_bits_try_new_from (step->live, step->n_rows, n_rows);
  if (live == NULL)
    return FALSE;
  g_clear_pointer (&step->live, ovs_bits_unref);
  step->live = live;
  step->n_rows = n_rows;
  return TRUE;
}

static void
close_live (OvsFoldStep *step)
{
  if (step->n_live == step->n_rows)
    g_clear_pointer (&step->live, ovs_bits_unref);
}

/* A part that makes every row up to its end live needs no bitmap. */
static gboolean
is_whole_run (const OvsWriteSet *set, const OvsFoldStep *step)
{
  return set->n_parts == 1 && set->parts[0].rows == NULL && set->parts[0].first == 0 && set->parts[0].n >= step->n_rows;
}

void
ovs_structure_change_clear (OvsStructureChange *change)
{
  g_clear_pointer (&change->layout, ovs_layout_unref);
  g_clear_pointer (&change->prims, g_array_unref);
}

static OvsStructureChange *
add_structure (OvsFold *fold, guint64 ordinal, gint by)
{
  OvsStructureChange change = { .ordinal = ordinal, .change = by };

  if (fold->structure == NULL)
    {
      fold->structure = g_array_new (FALSE, FALSE, sizeof (OvsStructureChange));
      g_array_set_clear_func (fold->structure, (GDestroyNotify) ovs_structure_change_clear);
    }
  g_array_append_val (fold->structure, change);
  return &g_array_index (fold->structure, OvsStructureChange, fold->structure->len - 1);
}

static void
log_structure (OvsFold *fold, guint64 ordinal, guint32 prim, gint by)
{
  OvsStructureChange *change = NULL;

  if (ordinal <= fold->context.lowest_floor)
    return;
  if (fold->structure != NULL)
    change = &g_array_index (fold->structure, OvsStructureChange, fold->structure->len - 1);
  if (change == NULL || change->ordinal != ordinal || change->change != by || change->prims == NULL)
    {
      change = add_structure (fold, ordinal, by);
      change->prims = g_array_new (FALSE, FALSE, sizeof (guint32));
    }
  g_array_append_val (change->prims, prim);
}

/* All rows of a new column appear. */
static void
log_whole_run (OvsFold *fold, const OvsWriteSet *set)
{
  OvsStructureChange *change;

  if (set->ordinal <= fold->context.lowest_floor)
    return;
  change = add_structure (fold, set->ordinal, 1);
  change->layout = ovs_layout_ref (set->column->layout);
  change->n_rows = set->parts[0].n;
}

static gboolean
add_part (OvsFold *fold, OvsFoldStep *step, const OvsWriteSet *set, const OvsPart *part, gboolean *changed)
{
  g_autofree guint32 *scratch = NULL;
  const guint32 *rows = ovs_part_peek_rows (part, &scratch);
  guint32 end = ovs_part_get_end (part, rows);

  if (step->live == NULL && end <= step->n_rows)
    return TRUE;
  if (!own_live (step, end))
    return FALSE;
  for (guint32 j = 0; j < part->n; j++)
    {
      guint32 row = rows != NULL ? rows[j] : part->first + j;

      if (!ovs_bits_set (step->live, row))
        continue;
      step->n_live++;
      *changed = TRUE;
      log_structure (fold, set->ordinal, ovs_layout_get_prim (set->column->layout, row), 1);
    }
  close_live (step);
  return TRUE;
}

/* Makes the rows of a structural set live. Tells in @changed whether one was not. */
static gboolean
add_rows (OvsFold *fold, OvsFoldStep *step, const OvsWriteSet *set, gboolean *changed)
{
  if (is_whole_run (set, step) && (step->n_live == 0 || set->ordinal <= fold->context.lowest_floor))
    {
      log_whole_run (fold, set);
      *changed = set->parts[0].n != step->n_live;
      g_clear_pointer (&step->live, ovs_bits_unref);
      step->n_rows = step->n_live = set->parts[0].n;
      return TRUE;
    }
  for (guint i = 0; i < set->n_parts; i++)
    if (!add_part (fold, step, set, &set->parts[i], changed))
      return FALSE;
  return TRUE;
}

static OvsFoldColumn *
find_column (OvsFoldAttr *attr, OvsColumn *column)
{
  for (OvsFoldColumn *known = attr->columns; known != NULL; known = known->next)
    if (known->column == column)
      return known;
  return NULL;
}

/* Takes one prim out of a column, if it is there at this point of the fold. */
static gboolean
remove_prim (OvsFoldAttr *attr, OvsColumn *column, guint64 ordinal, guint32 prim, gboolean *removed)
{
  guint32 row = ovs_layout_find (column->layout, prim);
  OvsFoldColumn *fold_column = find_column (attr, column);
  OvsFoldStep *step;
  OvsBits *live;
  guint32 n_rows, n_live;

  *removed = FALSE;
  if (row == OVS_INDEX_NONE || (fold_column == NULL && ovs_column_get_current (column) == NULL))
    return TRUE;
  if (fold_column == NULL)
    fold_column = get_column (attr, column);
  get_state (fold_column, &live, &n_rows, &n_live);
  if (row >= n_rows || (live != NULL && !ovs_bits_get (live, row)))
    return TRUE;
  step = get_step (fold_column, ordinal);
  if (!own_live (step, 0))
    return FALSE;
  ovs_bits_clear (step->live, row);
  step->n_live--;
  *removed = TRUE;
  return TRUE;
}

/* Takes the prims of a part out of every other column of the attribute. */
static gboolean
move_part (OvsFold *fold, OvsFoldAttr *attr, const OvsWriteSet *set, const OvsPart *part, gboolean *changed)
{
  g_autofree guint32 *scratch = NULL;
  const guint32 *rows = ovs_part_peek_rows (part, &scratch);

  for (guint c = 0; c < attr->attr->columns->len; c++)
    {
      OvsColumn *other = attr->attr->columns->pdata[c];

      if (other == set->column || (find_column (attr, other) == NULL && ovs_column_get_current (other) == NULL))
        continue;
      for (guint32 j = 0; j < part->n; j++)
        {
          guint32 prim = ovs_layout_get_prim (set->column->layout, rows != NULL ? rows[j] : part->first + j);
          gboolean removed;

          if (!remove_prim (attr, other, set->ordinal, prim, &removed))
            return FALSE;
          if (!removed)
            continue;
          find_column (attr, other)->moved = TRUE;
          *changed = TRUE;
          log_structure (fold, set->ordinal, prim, -1);
        }
    }
  return TRUE;
}

static void
note_layout_change (OvsFoldAttr *attr, guint64 ordinal)
{
  if (attr->changes == NULL)
    attr->changes = g_array_new (FALSE, FALSE, sizeof (guint64));
  if (attr->changes->len == 0 || g_array_index (attr->changes, guint64, attr->changes->len - 1) != ordinal)
    g_array_append_val (attr->changes, ordinal);
}

/* The deletes of an ordinal kill what is there at their place in the order. */
static gboolean
apply_delete (OvsFold *fold, OvsFoldAttr *attr, const OvsDelete *delete, GArray *dead)
{
  for (guint32 i = 0; i < delete->list->n; i++)
    for (guint c = 0; c < attr->attr->columns->len; c++)
      {
        OvsColumn *column = attr->attr->columns->pdata[c];
        gboolean removed;

        if (!remove_prim (attr, column, delete->ordinal, delete->list->ids[i], &removed))
          return FALSE;
        if (!removed)
          continue;
        find_column (attr, column)->moved = TRUE;
        g_array_append_val (dead, delete->list->ids[i]);
        log_structure (fold, delete->ordinal, delete->list->ids[i], -1);
      }
  return TRUE;
}

static gboolean
same_rows (const OvsBits *a, guint32 n_a, const OvsBits *b, guint32 n_b)
{
  for (guint32 i = 0; i < MAX (n_a, n_b); i++)
    if ((i < n_a && (a == NULL || ovs_bits_get (a, i))) != (i < n_b && (b == NULL || ovs_bits_get (b, i))))
      return FALSE;
  return TRUE;
}

/* Whether an ordinal left the set of prims as it was: gone and back within one is no change. */
static gboolean
step_changes_rows (const OvsFoldColumn *column)
{
  const OvsFoldStep *step = &column->steps[column->n_steps - 1];
  const OvsFoldStep *before = column->n_steps > 1 ? step - 1 : NULL;
  const OvsVersion *current = ovs_column_get_current (column->column);

  if (before != NULL)
    return !same_rows (before->live, before->n_rows, step->live, step->n_rows);
  if (current != NULL)
    return !same_rows (current->live, current->n_rows, step->live, step->n_rows);
  return step->n_live > 0;
}

static gboolean
is_live (const OvsFoldAttr *attr, guint32 prim)
{
  for (OvsFoldColumn *column = attr->columns; column != NULL; column = column->next)
    {
      guint32 row = ovs_layout_find (column->column->layout, prim), n_rows, n_live;
      OvsBits *live;

      get_state (column, &live, &n_rows, &n_live);
      if (row < n_rows && (live == NULL || ovs_bits_get (live, row)))
        return TRUE;
    }
  return FALSE;
}

static gint
compare_prims (gconstpointer a, gconstpointer b)
{
  return *(const guint32 *) a < *(const guint32 *) b ? -1 : *(const guint32 *) a > *(const guint32 *) b;
}

/* What was deleted and written again is not dead; what several deletes met is so once. */
static void
settle_deaths (const OvsFoldAttr *attr, GArray *dead, guint n_deletes)
{
  guint n = 0;

  if (n_deletes > 1)
    g_array_sort (dead, compare_prims);
  for (guint i = 0; i < dead->len; i++)
    {
      guint32 prim = g_array_index (dead, guint32, i);

      if ((n == 0 || g_array_index (dead, guint32, n - 1) != prim) && !is_live (attr, prim))
        g_array_index (dead, guint32, n++) = prim;
    }
  g_array_set_size (dead, n);
}

static void
end_ordinal (OvsFoldAttr *attr, guint64 ordinal, GArray *dead, guint n_deletes)
{
  for (OvsFoldColumn *column = attr->columns; column != NULL; column = column->next)
    {
      OvsFoldStep *step = column->n_steps > 0 ? &column->steps[column->n_steps - 1] : NULL;

      if (step == NULL || step->ordinal != ordinal)
        continue;
      close_live (step);
      if (step_changes_rows (column))
        note_layout_change (attr, ordinal);
    }
  settle_deaths (attr, dead, n_deletes);
  if (dead->len > 0)
    {
      if (attr->deaths == NULL)
        attr->deaths = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_deaths_unref);
      g_ptr_array_add (attr->deaths, ovs_deaths_new (ordinal, (guint32 *) dead->data, dead->len));
      g_array_set_size (dead, 0);
    }
}

gboolean
ovs_fold_plan_entries (OvsFold *fold, OvsFoldAttr *attr, guint64 floor)
{
  g_autoptr (GArray) entries =
    ovs_attr_list_entries (attr->attr, attr->attr->token, fold->context.prim_deletes, floor, attr->ordinal);
  g_autoptr (GArray) dead = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint n_deletes = 0;

  for (guint e = 0; e < entries->len; e++)
    {
      const OvsEntry *entry = &g_array_index (entries, OvsEntry, e);
      gboolean changed;

      if (entry->part == NULL)
        {
          if (!apply_delete (fold, attr, entry->delete, dead))
            return FALSE;
          n_deletes++;
        }
      else
        {
          OvsFoldStep *step = get_step (get_column (attr, entry->set->column), entry->ordinal);

          step->set = entry->set;
          if (!add_part (fold, step, entry->set, entry->part, &changed) ||
              (attr->attr->columns->len > 1 && !move_part (fold, attr, entry->set, entry->part, &changed)))
            return FALSE;
        }
      if (e + 1 == entries->len || g_array_index (entries, OvsEntry, e + 1).ordinal != entry->ordinal)
        {
          end_ordinal (attr, entry->ordinal, dead, n_deletes);
          n_deletes = 0;
        }
    }
  return TRUE;
}

gboolean
ovs_fold_plan_sets (OvsFold *fold, OvsFoldAttr *attr)
{
  for (guint i = 0; i < attr->n_sets; i++)
    {
      OvsWriteSet *set = attr->attr->sets->pdata[i];
      OvsFoldStep *step = get_step (get_column (attr, set->column), set->ordinal);
      gboolean changed = FALSE;

      step->set = set;
      if (!set->structural)
        continue;
      if (!add_rows (fold, step, set, &changed))
        return FALSE;
      for (guint p = 0; p < set->n_parts && attr->attr->columns->len > 1; p++)
        if (!move_part (fold, attr, set, &set->parts[p], &changed))
          return FALSE;
      for (OvsFoldColumn *column = attr->columns; column != NULL; column = column->next)
        if (column->n_steps > 0)
          close_live (&column->steps[column->n_steps - 1]);
      if (changed)
        note_layout_change (attr, set->ordinal);
    }
  return TRUE;
}
