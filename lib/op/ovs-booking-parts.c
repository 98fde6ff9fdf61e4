/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* How a booking enters the write sets: as one part, or as several. All memory is
 * prepared first, so that entering cannot fail. */

#include "config.h"

#include "op/ovs-booking-private.h"

#include "op/ovs-existence.h"

/* A partial write of up to this many bytes joins the open part of its set. */
#define LOG_LIMIT 4096

static gboolean
out_of_memory (GError **error, gsize bytes)
{
  return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GSIZE_FORMAT " bytes of values", bytes);
}

static void
add_buffer (OvsBooking *booking, OvsBuffer *buffer)
{
  if (booking->n_buffers++ < G_N_ELEMENTS (booking->few))
    {
      booking->few[booking->n_buffers - 1] = buffer;
      return;
    }
  if (booking->more == NULL)
    booking->more = g_ptr_array_new ();
  g_ptr_array_add (booking->more, buffer);
}

static OvsBuffer *
take_buffer (OvsBooking *booking)
{
  guint i = booking->next_buffer++;

  return i < G_N_ELEMENTS (booking->few) ? booking->few[i] : booking->more->pdata[i - G_N_ELEMENTS (booking->few)];
}

static gsize
get_row_bytes (const OvsBooking *booking)
{
  return booking->rows.n_selected * booking->rows.row_size;
}

static gboolean
prepare_buffer (OvsBooking *booking, gsize bytes, GError **error)
{
  OvsBuffer *buffer = ovs_spares_alloc (&booking->stage->spares, booking->stage->pool, bytes);

  if (buffer == NULL)
    return out_of_memory (error, bytes);
  add_buffer (booking, buffer);
  return TRUE;
}

/* Memory that was handed over is the staged buffer, when it holds the rows as they are wanted. */
static gboolean
can_adopt (const OvsBooking *booking)
{
  const OvsRows *rows = &booking->rows;
  guint bytes = rows->dtype.bits / 8;

  return booking->data->take && rows->arrays == NULL && rows->compact && rows->index_map == NULL && rows->mask == NULL && (gsize) rows->n_rows == rows->count &&
         (bytes == 0 || (bytes & (bytes - 1)) != 0 || (guintptr) rows->base % MIN (bytes, 16) == 0);
}

static gboolean
prepare_values (OvsBooking *booking, GError **error)
{
  OvsBuffer *buffer;

  if (booking->rows.arrays != NULL && booking->rows.mask == NULL)
    {
      add_buffer (booking, ovs_buffer_ref (booking->rows.arrays->records));
      return TRUE;
    }
  if (booking->data->buffer != NULL)
    {
      add_buffer (booking, ovs_buffer_ref (booking->data->buffer));
      return TRUE;
    }
  if (!can_adopt (booking))
    return prepare_buffer (booking, get_row_bytes (booking), error);
  buffer = ovs_buffer_new_adopted ((gpointer) booking->rows.base, ovs_booking_get_bytes (booking), (GDestroyNotify) ovs_tensor_unref,
                                   ovs_tensor_ref (booking->rows.tensor));
  add_buffer (booking, buffer);
  return TRUE;
}

/* Nothing is to be moved into a buffer that prepare_values() gave: it holds the rows. */
static gboolean
is_filled (const OvsBooking *booking, const OvsBuffer *values)
{
  return values->origin != OVS_BUFFER_POOL || (booking->rows.arrays != NULL && values == booking->rows.arrays->records);
}

static OvsHeap *
get_heap (const OvsBooking *booking)
{
  return booking->rows.arrays != NULL ? booking->rows.arrays->heap : NULL;
}

static OvsWriteSet *
ensure_set (OvsBooking *booking, OvsColumn *column)
{
  OvsStage *stage = booking->stage;
  OvsAttr *attr = column->attr;
  OvsWriteSet *set = ovs_attr_find_set (attr, column, booking->write->ordinal);

  if (set != NULL)
    return set;
  set = ovs_write_set_new (column, booking->write->ordinal);
  ovs_attr_add_set (attr, set);
  ovs_stage_set_dirty (stage, attr);
  return set;
}

