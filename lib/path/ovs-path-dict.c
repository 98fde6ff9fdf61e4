/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* How it is laid out
 *
 *   path id -> Node, token id -> place of its Text: arenas, so an id is a place in
 *   memory. A node names its text by place, too, which saves a step on the way.
 *   path text -> path id, token text -> token id: two indexes, open-addressed
 *   tables of slots (hash << 32 | id). A path is found by the hash of its whole
 *   text in one probe; the names on the way up to the root then prove the hit.
 *
 * Who may do what
 *
 *   Adding takes the lock. A record is written, then published by the length of
 *   its arena, then by its slot, both with release; readers use acquire.
 *
 *   An index doubles in place: a new segment for the upper half, then each entry
 *   moves to where it belongs. Nothing is freed, so readers without the lock stay
 *   safe and the old and the new table are never both there. A reader may miss
 *   an entry on the move, but it can tell: the sequence number was odd or has
 *   changed. It then looks again with the lock. A hit needs no such care, since
 *   it is proven by the texts. */

#include "config.h"

#include <string.h>

#include "base/ovs-arena.h"
#include "path/ovs-path-dict.h"
#include "path/ovs-path-hash.h"
#include "path/ovs-path-index.h"
#include "path/ovs-path-text.h"

#define ROOT 1u
#define PREFIXES_ON_STACK 32
#define RECENT_SIZE 112

typedef struct
{
  guint32 token;
  guint32 length;
  char bytes[]; /* terminated */
} Text;

typedef struct
{
  guint32 parent; /* path id */
  guint32 name;   /* place of a text */
} Node;

/* Texts are laid out in units of this. */
typedef guint32 TextUnit;

#define EMPTY_TEXT_UNITS (sizeof (Text) / sizeof (TextUnit) + 1)

struct _OvsPathDict
{
  gint refs; /* (atomic) */
  gsize serial; /* tells dictionaries apart, also in time */
  guint64 seed;
  OvsArena nodes;  /* of Node; 0 is not a path */
  OvsArena tokens; /* of guint32, the places of texts; 0 is the empty text */
  OvsArena texts;  /* of TextUnit */
  OvsPathIndex paths;
  OvsPathIndex names;
  OvsMutex lock; /* of all that changes above */
  OvsPathListTable lists;
};

/* The parent that this thread met last, since children come in flocks. An id
 * and its text belong together for good, so this cannot go stale. */
typedef struct
{
  gsize serial;
  gsize length;
  guint32 id;
  char text[RECENT_SIZE];
} Recent;

/* An ancestor of a path on its way in, or the path. */
typedef struct
{
  gsize length;
  guint32 hash;
} Prefix;

static __thread Recent recent;
static gsize last_serial; /* (atomic) */

/* Finds without the lock where it can, and is right in any case. */
static inline guint32
find (OvsPathDict *dict, OvsPathIndex *index, guint32 hash, OvsPathSameFunc same, const char *text, gsize length)
{
  guint32 sequence = __atomic_load_n (&index->sequence, __ATOMIC_ACQUIRE);
  guint32 id = ovs_path_index_probe (index, dict, hash, same, text, length);

  if (id != OVS_ID_NONE ||
      (sequence % 2 == 0 && __atomic_load_n (&index->sequence, __ATOMIC_ACQUIRE) == sequence))
    return id;
  ovs_mutex_lock (&dict->lock);
  id = ovs_path_index_probe (index, dict, hash, same, text, length);
  ovs_mutex_unlock (&dict->lock);
  return id;
}

/* Records */

static inline const Text *
get_text (OvsPathDict *dict, guint32 place)
{
  return (const Text *) OVS_ARENA_AT (&dict->texts, const TextUnit, place);
}

static inline const Text *
get_token (OvsPathDict *dict, guint32 token)
{
  return get_text (dict, *OVS_ARENA_AT (&dict->tokens, const guint32, token));
}

static inline const Node *
get_node (OvsPathDict *dict, guint32 path)
{
  return OVS_ARENA_AT (&dict->nodes, const Node, path);
}

