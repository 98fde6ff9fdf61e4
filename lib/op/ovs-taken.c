/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-taken.h"

#include "base/ovs-block.h"

/* Rows that changed. */
typedef struct
{
  guint64 ordinal;
  OvsDelta *delta; /* (owned) */
  OvsBits *wanted; /* (owned) (nullable) in another numbering, the rows that count */
} Delta;

void
ovs_taken_clear (OvsTaken *taken)
{
  g_clear_pointer (&taken->builtin, ovs_builtin_free);
  g_clear_pointer (&taken->deltas, g_array_unref);
  g_clear_pointer (&taken->version, ovs_version_unref);
  g_clear_pointer (&taken->binding, ovs_binding_unref);
  g_clear_pointer (&taken->places, ovs_places_unref);
}

/* Whether the first row of a target is one of a query whose rows are a run, and is there. */
static gboolean
meets_with_first_row (const OvsTaken *taken, const OvsTarget *target)
{
  const OvsBinding *binding = taken->binding;
  guint32 row = target->rows != NULL && target->n > 0 ? *(const guint32 *) target->rows->data : target->first;

  return target->n > 0 && row - binding->first < binding->n && ovs_version_has_row (taken->version, row);
}

/* Whether a change meets the rows of the query, where a look is enough. */
static gboolean
meets_at_once (const OvsTaken *taken, const OvsDelta *delta)
{
  const OvsBinding *binding = taken->binding;

  if (delta->all)
    return TRUE;
  if (delta->numbering != taken->version->numbering)
    return FALSE;
  if (binding->rows == NULL && delta->n_targets > 0 && meets_with_first_row (taken, &delta->targets[0]))
    return TRUE;
  if (taken->version->live != NULL || binding->end > taken->version->n_rows)
    return FALSE;
  for (guint i = 0; i < MIN (delta->n_targets, 4); i++)
    {
      const OvsTarget *target = &delta->targets[i];

      if (target->rows == binding->rows &&
          ovs_binding_meets (taken->binding, NULL, target->first, target->n,
                             target->rows != NULL ? (const guint32 *) target->rows->data : NULL))
        return TRUE;
    }
  return FALSE;
}

/* The rows of @layout on which prims of the query stand that are in the version, which has other row numbers. */
static OvsBits *
find_wanted (const OvsTaken *taken, OvstagePathList *list, OvsLayout *layout)
{
  OvsBits *wanted = ovs_bits_new (layout->n, FALSE);

  for (guint32 i = 0; i < list->n; i++)
    {
      guint32 row = ovs_binding_get_row (taken->binding, i);

      if (row == OVS_INDEX_NONE || !ovs_version_has_row (taken->version, row))
        continue;
      row = ovs_layout_find (layout, list->ids[i]);
      if (row != OVS_INDEX_NONE)
        ovs_bits_set (wanted, row);
    }
  return wanted;
}

static void
clear_delta (gpointer data)
{
  Delta *taken = data;

  ovs_delta_unref (taken->delta);
  g_clear_pointer (&taken->wanted, ovs_bits_unref);
}

/* Layouts may grow once the lock is let go of, so rows of an older numbering are looked up now. */
static void
take_wanted (OvsTaken *taken, OvstagePathList *list)
{
  Delta *deltas = (Delta *) taken->deltas->data, *last = NULL;

  for (guint i = 0; i < taken->deltas->len; i++)
    {
      Delta *delta = &deltas[i];

      if (delta->delta->all || delta->delta->numbering == taken->version->numbering)
        continue;
      if (last != NULL && delta->delta->layout == last->delta->layout)
        delta->wanted = ovs_bits_ref (last->wanted);
      else
        delta->wanted = find_wanted (taken, list, delta->delta->layout);
      last = delta;
    }
}

/* Where it takes more than a look, the changes are kept for the fetch. */
void
ovs_taken_note_newest (OvsTaken *taken, const OvsColumn *column, OvstagePathList *list)
{
  guint n = ovs_changes_count (&column->changes, taken->version->ordinal);
  gboolean renumbered = FALSE, all = FALSE;
  const OvsDelta *last = NULL;

  if (n > 0 && meets_at_once (taken, ovs_changes_get (&column->changes, n - 1)->what))
    {
      taken->newest = ovs_changes_get (&column->changes, n - 1)->ordinal;
      return;
    }
  taken->newest = MIN (column->attr->change_frontier, taken->version->ordinal);
  if (n == 0)
    return;
  taken->deltas = g_array_new (FALSE, TRUE, sizeof (Delta));
  g_array_set_clear_func (taken->deltas, clear_delta);
  for (guint i = n; i > 0 && !all; i--)
    {
      const OvsChange *change = ovs_changes_get (&column->changes, i - 1);
      Delta delta = { change->ordinal, change->what, NULL };

      if (delta.delta == last)
        continue;
      last = delta.delta;
      all = last->all;
      renumbered = renumbered || (!all && last->numbering != taken->version->numbering);
      ovs_delta_ref (delta.delta);
      g_array_append_val (taken->deltas, delta);
    }
  if (renumbered)
    take_wanted (taken, list);
}

