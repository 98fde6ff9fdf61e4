/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>

#include "base/ovs-arena.h"
#include "path/ovs-path-list.h"
#include "path/ovs-path-text.h"

#define FEWEST_BUCKETS 16
#define MAX_LENGTH 0x60000000u /* three quarters of the largest table of slots */

typedef struct
{
  guint32 first;
  guint32 again;
} Repeat;

/* Slots */

static inline guint32
home_slot (guint32 path, guint32 mask)
{
  return mask == 0 ? 0 : path * 2654435769u >> __builtin_clz (mask);
}

static guint32
choose_slot_mask (guint32 n)
{
  guint64 size = 1;

  while (size * 3 < (guint64) n * 4)
    size *= 2;
  return size - 1;
}

/* The table of a list. NULL when memory is used up, or with @repeat set if a path is there twice. */
static guint32 *
make_slots (const OvstagePathList *list, Repeat *repeat)
{
  guint32 mask = list->slot_mask;
  g_autofree guint32 *slots = ovs_try_alloc0 (((gsize) mask + 1) * sizeof (guint32));

  if (slots == NULL)
    return NULL;
  for (guint32 i = 0; i < list->n; i++)
    {
      guint32 s = home_slot (list->ids[i], mask);

      for (; slots[s] != 0; s = (s + 1) & mask)
        {
          if (list->ids[slots[s] - 1] != list->ids[i])
            continue;
          *repeat = (Repeat) { slots[s] - 1, i };
          return NULL;
        }
      slots[s] = i + 1;
    }
  return g_steal_pointer (&slots);
}