static inline gboolean
has_token (OvsPathDict *dict, guint64 token)
{
  return token < ovs_arena_get_length (&dict->tokens);
}

static inline gboolean
has_path (OvsPathDict *dict, guint64 path)
{
  return path != OVS_ID_NONE && path < ovs_arena_get_length (&dict->nodes);
}

static inline gboolean
same_token (OvsPathDict *dict, guint32 id, const char *text, gsize length)
{
  const Text *own = get_token (dict, id);

  return own->length == length && ovs_same_bytes (own->bytes, text, length);
}

static inline void
remember (OvsPathDict *dict, guint32 id, const char *path, gsize length)
{
  if (length > RECENT_SIZE)
    return;
  recent.serial = dict->serial;
  recent.id = id;
  recent.length = length;
  memcpy (recent.text, path, length);
}

static gboolean
same_ancestor (OvsPathDict *dict, guint32 id, const char *path, gsize length)
{
  while (id != ROOT)
    {
      const Node *node = get_node (dict, id);
      const Text *name = get_text (dict, node->name);

      if (length <= name->length)
        return FALSE;
      length -= (gsize) name->length + 1;
      if (path[length] != '/' || !ovs_same_bytes (path + length + 1, name->bytes, name->length))
        return FALSE;
      id = node->parent;
    }
  return length == 0;
}

static inline gboolean
same_path (OvsPathDict *dict, guint32 id, const char *path, gsize length)
{
  const Node *node = get_node (dict, id);
  const Text *name = get_text (dict, node->name);

  if (length <= name->length)
    return FALSE;
  length -= (gsize) name->length + 1;
  if (path[length] != '/' || !ovs_same_bytes (path + length + 1, name->bytes, name->length))
    return FALSE;
  if (node->parent == recent.id && dict->serial == recent.serial)
    return length == recent.length && memcmp (path, recent.text, length) == 0;
  if (!same_ancestor (dict, node->parent, path, length))
    return FALSE;
  remember (dict, node->parent, path, length);
  return TRUE;
}

/* The text of @path, with one more @name where there is one. The root has no text of its own. */
static char *
make_text (OvsPathDict *dict, guint32 path, const Text *name, gsize *length)
{
  gsize n = name != NULL ? (gsize) name->length + 1 : 0;
  char *text, *p;

  for (guint32 id = path; id != ROOT; id = get_node (dict, id)->parent)
    n += (gsize) get_text (dict, get_node (dict, id)->name)->length + 1;
  text = g_malloc (n + 1);
  *length = n;
  p = text + n;
  *p = '\0';
  for (guint32 id = path; name != NULL || id != ROOT;)
    {
      if (name == NULL)
        {
          name = get_text (dict, get_node (dict, id)->name);
          id = get_node (dict, id)->parent;
        }
      p -= name->length;
      memcpy (p, name->bytes, name->length);
      *--p = '/';
      name = NULL;
    }
  return text;
}

/* With the lock, as all that adds. 0 when memory is used up. */
static guint32
add_token (OvsPathDict *dict, guint32 hash, const char *text, gsize length)
{
  gsize n_units = (sizeof (Text) + length + 1 + sizeof (TextUnit) - 1) / sizeof (TextUnit);
  guint32 *place;
  Text *own;
  guint32 id;

  if (length >= G_MAXUINT32 || !ovs_path_index_make_room (&dict->names))
    return OVS_ID_NONE;
  place = ovs_arena_prepare (&dict->tokens, 1);
  own = place == NULL ? NULL : ovs_arena_prepare (&dict->texts, n_units);
  if (own == NULL)
    return OVS_ID_NONE;
  own->token = dict->tokens.next;
  own->length = length;
  memcpy (own->bytes, text, length);
  own->bytes[length] = '\0';
  *place = ovs_arena_commit (&dict->texts, n_units);
  id = ovs_arena_commit (&dict->tokens, 1);
  ovs_path_index_add (&dict->names, hash, id);
  return id;
}