/* Takes @rows and @values. */
static void
stage_part (OvsBooking *booking, OvsColumn *column, guint32 first, guint32 n, OvsBuffer *rows, OvsBuffer *values,
            OvsRowPromise *promise, gboolean structural)
{
  OvsWriteSet *set = ensure_set (booking, column);
  gsize before = set->bytes;

  ovs_write_set_add (set, booking->write->op.id, first, n, rows, values, get_heap (booking), promise, column->n_head_rows);
  set->structural = set->structural || structural;
  booking->stage->staged_bytes += set->bytes - before;
}

static gboolean
prepare_log (OvsBooking *booking, GError **error)
{
  OvsWriteSet *set = ensure_set (booking, booking->only);
  gsize before = set->bytes;
  gboolean reserved = ovs_write_set_reserve (set, booking->stage->pool, booking->write->op.id, (guint32) booking->rows.n_selected,
                                             (guint32) booking->rows.row_size);

  booking->stage->staged_bytes += set->bytes - before;
  if (reserved)
    return TRUE;
  if (set->n_parts == 0)
    ovs_attr_remove_set (booking->attr, set);
  return out_of_memory (error, ovs_booking_get_bytes (booking));
}

static void
enter_log (OvsBooking *booking)
{
  const OvsRows *rows = &booking->rows;
  OvsWriteSet *set = ensure_set (booking, booking->only);
  guint32 n = (guint32) rows->n_selected, *target;
  guint8 *data;

  ovs_write_set_append (set, n, (guint32) rows->row_size, &target, &data);
  if (rows->arrays != NULL && rows->arrays->heap->n > 0)
    {
      ovs_write_set_append_heap (set, rows->arrays->heap);
      booking->stage->staged_bytes += rows->arrays->heap->bytes;
    }
  if (rows->mask != NULL)
    {
      ovs_rows_copy_masked (rows, 0, rows->count, data, target);
      ovs_transfer_map_rows (booking->binding, target, n);
      return;
    }
  ovs_rows_copy (rows, 0, n, data);
  for (guint32 i = 0; i < n; i++)
    target[i] = ovs_binding_get_row (booking->binding, i);
}

static gboolean
prepare_plain (OvsBooking *booking, GError **error)
{
  if (booking->rows.mask != NULL && !prepare_buffer (booking, booking->rows.n_selected * sizeof (guint32), error))
    return FALSE;
  return prepare_values (booking, error);
}

static void
enter_plain (OvsBooking *booking)
{
  const OvsRows *rows = &booking->rows;
  OvsBinding *binding = booking->binding;
  OvsBuffer *row_numbers = rows->mask != NULL ? take_buffer (booking) : NULL;
  OvsBuffer *values = take_buffer (booking);
  OvsRowPromise *promise = NULL;

  if (is_filled (booking, values))
    ;
  else if (booking->locked)
    ovs_transfer_elements (rows, values, row_numbers, binding, 0, rows->count, 0);
  else
    {
      booking->transfers = ovs_transfer_new (NULL, rows, values, row_numbers, binding);
      if (row_numbers != NULL)
        promise = booking->transfers->promise = ovs_row_promise_new (rows->mask, rows->count, binding->first, binding->rows);
    }

  if (row_numbers == NULL && binding->rows != NULL)
    row_numbers = ovs_buffer_ref (binding->rows);
  stage_part (booking, booking->only, row_numbers == NULL ? binding->first : 0, (guint32) rows->n_selected, row_numbers, values,
              promise, FALSE);
}

/* The column for prims that do not have the attribute. A list that is mostly written becomes its layout. */
static OvsColumn *
ensure_column (OvsBooking *booking, guint32 n_new)
{
  OvsStage *stage = booking->stage;
  OvstagePathList *list = booking->query->list;
  OvsColumn *column;

  booking->attr = ovs_stage_ensure_attr (stage, booking->attribute);
  column = ovs_attr_find_column (booking->attr, &booking->schema);
  if (column == NULL)
    {
      g_autoptr (OvsLayout) layout = NULL;

      layout = (guint64) n_new * 2 >= list->n ? ovs_layout_ref (ovs_stage_ensure_layout (stage, list)) : ovs_layout_new (NULL);
      column = ovs_attr_add_column (booking->attr, &booking->schema, (guint32) booking->rows.row_size, layout);
    }
  return column;
}

