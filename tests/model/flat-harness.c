/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Calls the flat API as the lines that it reads say, for flat.py.
 *
 *   flat-harness [IN OUT]...
 *
 * A line of standard input is a request, and has one line of standard output as its answer. Each further pair of
 * descriptors is served in the same way by a thread of its own. The input's end is the end of the thread; with that of
 * standard input all are waited for.
 *
 * A request is the name of one of the functions at the end of this file and its words, with a space between. Words are
 * numbers, or bytes in hexadecimal after a dot, so that none is empty; a dash stands for what is not given. Stages,
 * groups and pieces of maps go by their addresses here. An answer that begins with ! tells what must not have been. */

#include <ovstage/ovstage_api/ovstage_api.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

/* Memory of a request, which the library may look at until the operation is done. */
typedef struct Block Block;
struct Block
{
  Block *next;
  size_t size;
  unsigned char *bytes;
};

typedef struct Work Work;
struct Work
{
  Work *next;
  ovstage_op_id_t op;
  Block *blocks;
};

/* A tensor that was handed over. It is kept to see that it is let go of only once. */
typedef struct Given Given;
struct Given
{
  Given *next;
  DLManagedTensorVersioned managed;
  Block *blocks;
  unsigned char *bytes;
  unsigned char *as_given;
  size_t size;
  atomic_int let_go;
};

typedef struct Piece Piece;
struct Piece
{
  Piece *next;
  ovstage_map_group_t group;
};

typedef struct
{
  ovstage_instance_t *instance;
  path_dictionary_instance_t *dictionary;
  pthread_mutex_t lock;
  Work *works;   /* protected by lock */
  Given *given;  /* protected by lock */
  Piece *pieces; /* protected by lock */
} Stage;

typedef struct
{
  FILE *in;
  FILE *out;
  char *left; /* of the line */
  Block *blocks;
  char *answer;
  size_t length;
  size_t room;
} Lane;

/* That a stage was made before others use it, and that they have done before it goes, is known to the driver: these tell
 * ThreadSanitizer, and nothing about two calls of which neither is one of these. */
static atomic_uint made;
static atomic_uint answered;

static const ovstage_cuda_sync_t no_sync = { 0, 0 };

static void
die (const char *what)
{
  fprintf (stderr, "flat-harness: %s\n", what);
  abort ();
}

static void *
alloc (size_t size)
{
  void *memory = calloc (1, size > 0 ? size : 1);

  if (memory == NULL)
    die ("out of memory");
  return memory;
}

/* Answers */

static void
put (Lane *lane, const char *bytes, size_t n)
{
  if (lane->length + n + 1 > lane->room)
    {
      lane->room = 2 * (lane->length + n + 1);
      lane->answer = realloc (lane->answer, lane->room);
      if (lane->answer == NULL)
        die ("out of memory");
    }
  memcpy (lane->answer + lane->length, bytes, n);
  lane->length += n;
}

static void
tell (Lane *lane, uint64_t number)
{
  char text[24];

  put (lane, text, (size_t) snprintf (text, sizeof text, "%llu ", (unsigned long long) number));
}

static void
put_hex (Lane *lane, const void *bytes, size_t n)
{
  static const char digits[] = "0123456789abcdef";
  const unsigned char *at = bytes;

  for (size_t i = 0; i < n; i++)
    {
      char pair[2] = { digits[at[i] >> 4], digits[at[i] & 15] };

      put (lane, pair, 2);
    }
}

static void
tell_bytes (Lane *lane, const void *bytes, size_t n)
{
  put (lane, ".", 1);
  put_hex (lane, bytes, n);
  put (lane, " ", 1);
}

/* The first fault of a request is its answer. */
static bool
fault (Lane *lane, const char *format, ...)
{
  char text[256];
  va_list list;
  int n;

  if (lane->length > 0 && lane->answer[0] == '!')
    return false;
  va_start (list, format);
  n = vsnprintf (text, sizeof text, format, list);
  va_end (list);
  lane->length = 0;
  put (lane, "! ", 2);
  put (lane, text, (size_t) n < sizeof text ? (size_t) n : sizeof text - 1);
  return false;
}

static bool
must (Lane *lane, const char *what, ovstage_api_status_t status, ovstage_api_status_t want)
{
  ovx_string_t why = ovstage_get_last_error ();

  return status == want || fault (lane, "%s gave %d, want %d: %.*s", what, (int) status, (int) want, (int) why.length,
                                  why.length > 0 ? why.ptr : "");
}

