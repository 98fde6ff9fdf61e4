/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "order/ovs-write-floor.h"

void
ovs_floors_init (OvsFloors *floors)
{
  floors->shared = 0;
  floors->own = NULL;
}

void
ovs_floors_clear (OvsFloors *floors)
{
  g_clear_pointer (&floors->own, g_hash_table_unref);
}

static void
set_own (OvsFloors *floors, guint32 attribute, guint64 ordinal)
{
  if (floors->own == NULL)
    floors->own = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_hash_table_replace (floors->own, GUINT_TO_POINTER (attribute), g_memdup2 (&ordinal, sizeof ordinal));
}

void
ovs_floors_copy (OvsFloors *floors, const OvsFloors *from)
{
  GHashTableIter iter;
  gpointer key, value;

  ovs_floors_clear (floors);
  floors->shared = from->shared;
  if (from->own == NULL)
    return;
  g_hash_table_iter_init (&iter, from->own);
  while (g_hash_table_iter_next (&iter, &key, &value))
    set_own (floors, GPOINTER_TO_UINT (key), *(guint64 *) value);
}

guint64
ovs_floors_get_own (const OvsFloors *floors, guint32 attribute)
{
  const guint64 *own = g_hash_table_lookup (floors->own, GUINT_TO_POINTER (attribute));

  return own != NULL ? *own : floors->shared;
}

guint64
ovs_floors_get_lowest (const OvsFloors *floors)
{
  guint64 lowest = floors->shared;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, floors->own);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    lowest = MIN (lowest, *(guint64 *) value);
  return lowest;
}

static gboolean
is_listed (const guint32 *attributes, gsize n_attributes, guint32 attribute)
{
  gsize low = 0, high = n_attributes;

  while (low < high)
    {
      gsize middle = low + (high - low) / 2;

      if (attributes[middle] == attribute)
        return TRUE;
      if (attributes[middle] < attribute)
        low = middle + 1;
      else
        high = middle;
    }
  return FALSE;
}

gboolean
ovs_scope_covers (OvstageScope scope, const guint32 *attributes, gsize n_attributes, guint32 attribute)
{
  switch (scope)
    {
    case OVSTAGE_SCOPE_INCLUDE:
      return is_listed (attributes, n_attributes, attribute);
    case OVSTAGE_SCOPE_EXCLUDE:
      return !is_listed (attributes, n_attributes, attribute);
    case OVSTAGE_SCOPE_ALL:
    default:
      return TRUE;
    }
}

/* Lifts the default and every own floor that @spared does not name. An own floor
 * that equals the default afterwards is taken back: it cannot be told apart. */
static void
raise_all (OvsFloors *floors, const guint32 *spared, gsize n_spared, guint64 ordinal)
{
  GHashTableIter iter;
  gpointer key, value;

  floors->shared = MAX (floors->shared, ordinal);
  if (floors->own == NULL)
    return;
  g_hash_table_iter_init (&iter, floors->own);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      guint64 *own = value;

      if (is_listed (spared, n_spared, GPOINTER_TO_UINT (key)))
        continue;
      *own = MAX (*own, ordinal);
      if (*own == floors->shared)
        g_hash_table_iter_remove (&iter);
    }
  if (g_hash_table_size (floors->own) == 0)
    g_clear_pointer (&floors->own, g_hash_table_unref);
}

void
ovs_floors_raise_scoped (OvsFloors *floors, OvstageScope scope, const guint32 *attributes, gsize n_attributes, guint64 ordinal)
{
  switch (scope)
    {
    case OVSTAGE_SCOPE_INCLUDE:
      for (gsize i = 0; i < n_attributes; i++)
        set_own (floors, attributes[i], MAX (ordinal, ovs_floors_get (floors, attributes[i])));
      break;
    case OVSTAGE_SCOPE_EXCLUDE:
      for (gsize i = 0; i < n_attributes; i++)
        set_own (floors, attributes[i], ovs_floors_get (floors, attributes[i]));
      raise_all (floors, attributes, n_attributes, ordinal);
      break;
    case OVSTAGE_SCOPE_ALL:
    default:
      raise_all (floors, NULL, 0, ordinal);
      break;
    }
}
