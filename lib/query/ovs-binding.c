/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "query/ovs-binding.h"

typedef struct
{
  OvstagePathList *list; /* (owned) */
  OvsBinding *binding;   /* (owned) */
  gsize bytes;
  GList link; /* in recent */
} Entry;

struct _OvsBindingTable
{
  OvsPool *pool; /* (owned) */
  gsize budget;
  gsize bytes;
  GHashTable *entries; /* (owned) Entry by list and layout */
  GQueue recent;       /* Entry, last used first */
  guint swept;         /* entries that the last sweep left */
};

static guint
hash_entry (gconstpointer key)
{
  const Entry *entry = key;

  return (guint) (((guintptr) entry->list ^ ((guintptr) entry->binding->layout * 0x9e3779b97f4a7c15u)) >> 6);
}

static gboolean
equal_entry (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  return x->list == y->list && x->binding->layout == y->binding->layout;
}

static void
free_entry (gpointer data)
{
  Entry *entry = data;

  ovs_binding_unref (entry->binding);
  ovs_path_list_unref (entry->list);
  g_free (entry);
}

OvsBindingTable *
ovs_binding_table_new (OvsPool *pool, gsize budget)
{
  OvsBindingTable *table = g_new0 (OvsBindingTable, 1);

  table->pool = ovs_pool_ref (pool);
  table->budget = budget;
  table->entries = g_hash_table_new_full (hash_entry, equal_entry, free_entry, NULL);
  g_queue_init (&table->recent);
  return table;
}

void
ovs_binding_table_free (OvsBindingTable *table)
{
  g_hash_table_unref (table->entries);
  ovs_pool_unref (table->pool);
  g_free (table);
}

OvsBinding *
ovs_binding_ref (OvsBinding *binding)
{
  g_atomic_int_inc (&binding->refs);
  return binding;
}

void
ovs_binding_unref (OvsBinding *binding)
{
  if (!g_atomic_int_dec_and_test (&binding->refs))
    return;
  g_clear_pointer (&binding->places, ovs_places_unref);
  g_clear_pointer (&binding->row_bits, ovs_bits_unref);
  g_free (binding->entries);
  g_clear_pointer (&binding->rows, ovs_buffer_unref);
  ovs_layout_unref (binding->layout);
  ovs_mutex_clear (&binding->lock);
  g_free (binding);
}

static OvsBinding *
new_binding (OvsLayout *layout, guint32 n)
{
  OvsBinding *binding = g_new0 (OvsBinding, 1);

  binding->refs = 1;
  binding->layout = ovs_layout_ref (layout);
  binding->n = n;
  binding->n_layout = layout->n;
  ovs_mutex_init (&binding->lock);
  return binding;
}

/* @old: (nullable) rows that were found before; they stay where they are. */
static OvsBinding *
bind (OvsPool *pool, OvstagePathList *list, OvsLayout *layout, const OvsBinding *old)
{
  g_autoptr (OvsBinding) binding = new_binding (layout, list->n);
  gboolean is_run = TRUE;
  guint32 *rows;

  if (list->n == 0)
    return g_steal_pointer (&binding);
  if (layout->base == list && layout->n_base == list->n)
    {
      binding->end = list->n;
      return g_steal_pointer (&binding);
    }

  binding->rows = ovs_pool_alloc (pool, (gsize) list->n * sizeof (guint32));
  if (binding->rows == NULL)
    return NULL;
  rows = (guint32 *) binding->rows->data;
  for (guint32 i = 0; i < list->n; i++)
    {
      guint32 row = old != NULL ? ovs_binding_get_row (old, i) : OVS_INDEX_NONE;

      if (row == OVS_INDEX_NONE)
        row = ovs_layout_find (layout, list->ids[i]);
      rows[i] = row;
      if (row == OVS_INDEX_NONE)
        binding->n_missing++;
      else
        binding->end = MAX (binding->end, row + 1);
      is_run = is_run && row != OVS_INDEX_NONE && row == rows[0] + i;
    }

  if (is_run)
    {
      binding->first = rows[0];
      g_clear_pointer (&binding->rows, ovs_buffer_unref);
    }
  return g_steal_pointer (&binding);
}

static void
remove_entry (OvsBindingTable *table, Entry *entry)
{
  table->bytes -= entry->bytes;
  g_queue_unlink (&table->recent, &entry->link);
  g_hash_table_remove (table->entries, entry);
}

