/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-payload.h"

#include "base/ovs-sync.h"

#include <string.h>

OvstageWriteData *
ovs_payload_new (OvstageTensor *tensor)
{
  OvstageWriteData *payload = g_new0 (OvstageWriteData, 1);

  payload->refs = 1;
  payload->kind = OVS_PAYLOAD_FIXED;
  payload->tensor = tensor != NULL ? ovs_tensor_ref (tensor) : NULL;
  return payload;
}

OvstageWriteData *
ovs_payload_new_take (OvstageTensor *tensor)
{
  OvstageWriteData *payload = ovs_payload_new (tensor);

  payload->take = TRUE;
  return payload;
}

OvstageWriteData *
ovs_payload_new_buffer (OvstageTensor *tensor, OvsBuffer *buffer)
{
  OvstageWriteData *payload = ovs_payload_new (tensor);

  payload->buffer = ovs_buffer_ref (buffer);
  return payload;
}

OvstageWriteData *
ovs_payload_dup (OvstageWriteData *payload)
{
  OvstageWriteData *copy = g_new (OvstageWriteData, 1);

  *copy = *payload;
  copy->refs = 1;
  if (copy->tensor != NULL)
    ovs_tensor_ref (copy->tensor);
  if (copy->buffer != NULL)
    ovs_buffer_ref (copy->buffer);
  if (copy->tensors != NULL)
    copy->tensors = g_memdup2 (copy->tensors, copy->n_rows * sizeof *copy->tensors);
  copy->sources = NULL;
  for (gsize i = 0; copy->tensors != NULL && i < copy->n_rows; i++)
    ovs_tensor_ref (copy->tensors[i]);
  if (copy->offsets != NULL)
    copy->offsets = g_memdup2 (copy->offsets, (copy->n_rows + 1) * sizeof *copy->offsets);
  if (copy->index_map != NULL)
    g_atomic_rc_box_acquire (copy->index_map);
  if (copy->mask != NULL)
    g_atomic_rc_box_acquire (copy->mask);
  if (copy->fault != NULL)
    copy->fault = g_error_copy (copy->fault);
  return copy;
}

OvstageWriteData *
ovs_payload_new_rows (OvstageTensor *const *tensors, gsize n, gboolean take)
{
  OvstageWriteData *payload = take ? ovs_payload_new_take (NULL) : ovs_payload_new (NULL);

  payload->kind = OVS_PAYLOAD_ROWS;
  payload->tensors = g_new (OvstageTensor *, n);
  payload->n_rows = n;
  for (gsize i = 0; i < n; i++)
    payload->tensors[i] = tensors[i] != NULL ? ovs_tensor_ref (tensors[i]) : NULL;
  return payload;
}

OvstageWriteData *
ovs_payload_new_packed (OvstageTensor *tensor, gboolean take)
{
  OvstageWriteData *payload = take ? ovs_payload_new_take (tensor) : ovs_payload_new (tensor);

  payload->kind = OVS_PAYLOAD_PACKED;
  return payload;
}

OvstageWriteData *
ovs_payload_new_ragged (OvstageTensor *values, const guint64 *offsets, gsize n, gboolean take)
{
  OvstageWriteData *payload = take ? ovs_payload_new_take (values) : ovs_payload_new (values);

  payload->kind = OVS_PAYLOAD_RAGGED;
  payload->offsets = g_new (guint64, n + 1);
  memcpy (payload->offsets, offsets, (n + 1) * sizeof *offsets);
  payload->n_rows = n;
  return payload;
}

OvstageWriteData *
ovs_payload_new_refused (GError *error)
{
  OvstageWriteData *payload = ovs_payload_new (NULL);

  payload->fault = error;
  return payload;
}

