/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-existence.h"
#include "op/ovs-read-group.h"

#include <stdlib.h>
#include <string.h>

#include "base/ovs-block.h"

struct _OvsBuiltin
{
  guint32 attribute;
  OvsBuiltinKind kind;
  guint64 generation;
  OvsPlaces *places; /* (owned) prims that have a row; rows in the same order */
  OvsBuffer *values;  /* (owned) (nullable) room for a path id a row, or the children of all rows, */
  OvsBuffer *records; /* (owned) (nullable) and which of them each has */
};

void
ovs_builtin_free (OvsBuiltin *builtin)
{
  if (builtin == NULL)
    return;
  g_clear_pointer (&builtin->values, ovs_buffer_unref);
  g_clear_pointer (&builtin->records, ovs_buffer_unref);
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

static guint32
get_prim (const OvsPlaces *places, OvstagePathList *list, guint32 i)
{
  return list->ids[places->prim_map != NULL ? places->prim_map[i] : places->prim_offset + i];
}

static gboolean
out_of_memory (OvsStage *stage, guint32 attribute, gsize bytes, GError **error)
{
  return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GSIZE_FORMAT " bytes of '%s'", bytes,
                   ovs_stage_name (stage, attribute));
}

static gboolean
take_children (OvsStage *stage, OvsBuiltin *builtin, OvstagePathList *list, GError **error)
{
  const OvsChildren *children = ovs_stage_ensure_children (stage);
  guint32 n = builtin->places->prim_count;
  OvsArrayRow *records;
  guint64 *values;
  gsize total = 0;

  builtin->records = ovs_pool_alloc (stage->pool, sizeof *records * n);
  if (builtin->records == NULL)
    return out_of_memory (stage, builtin->attribute, sizeof *records * n, error);
  records = (OvsArrayRow *) builtin->records->data;
  for (guint32 i = 0; i < n; i++)
    {
      guint32 child = ovs_children_get_first (children, get_prim (builtin->places, list, i)), first = (guint32) total;

      for (; child != OVS_ID_NONE; child = ovs_children_get_next (children, child))
        total++;
      records[i] = (OvsArrayRow){ NULL, sizeof *values * first, sizeof *values * (total - first) };
    }

  builtin->values = ovs_pool_alloc (stage->pool, sizeof *values * total);
  if (builtin->values == NULL)
    return out_of_memory (stage, builtin->attribute, sizeof *values * total, error);
  values = (guint64 *) builtin->values->data;
  for (guint32 i = 0; i < n; i++)
    for (guint32 child = ovs_children_get_first (children, get_prim (builtin->places, list, i)); child != OVS_ID_NONE;
         child = ovs_children_get_next (children, child))
      *values++ = child;
  return TRUE;
}

OvsBuiltin *
ovs_builtin_take (OvsStage *stage, guint32 attribute, OvstagePathList *list, GError **error)
{
  OvsBuiltin *builtin = g_new0 (OvsBuiltin, 1);
  gsize bytes;
  gboolean taken = TRUE;

  builtin->attribute = attribute;
  builtin->kind = ovs_stage_get_builtin (stage, attribute);
  builtin->generation = stage->n_existence_changes;
  builtin->places = find_places (stage, builtin->kind, list);
  bytes = sizeof (guint64) * builtin->places->prim_count;
  if (bytes > 0 && builtin->kind == OVS_BUILTIN_CHILDREN)
    taken = take_children (stage, builtin, list, error);
  else if (bytes > 0)
    {
      builtin->values = ovs_pool_alloc (stage->pool, bytes);
      taken = builtin->values != NULL || out_of_memory (stage, attribute, bytes, error);
    }
  if (!taken)
    g_clear_pointer (&builtin, ovs_builtin_free);
  return builtin;
}

static void
fill_values (OvsBuiltin *builtin, OvstagePathList *list)
{
  const OvsPlaces *places = builtin->places;
  guint64 *values = (guint64 *) builtin->values->data;

  for (guint32 i = 0; i < places->prim_count; i++)
    {
      guint32 prim = get_prim (places, list, i);

      values[i] = builtin->kind == OVS_BUILTIN_PARENT ? ovs_path_dict_get_parent (list->dict, prim) : prim;
    }
}

static int
compare_ids (const void *a, const void *b)
{
  guint64 one = *(const guint64 *) a, other = *(const guint64 *) b;

  return (one > other) - (one < other);
}

/* They were taken as they came. */
static void
sort_children (OvsBuiltin *builtin)
{
  OvsArrayRow *records = (OvsArrayRow *) builtin->records->data;

  for (guint32 i = 0; i < builtin->places->prim_count; i++)
    {
      if (records[i].size == 0)
        continue;
      records[i].buffer = builtin->values;
      qsort (builtin->values->data + records[i].offset, records[i].size / sizeof (guint64), sizeof (guint64), compare_ids);
    }
}

static OvsVersion *
new_version (OvsBuiltin *builtin, const OvsSchema *schema, OvstagePathList *list, guint64 as_of)
{
  g_autoptr (OvsLayout) layout = ovs_layout_new (list);
  guint32 n = builtin->places->data_count;
  OvsVersion *version;

  if (!schema->is_array)
    {
      fill_values (builtin, list);
      return ovs_version_new (schema, sizeof (guint64), as_of, layout, n, n, NULL, g_steal_pointer (&builtin->values));
    }
  sort_children (builtin);
  version = ovs_version_new (schema, sizeof (OvsArrayRow), as_of, layout, n, n, NULL, NULL);
  version->ragged = ovs_ragged_new (n);
  ovs_ragged_set_flat (version->ragged, builtin->records, n);
  return version;
}

OvstageReadGroup *
ovs_builtin_new_group (OvsBuiltin *builtin, OvstagePathList *list, guint64 as_of, guint64 floor)
{
  OvsSchema schema = { { OVS_CODE_UINT, 64, 1 }, builtin->kind == OVS_BUILTIN_CHILDREN, OVSTAGE_SEMANTIC_NONE };
  OvsPlaces *places = builtin->places;
  OvstageReadGroup *group;

  if (places->prim_count == 0)
    return NULL;
  group = ovs_block_alloc (sizeof *group);
  memset (group, 0, sizeof *group);
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
  group->is_array = schema.is_array;
  group->n_tensors = schema.is_array ? places->prim_count : 1;
  group->version = new_version (builtin, &schema, list, as_of);
  g_atomic_int_inc (&places->refs);
  group->places = places;
  return group;
}
