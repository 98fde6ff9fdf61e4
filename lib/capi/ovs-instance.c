/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-instance.h"

#include <string.h>

#include "capi/ovs-given.h"
#include "path/ovs-path-text.h"

/* Places. The word of a place: serial number of who has it, whether it is open, and how many are inside, the owner
 * counted. */

#define BLOCK_PLACES 256
#define MAX_PLACES 16384
#define PLACE_BITS 14
#define MARK_BITS 2
#define SERIAL_BITS MIN (31, (gint) (sizeof (gpointer) * 8) - PLACE_BITS - MARK_BITS)
#define SERIAL_MASK ((G_GUINT64_CONSTANT (1) << SERIAL_BITS) - 1)
#define SERIAL_SHIFT 33
#define OPEN_BIT (G_GUINT64_CONSTANT (1) << 32)
#define INSIDE_MASK G_GUINT64_CONSTANT (0xffffffff)

enum
{
  MARK_INSTANCE = 1,
  MARK_DICTIONARY = 2,
};

typedef struct
{
  guint64 word;          /* (atomic) */
  OvsInstance *instance; /* (owned) set while somebody is inside */
} Place;

static OvsMutex places_lock;
static Place *blocks[MAX_PLACES / BLOCK_PLACES]; /* (atomic), never freed */
static guint n_places;         /* protected by places_lock */
static GQueue free_places = G_QUEUE_INIT; /* protected by places_lock: the longest unused first */
static guint64 n_instances;    /* protected by places_lock: ever */

static Place *
get_place (guint i)
{
  Place *block = __atomic_load_n (&blocks[i / BLOCK_PLACES], __ATOMIC_ACQUIRE);

  return block != NULL ? &block[i % BLOCK_PLACES] : NULL;
}

static gpointer
make_pointer (guint place, guint64 serial, guint mark)
{
  return (gpointer) (guintptr) (((serial << PLACE_BITS | place) << MARK_BITS) | mark);
}