OvstageWriteData *
ovs_payload_new_strings (const char *const *strings)
{
  OvstageDataType dtype = { OVS_CODE_UINT, 8, 1 };
  g_autoptr (GArray) offsets = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (OvstageTensor) values = NULL;
  OvstageWriteData *payload;
  guint64 at = 0;
  gint64 shape;
  char *text;

  g_array_append_val (offsets, at);
  for (gsize i = 0; strings[i] != NULL; i++)
    {
      at += strlen (strings[i]);
      g_array_append_val (offsets, at);
    }
  text = g_malloc (MAX (at, 1));
  for (gsize i = 0; strings[i] != NULL; i++)
    memcpy (text + g_array_index (offsets, guint64, i), strings[i],
            g_array_index (offsets, guint64, i + 1) - g_array_index (offsets, guint64, i));
  shape = (gint64) at;
  values = ovs_tensor_new (dtype, OVS_DEVICE_CPU, 0, 1, &shape, NULL, text, 0, g_free, text);
  payload = ovs_payload_new_ragged (values, (const guint64 *) offsets->data, offsets->len - 1, TRUE);
  payload->semantic = OVSTAGE_SEMANTIC_STRING;
  return payload;
}

OvstageWriteData *
ovs_payload_ref (OvstageWriteData *payload)
{
  g_atomic_int_inc (&payload->refs);
  return payload;
}

static gpointer
copy_shared (gconstpointer data, gsize n, gsize item_size)
{
  gpointer copy;

  if (data == NULL)
    return NULL;
  copy = g_atomic_rc_box_alloc (MAX (n, 1) * item_size);
  if (n > 0)
    memcpy (copy, data, n * item_size);
  return copy;
}

void
ovs_payload_unref (OvstageWriteData *payload)
{
  if (!g_atomic_int_dec_and_test (&payload->refs))
    return;

  g_clear_pointer (&payload->tensor, ovs_tensor_unref);
  g_clear_pointer (&payload->buffer, ovs_buffer_unref);
  for (gsize i = 0; payload->tensors != NULL && i < payload->n_rows; i++)
    g_clear_pointer (&payload->tensors[i], ovs_tensor_unref);
  g_free (payload->tensors);
  g_free (payload->sources);
  g_free (payload->offsets);
  ovs_rc_box_release (payload->index_map);
  ovs_rc_box_release (payload->mask);
  g_clear_error (&payload->fault);
  g_free (payload);
}

void
ovs_payload_set_index_map (OvstageWriteData *payload, const guint32 *map, gsize n)
{
  guint32 *old = payload->index_map;

  payload->index_map = copy_shared (map, n, sizeof *map);
  payload->n_index_map = map != NULL ? n : 0;
  ovs_rc_box_release (old);
}

void
ovs_payload_set_mask (OvstageWriteData *payload, const guint64 *words, gsize n)
{
  guint64 *old = payload->mask;

  payload->mask = copy_shared (words, n, sizeof *words);
  payload->n_mask_words = words != NULL ? n : 0;
  ovs_rc_box_release (old);
}

static guint64
n_words_for (guint32 count)
{
  return ((guint64) count + 63) / 64;
}

/* What messages call a tensor. */
static const char *
name_tensor (const OvstageWriteData *payload, gsize i, char *text, gsize size)
{
  if (payload->kind != OVS_PAYLOAD_ROWS)
    return "tensor";
  g_snprintf (text, (gulong) size, "tensors[%" G_GSIZE_FORMAT "]", i);
  return text;
}

/* W2 */
static gboolean
check_tensors (const OvstageWriteData *payload, GError **error)
{
  char name[32];

  if (ovs_payload_n_tensors (payload) == 0 || (payload->kind == OVS_PAYLOAD_RAGGED && payload->n_rows == 0))
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, payload->kind != OVS_PAYLOAD_FIXED
                     ? "tensors: none given, expected one for each row"
                     : "tensor: none given, expected one");
  for (gsize i = 0; payload->kind == OVS_PAYLOAD_ROWS && i < payload->n_rows; i++)
    if (payload->tensors[i] == NULL)
      return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: none given, expected one", name_tensor (payload, i, name, sizeof name));
  return TRUE;
}