static bool
must_do (Lane *lane, const char *what, ovx_api_result_t result)
{
  return result.status == OVX_API_SUCCESS ||
         fault (lane, "%s: %.*s", what, (int) result.error.length, result.error.length > 0 ? result.error.ptr : "");
}

static void
tell_enqueued (Lane *lane, ovstage_enqueue_result_t result)
{
  if ((result.status == OVSTAGE_OK) != (result.op_index != OVSTAGE_INVALID_OP_ID))
    fault (lane, "status %d with operation %llu", (int) result.status, (unsigned long long) result.op_index);
  tell (lane, (uint64_t) result.status);
  tell (lane, result.op_index);
}

/* Requests */

static void *
keep (Block **blocks, size_t size)
{
  Block *block = alloc (sizeof *block);

  block->bytes = alloc (size);
  block->size = size;
  block->next = *blocks;
  *blocks = block;
  return block->bytes;
}

/* Whoever still looks at it sees other values. */
static void
spoil (Block *blocks)
{
  while (blocks != NULL)
    {
      Block *next = blocks->next;

      memset (blocks->bytes, 0x01, blocks->size);
      free (blocks->bytes);
      free (blocks);
      blocks = next;
    }
}

static char *
word (Lane *lane)
{
  char *begin = lane->left;
  char *end;

  if (begin == NULL || *begin == '\0')
    die ("a word is missing");
  end = strchr (begin, ' ');
  lane->left = end != NULL ? end + 1 : NULL;
  if (end != NULL)
    *end = '\0';
  return begin;
}

static uint64_t
number (Lane *lane)
{
  return strtoull (word (lane), NULL, 10);
}

static int64_t
whole (Lane *lane)
{
  return strtoll (word (lane), NULL, 10);
}

static void *
pointer (Lane *lane)
{
  return (void *) (uintptr_t) number (lane);
}

static bool
given (Lane *lane)
{
  if (lane->left == NULL || lane->left[0] != '-' || (lane->left[1] != ' ' && lane->left[1] != '\0'))
    return true;
  word (lane);
  return false;
}

static unsigned int
digit (char c)
{
  return c <= '9' ? (unsigned int) (c - '0') : (unsigned int) (c - 'a') + 10;
}

/* The bytes of a word, @gap bytes behind the beginning of memory that was allocated. */
static unsigned char *
bytes (Lane *lane, Block **blocks, size_t gap, size_t *n)
{
  const char *text = word (lane) + 1;
  unsigned char *memory;

  *n = strlen (text) / 2;
  memory = (unsigned char *) keep (blocks, gap + *n) + gap;
  for (size_t i = 0; i < *n; i++)
    memory[i] = (unsigned char) (digit (text[2 * i]) << 4 | digit (text[2 * i + 1]));
  return memory;
}

static ovx_string_t
string (Lane *lane)
{
  ovx_string_t made;

  made.ptr = (const char *) bytes (lane, &lane->blocks, 0, &made.length);
  return made;
}

/* A name as bytes, or a token. */
static ovx_string_or_token_t
name (Lane *lane)
{
  ovx_string_or_token_t made = { 0, { NULL, 0 } };

  if (lane->left != NULL && lane->left[0] == '.')
    made.string = string (lane);
  else
    made.token = number (lane);
  return made;
}

static ovx_string_t *
strings (Lane *lane, size_t *n)
{
  ovx_string_t *made;

  *n = number (lane);
  made = keep (&lane->blocks, *n * sizeof *made);
  for (size_t i = 0; i < *n; i++)
    made[i] = string (lane);
  return made;
}

static uint64_t *
numbers (Lane *lane, size_t *n)
{
  uint64_t *made;

  *n = number (lane);
  made = keep (&lane->blocks, *n * sizeof *made);
  for (size_t i = 0; i < *n; i++)
    made[i] = number (lane);
  return made;
}

static DLDataType
data_type (Lane *lane)
{
  DLDataType made;

  made.code = (uint8_t) number (lane);
  made.bits = (uint8_t) number (lane);
  made.lanes = (uint16_t) number (lane);
  return made;
}

/* Data type, number of dimensions, sizes, strides, how unaligned the memory is, where the first element is in it. */
static DLTensor
tensor (Lane *lane, Block **blocks, unsigned char **memory, size_t *size)
{
  DLTensor made = { 0 };
  size_t gap;

  made.device.device_type = kDLCPU;
  made.dtype = data_type (lane);
  made.ndim = (int32_t) number (lane);
  made.shape = keep (blocks, (size_t) made.ndim * sizeof (int64_t));
  made.strides = keep (blocks, (size_t) made.ndim * sizeof (int64_t));
  for (int32_t i = 0; i < made.ndim; i++)
    made.shape[i] = whole (lane);
  for (int32_t i = 0; i < made.ndim; i++)
    made.strides[i] = whole (lane);
  gap = number (lane);
  made.byte_offset = number (lane);
  *memory = bytes (lane, blocks, gap, size);
  made.data = *memory;
  return made;
}