static OvsInstance *
enter (gconstpointer pointer, guint mark)
{
  guint64 value = (guintptr) pointer;
  guint64 serial = value >> (PLACE_BITS + MARK_BITS);
  Place *place = get_place ((guint) (value >> MARK_BITS) & (MAX_PLACES - 1));
  guint64 word;

  if (place == NULL || (value & ((1u << MARK_BITS) - 1)) != mark)
    return NULL;
  word = __atomic_load_n (&place->word, __ATOMIC_RELAXED);
  do
    {
      if (word >> SERIAL_SHIFT != serial || (word & OPEN_BIT) == 0)
        return NULL;
    }
  while (!__atomic_compare_exchange_n (&place->word, &word, word + 1, TRUE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
  return place->instance;
}

OvstageError
ovs_instance_fail (const ovstage_instance_t *pointer)
{
  return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "instance: %p is none, or was destroyed", pointer);
}

OvsInstance *
ovs_instance_enter (const ovstage_instance_t *pointer)
{
  OvsInstance *instance = enter (pointer, MARK_INSTANCE);

  if (instance == NULL)
    ovs_instance_fail (pointer);
  return instance;
}

OvsInstance *
ovs_instance_enter_dictionary (const path_dictionary_instance_t *pointer)
{
  return enter (pointer, MARK_DICTIONARY);
}

static guint
get_place_number (const OvsInstance *instance)
{
  return (guint) ((guintptr) instance->pointer >> MARK_BITS) & (MAX_PLACES - 1);
}

path_dictionary_instance_t *
ovs_instance_get_dictionary (OvsInstance *instance)
{
  return (path_dictionary_instance_t *) ((guintptr) instance->pointer - MARK_INSTANCE + MARK_DICTIONARY);
}

/* Handles that are left, whose objects go when the lock is not held. */

static void
free_object (OvsInstance *instance, OvsHandleKind kind, gpointer object)
{
  switch (kind)
    {
    case OVS_HANDLE_QUERY:
    case OVS_HANDLE_READ:
    case OVS_HANDLE_ORDINAL_QUERY:
      ovs_op_unref (object);
      break;
    case OVS_HANDLE_PATH_LIST:
      ovs_path_list_unref (((OvsListHandle *) object)->list);
      g_free (object);
      break;
    case OVS_HANDLE_READ_GROUP:
      ovs_given_group_free (object);
      break;
    case OVS_HANDLE_QUERY_RESULT:
      ovs_given_result_free (object);
      break;
    case OVS_HANDLE_MAP:
      ovs_given_map_unref (instance, object);
      break;
    case OVS_HANDLE_NONE:
    case OVS_N_HANDLE_KINDS:
    default:
      g_assert_not_reached ();
    }
}

static void
drop_handles (OvsInstance *instance)
{
  OvsHandles handles;
  guint64 position = 0;
  OvsSlot *slot;

  ovs_mutex_lock (&instance->lock);
  handles = instance->handles;
  ovs_handles_init (&instance->handles);
  g_hash_table_remove_all (instance->lists);
  ovs_mutex_unlock (&instance->lock);

  while ((slot = ovs_handles_next (&handles, &position)) != NULL)
    free_object (instance, slot->kind, slot->object);
  ovs_handles_clear (&handles);
}

static gint
compare_slots (gconstpointer a, gconstpointer b)
{
  const OvsSlot *x = a, *y = b;

  return x->handle < y->handle ? -1 : x->handle > y->handle;
}

/* What the caller did not release; not the lists and queries that go with groups and results. */
static void
report_leaks (OvsInstance *instance)
{
  static const char *const kinds[OVS_N_HANDLE_KINDS] = {
    [OVS_HANDLE_PATH_LIST] = "path list",   [OVS_HANDLE_QUERY] = "query",
    [OVS_HANDLE_QUERY_RESULT] = "query result", [OVS_HANDLE_READ] = "read",
    [OVS_HANDLE_READ_GROUP] = "read group", [OVS_HANDLE_MAP] = "map",
    [OVS_HANDLE_ORDINAL_QUERY] = "ordinal query",
  };
  g_autoptr (GHashTable) inner = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (OvsSlot));
  g_autoptr (GString) text = NULL;
  g_autofree char *name = NULL;
  guint64 position = 0;
  OvsSlot *slot;

  ovs_mutex_lock (&instance->lock);
  while ((slot = ovs_handles_next (&instance->handles, &position)) != NULL)
    {
      if (slot->kind == OVS_HANDLE_QUERY_RESULT)
        g_hash_table_add (inner, &((OvsGivenResult *) slot->object)->query);
      if (slot->kind != OVS_HANDLE_PATH_LIST || ((OvsListHandle *) slot->object)->n_callers > 0)
        g_array_append_val (open, *slot);
    }
  for (guint i = open->len; i > 0; i--)
    if (g_hash_table_contains (inner, &g_array_index (open, OvsSlot, i - 1).handle))
      g_array_remove_index_fast (open, i - 1);
  ovs_mutex_unlock (&instance->lock);
  if (open->len == 0)
    return;

  g_array_sort (open, compare_slots);
  text = g_string_new (NULL);
  for (guint i = 0; i < open->len; i++)
    {
      const OvsSlot *leaked = &g_array_index (open, OvsSlot, i);

      g_string_append_printf (text, "%s%s %" G_GUINT64_FORMAT, i > 0 ? ", " : "", kinds[leaked->kind], leaked->handle);
    }
  name = ovs_quote_text (instance->name != NULL ? instance->name : "", -1);
  g_warning ("instance %s was destroyed with %u open handles: %s", name, open->len, text->str);
}

/* Nobody is inside, and nobody can come in. */
static void
free_instance (OvsInstance *instance)
{
  guint number = get_place_number (instance);
  Place *place = get_place (number);

  drop_handles (instance);
  ovs_handles_clear (&instance->handles);
  g_hash_table_unref (instance->lists);
  ovs_records_unref (instance->records);
  ovs_stage_unref (instance->stage);
  ovs_mutex_clear (&instance->lock);
  g_free (instance->name);
  g_free (instance);

  place->instance = NULL;
  ovs_mutex_lock (&places_lock);
  g_queue_push_tail (&free_places, GUINT_TO_POINTER (number));
  ovs_mutex_unlock (&places_lock);
}