static gboolean
is_run (const guint32 *rows, guint32 n)
{
  for (guint32 i = 1; i < n; i++)
    if (rows[i] != rows[0] + i)
      return FALSE;
  return TRUE;
}

/* The elements of @elements, as a payload of their own. */
static void
select_rows (const OvsRows *rows, const guint32 *elements, guint32 n, OvsRows *selected)
{
  guint32 *map = g_atomic_rc_box_alloc (sizeof (guint32) * n);

  for (guint32 i = 0; i < n; i++)
    map[i] = rows->index_map != NULL ? rows->index_map[elements[i]] : elements[i];
  *selected = *rows;
  selected->index_map = map;
  selected->mask = NULL;
  selected->count = n;
  selected->n_selected = n;
}

/* The part of @column: @n elements, whose prims are or will be there. */
static void
enter_elements (OvsBooking *booking, OvsColumn *column, const guint32 *elements, guint32 n)
{
  OvsBuffer *row_numbers = take_buffer (booking);
  OvsBuffer *values = take_buffer (booking);
  OvsStage *stage = booking->stage;
  OvstagePathList *list = booking->query->list;
  guint32 *rows = (guint32 *) row_numbers->data;
  g_autofree guint32 *prims = g_new (guint32, n);
  gboolean structural = FALSE;
  OvsRows selected;

  for (guint32 i = 0; i < n; i++)
    prims[i] = list->ids[elements[i]];
  ovs_column_ensure_rows (column, prims, n, rows);
  for (guint32 i = 0; i < n; i++)
    {
      guint32 element = elements[i];

      if (booking->state[element] != 0)
        continue;
      structural = TRUE;
      if ((booking->above == NULL || !booking->above[element]) && ovs_column_set_head_live (column, rows[i]))
        ovs_stage_add_live (stage, prims[i], 1);
    }
  if (structural)
    ovs_attr_note_structure (column->attr, booking->write->ordinal);

  select_rows (&booking->rows, elements, n, &selected);
  booking->transfers = ovs_transfer_new (booking->transfers, &selected, values, NULL, NULL);
  booking->transfers->owns_map = TRUE;
  if (is_run (rows, n))
    {
      guint32 first = rows[0];

      g_clear_pointer (&row_numbers, ovs_buffer_unref);
      stage_part (booking, column, first, n, NULL, values, NULL, structural);
    }
  else
    stage_part (booking, column, 0, n, row_numbers, values, NULL, structural);
}

/* How many targets each column will have, by 1 + its index. [0]: those of the column that prims which appear will join, whether
 * it is there already, and other targets stand in it, or not: another booking of the same write may make it meanwhile. */
static guint32 *
count_targets (OvsBooking *booking, OvsColumn **joined)
{
  guint32 *n_of = g_new0 (guint32, (booking->attr != NULL ? booking->attr->columns->len : 0) + 1);

  for (guint32 i = 0; i < booking->rows.count; i++)
    if (ovs_rows_is_selected (&booking->rows, i))
      n_of[booking->state[i]]++;

  *joined = n_of[0] > 0 && booking->attr != NULL ? ovs_attr_find_column (booking->attr, &booking->schema) : NULL;
  if (*joined != NULL)
    {
      n_of[0] += n_of[(*joined)->index + 1];
      n_of[(*joined)->index + 1] = 0;
    }
  return n_of;
}

static gboolean
prepare_each (OvsBooking *booking, GError **error)
{
  guint n_columns = booking->attr != NULL ? booking->attr->columns->len : 0;
  OvsColumn *joined;
  g_autofree guint32 *n_of = count_targets (booking, &joined);

  for (guint c = 0; c <= n_columns; c++)
    if (n_of[c] > 0 && (!prepare_buffer (booking, (gsize) n_of[c] * sizeof (guint32), error) ||
                        !prepare_buffer (booking, (gsize) n_of[c] * booking->rows.row_size, error)))
      return FALSE;
  return TRUE;
}