/* Whether all prims of the query stand one after another, and where. */
static gboolean
find_run (OvsTaken *taken)
{
  const OvsBinding *binding = taken->binding;
  const OvsVersion *version = taken->version;

  if (binding->rows != NULL || version->live != NULL || (guint64) binding->first + binding->n > version->n_rows)
    return FALSE;
  taken->first = binding->first;
  taken->n = binding->n;
  return TRUE;
}

gboolean
ovs_taken_is_settled (OvsTaken *taken)
{
  return taken->deltas == NULL && find_run (taken);
}

static gboolean
meets_target (const OvsTaken *taken, const OvsTarget *target, const OvsBits *wanted)
{
  const guint32 *rows = target->rows != NULL ? (const guint32 *) target->rows->data : NULL;

  if (wanted == NULL)
    return ovs_binding_meets (taken->binding, taken->version, target->first, target->n, rows);
  for (guint32 i = 0; i < target->n; i++)
    if (ovs_bits_get (wanted, rows != NULL ? rows[i] : target->first + i))
      return TRUE;
  return FALSE;
}

static guint64
find_newest (const OvsTaken *taken)
{
  for (guint i = 0; taken->deltas != NULL && i < taken->deltas->len; i++)
    {
      const Delta *delta = &g_array_index (taken->deltas, Delta, i);

      if (delta->delta->all)
        return delta->ordinal;
      for (guint t = 0; t < delta->delta->n_targets; t++)
        if (meets_target (taken, &delta->delta->targets[t], delta->wanted))
          return delta->ordinal;
    }
  return taken->newest;
}

/* NULL: no prim of the query is in it. Nobody else has @taken: its version becomes the group's, so that a read that was
 * fetched holds nothing. */
OvstageReadGroup *
ovs_taken_new_group (OvsTaken *taken, OvstagePathList *list, guint64 as_of)
{
  const OvsVersion *version = taken->version;
  OvstageReadGroup *group;
  OvsPlaces *places = g_steal_pointer (&taken->places);

  if (taken->builtin != NULL)
    {
      group = ovs_builtin_new_group (taken->builtin, list, as_of, taken->floor);
      ovs_path_list_unref (list);
      return group;
    }
  if (places == NULL && taken->binding != NULL && !find_run (taken))
    {
      places = ovs_binding_get_places (taken->binding, version);
      if (places->prim_count == 0)
        {
          ovs_places_unref (places);
          ovs_path_list_unref (list);
          return NULL;
        }
    }

  group = ovs_block_alloc (sizeof *group);
  group->refs = 1;
  group->attribute = taken->attribute;
  group->dtype = version != NULL ? version->schema.dtype : (OvstageDataType){ 0 };
  group->semantic = version != NULL ? version->schema.semantic : OVSTAGE_SEMANTIC_NONE;
  group->is_array = version != NULL && version->schema.is_array;
  group->is_delete = version == NULL;
  group->ordinal = find_newest (taken);
  group->write_floor = taken->floor;
  group->layout_generation = taken->generation;
  group->list = list;
  group->prim_offset = places != NULL ? places->prim_offset : 0;
  group->prim_count = places != NULL ? places->prim_count : taken->n;
  group->prim_map = places != NULL ? places->prim_map : NULL;
  group->data_count = places != NULL ? places->data_count : taken->n;
  group->data_map = places != NULL ? places->data_map : NULL;
  group->n_tensors = version != NULL ? 1 : 0;
  group->row_map = NULL;
  if (group->is_array)
    {
      /* Each prim has a tensor of its own: the rows need not be told apart from them. */
      group->row_map = group->data_map;
      group->data_map = NULL;
      group->data_count = group->n_tensors = group->prim_count;
    }
  group->first_row = places != NULL ? places->first_row : taken->first;
  group->version = g_steal_pointer (&taken->version);
  group->places = places;
  group->tensor = NULL;
  group->tensors = NULL;
  group->packed = NULL;
  return group;
}
