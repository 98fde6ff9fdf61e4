/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Attributes that nobody writes: usd-path, usd-parent. What they tell follows from
 * which prims exist as a read is booked, so it is taken then, whatever the read has
 * to wait for; the values, which follow from the paths, are made at the fetch. */

#include "config.h"

#include "op/ovs-op-private.h"
#include "op/ovs-read-group.h"

#include <string.h>

struct _OvsBuiltin
{
  guint32 attribute;
  OvsBuiltinKind kind;
  guint64 generation;
  OvsPlaces *places; /* (owned) prims that have a row; rows in the same order */
  OvsBuffer *values; /* (owned) (nullable) room for a path id a row */
};

OvsBuiltinKind
ovs_stage_get_builtin (OvsStage *stage, guint32 token)
{
  for (guint i = 0; i < OVS_N_READ_ONLY; i++)
    if (token == stage->reserved[i])
      return (OvsBuiltinKind) (i + 1);
  return OVS_BUILTIN_NONE;
}

void
ovs_builtin_free (OvsBuiltin *builtin)
{
  if (builtin == NULL)
    return;
  g_clear_pointer (&builtin->values, ovs_buffer_unref);
  ovs_places_unref (builtin->places);
  g_free (builtin);
}

/* The root has no path above it. */
static gboolean
has_row (OvsStage *stage, OvsBuiltinKind kind, guint32 prim)
{
  return ovs_stage_has_prim (stage, prim) &&
         (kind != OVS_BUILTIN_PARENT || prim != ovs_path_dict_get_root (stage->dict));
}

/* A map is made where the prims are no run of the list. */
static OvsPlaces *
find_places (OvsStage *stage, OvsBuiltinKind kind, OvstagePathList *list)
{
  OvsPlaces *places = g_new0 (OvsPlaces, 1);
  guint32 first = 0, n = 0;

  places->refs = 1;
  for (guint32 i = 0; i < list->n; i++)
    {
      if (!has_row (stage, kind, list->ids[i]))
        continue;
      if (n == 0)
        first = i;
      else if (places->prim_map == NULL && i != first + n)
        {
          places->prim_map = g_new (guint32, list->n);
          for (guint32 j = 0; j < n; j++)
            places->prim_map[j] = first + j;
        }
      if (places->prim_map != NULL)
        places->prim_map[n] = i;
      n++;
    }
  places->prim_offset = places->prim_map == NULL ? first : 0;
  places->prim_count = places->data_count = n;
  return places;
}

OvsBuiltin *
ovs_builtin_take (OvsStage *stage, guint32 attribute, OvstagePathList *list, GError **error)
{
  OvsBuiltin *builtin = g_new0 (OvsBuiltin, 1);
  gsize bytes;

  builtin->attribute = attribute;
  builtin->kind = ovs_stage_get_builtin (stage, attribute);
  builtin->generation = stage->n_existence_changes;
  builtin->places = find_places (stage, builtin->kind, list);
  bytes = sizeof (guint64) * builtin->places->prim_count;
  builtin->values = bytes > 0 ? ovs_pool_alloc (stage->pool, bytes) : NULL;
  if (bytes == 0 || builtin->values != NULL)
    return builtin;
  ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GSIZE_FORMAT " bytes of '%s'", bytes,
            ovs_stage_name (stage, attribute));
  ovs_builtin_free (builtin);
  return NULL;
}

static void
fill_values (OvsBuiltin *builtin, OvstagePathList *list)
{
  const OvsPlaces *places = builtin->places;
  guint64 *values = (guint64 *) builtin->values->data;

  for (guint32 i = 0; i < places->prim_count; i++)
    {
      guint32 prim = list->ids[places->prim_map != NULL ? places->prim_map[i] : places->prim_offset + i];

      values[i] = builtin->kind == OVS_BUILTIN_PARENT ? ovs_path_dict_get_parent (list->dict, prim) : prim;
    }
}

OvstageReadGroup *
ovs_builtin_new_group (OvsBuiltin *builtin, OvstagePathList *list, guint64 as_of, guint64 floor)
{
  OvsSchema schema = { { OVS_CODE_UINT, 64, 1 }, FALSE, OVSTAGE_SEMANTIC_NONE };
  OvsPlaces *places = builtin->places;
  g_autoptr (OvsLayout) layout = NULL;
  OvstageReadGroup *group;

  if (places->prim_count == 0)
    return NULL;
  fill_values (builtin, list);
  layout = ovs_layout_new (list);

  group = g_new0 (OvstageReadGroup, 1);
  group->refs = 1;
  group->attribute = builtin->attribute;
  group->dtype = schema.dtype;
  group->semantic = schema.semantic;
  group->ordinal = as_of;
  group->write_floor = floor;
  group->layout_generation = builtin->generation;
  group->list = ovs_path_list_ref (list);
  group->prim_offset = places->prim_offset;
  group->prim_count = places->prim_count;
  group->prim_map = places->prim_map;
  group->data_count = places->data_count;
  group->n_tensors = 1;
  group->version = ovs_version_new (&schema, sizeof (guint64), as_of, layout, places->data_count, places->data_count, NULL,
                                    g_steal_pointer (&builtin->values));
  g_atomic_int_inc (&places->refs);
  group->places = places;
  return group;
}
