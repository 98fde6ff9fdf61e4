/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-fold-private.h"

#include "base/ovs-debug.h"

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
  fold->dropped = NULL;
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
  g_clear_pointer (&fold->dropped, g_ptr_array_unref);
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

gboolean
ovs_fold_covers_live (const OvsFoldStep *step, guint32 n)
{
  if (step->live == NULL)
    return n >= step->n_rows;
  for (guint32 i = n; i < step->n_rows; i++)
    if (ovs_bits_get (step->live, i))
      return FALSE;
  return TRUE;
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
        if (ovs_fold_part_covers (column, step, &set->parts[p - 1]))
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

GPtrArray *
ovs_fold_steal_dropped (OvsFold *fold)
{
  return g_steal_pointer (&fold->dropped);
}

guint
ovs_fold_get_n_columns (OvsFold *fold)
{
  return fold->n_columns;
}