static void
let_go_cb (DLManagedTensorVersioned *managed)
{
  Given *one = managed->manager_ctx;

  if (atomic_exchange (&one->let_go, 1) != 0)
    die ("a tensor was let go of twice");
  if (memcmp (one->bytes, one->as_given, one->size) != 0)
    die ("a tensor that was handed over has other values");
  spoil (one->blocks);
}

static DLManagedTensorVersioned *
hand_over (Lane *lane, Stage *stage)
{
  Given *one = alloc (sizeof *one);

  atomic_init (&one->let_go, 0);
  one->managed.version.major = 1;
  one->managed.manager_ctx = one;
  one->managed.deleter = let_go_cb;
  one->managed.dl_tensor = tensor (lane, &one->blocks, &one->bytes, &one->size);
  one->as_given = keep (&one->blocks, one->size);
  memcpy (one->as_given, one->bytes, one->size);
  pthread_mutex_lock (&stage->lock);
  one->next = stage->given;
  stage->given = one;
  pthread_mutex_unlock (&stage->lock);
  return &one->managed;
}

/* Semantic, is_array, count, index map, mask, whether the tensors are handed over, the tensors. */
static ovstage_write_data_t
write_data (Lane *lane, Stage *stage)
{
  ovstage_write_data_t made = { 0 };
  bool take;
  size_t n;

  made.semantic = (ovstage_semantic_t) number (lane);
  made.is_array = number (lane) != 0;
  made.count = (uint32_t) number (lane);
  if (given (lane))
    {
      const uint64_t *wide = numbers (lane, &n);
      uint32_t *map = keep (&lane->blocks, n * sizeof *map);

      for (size_t i = 0; i < n; i++)
        map[i] = (uint32_t) wide[i];
      made.index_map = map;
    }
  if (given (lane))
    made.mask = numbers (lane, &n);
  take = number (lane) != 0;
  n = number (lane);
  made.tensor_count = (uint32_t) n;
  if (take)
    {
      DLManagedTensorVersioned **managed = keep (&lane->blocks, n * sizeof *managed);

      for (size_t i = 0; i < n; i++)
        managed[i] = hand_over (lane, stage);
      made.managed_tensors = (const DLManagedTensorVersioned *const *) managed;
    }
  else
    {
      DLTensor *tensors = keep (&lane->blocks, n * sizeof *tensors);
      unsigned char *memory;
      size_t size;

      for (size_t i = 0; i < n; i++)
        tensors[i] = tensor (lane, &lane->blocks, &memory, &size);
      made.tensors = tensors;
    }
  return made;
}

/* The memory of the request stays as it is until the operation was waited for. */
static void
tell_written (Lane *lane, Stage *stage, ovstage_enqueue_result_t result)
{
  if (result.op_index != OVSTAGE_INVALID_OP_ID)
    {
      Work *work = alloc (sizeof *work);

      work->op = result.op_index;
      work->blocks = lane->blocks;
      lane->blocks = NULL;
      pthread_mutex_lock (&stage->lock);
      work->next = stage->works;
      stage->works = work;
      pthread_mutex_unlock (&stage->lock);
    }
  tell_enqueued (lane, result);
}

/* Groups */

static void
tell_indices (Lane *lane, const uint32_t *indices, uint32_t n)
{
  if (indices == NULL)
    {
      put (lane, "- ", 2);
      return;
    }
  tell (lane, n);
  for (uint32_t i = 0; i < n; i++)
    tell (lane, indices[i]);
}

static size_t
tensor_size (Lane *lane, const DLTensor *from)
{
  int64_t n = 1;

  for (int32_t i = from->ndim - 1; i >= 0; i--)
    {
      if (from->strides != NULL && from->shape[i] != 1 && from->strides[i] != n)
        fault (lane, "stride %lld of a tensor that has %lld elements in a row", (long long) from->strides[i], (long long) n);
      n *= from->shape[i];
    }
  return (size_t) n * from->dtype.lanes * from->dtype.bits / 8;
}