void
ovs_instance_leave (OvsInstance *instance)
{
  Place *place = get_place (get_place_number (instance));

  if ((__atomic_sub_fetch (&place->word, 1, __ATOMIC_ACQ_REL) & INSIDE_MASK) == 0)
    free_instance (instance);
}

ovstage_instance_t *
ovs_instance_new (const char *name, GError **error)
{
  static const OvsStageConfig config = { .history_depth = 1, .queue_capacity = OVS_QUEUE_CAPACITY };
  OvsInstance *instance;
  ovstage_instance_t *pointer;
  Place *place;
  guint number;
  guint64 serial, count;

  ovs_mutex_lock (&places_lock);
  if (n_places == MAX_PLACES && free_places.length == 0)
    {
      ovs_mutex_unlock (&places_lock);
      ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "there are %d instances, which is the most there can be", MAX_PLACES);
      return NULL;
    }
  /* The longer a place rests, the longer a stale pointer to it is known for one. */
  if (free_places.length > BLOCK_PLACES / 2 || n_places == MAX_PLACES)
    number = GPOINTER_TO_UINT (g_queue_pop_head (&free_places));
  else
    {
      number = n_places++;
      if (number % BLOCK_PLACES == 0)
        __atomic_store_n (&blocks[number / BLOCK_PLACES], g_new0 (Place, BLOCK_PLACES), __ATOMIC_RELEASE);
    }
  count = n_instances++;
  ovs_mutex_unlock (&places_lock);

  place = get_place (number);
  serial = ((__atomic_load_n (&place->word, __ATOMIC_RELAXED) >> SERIAL_SHIFT) + 1) & SERIAL_MASK;
  serial = MAX (serial, 1);
  pointer = make_pointer (number, serial, MARK_INSTANCE);

  instance = g_new0 (OvsInstance, 1);
  instance->name = g_strdup (name);
  instance->pointer = pointer;
  instance->stage = ovs_stage_new (&config);
  /* Ids of two instances differ, too. */
  instance->records = ovs_records_new ((count & 0xffff) << 48);
  ovs_mutex_init (&instance->lock);
  ovs_handles_init (&instance->handles);
  instance->lists = g_hash_table_new (NULL, NULL);

  place->instance = instance;
  __atomic_store_n (&place->word, serial << SERIAL_SHIFT | OPEN_BIT | 1, __ATOMIC_RELEASE);
  return pointer;
}

gboolean
ovs_instance_destroy (ovstage_instance_t *pointer)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  Place *place;

  if (instance == NULL)
    return FALSE;
  place = get_place (get_place_number (instance));
  if ((__atomic_fetch_and (&place->word, ~OPEN_BIT, __ATOMIC_ACQ_REL) & OPEN_BIT) != 0)
    {
      ovs_stage_close (instance->stage);
      report_leaks (instance);
      drop_handles (instance);
      ovs_instance_leave (instance); /* the owner */
    }
  ovs_instance_leave (instance);
  return TRUE;
}

guint64
ovs_instance_add_op (OvsInstance *instance, OvsHandleKind kind, OvsOp *op)
{
  guint64 handle;

  ovs_op_ref (op);
  ovs_mutex_lock (&instance->lock);
  handle = ovs_handles_add (&instance->handles, kind, op);
  ovs_mutex_unlock (&instance->lock);
  return handle;
}

OvsOp *
ovs_instance_ref_op (OvsInstance *instance, OvsHandleKind kind, guint64 handle)
{
  OvsOp *op;

  ovs_mutex_lock (&instance->lock);
  op = ovs_handles_find (&instance->handles, kind, handle);
  if (op != NULL)
    ovs_op_ref (op);
  ovs_mutex_unlock (&instance->lock);
  return op;
}