/* The text has been checked. */
static guint32
ensure_token (OvsPathDict *dict, const char *text, gsize length)
{
  guint32 hash = ovs_hash_text (dict->seed, text, length);
  guint32 id = ovs_path_index_probe (&dict->names, dict, hash, same_token, text, length);

  return id != OVS_ID_NONE ? id : add_token (dict, hash, text, length);
}

/* A path that is not there, below one that is. */
static guint32
add_child (OvsPathDict *dict, guint32 hash, guint32 parent, const char *name, gsize length)
{
  guint32 token = ensure_token (dict, name, length);
  Node *node;
  guint32 id;

  if (token == OVS_ID_NONE || !ovs_path_index_make_room (&dict->paths))
    return OVS_ID_NONE;
  node = ovs_arena_prepare (&dict->nodes, 1);
  if (node == NULL)
    return OVS_ID_NONE;
  *node = (Node) { parent, *OVS_ARENA_AT (&dict->tokens, const guint32, token) };
  id = ovs_arena_commit (&dict->nodes, 1);
  ovs_path_index_add (&dict->paths, hash, id);
  return id;
}

/* A path whose parent is not there either: all that is missing below the closest
 * ancestor. The hashes of all of them come out of one pass over the text. */
static guint32
add_ancestors (OvsPathDict *dict, const char *path, gsize length)
{
  Prefix on_stack[PREFIXES_ON_STACK];
  g_autofree Prefix *on_heap = NULL;
  Prefix *prefixes = on_stack;
  guint64 state = dict->seed;
  gsize n = 0, n_hashed = 0, i = 0;
  guint32 id = ROOT;

  for (gsize k = 0; k < length; k++)
    n += path[k] == '/';
  if (n > PREFIXES_ON_STACK)
    {
      on_heap = ovs_try_alloc (n * sizeof (Prefix));
      if (on_heap == NULL)
        return OVS_ID_NONE;
      prefixes = on_heap;
    }
  for (gsize k = 1; k <= length; k++)
    {
      if (k < length && path[k] != '/')
        continue;
      for (; n_hashed + 8 <= k; n_hashed += 8)
        state = ovs_mix_hash (state, ovs_load_word (path + n_hashed));
      prefixes[i++] = (Prefix) { k, ovs_hash_tail (state, path + n_hashed, k - n_hashed) };
    }

  for (i = n; i > 0; i--)
    {
      guint32 found = ovs_path_index_probe (&dict->paths, dict, prefixes[i - 1].hash, same_path, path, prefixes[i - 1].length);

      if (found != OVS_ID_NONE)
        {
          id = found;
          break;
        }
    }
  for (; i < n && id != OVS_ID_NONE; i++)
    {
      gsize start = (i == 0 ? 0 : prefixes[i - 1].length) + 1;

      id = add_child (dict, prefixes[i].hash, id, path + start, prefixes[i].length - start);
    }
  return id;
}

static guint32
find_parent (OvsPathDict *dict, const char *path, gsize length)
{
  guint32 id;

  if (length == 0)
    return ROOT;
  if (dict->serial == recent.serial && length == recent.length && memcmp (path, recent.text, length) == 0)
    return recent.id;
  id = ovs_path_index_probe (&dict->paths, dict, ovs_hash_text (dict->seed, path, length), same_path, path, length);
  if (id != OVS_ID_NONE)
    remember (dict, id, path, length);
  return id;
}

/* The path has been checked, and was not there when the index had @n_seen entries. */
static guint32
ensure_path (OvsPathDict *dict, guint32 hash, const char *path, gsize length, guint32 n_seen)
{
  const char *name;
  gsize above;
  guint32 id;

  if (n_seen != dict->paths.count)
    {
      id = ovs_path_index_probe (&dict->paths, dict, hash, same_path, path, length);
      if (id != OVS_ID_NONE)
        return id;
    }
  name = (const char *) memrchr (path, '/', length) + 1;
  above = name - 1 - path;
  id = find_parent (dict, path, above);
  if (id == OVS_ID_NONE)
    return add_ancestors (dict, path, length);
  return add_child (dict, hash, id, name, length - above - 1);
}