static void
tell_data (Lane *lane, const ovstage_data_t *data)
{
  tell (lane, data->count);
  tell_indices (lane, data->index_map, data->count);
  tell (lane, data->tensor_count);
  for (uint32_t i = 0; i < data->tensor_count; i++)
    {
      const DLTensor *from = &data->tensors[i];

      tell (lane, from->dtype.code);
      tell (lane, from->dtype.bits);
      tell (lane, from->dtype.lanes);
      tell (lane, from->ndim > 0 ? (uint64_t) from->shape[0] : 1);
      tell_bytes (lane, (const char *) from->data + from->byte_offset, tensor_size (lane, from));
    }
}

static void
tell_prims (Lane *lane, const ovstage_prim_group_t *prims)
{
  tell (lane, prims->list);
  tell (lane, prims->offset);
  tell (lane, prims->count);
  tell_indices (lane, prims->index_map, prims->count);
}

static void
tell_group (Lane *lane, const ovstage_read_group_t *group)
{
  tell (lane, group->attribute);
  tell (lane, group->ordinal);
  tell (lane, group->is_delete);
  tell (lane, group->is_array);
  tell (lane, (uint64_t) group->semantic);
  tell (lane, group->meta.layout_generation);
  tell_prims (lane, &group->prims);
  tell_data (lane, &group->data);
}

static void
tell_path (Lane *lane, Stage *stage, ovx_primpath_t path)
{
  ovx_token_t buffer[64];
  ovx_string_t texts[64];
  const ovx_token_t *tokens;
  size_t n = 0, done = 0;

  if (!must_do (lane, "get_tokens_from_paths",
                path_dictionary_get_tokens_from_paths (stage->dictionary, &path, 1, buffer, 64, &tokens, &n, &done)) ||
      !must_do (lane, "get_strings_from_tokens",
                path_dictionary_get_strings_from_tokens (stage->dictionary, buffer, n, texts)))
    return;
  if (done != 1)
    {
      fault (lane, "the names of %zu paths, want 1", done);
      return;
    }
  put (lane, ".", 1);
  if (n == 0)
    put_hex (lane, "/", 1);
  for (size_t i = 0; i < n; i++)
    {
      put_hex (lane, "/", 1);
      put_hex (lane, texts[i].ptr, texts[i].length);
    }
  put (lane, " ", 1);
}

static void
tell_list (Lane *lane, Stage *stage, ovx_primpath_list_t list)
{
  ovx_primpath_t *paths;
  size_t n = 0, got = 0;

  if (!must_do (lane, "get_num_paths", path_dictionary_get_num_paths_from_path_list (stage->dictionary, list, &n)))
    return;
  paths = keep (&lane->blocks, n * sizeof *paths);
  if (!must_do (lane, "get_paths", path_dictionary_get_paths_from_path_list (stage->dictionary, list, 0, n, paths, &got)))
    return;
  tell (lane, got);
  for (size_t i = 0; i < got; i++)
    tell_path (lane, stage, paths[i]);
}

/* What can be asked for. Each tells its words, then those of the answer. */

/* -> stage */
static void
do_create (Lane *lane)
{
  Stage *stage = alloc (sizeof *stage);

  pthread_mutex_init (&stage->lock, NULL);
  if (!must (lane, "create_instance", ovstage_create_instance (NULL, &stage->instance), OVSTAGE_OK))
    return;
  stage->dictionary = ovstage_get_path_dictionary (stage->instance);
  tell (lane, (uintptr_t) stage);
  atomic_fetch_add_explicit (&made, 1, memory_order_release);
}

/* stage -> how many tensors that were handed over are left */
static void
do_destroy (Lane *lane)
{
  Stage *stage = pointer (lane);
  uint64_t left = 0;

  atomic_load_explicit (&answered, memory_order_acquire);
  ovstage_destroy_instance (stage->instance);
  while (stage->works != NULL)
    {
      Work *work = stage->works;

      stage->works = work->next;
      spoil (work->blocks);
      free (work);
    }
  while (stage->given != NULL)
    {
      Given *one = stage->given;

      stage->given = one->next;
      if (atomic_load (&one->let_go) != 0)
        free (one);
      else
        left++;
    }
  while (stage->pieces != NULL)
    {
      Piece *piece = stage->pieces;

      stage->pieces = piece->next;
      free (piece);
    }
  pthread_mutex_destroy (&stage->lock);
  free (stage);
  tell (lane, left);
}

/* stage texts -> tokens */
static void
do_tokens (Lane *lane)
{
  Stage *stage = pointer (lane);
  size_t n;
  ovx_string_t *texts = strings (lane, &n);
  ovx_token_t *made = keep (&lane->blocks, n * sizeof *made);

  if (!must_do (lane, "create_tokens", path_dictionary_create_tokens_from_strings (stage->dictionary, texts, n, made)))
    return;
  for (size_t i = 0; i < n; i++)
    tell (lane, made[i]);
}