static void
enter_each (OvsBooking *booking)
{
  const OvsRows *rows = &booking->rows;
  guint n_columns = booking->attr != NULL ? booking->attr->columns->len : 0;
  OvsColumn *joined;
  g_autofree guint32 *n_of = count_targets (booking, &joined);
  g_autofree guint32 *elements = g_new (guint32, rows->n_selected);

  if (n_of[0] > 0)
    joined = ensure_column (booking, n_of[0]);
  for (guint c = 0; c <= n_columns; c++)
    {
      OvsColumn *column = c > 0 ? booking->attr->columns->pdata[c - 1] : joined;
      guint32 n = 0;

      if (n_of[c] == 0)
        continue;
      for (guint32 i = 0; i < rows->count; i++)
        if (ovs_rows_is_selected (rows, i) && (booking->state[i] == c || (c == 0 && joined != NULL && booking->state[i] == joined->index + 1)))
          elements[n++] = i;
      enter_elements (booking, column, elements, n);
    }
}

static void
enter_first (OvsBooking *booking)
{
  const OvsRows *rows = &booking->rows;
  OvsBuffer *values = take_buffer (booking);
  OvsColumn *column = ensure_column (booking, rows->count);

  ovs_column_set_head_all (column, rows->count);
  for (guint32 i = 0; i < rows->count; i++)
    ovs_stage_add_live (booking->stage, booking->query->list->ids[i], 1);
  ovs_attr_note_structure (column->attr, booking->write->ordinal);
  if (is_filled (booking, values))
    ;
  else if (booking->locked)
    ovs_rows_copy (rows, 0, rows->count, values->data);
  else
    booking->transfers = ovs_transfer_new (NULL, rows, values, NULL, NULL);
  stage_part (booking, column, 0, rows->count, NULL, values, NULL, TRUE);
}

gboolean
ovs_booking_prepare (OvsBooking *booking, GError **error)
{
  const OvsRows *rows = &booking->rows;

  if (rows->arrays != NULL && rows->arrays->records == NULL)
    return out_of_memory (error, ovs_booking_get_bytes (booking));
  if (booking->only != NULL)
    {
      if (booking->locked && rows->n_selected < booking->only->n_head_rows && get_row_bytes (booking) <= LOG_LIMIT &&
          (rows->arrays != NULL || (!booking->data->take && booking->data->buffer == NULL)))
        {
          booking->way = OVS_WAY_LOG;
          return prepare_log (booking, error);
        }
      booking->way = OVS_WAY_PLAIN;
      return prepare_plain (booking, error);
    }
  if ((booking->attr == NULL || booking->attr->columns->len == 0) && booking->above == NULL && rows->mask == NULL &&
      (guint64) rows->count * 2 >= booking->query->list->n)
    {
      booking->way = OVS_WAY_FIRST;
      return prepare_values (booking, error);
    }
  booking->way = OVS_WAY_EACH;
  return prepare_each (booking, error);
}

/* A part that was opened would be a change by itself. */
void
ovs_booking_unprepare (OvsBooking *booking)
{
  OvsWriteSet *set;
  gsize before;

  if (booking->way != OVS_WAY_LOG)
    return;
  set = ensure_set (booking, booking->only);
  before = set->bytes;
  ovs_write_set_unreserve (set);
  booking->stage->staged_bytes -= before - set->bytes;
  if (set->n_parts == 0)
    ovs_attr_remove_set (booking->attr, set);
}

/* The records are entered; the elements that they name are still to be copied. */
static void
enter_elements_of_arrays (OvsBooking *booking)
{
  OvsArrays *arrays = booking->rows.arrays;

  if (arrays == NULL || arrays->n_copies == 0)
    return;
  if (booking->locked)
    ovs_arrays_copy (arrays, 0, arrays->n_copies);
  else
    booking->transfers = ovs_transfer_new_copies (booking->transfers, arrays);
}

void
ovs_booking_enter (OvsBooking *booking)
{
  switch (booking->way)
    {
    case OVS_WAY_LOG:
      enter_log (booking);
      break;
    case OVS_WAY_PLAIN:
      enter_plain (booking);
      break;
    case OVS_WAY_FIRST:
      enter_first (booking);
      break;
    case OVS_WAY_EACH:
    default:
      enter_each (booking);
      break;
    }
  enter_elements_of_arrays (booking);
}

void
ovs_booking_drop_buffers (OvsBooking *booking)
{
  while (booking->next_buffer < booking->n_buffers)
    ovs_buffer_unref (take_buffer (booking));
  g_clear_pointer (&booking->more, g_ptr_array_unref);
}