void
ovs_binding_table_drop_layout (OvsBindingTable *table, OvsLayout *layout)
{
  for (GList *link = table->recent.head, *next; link != NULL; link = next)
    {
      next = link->next;
      if (((Entry *) link->data)->binding->layout == layout)
        remove_entry (table, link->data);
    }
}

/* Drops the entries of lists that nobody else holds: nobody can ask for them. */
static void
sweep (OvsBindingTable *table)
{
  for (GList *link = table->recent.head, *next; link != NULL; link = next)
    {
      next = link->next;
      if (g_atomic_int_get (&((Entry *) link->data)->list->refs) == 1)
        remove_entry (table, link->data);
    }
  table->swept = table->recent.length;
}

OvsBinding *
ovs_binding_table_get (OvsBindingTable *table, OvstagePathList *list, OvsLayout *layout)
{
  OvsBinding probe_binding = { .layout = layout };
  Entry probe = { .list = list, .binding = &probe_binding };
  Entry *entry = g_hash_table_lookup (table->entries, &probe);
  OvsBinding *binding;

  if (entry != NULL)
    {
      if (table->recent.head != &entry->link)
        {
          g_queue_unlink (&table->recent, &entry->link);
          g_queue_push_head_link (&table->recent, &entry->link);
        }
      if (ovs_binding_is_fresh (entry->binding))
        return ovs_binding_ref (entry->binding);
    }

  if (table->recent.length > 2 * table->swept + 64)
    {
      sweep (table);
      entry = g_hash_table_lookup (table->entries, &probe);
    }
  binding = bind (table->pool, list, layout, entry != NULL ? entry->binding : NULL);
  if (binding == NULL)
    return NULL;
  if (entry != NULL)
    remove_entry (table, entry);
  entry = g_new0 (Entry, 1);
  entry->list = ovs_path_list_ref (list);
  entry->binding = ovs_binding_ref (binding);
  /* Room for the list itself, for places and for entries is counted too: they live as long as the entry. */
  entry->bytes = sizeof *entry + sizeof *binding + (gsize) list->n * (binding->rows != NULL ? 4 : 1) * sizeof (guint32);
  entry->link.data = entry;
  table->bytes += entry->bytes;
  g_hash_table_add (table->entries, entry);
  g_queue_push_head_link (&table->recent, &entry->link);
  while (table->bytes > table->budget && table->recent.length > 1)
    remove_entry (table, table->recent.tail->data);
  return binding;
}

void
ovs_binding_table_trim (OvsBindingTable *table)
{
  while (table->recent.length > 0)
    remove_entry (table, table->recent.tail->data);
}

gsize
ovs_binding_table_get_size (OvsBindingTable *table)
{
  return table->bytes;
}

/* Called with the lock. */
static void
make_row_bits (OvsBinding *binding)
{
  const guint32 *rows = (const guint32 *) binding->rows->data;

  binding->row_bits = ovs_bits_new (binding->end, FALSE);
  for (guint32 i = 0; i < binding->n; i++)
    if (rows[i] != OVS_INDEX_NONE)
      ovs_bits_set (binding->row_bits, rows[i]);
}

static gboolean
is_bound (const OvsBinding *binding, guint32 row)
{
  if (binding->rows == NULL)
    return row - binding->first < binding->n;
  return row < binding->end && ovs_bits_get (binding->row_bits, row);
}

gboolean
ovs_binding_meets (OvsBinding *binding, const OvsVersion *version, guint32 first, guint32 n, const guint32 *rows)
{
  gboolean meets = FALSE;

  if (binding->n == 0 || n == 0)
    return FALSE;
  if (version != NULL && version->live == NULL && binding->end <= version->n_rows)
    version = NULL;
  if (version == NULL && binding->rows == NULL && rows == NULL)
    return first < binding->first + binding->n && binding->first < first + n;
  if (version == NULL && rows != NULL && binding->rows != NULL && rows == (const guint32 *) binding->rows->data &&
      rows[0] != OVS_INDEX_NONE)
    return TRUE;

  ovs_mutex_lock (&binding->lock);
  if (binding->rows != NULL && binding->row_bits == NULL)
    make_row_bits (binding);
  for (guint32 i = 0; i < n && !meets; i++)
    {
      guint32 row = rows != NULL ? rows[i] : first + i;

      meets = is_bound (binding, row) && (version == NULL || ovs_version_has_row (version, row));
    }
  ovs_mutex_unlock (&binding->lock);
  return meets;
}

