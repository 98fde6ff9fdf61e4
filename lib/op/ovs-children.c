/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-children.h"

#include <string.h>

typedef struct
{
  guint32 first; /* child */
  guint32 previous, next; /* sibling */
} Links;

struct _OvsChildren
{
  OvsPathDict *dict; /* (owned) */
  guint32 n;
  Links *links; /* (owned) by path id */
};

OvsChildren *
ovs_children_new (OvsPathDict *dict)
{
  OvsChildren *children = g_new0 (OvsChildren, 1);

  children->dict = ovs_path_dict_ref (dict);
  return children;
}

void
ovs_children_free (OvsChildren *children)
{
  ovs_path_dict_unref (children->dict);
  g_free (children->links);
  g_free (children);
}

static void
ensure (OvsChildren *children, guint32 prim)
{
  guint32 n;

  if (prim < children->n)
    return;
  /* Ids are dense: most of what the dictionary knows may come. */
  n = MAX (ovs_path_dict_get_last_path (children->dict), prim) + 1;
  n = MAX (n, children->n + children->n / 2);
  children->links = g_renew (Links, children->links, n);
  memset (children->links + children->n, 0, sizeof (Links) * (n - children->n));
  children->n = n;
}

void
ovs_children_add (OvsChildren *children, guint32 prim)
{
  guint32 parent = ovs_path_dict_get_parent (children->dict, prim), next;

  if (parent == OVS_ID_NONE)
    return;
  ensure (children, MAX (prim, parent));
  next = children->links[parent].first;
  children->links[prim].previous = OVS_ID_NONE;
  children->links[prim].next = next;
  if (next != OVS_ID_NONE)
    children->links[next].previous = prim;
  children->links[parent].first = prim;
}

void
ovs_children_remove (OvsChildren *children, guint32 prim)
{
  guint32 parent = ovs_path_dict_get_parent (children->dict, prim), previous, next;

  if (parent == OVS_ID_NONE)
    return;
  previous = children->links[prim].previous;
  next = children->links[prim].next;
  if (previous != OVS_ID_NONE)
    children->links[previous].next = next;
  else
    children->links[parent].first = next;
  if (next != OVS_ID_NONE)
    children->links[next].previous = previous;
}

guint32
ovs_children_get_first (const OvsChildren *children, guint32 prim)
{
  return prim < children->n ? children->links[prim].first : OVS_ID_NONE;
}

guint32
ovs_children_get_next (const OvsChildren *children, guint32 child)
{
  return children->links[child].next;
}