/* W11 */
static gboolean
check_selection (const OvstageWriteData *payload, GError **error)
{
  if (payload->index_map != NULL && payload->mask != NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "index_map and mask: both given, expected one at most");
  if ((payload->index_map != NULL || payload->mask != NULL) && payload->count == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "count is 0, expected the number of elements that the %s is for",
                     payload->mask != NULL ? "mask" : "index_map");
  if (payload->index_map != NULL && payload->n_index_map < payload->count)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "index_map has %" G_GSIZE_FORMAT " entries, expected at least %u (count)", payload->n_index_map,
                     payload->count);
  if (payload->mask != NULL && payload->n_mask_words < n_words_for (payload->count))
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "mask has %" G_GSIZE_FORMAT " words, expected at least %" G_GUINT64_FORMAT " for count %u",
                     payload->n_mask_words, n_words_for (payload->count), payload->count);
  return TRUE;
}

/* W25. The rows of a packed payload are known when it is resolved. */
static gboolean
check_bits (const OvstageWriteData *payload, const OvstageTensor *tensor, const char *what, GError **error)
{
  char text[OVS_DTYPE_TEXT_MAX];
  gint64 row_elements = payload->kind == OVS_PAYLOAD_FIXED ? ovs_tensor_n_row_elements (tensor) : ovs_tensor_n_elements (tensor);
  OvsRows rows;

  if (tensor->dtype.bits % 8 == 0)
    return TRUE;
  ovs_dtype_format (tensor->dtype, text);
  if (tensor->flags & OVS_TENSOR_SUBBYTE_PADDED)
    return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "%s: elements of %s are padded to whole bytes, expected packed ones",
                     what, text);
  if (payload->kind != OVS_PAYLOAD_PACKED && payload->kind != OVS_PAYLOAD_RAGGED &&
      (ovs_dtype_row_bits (tensor->dtype) * (guint64) row_elements) % 8 != 0)
    return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "%s: a row of %" G_GINT64_FORMAT " x %s is not a whole number of bytes",
                     what, row_elements, text);
  if (ovs_payload_is_array (payload) && ovs_tensor_is_compact (tensor))
    return TRUE;
  if (!ovs_rows_plan (tensor, ovs_payload_is_array (payload), &rows))
    return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "%s: the strides of %s lead to elements that do not begin at a byte", what,
                     text);
  return TRUE;
}

static gboolean
are_alike (const OvstageTensor *a, const OvstageTensor *b)
{
  return ovs_dtype_equal (a->dtype, b->dtype) && a->device_type == b->device_type && a->device_id == b->device_id;
}

/* Tensors of one write are alike. */
static gboolean
check_alike (const OvstageWriteData *payload, GError **error)
{
  const OvstageTensor *first = ovs_payload_get_tensor (payload, 0);
  char found[OVS_DTYPE_TEXT_MAX], wanted[OVS_DTYPE_TEXT_MAX];

  for (gsize i = 1; i < ovs_payload_n_tensors (payload); i++)
    {
      const OvstageTensor *tensor = payload->tensors[i];

      if (!ovs_dtype_equal (tensor->dtype, first->dtype))
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors[%" G_GSIZE_FORMAT "] is %s, expected %s as of tensors[0]", i,
                         ovs_dtype_format (tensor->dtype, found), ovs_dtype_format (first->dtype, wanted));
      if (tensor->device_type != first->device_type || tensor->device_id != first->device_id)
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                         "tensors[%" G_GSIZE_FORMAT "] is on device (%d, %d), expected (%d, %d) as of tensors[0]", i,
                         tensor->device_type, tensor->device_id, first->device_type, first->device_id);
    }
  return TRUE;
}

/* Compact, of whole bytes, and there: nothing about it can be wrong. */
static gboolean
is_usual (const OvstageTensor *tensor)
{
  return tensor != NULL && tensor->n_elements >= 0 && tensor->compact && tensor->dtype.bits != 0 && tensor->dtype.bits % 8 == 0 &&
         tensor->dtype.lanes != 0 && (tensor->data != NULL || tensor->n_elements == 0);
}

/* Goes once through tensors that are as most are: alike, compact, of whole bytes and there. Where they lead is kept, since they may
 * take more memory than their elements. FALSE: a closer look is needed. */