static gboolean
fail_full (GError **error, const char *what, const char *text, gsize length)
{
  g_autofree char *quoted = ovs_quote_text (text, length);

  return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory to intern the %s %s", what, quoted);
}

/* The interface */

OvsPathDict *
ovs_path_dict_new (void)
{
  OvsPathDict *dict = g_new0 (OvsPathDict, 1);

  dict->refs = 1;
  dict->serial = __atomic_add_fetch (&last_serial, 1, __ATOMIC_RELAXED);
  dict->seed = (guint64) g_random_int () << 32 | g_random_int ();
  ovs_mutex_init (&dict->lock);
  ovs_mutex_init (&dict->lists.lock);
  ovs_arena_init (&dict->nodes, sizeof (Node));
  ovs_arena_init (&dict->tokens, sizeof (guint32));
  ovs_arena_init (&dict->texts, sizeof (TextUnit));
  ovs_path_index_init (&dict->paths);
  ovs_path_index_init (&dict->names);

  /* Zeros are right for token 0 and its text, for what is no path, and for the root. */
  if (ovs_arena_prepare (&dict->texts, EMPTY_TEXT_UNITS) == NULL || ovs_arena_prepare (&dict->tokens, 1) == NULL ||
      ovs_arena_prepare (&dict->nodes, 2) == NULL)
    g_error ("no memory for a path dictionary");
  ovs_arena_commit (&dict->texts, EMPTY_TEXT_UNITS);
  ovs_arena_commit (&dict->tokens, 1);
  ovs_arena_commit (&dict->nodes, 2);
  return dict;
}

OvsPathDict *
ovs_path_dict_ref (OvsPathDict *dict)
{
  g_atomic_int_inc (&dict->refs);
  return dict;
}

void
ovs_path_dict_unref (OvsPathDict *dict)
{
  if (!g_atomic_int_dec_and_test (&dict->refs))
    return;
  g_free (dict->lists.buckets);
  ovs_path_index_clear (&dict->paths);
  ovs_path_index_clear (&dict->names);
  ovs_arena_clear (&dict->nodes);
  ovs_arena_clear (&dict->tokens);
  ovs_arena_clear (&dict->texts);
  ovs_mutex_clear (&dict->lists.lock);
  ovs_mutex_clear (&dict->lock);
  g_free (dict);
}

guint32
ovs_path_dict_intern_token (OvsPathDict *dict, const char *text, gssize length, GError **error)
{
  gsize n = length < 0 ? strlen (text) : (gsize) length;
  guint32 id = ovs_path_dict_find_token (dict, text, n);

  if (id != OVS_ID_NONE)
    return id;
  if (!ovs_check_token_text (text, n, error))
    return OVS_ID_NONE;
  ovs_mutex_lock (&dict->lock);
  id = ensure_token (dict, text, n);
  ovs_mutex_unlock (&dict->lock);
  if (id == OVS_ID_NONE)
    fail_full (error, "token", text, n);
  return id;
}

guint32
ovs_path_dict_find_token (OvsPathDict *dict, const char *text, gssize length)
{
  gsize n = length < 0 ? strlen (text) : (gsize) length;

  return n == 0 ? OVS_ID_NONE : find (dict, &dict->names, ovs_hash_text (dict->seed, text, n), same_token, text, n);
}

const char *
ovs_path_dict_get_token_text (OvsPathDict *dict, guint64 token, gsize *length)
{
  const Text *text;

  if (!has_token (dict, token))
    return NULL;
  text = get_token (dict, token);
  if (length != NULL)
    *length = text->length;
  return text->bytes;
}

