/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-changes.h"

#include <string.h>

OvsDelta *
ovs_delta_new (guint numbering, OvsLayout *layout, guint n_targets)
{
  gsize size = sizeof (OvsDelta) + sizeof (OvsTarget) * n_targets;
  OvsDelta *delta = g_malloc (size);

  memset (delta, 0, size);
  delta->refs = 1;
  delta->numbering = numbering;
  delta->layout = ovs_layout_ref (layout);
  delta->bytes = size;
  return delta;
}

OvsDelta *
ovs_delta_ref (OvsDelta *delta)
{
  g_atomic_int_inc (&delta->refs);
  return delta;
}

void
ovs_delta_unref (OvsDelta *delta)
{
  if (!g_atomic_int_dec_and_test (&delta->refs))
    return;
  for (guint i = 0; i < delta->n_targets; i++)
    g_clear_pointer (&delta->targets[i].rows, ovs_buffer_unref);
  ovs_layout_unref (delta->layout);
  g_free (delta);
}

gboolean
ovs_delta_equal (const OvsDelta *a, const OvsDelta *b)
{
  if (a->all != b->all || a->numbering != b->numbering || a->layout != b->layout || a->n_targets != b->n_targets)
    return FALSE;
  for (guint i = 0; i < a->n_targets; i++)
    if (a->targets[i].n != b->targets[i].n || a->targets[i].rows != b->targets[i].rows ||
        (a->targets[i].rows == NULL && a->targets[i].first != b->targets[i].first))
      return FALSE;
  return TRUE;
}

OvsDeaths *
ovs_deaths_new (guint64 ordinal, const guint32 *prims, guint32 n)
{
  OvsDeaths *deaths = g_malloc (sizeof *deaths + sizeof *prims * n);

  deaths->refs = 1;
  deaths->ordinal = ordinal;
  deaths->n = n;
  memcpy (deaths->prims, prims, sizeof *prims * n);
  return deaths;
}

OvsDeaths *
ovs_deaths_ref (OvsDeaths *deaths)
{
  g_atomic_int_inc (&deaths->refs);
  return deaths;
}

void
ovs_deaths_unref (OvsDeaths *deaths)
{
  if (g_atomic_int_dec_and_test (&deaths->refs))
    g_free (deaths);
}

guint
ovs_changes_count (const OvsChanges *changes, guint64 ordinal)
{
  guint low = 0, high = changes->n;

  /* Most ask about the newest. */
  if (high == 0 || ovs_changes_get (changes, high - 1)->ordinal <= ordinal)
    return high;
  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (ovs_changes_get (changes, middle)->ordinal <= ordinal)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Records move only once as many were forgotten as are left: at constant cost for each that is added. */
void
ovs_changes_grow (OvsChanges *changes)
{
  if (changes->first > changes->n)
    {
      memmove (changes->records, changes->records + changes->first, sizeof *changes->records * changes->n);
      changes->first = 0;
      return;
    }
  changes->capacity = MAX (4, 2 * changes->capacity);
  changes->records = g_renew (OvsChange, changes->records, changes->capacity);
}

static gboolean
is_about (const OvsChangeHold *hold, guint32 attribute)
{
  for (gsize i = 0; i < hold->n_attributes; i++)
    if (hold->attributes[i] == attribute)
      return TRUE;
  return hold->n_attributes == 0;
}

guint64
ovs_change_holds_get_lowest (const GPtrArray *holds, guint32 attribute)
{
  guint64 lowest = OVSTAGE_ORDINAL_NEWEST;

  for (guint i = 0; i < holds->len; i++)
    {
      const OvsChangeHold *hold = holds->pdata[i];

      if (hold->ordinal < lowest && is_about (hold, attribute))
        lowest = hold->ordinal;
    }
  return lowest;
}