OvsOp *
ovs_instance_steal_op (OvsInstance *instance, OvsHandleKind kind, guint64 handle)
{
  OvsOp *op;

  ovs_mutex_lock (&instance->lock);
  op = ovs_handles_steal (&instance->handles, kind, handle);
  ovs_mutex_unlock (&instance->lock);
  return op;
}

guint64
ovs_instance_add_list (OvsInstance *instance, OvstagePathList *list, gboolean inner)
{
  OvsListHandle *known;
  guint64 handle;

  ovs_mutex_lock (&instance->lock);
  known = g_hash_table_lookup (instance->lists, list);
  if (known == NULL)
    {
      known = g_new0 (OvsListHandle, 1);
      known->list = ovs_path_list_ref (list);
      known->handle = ovs_handles_add (&instance->handles, OVS_HANDLE_PATH_LIST, known);
      g_hash_table_insert (instance->lists, list, known);
    }
  if (inner)
    known->n_inner++;
  else
    known->n_callers++;
  handle = known->handle;
  ovs_mutex_unlock (&instance->lock);
  return handle;
}

gboolean
ovs_instance_ref_list_handle (OvsInstance *instance, guint64 handle)
{
  OvsListHandle *known;

  ovs_mutex_lock (&instance->lock);
  known = ovs_handles_find (&instance->handles, OVS_HANDLE_PATH_LIST, handle);
  if (known != NULL)
    known->n_callers++;
  ovs_mutex_unlock (&instance->lock);
  return known != NULL;
}

gboolean
ovs_instance_unref_list_handle (OvsInstance *instance, guint64 handle, gboolean inner)
{
  OvsListHandle *known, *unused = NULL;
  guint *count = NULL;

  ovs_mutex_lock (&instance->lock);
  known = ovs_handles_find (&instance->handles, OVS_HANDLE_PATH_LIST, handle);
  if (known != NULL)
    count = inner ? &known->n_inner : &known->n_callers;
  if (count != NULL && *count > 0)
    (*count)--;
  else
    known = NULL;
  if (known != NULL && known->n_callers == 0 && known->n_inner == 0)
    {
      unused = known;
      ovs_handles_steal (&instance->handles, OVS_HANDLE_PATH_LIST, handle);
      g_hash_table_remove (instance->lists, known->list);
    }
  ovs_mutex_unlock (&instance->lock);
  if (unused != NULL)
    free_object (instance, OVS_HANDLE_PATH_LIST, unused);
  return known != NULL;
}

OvstagePathList *
ovs_instance_ref_list (OvsInstance *instance, guint64 handle)
{
  OvsListHandle *known;
  OvstagePathList *list = NULL;

  ovs_mutex_lock (&instance->lock);
  known = ovs_handles_find (&instance->handles, OVS_HANDLE_PATH_LIST, handle);
  if (known != NULL)
    list = ovs_path_list_ref (known->list);
  ovs_mutex_unlock (&instance->lock);
  return list;
}

ovstage_enqueue_result_t
ovs_enqueue_fail (GError *error)
{
  return (ovstage_enqueue_result_t) { ovs_thread_fail (error), OVSTAGE_INVALID_OP_ID };
}

ovstage_enqueue_result_t
ovs_enqueue_fail_with (OvstageError code, const char *format, ...)
{
  va_list args;
  GError *error;

  va_start (args, format);
  error = g_error_new_valist (OVSTAGE_ERROR, code, format, args);
  va_end (args);
  return ovs_enqueue_fail (error);
}

ovstage_enqueue_result_t
ovs_instance_finish (OvsInstance *instance, OvsOp *op)
{
  GError *error = NULL;
  guint64 id = 0;

  if (ovs_op_get_id (op) == 0)
    error = g_error_copy (ovs_op_get_error (op));
  else
    id = ovs_records_add (instance->records, op);
  ovs_op_unref (op);
  /* Last, as deleters may call in here, too. */
  if (error != NULL)
    return ovs_enqueue_fail (error);
  return (ovstage_enqueue_result_t) { ovs_thread_succeed (), id };
}

