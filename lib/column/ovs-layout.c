/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-layout.h"

OvsLayout *
ovs_layout_new (OvstagePathList *base)
{
  OvsLayout *layout = g_new0 (OvsLayout, 1);

  layout->refs = 1;
  if (base != NULL)
    {
      layout->base = ovs_path_list_ref (base);
      layout->n = layout->n_base = base->n;
    }
  return layout;
}

OvsLayout *
ovs_layout_fork (OvsLayout *layout, guint32 n_rows)
{
  OvsLayout *fork = ovs_layout_new (layout->base);

  fork->n = fork->n_base = MIN (fork->n_base, n_rows);
  while (fork->n < n_rows)
    ovs_layout_append (fork, ovs_layout_get_prim (layout, fork->n));
  return fork;
}

OvsLayout *
ovs_layout_ref (OvsLayout *layout)
{
  g_atomic_int_inc (&layout->refs);
  return layout;
}

void
ovs_layout_unref (OvsLayout *layout)
{
  if (!g_atomic_int_dec_and_test (&layout->refs))
    return;
  g_clear_pointer (&layout->base, ovs_path_list_unref);
  g_clear_pointer (&layout->more_index, g_hash_table_unref);
  g_free (layout->more);
  g_free (layout);
}

guint32
ovs_layout_find (OvsLayout *layout, guint32 prim)
{
  guint32 row;

  if (layout->n_base > 0)
    {
      row = ovs_path_list_index_of (layout->base, prim);
      if (row < layout->n_base)
        return row;
    }
  if (layout->more_index == NULL)
    return OVS_INDEX_NONE;
  row = GPOINTER_TO_UINT (g_hash_table_lookup (layout->more_index, GUINT_TO_POINTER (prim)));
  return row != 0 ? row - 1 : OVS_INDEX_NONE;
}

guint32
ovs_layout_append (OvsLayout *layout, guint32 prim)
{
  guint32 n_more = layout->n - layout->n_base;

  if (n_more == layout->more_capacity)
    {
      layout->more_capacity = MAX (16, layout->more_capacity + layout->more_capacity / 2);
      layout->more = g_renew (guint32, layout->more, layout->more_capacity);
    }
  if (layout->more_index == NULL)
    layout->more_index = g_hash_table_new (NULL, NULL);
  layout->more[n_more] = prim;
  g_hash_table_insert (layout->more_index, GUINT_TO_POINTER (prim), GUINT_TO_POINTER (layout->n + 1));
  return layout->n++;
}