/* stage texts -> paths */
static void
do_paths (Lane *lane)
{
  Stage *stage = pointer (lane);
  size_t n;
  ovx_string_t *texts = strings (lane, &n);
  ovx_primpath_t *made = keep (&lane->blocks, n * sizeof *made);

  if (!must_do (lane, "create_paths", path_dictionary_create_paths_from_strings (stage->dictionary, texts, n, made)))
    return;
  for (size_t i = 0; i < n; i++)
    tell (lane, made[i]);
}

/* stage texts -> list */
static void
do_list (Lane *lane)
{
  Stage *stage = pointer (lane);
  size_t n;
  ovx_string_t *texts = strings (lane, &n);
  ovx_primpath_list_t list = 0;

  if (must_do (lane, "create_path_list", path_dictionary_create_path_list_from_strings (stage->dictionary, texts, n, &list)))
    tell (lane, list);
}

/* stage list -> */
static void
do_release_list (Lane *lane)
{
  Stage *stage = pointer (lane);

  must_do (lane, "release_path_list", path_dictionary_release_path_list_reference (stage->dictionary, number (lane)));
}

/* stage list -> texts */
static void
do_texts (Lane *lane)
{
  Stage *stage = pointer (lane);

  tell_list (lane, stage, number (lane));
}

/* stage operation, whether a wait told already that it failed -> the operations that failed */
static void
do_wait (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_op_id_t op = number (lane);
  bool failed = number (lane) != 0;
  ovstage_op_wait_result_t waited = { 0 };

  if (!must (lane, "wait_op", ovstage_wait_op (stage->instance, op, OVSTAGE_TIMEOUT_INFINITE, &waited), OVSTAGE_OK))
    return;
  tell (lane, waited.error_op_id_count);
  for (size_t i = 0; i < waited.error_op_id_count; i++)
    {
      failed = failed || waited.error_op_ids[i] == op;
      tell (lane, waited.error_op_ids[i]);
    }
  if (!failed)
    must (lane, "release_op", ovstage_release_op (stage->instance, op), OVSTAGE_OK);

  pthread_mutex_lock (&stage->lock);
  for (Work **at = &stage->works; *at != NULL; at = &(*at)->next)
    if ((*at)->op == op)
      {
        Work *work = *at;

        *at = work->next;
        spoil (work->blocks);
        free (work);
        break;
      }
  pthread_mutex_unlock (&stage->lock);
}

/* stage ordinal scope tokens -> status operation */
static void
do_seal (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_write_floor_desc_t desc = { 0 };

  desc.ordinal = number (lane);
  desc.scope = (ovstage_scope_t) number (lane);
  desc.attributes = numbers (lane, &desc.attribute_count);
  tell_enqueued (lane, ovstage_advance_write_floor (stage->instance, &desc));
}

/* stage name -> ordinal */
static void
do_floor (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_ordinal_query_handle_t query = 0;
  ovstage_ordinal_t ordinal = 0;

  if (must (lane, "get_attribute_write_floor",
            ovstage_get_attribute_write_floor (stage->instance, name (lane), &query).status, OVSTAGE_OK) &&
      must (lane, "fetch_ordinal", ovstage_fetch_ordinal (stage->instance, query, OVSTAGE_TIMEOUT_INFINITE, &ordinal),
            OVSTAGE_OK) &&
      must (lane, "release_ordinal_query", ovstage_release_ordinal_query (stage->instance, query).status, OVSTAGE_OK))
    tell (lane, ordinal);
}

/* stage list -> query, how many prims it has */
static void
do_query_list (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovx_primpath_list_t list = number (lane);
  ovstage_query_handle_t query = 0;
  size_t n = 0;

  if (must (lane, "query_from_path_list", ovstage_query_from_path_list (stage->instance, list, &query), OVSTAGE_OK) &&
      must_do (lane, "get_num_paths", path_dictionary_get_num_paths_from_path_list (stage->dictionary, list, &n)))
    {
      tell (lane, query);
      tell (lane, n);
    }
}