static gboolean
look_at_rows (OvstageWriteData *payload)
{
  gsize n = payload->n_rows, n_bytes = 0;
  const OvstageTensor *first = n > 0 ? payload->tensors[0] : NULL;
  g_autofree OvsRowSources *sources = NULL;
  gsize element;

  if (g_atomic_pointer_get (&payload->sources) != NULL)
    return TRUE;
  if (first == NULL || !is_usual (first))
    return FALSE;
  element = ovs_dtype_row_bits (first->dtype) / 8;
  sources = g_malloc (sizeof *sources + sizeof *sources->rows * n);
  for (gsize i = 0; i < n; i++)
    {
      const OvstageTensor *tensor = payload->tensors[i];
      gsize size;

      if (tensor == NULL || tensor->n_elements < 0 || !tensor->compact || !are_alike (tensor, first) ||
          (tensor->data == NULL && tensor->n_elements > 0))
        return FALSE;
      size = (gsize) tensor->n_elements * element;
      if (__builtin_add_overflow (n_bytes, size, &n_bytes))
        return FALSE;
      sources->rows[i] = (OvsRowSource){ tensor->data, size };
    }
  sources->n_bytes = n_bytes;
  if (g_atomic_pointer_compare_and_exchange (&payload->sources, NULL, sources))
    sources = NULL;
  return TRUE;
}

static gboolean
check_offsets (const OvstageWriteData *payload, GError **error)
{
  guint64 n = (guint64) ovs_tensor_n_elements (payload->tensor);
  char text[OVS_DTYPE_TEXT_MAX];

  for (gsize i = 0; i <= payload->n_rows; i++)
    {
      guint64 bits = payload->offsets[i] * ovs_dtype_row_bits (payload->tensor->dtype);

      if (payload->offsets[i] > n || (i > 0 && payload->offsets[i] < payload->offsets[i - 1]))
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                         "offsets[%" G_GSIZE_FORMAT "] is %" G_GUINT64_FORMAT ", expected %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, i,
                         payload->offsets[i], i > 0 ? payload->offsets[i - 1] : 0, n);
      if (bits % 8 != 0)
        return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "offsets[%" G_GSIZE_FORMAT "]: %" G_GUINT64_FORMAT
                         " x %s is not a whole number of bytes",
                         i, payload->offsets[i], ovs_dtype_format (payload->tensor->dtype, text));
    }
  return TRUE;
}

gboolean
ovs_payload_check_form (const OvstageWriteData *payload, GError **error)
{
  gsize n = ovs_payload_n_tensors (payload);
  gboolean odd = FALSE, missing = FALSE, alike = TRUE;
  char name[32];

  if (payload->fault != NULL)
    {
      if (error != NULL)
        *error = g_error_copy (payload->fault);
      return FALSE;
    }
  if (payload->kind == OVS_PAYLOAD_FIXED && is_usual (payload->tensor))
    return check_selection (payload, error);
  if (payload->kind == OVS_PAYLOAD_ROWS && look_at_rows ((OvstageWriteData *) payload))
    return check_selection (payload, error);
  if (!check_tensors (payload, error) || !check_selection (payload, error))
    return FALSE;

  /* W24 */
  for (gsize i = 0; i < n; i++)
    {
      const OvstageTensor *tensor = ovs_payload_get_tensor (payload, i);

      if (!ovs_tensor_check (tensor, "tensor", NULL, NULL))
        return ovs_tensor_check (tensor, name_tensor (payload, i, name, sizeof name), NULL, error);
      odd = odd || tensor->dtype.bits % 8 != 0;
      missing = missing || tensor->data == NULL;
      alike = alike && are_alike (tensor, ovs_payload_get_tensor (payload, 0));
    }
  for (gsize i = 0; odd && i < n; i++)
    if (!check_bits (payload, ovs_payload_get_tensor (payload, i), name_tensor (payload, i, name, sizeof name), error))
      return FALSE;
  /* W26 */
  for (gsize i = 0; missing && i < n; i++)
    {
      const OvstageTensor *tensor = ovs_payload_get_tensor (payload, i);
      gsize n_bytes;

      ovs_tensor_check (tensor, "tensor", &n_bytes, NULL);
      if (tensor->data == NULL && n_bytes > 0)
        return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s: data is NULL, expected %" G_GSIZE_FORMAT " bytes",
                         name_tensor (payload, i, name, sizeof name), n_bytes);
    }
  return (alike || check_alike (payload, error)) && (payload->kind != OVS_PAYLOAD_RAGGED || check_offsets (payload, error));
}

