/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-id-set.h"

static gint
compare_ranges (gconstpointer a, gconstpointer b, gpointer user_data)
{
  const OvsIdRange *x = a, *y = b;

  return x->first < y->first ? -1 : x->first > y->first;
}

static void
insert (OvsIdSet *set, OvsIdRange range)
{
  OvsIdRange *copy = g_memdup2 (&range, sizeof range);

  if (set->others == NULL)
    set->others = g_tree_new_full (compare_ranges, NULL, g_free, NULL);
  g_tree_insert (set->others, copy, copy);
}

/* The one that begins at @id or is the last to begin before it; @above: the next one. */
static OvsIdRange *
find_below (const OvsIdSet *set, guint64 id, OvsIdRange **above)
{
  OvsIdRange key = { id, id };
  GTreeNode *next, *below;

  *above = NULL;
  if (set->others == NULL)
    return NULL;
  next = g_tree_upper_bound (set->others, &key);
  if (next != NULL)
    *above = g_tree_node_value (next);
  below = next != NULL ? g_tree_node_previous (next) : g_tree_node_last (set->others);
  return below != NULL ? g_tree_node_value (below) : NULL;
}

void
ovs_id_set_clear (OvsIdSet *set)
{
  g_clear_pointer (&set->others, g_tree_unref);
  set->newest = (OvsIdRange) { 0, 0 };
}

gboolean
ovs_id_set_has (const OvsIdSet *set, guint64 id)
{
  OvsIdRange *below, *above;

  if (id >= set->newest.first)
    return set->newest.first != 0 && id <= set->newest.last;
  below = find_below (set, id, &above);
  return below != NULL && id <= below->last;
}

/* Below the newest range, which may come to reach down to it. */
static void
add_below (OvsIdSet *set, guint64 id)
{
  OvsIdRange *above;
  OvsIdRange *below = find_below (set, id, &above);
  gboolean joins_below = below != NULL && below->last == id - 1;

  if (set->newest.first == id + 1)
    {
      set->newest.first = joins_below ? below->first : id;
      if (joins_below)
        g_tree_remove (set->others, below);
    }
  else if (above != NULL && above->first == id + 1)
    {
      guint64 last = above->last;

      if (!joins_below)
        {
          above->first = id; /* still between its neighbours */
          return;
        }
      g_tree_remove (set->others, above);
      below->last = last;
    }
  else if (joins_below)
    below->last = id;
  else
    insert (set, (OvsIdRange) { id, id });
}

gboolean
ovs_id_set_add (OvsIdSet *set, guint64 id)
{
  if (set->newest.first != 0 && id == set->newest.last + 1)
    {
      set->newest.last = id;
      return TRUE;
    }
  if (ovs_id_set_has (set, id))
    return FALSE;
  if (set->newest.first != 0 && id < set->newest.first)
    {
      add_below (set, id);
      return TRUE;
    }
  if (set->newest.first != 0)
    insert (set, set->newest);
  set->newest = (OvsIdRange) { id, id };
  return TRUE;
}

guint
ovs_id_set_get_n_ranges (const OvsIdSet *set)
{
  return (set->newest.first != 0) + (set->others != NULL ? (guint) g_tree_nnodes (set->others) : 0);
}