/* stage tokens, how many predicates, of each the name, operator and values -> status operation query */
static void
do_query (Lane *lane)
{
  Stage *stage = pointer (lane);
  size_t n_attributes;
  const uint64_t *attributes = numbers (lane, &n_attributes);
  size_t n = number (lane);
  ovstage_predicate_t *predicates = keep (&lane->blocks, n * sizeof *predicates);
  ovstage_filter_t filter = { predicates, n };
  ovstage_query_handle_t query = 0;

  for (size_t i = 0; i < n; i++)
    {
      predicates[i].attribute = name (lane);
      predicates[i].op = (ovstage_filter_op_t) number (lane);
      predicates[i].values = strings (lane, &predicates[i].value_count);
    }
  tell_enqueued (lane, ovstage_query (stage->instance, &filter, attributes, n_attributes, &query));
  tell (lane, query);
}

/* stage query token -> status, how many prims it matched, attributes, the prims or a dash.
 *
 * A query does not tell its prims: they are those of a map with room for all of them, if there can be one. */
static void
do_matched (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_query_handle_t query = number (lane);
  ovstage_map_desc_t desc = { .attribute = { number (lane), { NULL, 0 } }, .dtype = { kDLUInt, 8, 1 } };
  ovstage_query_result_t result;
  ovstage_map_group_t group;
  ovstage_map_handle_t map = 0;
  ovstage_enqueue_result_t mapped;
  ovstage_api_status_t status;

  status = ovstage_fetch_query_result (stage->instance, query, OVSTAGE_TIMEOUT_INFINITE, &result);
  tell (lane, (uint64_t) status);
  if (status != OVSTAGE_OK)
    return;
  tell (lane, result.total_prim_count);
  tell (lane, result.attribute_count);
  for (size_t i = 0; i < result.attribute_count; i++)
    tell (lane, result.attributes[i]);
  mapped = ovstage_map_attribute (stage->instance, result.all_handle, &desc, UINT64_MAX - 1, NULL, 0, &map);
  if (mapped.status != OVSTAGE_OK)
    {
      if (mapped.status != OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION)
        must (lane, "map_attribute", mapped.status, OVSTAGE_OK);
      put (lane, "- ", 2);
    }
  else
    {
      status = ovstage_fetch_map_next (stage->instance, map, OVSTAGE_TIMEOUT_INFINITE, &group);
      if (status == OVSTAGE_ERROR_END_OF_ITERATION && result.total_prim_count == 0)
        tell (lane, 0);
      else if (must (lane, "fetch_map_next", status, OVSTAGE_OK))
        {
          if (group.prims.count != result.total_prim_count || group.prims.offset != 0 || group.prims.index_map != NULL)
            fault (lane, "%u mapped prims from %u on, want %zu", (unsigned int) group.prims.count,
                   (unsigned int) group.prims.offset, result.total_prim_count);
          tell_list (lane, stage, group.prims.list);
        }
      must (lane, "discard_map", ovstage_discard_map (stage->instance, map).status, OVSTAGE_OK);
      must (lane, "release_op", ovstage_release_op (stage->instance, mapped.op_index), OVSTAGE_OK);
    }
  must (lane, "release_query_result", ovstage_release_query_result (stage->instance, &result), OVSTAGE_OK);
}

/* stage query -> */
static void
do_release_query (Lane *lane)
{
  Stage *stage = pointer (lane);

  must (lane, "release_query", ovstage_release_query (stage->instance, number (lane)).status, OVSTAGE_OK);
}

/* stage query name ordinal mode data -> status operation */
static void
do_write (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_query_handle_t query = number (lane);
  ovx_string_or_token_t attribute = name (lane);
  ovstage_ordinal_t ordinal = number (lane);
  ovstage_prim_mode_t mode = (ovstage_prim_mode_t) number (lane);
  ovstage_write_data_t data = write_data (lane, stage);

  tell_written (lane, stage, ovstage_write_attribute (stage->instance, query, attribute, ordinal, data, mode));
}

/* stage query ordinal mode, how many, of each the name and data -> status operation */
static void
do_batch (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_query_handle_t query = number (lane);
  ovstage_ordinal_t ordinal = number (lane);
  ovstage_prim_mode_t mode = (ovstage_prim_mode_t) number (lane);
  size_t n = number (lane);
  ovstage_attribute_write_t *writes = keep (&lane->blocks, n * sizeof *writes);

  for (size_t i = 0; i < n; i++)
    {
      writes[i].attribute = name (lane);
      writes[i].data = write_data (lane, stage);
    }
  tell_written (lane, stage, ovstage_write_attributes (stage->instance, query, writes, n, ordinal, mode));
}

/* stage query ordinal, how many, names -> status operation */
static void
do_delete (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_query_handle_t query = number (lane);
  ovstage_ordinal_t ordinal = number (lane);
  size_t n = number (lane);
  ovx_string_or_token_t *names = keep (&lane->blocks, n * sizeof *names);

  for (size_t i = 0; i < n; i++)
    names[i] = name (lane);
  tell_enqueued (lane, ovstage_delete_attributes (stage->instance, query, names, n, ordinal));
}