#ifdef __clang__
#define OVS_VECTORIZE
#else
#define OVS_VECTORIZE __attribute__ ((optimize ("O3")))
#endif

/* Whether an entry is at or above @limit. No branch within a block, so that it can be vectorised. */
static OVS_VECTORIZE gboolean
find_above (const guint32 *map, gsize n, guint32 limit, gsize *position)
{
  enum
  {
    BLOCK = 4096,
  };

  for (gsize start = 0; start < n; start += BLOCK)
    {
      gsize end = MIN (n, start + BLOCK);
      guint32 bad = 0;

      for (gsize i = start; i < end; i++)
        bad |= (guint32) (map[i] >= limit);
      if (G_LIKELY (bad == 0))
        continue;
      while (map[start] < limit)
        start++;
      *position = start;
      return TRUE;
    }
  return FALSE;
}

/* In plain operations: the instruction is newer than our baseline, and the compiler's stand-in is a call. */
static inline gsize
popcount (guint64 word)
{
  word -= (word >> 1) & G_GUINT64_CONSTANT (0x5555555555555555);
  word = (word & G_GUINT64_CONSTANT (0x3333333333333333)) + ((word >> 2) & G_GUINT64_CONSTANT (0x3333333333333333));
  word = (word + (word >> 4)) & G_GUINT64_CONSTANT (0x0f0f0f0f0f0f0f0f);
  return (gsize) ((word * G_GUINT64_CONSTANT (0x0101010101010101)) >> 56);
}

static gsize
count_bits (const guint64 *words, guint32 count)
{
  gsize n = 0;
  gsize n_full = count / 64;

  for (gsize i = 0; i < n_full; i++)
    n += popcount (words[i]);
  if (count % 64 != 0)
    n += popcount (words[n_full] & ((G_GUINT64_CONSTANT (1) << (count % 64)) - 1));
  return n;
}

static gboolean
check_count (guint64 count, gsize n_prims, GError **error)
{
  /* W10 */
  if (count > n_prims)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "count is %" G_GUINT64_FORMAT ", expected at most %" G_GSIZE_FORMAT " (prims of the query)", count,
                     n_prims);
  if (count > G_MAXUINT32)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "the query has %" G_GUINT64_FORMAT " prims, expected at most %u",
                     count, G_MAXUINT32);
  return TRUE;
}

/* W12 */
static gboolean
check_index_map (const OvstageWriteData *payload, guint64 count, gint64 limit, const char *of_what, GError **error)
{
  gsize position;

  if (payload->index_map == NULL || limit > G_MAXUINT32 || !find_above (payload->index_map, (gsize) count, (guint32) limit, &position))
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                   "index_map[%" G_GSIZE_FORMAT "] is %u, expected below %" G_GINT64_FORMAT " (%s)", position,
                   payload->index_map[position], limit, of_what);
}

static void
set_selection (const OvstageWriteData *payload, guint32 count, OvsRows *rows)
{
  rows->count = count;
  rows->arrays = NULL;
  rows->index_map = payload->index_map;
  rows->mask = payload->mask;
  rows->n_selected = payload->mask != NULL ? count_bits (payload->mask, rows->count) : rows->count;
  /* A mask that selects everything is none, which leaves the quick ways open. */
  if (rows->n_selected == rows->count)
    rows->mask = NULL;
}