static guint32 *
get_slots (OvstagePathList *list)
{
  guint32 *slots = __atomic_load_n (&list->slots, __ATOMIC_ACQUIRE);
  guint32 *none = NULL;
  Repeat repeat;

  if (slots != NULL)
    return slots;
  slots = make_slots (list, &repeat);
  if (slots == NULL ||
      __atomic_compare_exchange_n (&list->slots, &none, slots, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return slots;
  g_free (slots);
  return none;
}

guint32
ovs_path_list_index_of (OvstagePathList *list, guint32 path)
{
  const guint32 *slots;
  guint32 guess;

  if (list->n == 0 || path == OVS_ID_NONE)
    return OVS_INDEX_NONE;
  guess = path - list->ids[0];
  if (guess < list->n && list->ids[guess] == path)
    return guess;
  if (list->consecutive)
    return OVS_INDEX_NONE;

  slots = get_slots (list);
  if (slots == NULL)
    {
      for (guint32 i = 0; i < list->n; i++)
        {
          if (list->ids[i] == path)
            return i;
        }
      return OVS_INDEX_NONE;
    }
  for (guint32 s = home_slot (path, list->slot_mask); slots[s] != 0; s = (s + 1) & list->slot_mask)
    {
      if (list->ids[slots[s] - 1] == path)
        return slots[s] - 1;
    }
  return OVS_INDEX_NONE;
}

/* The dictionary's table of living lists. Its functions run with its lock. */

static OvstagePathList **
find_bucket (OvsPathListTable *table, guint32 hash)
{
  return &table->buckets[hash & (table->n_buckets - 1)];
}

static void
resize_table (OvsPathListTable *table, guint32 n_buckets)
{
  OvstagePathList **old = table->buckets;
  guint32 n_old = table->n_buckets;

  table->buckets = g_new0 (OvstagePathList *, n_buckets);
  table->n_buckets = n_buckets;
  for (guint32 i = 0; i < n_old; i++)
    {
      for (OvstagePathList *list = old[i], *next; list != NULL; list = next)
        {
          OvstagePathList **bucket = find_bucket (table, list->hash);

          next = list->next;
          list->next = *bucket;
          *bucket = list;
        }
    }
  g_free (old);
}

/* A new reference to the list in the table with the content of @list, or NULL. */
static OvstagePathList *
ref_equal (OvsPathListTable *table, const OvstagePathList *list)
{
  if (table->n_buckets == 0)
    return NULL;
  for (OvstagePathList *other = *find_bucket (table, list->hash); other != NULL; other = other->next)
    {
      if (other->hash == list->hash && other->n == list->n &&
          memcmp (other->ids, list->ids, sizeof (guint32) * list->n) == 0)
        return ovs_path_list_ref (other);
    }
  return NULL;
}

static void
add_to_table (OvsPathListTable *table, OvstagePathList *list)
{
  OvstagePathList **bucket;

  if (table->n_lists == table->n_buckets)
    resize_table (table, MAX (FEWEST_BUCKETS, table->n_buckets * 2));
  bucket = find_bucket (table, list->hash);
  list->next = *bucket;
  *bucket = list;
  table->n_lists++;
}

static void
remove_from_table (OvsPathListTable *table, OvstagePathList *list)
{
  OvstagePathList **place = find_bucket (table, list->hash);

  while (*place != list)
    place = &(*place)->next;
  *place = list->next;
  table->n_lists--;
  if (table->n_buckets > FEWEST_BUCKETS && table->n_lists < table->n_buckets / 8)
    resize_table (table, table->n_buckets / 2);
}

/* Making lists */

static void
free_list (OvstagePathList *list)
{
  g_free (list->slots);
  ovs_path_dict_unref (list->dict);
  g_free (list);
}

static OvstagePathList *
allocate_list (OvsPathDict *dict, gsize n, GError **error)
{
  OvstagePathList *list = NULL;

  if (n <= MAX_LENGTH && n <= (G_MAXSIZE - sizeof (OvstagePathList)) / sizeof (guint32))
    list = ovs_try_alloc (sizeof (OvstagePathList) + sizeof (guint32) * n);
  if (list == NULL)
    {
      ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a list of %" G_GSIZE_FORMAT " paths", n);
      return NULL;
    }
  *list = (OvstagePathList) { .refs = 1, .dict = ovs_path_dict_ref (dict), .n = n };
  return list;
}

static gboolean
fail_repeat (GError **error, const OvstagePathList *list, const Repeat *repeat)
{
  g_autofree char *text = ovs_path_dict_dup_path (list->dict, list->ids[repeat->again]);
  g_autofree char *quoted = ovs_quote_text (text, -1);

  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                   "paths[%u] repeats paths[%u], %s: a list has each path once", repeat->again, repeat->first, quoted);
}

/* Refuses repeated paths. Ids that rise, as those of paths interned in this
 * order do, prove themselves; otherwise the table of slots tells, and stays. */
static gboolean
check_repeats (OvstagePathList *list, gboolean rising, GError **error)
{
  Repeat repeat = { 0, 0 };

  if (rising)
    return TRUE;
  list->slots = make_slots (list, &repeat);
  if (list->slots != NULL)
    return TRUE;
  if (repeat.again != 0)
    return fail_repeat (error, list, &repeat);
  return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for a list of %u paths", list->n);
}

/* Takes a list with all its ids, and gives the one object with this content. */
static OvstagePathList *
intern_list (OvstagePathList *list, GError **error)
{
  OvsPathListTable *table = ovs_path_dict_get_lists (list->dict);
  OvstagePathList *equal;
  guint64 hash = list->n;
  gboolean rising = TRUE;

  list->consecutive = TRUE;
  list->slot_mask = choose_slot_mask (list->n);
  for (guint32 i = 0; i < list->n; i++)
    {
      hash = (hash ^ list->ids[i]) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      hash ^= hash >> 32;
      if (i == 0)
        continue;
      rising &= list->ids[i] > list->ids[i - 1];
      list->consecutive &= list->ids[i] == list->ids[i - 1] + 1;
    }
  list->hash = hash;

  ovs_mutex_lock (&table->lock);
  equal = ref_equal (table, list);
  ovs_mutex_unlock (&table->lock);
  if (equal == NULL)
    {
      if (!check_repeats (list, rising, error))
        {
          free_list (list);
          return NULL;
        }
      ovs_mutex_lock (&table->lock);
      equal = ref_equal (table, list);
      if (equal == NULL)
        add_to_table (table, list);
      ovs_mutex_unlock (&table->lock);
    }
  if (equal == NULL)
    return list;
  free_list (list);
  return equal;
}

OvstagePathList *
ovs_path_list_new (OvsPathDict *dict, const guint64 *paths, gsize n, GError **error)
{
  OvstagePathList *list = allocate_list (dict, n, error);

  if (list == NULL)
    return NULL;
  for (guint32 i = 0; i < n; i++)
    {
      if (!ovs_path_dict_has_path (dict, paths[i]))
        {
          ovs_fail (error, OVSTAGE_ERROR_INVALID_HANDLE,
                    "paths[%u] is %" G_GUINT64_FORMAT ", which is no path of this dictionary: its ids run from 1 to %u",
                    i, paths[i], ovs_path_dict_get_last_path (dict));
          free_list (list);
          return NULL;
        }
      list->ids[i] = paths[i];
    }
  return intern_list (list, error);
}

OvstagePathList *
ovs_path_list_new_for_strings (OvsPathDict *dict, const char *const *paths, gsize n, GError **error)
{
  OvstagePathList *list = allocate_list (dict, n, error);

  if (list == NULL)
    return NULL;
  for (guint32 i = 0; i < n; i++)
    {
      list->ids[i] = ovs_path_dict_intern_path (dict, paths[i], -1, error);
      if (list->ids[i] == OVS_ID_NONE)
        {
          g_prefix_error (error, "paths[%u]: ", i);
          free_list (list);
          return NULL;
        }
    }
  return intern_list (list, error);
}

OvstagePathList *
ovs_path_list_new_for_bits (OvsPathDict *dict, const guint64 *words, gsize n_words, gsize count, GError **error)
{
  OvstagePathList *list = allocate_list (dict, count, error);
  guint32 *id;

  if (list == NULL)
    return NULL;
  id = list->ids;
  for (gsize i = 0; i < n_words; i++)
    {
      guint64 word = words[i];
      guint32 first = (guint32) i * 64;

      if (word == G_MAXUINT64)
        for (guint32 bit = 0; bit < 64; bit++)
          *id++ = first + bit;
      else
        for (; word != 0; word &= word - 1)
          *id++ = first + (guint32) __builtin_ctzll (word);
    }
  return intern_list (list, error);
}

OvstagePathList *
ovs_path_list_ref (OvstagePathList *list)
{
  g_atomic_int_inc (&list->refs);
  return list;
}

/* The last reference goes with the table's lock held, so that nobody finds a
 * list there that is on its way out. */
void
ovs_path_list_unref (OvstagePathList *list)
{
  OvsPathListTable *table;
  gint refs = g_atomic_int_get (&list->refs);
  gboolean last;

  while (refs > 1)
    {
      if (g_atomic_int_compare_and_exchange_full (&list->refs, refs, refs - 1, &refs))
        return;
    }
  table = ovs_path_dict_get_lists (list->dict);
  ovs_mutex_lock (&table->lock);
  last = g_atomic_int_dec_and_test (&list->refs);
  if (last)
    remove_from_table (table, list);
  ovs_mutex_unlock (&table->lock);
  if (last)
    free_list (list);
}