void
ovs_places_unref (OvsPlaces *places)
{
  if (!g_atomic_int_dec_and_test (&places->refs))
    return;
  g_clear_pointer (&places->live, ovs_bits_unref);
  g_free (places->prim_map);
  g_free (places->data_map);
  g_free (places);
}

typedef struct
{
  OvsPlaces *places;
  const OvsVersion *version; /* (nullable) */
  gboolean prims_run;
  gboolean rows_run;
} Placing;

static void
begin_places (Placing *placing, const OvsVersion *version, guint32 capacity)
{
  OvsPlaces *places = g_new0 (OvsPlaces, 1);

  places->refs = 1;
  places->live = version != NULL && version->live != NULL ? ovs_bits_ref (version->live) : NULL;
  places->n_rows = version != NULL ? version->n_rows : 0;
  places->prim_map = g_new (guint32, MAX (capacity, 1));
  places->data_map = g_new (guint32, MAX (capacity, 1));
  placing->places = places;
  placing->version = version;
  placing->prims_run = placing->rows_run = TRUE;
}

static inline void
add_place (Placing *placing, guint32 entry, guint32 row)
{
  OvsPlaces *places = placing->places;
  guint32 n = places->prim_count++;

  places->prim_map[n] = entry;
  places->data_map[n] = row;
  placing->prims_run = placing->prims_run && entry == places->prim_map[0] + n;
  placing->rows_run = placing->rows_run && row == places->data_map[0] + n;
}

static OvsPlaces *
end_places (Placing *placing)
{
  OvsPlaces *places = placing->places;
  guint32 n = places->prim_count;

  places->prim_offset = placing->prims_run && n > 0 ? places->prim_map[0] : 0;
  places->first_row = placing->rows_run && n > 0 ? places->data_map[0] : 0;
  places->data_count = placing->rows_run ? n : places->n_rows;
  if (placing->prims_run)
    g_clear_pointer (&places->prim_map, g_free);
  if (placing->rows_run)
    g_clear_pointer (&places->data_map, g_free);
  return places;
}

static OvsPlaces *
make_places (OvsBinding *binding, const OvsVersion *version)
{
  Placing placing;

  begin_places (&placing, version, binding->n);
  for (guint32 i = 0; i < binding->n; i++)
    {
      guint32 row = ovs_binding_get_row (binding, i);

      if (row != OVS_INDEX_NONE && ovs_version_has_row (version, row))
        add_place (&placing, i, row);
    }
  return end_places (&placing);
}

OvsPlaces *
ovs_places_new_chosen (const OvsBinding *binding, const OvsVersion *version, const OvsBits *chosen)
{
  Placing placing;
  OvsPlaces *places;

  begin_places (&placing, version, ovs_bits_count (chosen));
  for (guint32 w = 0; w < (chosen->n + 63) / 64; w++)
    for (guint64 word = chosen->words[w]; word != 0; word &= word - 1)
      {
        guint32 entry = w * 64 + (guint32) __builtin_ctzll (word);

        add_place (&placing, entry, binding != NULL ? ovs_binding_get_row (binding, entry) : placing.places->prim_count);
      }
  places = end_places (&placing);
  if (binding == NULL)
    places->data_count = 0;
  return places;
}

const guint32 *
ovs_binding_get_entries (OvsBinding *binding)
{
  guint32 *entries = g_atomic_pointer_get (&binding->entries);

  if (entries != NULL)
    return entries;
  ovs_mutex_lock (&binding->lock);
  entries = binding->entries;
  if (entries == NULL)
    {
      entries = g_new0 (guint32, MAX (binding->end, 1));
      for (guint32 i = 0; i < binding->n; i++)
        if (ovs_binding_get_row (binding, i) != OVS_INDEX_NONE)
          entries[ovs_binding_get_row (binding, i)] = i + 1;
      g_atomic_pointer_set (&binding->entries, entries);
    }
  ovs_mutex_unlock (&binding->lock);
  return entries;
}

OvsPlaces *
ovs_binding_get_places (OvsBinding *binding, const OvsVersion *version)
{
  OvsPlaces *places;

  ovs_mutex_lock (&binding->lock);
  places = binding->places;
  if (places == NULL || places->live != version->live || places->n_rows != version->n_rows)
    {
      g_clear_pointer (&binding->places, ovs_places_unref);
      places = binding->places = make_places (binding, version);
    }
  g_atomic_int_inc (&places->refs);
  ovs_mutex_unlock (&binding->lock);
  return places;
}