/* W16. Gives the number of rows; 0: they do not come out even. */
static gint64
count_packed (const OvstageWriteData *payload, guint64 count, GError **error)
{
  const OvstageTensor *tensor = payload->tensor;
  const char *source = payload->index_map != NULL ? "the highest entry of the index map, plus 1"
                       : payload->count > 0      ? "count"
                                                 : "prims of the query";
  gint64 n = ovs_tensor_n_elements (tensor), n_rows = (gint64) count;
  char text[OVS_DTYPE_TEXT_MAX];

  if (payload->index_map != NULL)
    {
      guint32 highest = 0;

      for (guint64 i = 0; i < count; i++)
        highest = MAX (highest, payload->index_map[i]);
      n_rows = (gint64) highest + 1;
    }
  if (n % n_rows != 0)
    ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
              "tensor: %" G_GINT64_FORMAT " elements do not divide evenly into %" G_GINT64_FORMAT " rows (%s)", n, n_rows, source);
  else if ((guint64) (n / n_rows) * ovs_dtype_row_bits (tensor->dtype) % 8 != 0)
    ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "tensor: a row of %" G_GINT64_FORMAT " x %s is not a whole number of bytes",
              n / n_rows, ovs_dtype_format (tensor->dtype, text));
  else
    return n_rows;
  return 0;
}

/* Rows are records: where they are is found out by ovs_rows_place(). */
static gboolean
resolve_arrays (const OvstageWriteData *payload, gsize n_prims, OvsRows *rows, GError **error)
{
  guint64 count = payload->count > 0 ? payload->count : n_prims;
  const char *unit = payload->kind == OVS_PAYLOAD_ROWS ? "tensors" : "rows";
  gint64 n_rows = (gint64) payload->n_rows;

  if (!check_count (count, n_prims, error))
    return FALSE;
  if (payload->kind == OVS_PAYLOAD_PACKED)
    n_rows = count_packed (payload, count, error);
  else if (!check_index_map (payload, count, n_rows, unit, error))
    return FALSE;
  if (payload->kind == OVS_PAYLOAD_PACKED && n_rows == 0)
    return FALSE;
  /* W31 */
  if (payload->index_map == NULL && (guint64) n_rows != count)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "%" G_GINT64_FORMAT " %s for %" G_GUINT64_FORMAT " elements (%s): without an index map both must agree", n_rows, unit,
                     count, payload->count > 0 ? "count" : "prims of the query");

  set_selection (payload, (guint32) count, rows);
  rows->dtype = ovs_payload_get_tensor (payload, 0)->dtype;
  rows->tensor = NULL;
  rows->n_rows = n_rows;
  rows->base = NULL;
  rows->row_size = rows->item_size = OVS_ARRAY_ROW_SIZE;
  rows->row_stride = OVS_ARRAY_ROW_SIZE;
  rows->row_compact = rows->compact = TRUE;
  rows->n_inner = 0;
  return TRUE;
}

static gboolean
resolve_fixed (const OvstageWriteData *payload, gsize n_prims, OvsRows *rows, GError **error)
{
  OvstageTensor *tensor = payload->tensor;
  gint64 n_rows = tensor->ndim > 0 ? tensor->shape[0] : 1;
  gint64 lanes = tensor->dtype.lanes * ovs_tensor_n_row_elements (tensor);
  guint64 count = payload->count > 0 ? payload->count : n_prims;

  /* W6, and W14: a mask does not change that there is a row for every element. */
  if (payload->index_map == NULL && (guint64) n_rows != count)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "tensor: %" G_GINT64_FORMAT " rows for %" G_GUINT64_FORMAT
                     " elements (%s): without an index map both must agree",
                     n_rows, count, payload->count > 0 ? "count" : "prims of the query");
  if (!check_count (count, n_prims, error) || !check_index_map (payload, count, n_rows, "rows", error))
    return FALSE;
  /* W31 */
  if (lanes <= 0 || lanes > G_MAXUINT16)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "tensor: %u lanes and trailing axes of %" G_GINT64_FORMAT " elements make %" G_GINT64_FORMAT
                     " lanes, expected 1 to 65535",
                     tensor->dtype.lanes, ovs_tensor_n_row_elements (tensor), lanes);

  ovs_rows_plan (tensor, FALSE, rows);
  set_selection (payload, (guint32) count, rows);
  rows->dtype = tensor->dtype;
  rows->dtype.lanes = (guint16) lanes;
  rows->tensor = tensor;
  return TRUE;
}

gboolean
ovs_payload_resolve (const OvstageWriteData *payload, gsize n_prims, OvsRows *rows, GError **error)
{
  return ovs_payload_is_array (payload) ? resolve_arrays (payload, n_prims, rows, error)
                                        : resolve_fixed (payload, n_prims, rows, error);
}