ovstage_enqueue_result_t
ovs_release_handle (ovstage_instance_t *pointer, OvsHandleKind kind, guint64 handle, const char *what)
{
  OvsInstance *instance = ovs_instance_enter (pointer);
  ovstage_enqueue_result_t result;
  OvsOp *op;

  if (instance == NULL)
    return (ovstage_enqueue_result_t) { OVSTAGE_ERROR_INVALID_HANDLE, OVSTAGE_INVALID_OP_ID };
  op = ovs_instance_steal_op (instance, kind, handle);
  if (op == NULL)
    result = ovs_enqueue_fail_with (OVSTAGE_ERROR_INVALID_HANDLE, "%s %" G_GUINT64_FORMAT " is unknown or was released", what, handle);
  else
    {
      ovs_op_unref (op);
      result = ovs_instance_finish (instance, ovs_stage_accept (instance->stage));
    }
  ovs_instance_leave (instance);
  return result;
}

OvstageError
ovs_instance_wait (OvsInstance *instance, OvsOp *op, guint64 timeout)
{
  OvsWaitResult result = ovs_op_wait (op, timeout == OVSTAGE_TIMEOUT_INFINITE ? -1 : (gint64) MIN (timeout, G_MAXINT64), NULL);
  guint64 lowest;

  switch (result)
    {
    case OVS_WAIT_REFUSED:
      return ovs_thread_fail_with (OVSTAGE_ERROR_INVALID_ARGUMENT,
                                   "an operation cannot be waited for in one of the stage's own threads, where deleters may run");
    case OVS_WAIT_TIMEOUT:
      lowest = ovs_op_get_lowest_pending (op);
      if (lowest == 0)
        break; /* done by now */
      return ovs_thread_fail_with (OVSTAGE_ERROR_TIMEOUT,
                                   "operation %" G_GUINT64_FORMAT " is not done; the lowest pending id it waits for is %" G_GUINT64_FORMAT,
                                   ovs_records_get_id (instance->records, ovs_op_get_id (op)),
                                   ovs_records_get_id (instance->records, lowest));
    case OVS_WAIT_INTERRUPTED:
    case OVS_WAIT_DONE:
    default:
      break;
    }
  if (ovs_op_get_error (op) != NULL)
    return ovs_thread_fail (g_error_copy (ovs_op_get_error (op)));
  return OVSTAGE_OK;
}

gboolean
ovs_check_string (ovx_string_t string, GError **error)
{
  if (string.ptr == NULL && string.length > 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "string: NULL, expected %" G_GSIZE_FORMAT " bytes", string.length);
  if (string.length > G_MAXSSIZE)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "string: its length is %" G_GSIZE_FORMAT ", which no string has",
                     string.length);
  return TRUE;
}

gboolean
ovs_check_array (gconstpointer array, gsize n, const char *name, GError **error)
{
  if (array == NULL && n > 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s is NULL, expected %" G_GSIZE_FORMAT " entries", name, n);
  /* Ids have 32 bits, and this stays clear of sizes that overflow. */
  if ((guint64) n > G_MAXUINT32)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s has %" G_GSIZE_FORMAT " entries, expected up to %u", name, n, G_MAXUINT32);
  return TRUE;
}

gboolean
ovs_check_room (gconstpointer made, gsize n, GError **error)
{
  if (made == NULL && n > 0)
    return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GSIZE_FORMAT " entries", n);
  return TRUE;
}

gboolean
ovs_instance_resolve (OvsInstance *instance, ovx_string_or_token_t name, guint64 *token, GError **error)
{
  *token = name.token;
  if (name.token != 0 || name.string.length == 0)
    return TRUE;
  if (!ovs_check_string (name.string, error))
    {
      g_prefix_error (error, "attribute: ");
      return FALSE;
    }
  *token = ovs_path_dict_intern_token (ovs_stage_get_dict (instance->stage), name.string.ptr, (gssize) name.string.length, error);
  if (*token == 0)
    g_prefix_error (error, "attribute: ");
  return *token != 0;
}