/* stage ordinal source targets -> status operation */
static void
do_clone (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_ordinal_t ordinal = number (lane);
  ovx_string_t source = string (lane);
  size_t n;
  const ovx_string_t *targets = strings (lane, &n);

  tell_enqueued (lane, ovstage_clone (stage->instance, source, targets, n, ordinal));
}

/* stage query name ordinal data-type semantic mode, sizes or a dash -> status operation map */
static void
do_map (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_query_handle_t query = number (lane);
  ovx_string_or_token_t attribute = name (lane);
  ovstage_ordinal_t ordinal = number (lane);
  ovstage_map_desc_t desc = { .attribute = attribute };
  ovstage_map_handle_t map = 0;
  size_t *sizes = NULL;
  size_t n = 0;

  desc.dtype = data_type (lane);
  desc.semantic = (ovstage_semantic_t) number (lane);
  desc.prim_mode = (ovstage_prim_mode_t) number (lane);
  if (given (lane))
    {
      const uint64_t *wide = numbers (lane, &n);

      sizes = keep (&lane->blocks, n * sizeof *sizes);
      for (size_t i = 0; i < n; i++)
        sizes[i] = (size_t) wide[i];
    }
  tell_enqueued (lane, ovstage_map_attribute (stage->instance, query, &desc, ordinal, sizes, n, &map));
  tell (lane, map);
}

/* stage map -> status, of each group a piece, its prims and data */
static void
do_pieces (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_map_handle_t map = number (lane);
  ovstage_api_status_t status;
  ovstage_map_group_t group;

  while ((status = ovstage_fetch_map_next (stage->instance, map, OVSTAGE_TIMEOUT_INFINITE, &group)) == OVSTAGE_OK)
    {
      Piece *piece = alloc (sizeof *piece);

      piece->group = group;
      pthread_mutex_lock (&stage->lock);
      piece->next = stage->pieces;
      stage->pieces = piece;
      pthread_mutex_unlock (&stage->lock);
      /* Nobody said what is in it. */
      for (uint32_t i = 0; i < group.data.tensor_count; i++)
        {
          const DLTensor *to = &group.data.tensors[i];

          memset ((char *) to->data + to->byte_offset, 0xa5, tensor_size (lane, to));
        }
      tell (lane, OVSTAGE_OK);
      tell (lane, (uintptr_t) piece);
      tell_prims (lane, &group.prims);
      tell_data (lane, &group.data);
    }
  tell (lane, (uint64_t) status);
}

/* piece, the bytes of each tensor -> */
static void
do_fill (Lane *lane)
{
  Piece *piece = pointer (lane);

  for (uint32_t i = 0; i < piece->group.data.tensor_count; i++)
    {
      const DLTensor *to = &piece->group.data.tensors[i];
      size_t n;
      const unsigned char *from = bytes (lane, &lane->blocks, 0, &n);

      if (n != tensor_size (lane, to))
        die ("other bytes than a piece has");
      if (n > 0)
        memcpy ((char *) to->data + to->byte_offset, from, n);
    }
}

/* stage map piece -> status operation */
static void
do_commit_piece (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_map_handle_t map = number (lane);
  const Piece *piece = pointer (lane);

  tell_enqueued (lane, ovstage_unmap_group (stage->instance, map, &piece->group, no_sync));
}

/* stage map -> status operation */
static void
do_commit (Lane *lane)
{
  Stage *stage = pointer (lane);

  tell_enqueued (lane, ovstage_unmap_attribute (stage->instance, number (lane), no_sync));
}

/* stage map -> */
static void
do_discard (Lane *lane)
{
  Stage *stage = pointer (lane);

  must (lane, "discard_map", ovstage_discard_map (stage->instance, number (lane)).status, OVSTAGE_OK);
}

/* stage query, start or a dash, end tokens -> status operation read */
static void
do_read (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_query_handle_t query = number (lane);
  ovstage_ordinal_range_t range = { 0 };
  ovstage_read_handle_t made = 0;
  const uint64_t *tokens;
  size_t n;

  range.has_start_ordinal = given (lane);
  if (range.has_start_ordinal)
    range.start_ordinal = number (lane);
  range.end_ordinal = number (lane);
  tokens = numbers (lane, &n);
  tell_enqueued (lane, ovstage_read_attributes (stage->instance, query, tokens, n, range, &made));
  tell (lane, made);
}