guint32
ovs_path_dict_find_path (OvsPathDict *dict, const char *path, gssize length)
{
  gsize n = length < 0 ? strlen (path) : (gsize) length;

  if (n == 0 || path[0] != '/')
    return OVS_ID_NONE;
  if (n == 1)
    return ROOT;
  return find (dict, &dict->paths, ovs_hash_text (dict->seed, path, n), same_path, path, n);
}

/* The path has been checked and is not the root. */
static guint32
intern_checked (OvsPathDict *dict, guint32 hash, const char *path, gsize length)
{
  guint32 n_seen = __atomic_load_n (&dict->paths.count, __ATOMIC_ACQUIRE);
  guint32 id = find (dict, &dict->paths, hash, same_path, path, length);

  if (id != OVS_ID_NONE)
    return id;
  ovs_mutex_lock (&dict->lock);
  id = ensure_path (dict, hash, path, length, n_seen);
  ovs_mutex_unlock (&dict->lock);
  return id;
}

guint32
ovs_path_dict_intern_path (OvsPathDict *dict, const char *path, gssize length, GError **error)
{
  gsize n = length < 0 ? strlen (path) : (gsize) length;
  guint32 hash = ovs_hash_text (dict->seed, path, n);
  guint32 id;

  /* The slot is on its way while the path is checked. */
  ovs_path_index_prefetch (&dict->paths, hash);
  if (!ovs_check_path_text (path, n, error))
    return OVS_ID_NONE;
  id = n == 1 ? ROOT : intern_checked (dict, hash, path, n);
  if (id == OVS_ID_NONE)
    fail_full (error, "path", path, n);
  return id;
}

guint32
ovs_path_dict_intern_child (OvsPathDict *dict, guint32 parent, guint32 token)
{
  g_autofree char *path = NULL;
  const Text *name;
  gsize length;

  if (!has_path (dict, parent) || token == OVS_ID_NONE || !has_token (dict, token))
    return OVS_ID_NONE;
  name = get_token (dict, token);
  if (memchr (name->bytes, '/', name->length) != NULL)
    return OVS_ID_NONE;
  path = make_text (dict, parent, name, &length);
  return intern_checked (dict, ovs_hash_text (dict->seed, path, length), path, length);
}

gboolean
ovs_path_dict_has_path (OvsPathDict *dict, guint64 path)
{
  return has_path (dict, path);
}

char *
ovs_path_dict_dup_path (OvsPathDict *dict, guint64 path)
{
  gsize length;

  if (!has_path (dict, path))
    return NULL;
  return path == ROOT ? g_strdup ("/") : make_text (dict, path, NULL, &length);
}

guint32
ovs_path_dict_get_parent (OvsPathDict *dict, guint32 path)
{
  return has_path (dict, path) ? get_node (dict, path)->parent : OVS_ID_NONE;
}

guint32
ovs_path_dict_get_name (OvsPathDict *dict, guint32 path)
{
  return has_path (dict, path) ? get_text (dict, get_node (dict, path)->name)->token : OVS_ID_NONE;
}

guint32
ovs_path_dict_get_depth (OvsPathDict *dict, guint32 path)
{
  guint32 depth = 0;

  if (!has_path (dict, path))
    return 0;
  for (; path != ROOT; path = get_node (dict, path)->parent)
    depth++;
  return depth;
}

guint32
ovs_path_dict_get_root (OvsPathDict *dict)
{
  return ROOT;
}

guint32
ovs_path_dict_get_last_path (OvsPathDict *dict)
{
  return ovs_arena_get_length (&dict->nodes) - 1;
}

guint32
ovs_path_dict_get_last_token (OvsPathDict *dict)
{
  return ovs_arena_get_length (&dict->tokens) - 1;
}

OvsPathListTable *
ovs_path_dict_get_lists (OvsPathDict *dict)
{
  return &dict->lists;
}

void
ovs_path_dict_block (OvsPathDict *dict)
{
  ovs_mutex_lock (&dict->lock);
}

void
ovs_path_dict_unblock (OvsPathDict *dict)
{
  ovs_mutex_unlock (&dict->lock);
}