/* stage read -> 0, group and what it tells, for each; the status at the end */
static void
do_groups (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_read_handle_t from = number (lane);
  ovstage_api_status_t status;
  ovstage_read_group_t told;

  while ((status = ovstage_fetch_read_next (stage->instance, from, OVSTAGE_TIMEOUT_INFINITE, &told)) == OVSTAGE_OK)
    {
      ovstage_read_group_t *group = alloc (sizeof *group);

      *group = told;
      tell (lane, OVSTAGE_OK);
      tell (lane, (uintptr_t) group);
      tell_group (lane, group);
    }
  tell (lane, (uint64_t) status);
}

/* group -> what it tells */
static void
do_group (Lane *lane)
{
  tell_group (lane, pointer (lane));
}

/* stage group -> */
static void
do_release_group (Lane *lane)
{
  Stage *stage = pointer (lane);
  ovstage_read_group_t *group = pointer (lane);

  must (lane, "release_group", ovstage_release_group (stage->instance, group), OVSTAGE_OK);
  must (lane, "release_group again", ovstage_release_group (stage->instance, group), OVSTAGE_ERROR_INVALID_HANDLE);
  free (group);
}

/* stage read -> */
static void
do_release_read (Lane *lane)
{
  Stage *stage = pointer (lane);

  must (lane, "release_read", ovstage_release_read (stage->instance, number (lane)).status, OVSTAGE_OK);
}

static const struct
{
  const char *name;
  void (*run) (Lane *lane);
} requests[] = {
  { "batch", do_batch },
  { "clone", do_clone },
  { "commit", do_commit },
  { "commit-piece", do_commit_piece },
  { "create", do_create },
  { "delete", do_delete },
  { "destroy", do_destroy },
  { "discard", do_discard },
  { "fill", do_fill },
  { "floor", do_floor },
  { "group", do_group },
  { "groups", do_groups },
  { "list", do_list },
  { "map", do_map },
  { "matched", do_matched },
  { "paths", do_paths },
  { "pieces", do_pieces },
  { "query", do_query },
  { "query-list", do_query_list },
  { "read", do_read },
  { "release-group", do_release_group },
  { "release-list", do_release_list },
  { "release-query", do_release_query },
  { "release-read", do_release_read },
  { "seal", do_seal },
  { "texts", do_texts },
  { "tokens", do_tokens },
  { "wait", do_wait },
  { "write", do_write },
};

static void
answer (Lane *lane, const char *name)
{
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
    if (strcmp (requests[i].name, name) == 0)
      {
        requests[i].run (lane);
        return;
      }
  die (name);
}

static void *
serve (void *data)
{
  Lane *lane = data;
  char *line = NULL;
  size_t room = 0;
  ssize_t n;

  while ((n = getline (&line, &room, lane->in)) > 0)
    {
      line[n - 1] = '\0';
      lane->left = line;
      lane->length = 0;
      atomic_load_explicit (&made, memory_order_acquire);
      answer (lane, word (lane));
      atomic_fetch_add_explicit (&answered, 1, memory_order_release);
      spoil (lane->blocks);
      lane->blocks = NULL;
      put (lane, "\n", 1);
      if (fwrite (lane->answer, 1, lane->length, lane->out) != lane->length || fflush (lane->out) != 0)
        break;
    }
  free (line);
  free (lane->answer);
  fclose (lane->in);
  fclose (lane->out);
  return NULL;
}

int
main (int argc, char **argv)
{
  size_t n = (size_t) (argc - 1) / 2;
  Lane *lanes = alloc ((n + 1) * sizeof *lanes);
  pthread_t *threads = alloc (n * sizeof *threads);

#ifdef __linux__
  /* A driver that gives up on a call that hangs takes this along. */
  prctl (PR_SET_PDEATHSIG, SIGKILL);
#endif
  lanes[0].in = stdin;
  lanes[0].out = stdout;
  for (size_t i = 0; i < n; i++)
    {
      lanes[i + 1].in = fdopen (atoi (argv[2 * i + 1]), "r");
      lanes[i + 1].out = fdopen (atoi (argv[2 * i + 2]), "w");
      if (lanes[i + 1].in == NULL || lanes[i + 1].out == NULL)
        die ("a descriptor is none");
    }
  for (size_t i = 0; i < n; i++)
    if (pthread_create (&threads[i], NULL, serve, &lanes[i + 1]) != 0)
      die ("no thread");
  serve (&lanes[0]);
  for (size_t i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  free (threads);
  free (lanes);
  return 0;
}
