/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>

#include "op/ovs-op-private.h"
#include "op/ovs-op-transfer.h"

#include "base/ovs-debug.h"
#include "column/ovs-presence.h"
#include "device/ovs-device.h"

/* A partial write of up to this many bytes joins the open part of its set. */
#define LOG_LIMIT 4096

/* The write that is being booked: stage lock held. */
typedef struct
{
  OvsStage *stage;
  OvsQuery *query;
  OvsWrite *write;
  OvstagePrimMode prim_mode;
  OvsSchema schema;
  OvsRows *rows;
  OvsAttr *attr; /* (nullable) */
  guint16 *state; /* (owned) (nullable) of each element: 1 + column that carries it as of the ordinal, 0 for none */
  guint8 *above;  /* (owned) (nullable) of each element: something is staged on it at a higher ordinal */
} Booking;

static gboolean
is_selected (const OvsRows *rows, guint32 element)
{
  return rows->mask == NULL || (rows->mask[element / 64] >> (element % 64)) & 1;
}

static const char *
dup_prim (Booking *booking, guint32 element, char **text)
{
  return *text = ovs_path_dict_dup_path (booking->stage->dict, booking->query->list->ids[element]);
}

/* Whether the first @count entries of a binding stand on live rows. */
static gboolean
all_live (const OvsColumn *column, const OvsBinding *binding, guint32 count)
{
  if (binding->n_missing > 0 || count > binding->n)
    return FALSE;
  if (column->head_live == NULL)
    return (binding->rows == NULL ? binding->first + count : binding->end) <= column->n_head_rows;
  for (guint32 i = 0; i < count; i++)
    if (!ovs_column_is_head_live (column, ovs_binding_get_row (binding, i)))
      return FALSE;
  return TRUE;
}

/* The one column that carries every prim of the query's first elements, as of the ordinal. NULL: look at each prim. */
static OvsColumn *
find_only_column (Booking *booking, OvsBinding **binding)
{
  OvsAttr *attr = booking->attr;
  guint32 count = booking->rows->count;
  OvsColumn *column;

  *binding = NULL;
  if (attr == NULL || attr->columns->len != 1 || booking->write->ordinal < attr->structure_max)
    return NULL;
  column = attr->columns->pdata[0];
  *binding = ovs_stage_bind (booking->stage, booking->query, column->layout);
  if (*binding != NULL && all_live (column, *binding, count))
    return column;
  g_clear_pointer (binding, ovs_binding_unref);
  return NULL;
}

static void
find_state (Booking *booking)
{
  guint32 count = booking->rows->count;
  guint64 ordinal = booking->write->ordinal;

  booking->state = g_new0 (guint16, count);
  if (booking->attr == NULL)
    return;
  if (ordinal >= booking->attr->structure_max)
    {
      ovs_presence_at_head (booking->attr, booking->query->list, count, booking->state);
      return;
    }
  booking->above = g_new0 (guint8, count);
  ovs_presence_as_of (booking->attr, booking->query->list, count, ordinal, booking->state, booking->above);
}

/* Undoes what is sealed above the ordinal: attributes need not be sealed together. */
static void
undo_structure (Booking *booking, guint32 *counts)
{
  OvsStage *stage = booking->stage;
  OvstagePathList *list = booking->query->list;

  for (guint b = 0; b < stage->structure_log->len; b++)
    {
      const OvsStructureChange *change = &g_array_index (stage->structure_log, OvsStructureChange, b);
      guint32 i = change->ordinal > booking->write->ordinal ? ovs_path_list_index_of (list, change->prim) : OVS_INDEX_NONE;

      if (i < booking->rows->count)
        counts[i] -= (guint32) change->change;
    }
}

/* How many attributes live on each prim, as of the ordinal: the head's count, put right for the attributes whose head
 * is ahead of the ordinal. */
static guint32 *
count_attributes (Booking *booking)
{
  OvsStage *stage = booking->stage;
  OvstagePathList *list = booking->query->list;
  guint32 count = booking->rows->count;
  guint32 *counts = g_new (guint32, count);
  g_autofree guint16 *head = NULL, *state = NULL;
  g_autofree guint8 *above = NULL;

  for (guint32 i = 0; i < count; i++)
    counts[i] = list->ids[i] < stage->n_live ? stage->live[list->ids[i]] : 0;
  for (guint a = 0; a < stage->dirty->len; a++)
    {
      OvsAttr *attr = stage->dirty->pdata[a];

      if (attr->structure_max <= booking->write->ordinal)
        continue;
      if (head == NULL)
        {
          head = g_new (guint16, count);
          state = g_new (guint16, count);
          above = g_new (guint8, count);
        }
      ovs_presence_at_head (attr, list, count, head);
      ovs_presence_as_of (attr, list, count, booking->write->ordinal, state, above);
      for (guint32 i = 0; i < count; i++)
        counts[i] += (state[i] != 0) - (head[i] != 0);
    }
  undo_structure (booking, counts);
  return counts;
}

/* W19 */
static gboolean
check_prim_mode (Booking *booking, GError **error)
{
  g_autofree guint32 *counts = NULL;
  g_autofree char *path = NULL;

  if (booking->prim_mode == OVSTAGE_PRIM_MODE_UPSERT)
    return TRUE;
  counts = count_attributes (booking);
  for (guint32 i = 0; i < booking->rows->count; i++)
    {
      if (!is_selected (booking->rows, i))
        continue;
      if (booking->prim_mode == OVSTAGE_PRIM_MODE_INSERT && counts[i] != 0)
        return ovs_fail (error, OVSTAGE_ERROR_ALREADY_EXISTS,
                         "prim mode INSERT: prim %u of the query, '%s', exists at ordinal %" G_GUINT64_FORMAT, i,
                         dup_prim (booking, i, &path), booking->write->ordinal);
      if (booking->prim_mode == OVSTAGE_PRIM_MODE_UPDATE && counts[i] == 0)
        return ovs_fail (error, OVSTAGE_ERROR_NOT_FOUND,
                         "prim mode UPDATE: prim %u of the query, '%s', does not exist at ordinal %" G_GUINT64_FORMAT, i,
                         dup_prim (booking, i, &path), booking->write->ordinal);
    }
  return TRUE;
}

/* W20: the write's schema against what a prim has. A semantic of NONE keeps the prim's. */
static gboolean
check_against (Booking *booking, const OvsColumn *column, guint32 element, GError **error)
{
  const OvsSchema *schema = &booking->schema;
  char found[OVS_SCHEMA_TEXT_MAX], wanted[OVS_SCHEMA_TEXT_MAX];
  g_autofree char *path = NULL;

  if (ovs_dtype_equal (schema->dtype, column->schema.dtype) && schema->is_array == column->schema.is_array &&
      (schema->semantic == OVSTAGE_SEMANTIC_NONE || schema->semantic == column->schema.semantic))
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                   "attribute '%s' of prim %u of the query, '%s', is %s, the payload is %s: delete it before it gets another schema",
                   ovs_stage_name (booking->stage, booking->write->attribute), element, dup_prim (booking, element, &path),
                   ovs_schema_format (&column->schema, wanted), ovs_schema_format (schema, found));
}

static guint32
first_selected (const OvsRows *rows)
{
  guint32 i = 0;

  while (i < rows->count && !is_selected (rows, i))
    i++;
  return i;
}

/* W20 to W22 */
static gboolean
check_schema (Booking *booking, OvsColumn *only, GError **error)
{
  const OvsSchema *schema = &booking->schema;
  guint32 token = booking->write->attribute;
  gboolean creates = FALSE;

  if (only != NULL)
    {
      if (!check_against (booking, only, first_selected (booking->rows), error))
        return FALSE;
    }
  else
    {
      for (guint32 i = 0; i < booking->rows->count; i++)
        {
          if (!is_selected (booking->rows, i))
            continue;
          if (booking->state[i] == 0)
            creates = TRUE;
          else if (!check_against (booking, booking->attr->columns->pdata[booking->state[i] - 1], i, error))
            return FALSE;
        }
    }
  if (!ovs_schema_check (schema, error))
    return FALSE;

  if (token == booking->stage->reserved[4] && creates && schema->semantic != OVSTAGE_SEMANTIC_TOKEN_ID)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-prim-type: the semantic is %s, expected TOKEN_ID, fixed-size",
                     ovs_semantic_get_name (schema->semantic));
  if (token == booking->stage->reserved[5])
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "usd-schemas: the payload is fixed-size, expected arrays of TOKEN_ID");
  return TRUE;
}

static gboolean
out_of_memory (GError **error, gsize bytes)
{
  return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY, "no memory for %" G_GSIZE_FORMAT " bytes of values", bytes);
}

/* W33 */
static gboolean
check_budget (Booking *booking, GError **error)
{
  OvsStage *stage = booking->stage;
  gsize bytes = booking->rows->n_selected * booking->rows->row_size;

  if (bytes <= stage->config.staging_budget && stage->staged_bytes <= stage->config.staging_budget - bytes)
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_OUT_OF_MEMORY,
                   "%" G_GSIZE_FORMAT " unsealed bytes and %" G_GSIZE_FORMAT " more, staging-budget is %" G_GUINT64_FORMAT,
                   stage->staged_bytes, bytes, stage->config.staging_budget);
}

static OvsWriteSet *
ensure_set (Booking *booking, OvsColumn *column)
{
  OvsStage *stage = booking->stage;
  OvsAttr *attr = column->attr;
  OvsWriteSet *set = ovs_attr_find_set (attr, column, booking->write->ordinal);

  if (set != NULL)
    return set;
  set = ovs_write_set_new (column, booking->write->ordinal);
  ovs_attr_add_set (attr, set);
  if (attr->dirty_index < 0)
    {
      attr->dirty_index = (gint) stage->dirty->len;
      g_ptr_array_add (stage->dirty, attr);
    }
  return set;
}

/* Takes @rows and @values. */
static void
stage_part (Booking *booking, OvsColumn *column, guint32 first, guint32 n, OvsBuffer *rows, OvsBuffer *values,
            OvsRowPromise *promise, gboolean structural)
{
  OvsWriteSet *set = ensure_set (booking, column);
  gsize before = set->bytes;

  ovs_write_set_add (set, booking->write->op.id, first, n, rows, values, promise, column->n_head_rows);
  set->structural = set->structural || structural;
  booking->stage->staged_bytes += set->bytes - before;
}

/* Every target is carried by @column already: nothing appears and nothing moves. */
static gboolean
stage_plain (Booking *booking, OvsColumn *column, OvsBinding *binding, gboolean locked, OvsTransfer **transfers, GError **error)
{
  OvsRows *rows = booking->rows;
  OvsPool *pool = booking->stage->pool;
  guint32 n = (guint32) rows->n_selected;
  gsize bytes = (gsize) n * rows->row_size;
  OvsBuffer *values, *row_numbers = NULL;
  OvsRowPromise *promise = NULL;
  guint32 first = 0;

  if (locked && n < column->n_head_rows && bytes <= LOG_LIMIT)
    {
      OvsWriteSet *set = ensure_set (booking, column);
      gsize before = set->bytes;
      guint32 *target;
      guint8 *data;

      if (!ovs_write_set_append (set, pool, booking->write->op.id, n, rows->row_size, &target, &data))
        {
          if (set->n_parts == 0)
            ovs_attr_remove_set (column->attr, set);
          return out_of_memory (error, bytes);
        }
      booking->stage->staged_bytes += set->bytes - before;
      if (rows->mask != NULL)
        {
          ovs_rows_copy_masked (rows, 0, rows->count, data, target);
          ovs_transfer_map_rows (binding, target, n);
        }
      else
        {
          ovs_rows_copy (rows, 0, n, data);
          for (guint32 i = 0; i < n; i++)
            target[i] = ovs_binding_get_row (binding, i);
        }
      return TRUE;
    }

  if (rows->mask != NULL)
    {
      row_numbers = ovs_pool_alloc (pool, (gsize) n * sizeof (guint32));
      if (row_numbers == NULL)
        return out_of_memory (error, (gsize) n * sizeof (guint32));
    }
  else if (binding->rows == NULL)
    first = binding->first;
  values = ovs_pool_alloc (pool, bytes);
  if (values == NULL)
    {
      g_clear_pointer (&row_numbers, ovs_buffer_unref);
      return out_of_memory (error, bytes);
    }

  if (locked)
    ovs_transfer_elements (rows, values, row_numbers, binding, 0, rows->count, 0);
  else
    {
      *transfers = ovs_transfer_new (NULL, rows, values, row_numbers, binding);
      if (row_numbers != NULL)
        promise = (*transfers)->promise = ovs_row_promise_new (rows->mask, rows->count, binding->first, binding->rows);
    }

  if (row_numbers == NULL && binding->rows != NULL)
    row_numbers = ovs_buffer_ref (binding->rows);
  stage_part (booking, column, first, n, row_numbers, values, promise, FALSE);
  return TRUE;
}

static void
add_live (OvsStage *stage, guint32 prim)
{
  if (prim >= stage->n_live)
    {
      gsize n = MAX ((gsize) prim + 1, stage->n_live + stage->n_live / 2);

      n = MAX (n, 64);
      stage->live = g_renew (guint32, stage->live, n);
      memset (stage->live + stage->n_live, 0, sizeof (guint32) * (n - stage->n_live));
      stage->n_live = n;
    }
  stage->live[prim]++;
}

/* The column for prims that do not have the attribute. A list that is mostly written becomes its layout. */
static OvsColumn *
ensure_column (Booking *booking, guint32 n_new)
{
  OvsStage *stage = booking->stage;
  OvstagePathList *list = booking->query->list;
  OvsColumn *column;

  booking->attr = ovs_stage_ensure_attr (stage, booking->write->attribute);
  column = ovs_attr_find_column (booking->attr, &booking->schema);
  if (column == NULL)
    {
      g_autoptr (OvsLayout) layout = NULL;

      layout = (guint64) n_new * 2 >= list->n ? ovs_layout_ref (ovs_stage_ensure_layout (stage, list)) : ovs_layout_new (NULL);
      column = ovs_attr_add_column (booking->attr, &booking->schema, (guint32) booking->rows->row_size, layout);
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

/* The part of @column: @n elements, whose prims are or will be there. Takes @values and @row_numbers. */
static void
stage_elements (Booking *booking, OvsColumn *column, const guint32 *elements, guint32 n, OvsBuffer *row_numbers, OvsBuffer *values,
                OvsTransfer **transfers)
{
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
        add_live (stage, prims[i]);
    }
  if (structural)
    ovs_attr_note_structure (column->attr, booking->write->ordinal);

  select_rows (booking->rows, elements, n, &selected);
  *transfers = ovs_transfer_new (*transfers, &selected, values, NULL, NULL);
  if (is_run (rows, n))
    {
      guint32 first = rows[0];

      g_clear_pointer (&row_numbers, ovs_buffer_unref);
      stage_part (booking, column, first, n, NULL, values, NULL, structural);
    }
  else
    stage_part (booking, column, 0, n, row_numbers, values, NULL, structural);
}

/* Prims appear, or the targets stand in several columns: one part for each of these. Allocates before it touches anything. */
static gboolean
stage_each (Booking *booking, OvsTransfer **transfers, GError **error)
{
  OvsRows *rows = booking->rows;
  guint n_columns = booking->attr != NULL ? booking->attr->columns->len : 0;
  g_autofree guint32 *n_of = g_new0 (guint32, n_columns + 1); /* [0]: prims that appear */
  g_autofree guint32 *elements = g_new (guint32, rows->n_selected);
  g_autoptr (GPtrArray) buffers = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_buffer_unref);
  OvsColumn *column;
  guint32 n = 0;
  guint c;

  for (guint32 i = 0; i < rows->count; i++)
    if (is_selected (rows, i))
      n_of[booking->state[i]]++;

  /* Prims that appear join a column of their schema, whether other targets stand in it or not. */
  column = n_of[0] > 0 && booking->attr != NULL ? ovs_attr_find_column (booking->attr, &booking->schema) : NULL;
  if (column != NULL)
    {
      n_of[column->index + 1] += n_of[0];
      n_of[0] = 0;
    }

  for (c = 0; c <= n_columns; c++)
    {
      OvsBuffer *row_numbers, *values;

      if (n_of[c] == 0)
        continue;
      row_numbers = ovs_pool_alloc (booking->stage->pool, (gsize) n_of[c] * sizeof (guint32));
      if (row_numbers != NULL)
        g_ptr_array_add (buffers, row_numbers);
      values = ovs_pool_alloc (booking->stage->pool, (gsize) n_of[c] * rows->row_size);
      if (values != NULL)
        g_ptr_array_add (buffers, values);
      if (row_numbers == NULL || values == NULL)
        return out_of_memory (error, (gsize) n_of[c] * rows->row_size);
    }

  if (n_of[0] > 0)
    column = ensure_column (booking, n_of[0]);
  for (c = 0; c <= n_columns; c++)
    {
      OvsColumn *target = c > 0 ? booking->attr->columns->pdata[c - 1] : column;
      OvsBuffer *row_numbers, *values;

      if (n_of[c] == 0)
        continue;
      n = 0;
      for (guint32 i = 0; i < rows->count; i++)
        if (is_selected (rows, i) && (booking->state[i] == c || (booking->state[i] == 0 && target == column)))
          elements[n++] = i;
      row_numbers = g_ptr_array_steal_index (buffers, 0);
      values = g_ptr_array_steal_index (buffers, 0);
      stage_elements (booking, target, elements, n, row_numbers, values, transfers);
    }
  return TRUE;
}

/* The usual first write of an attribute: every element, in the order of the list, into a new column. */
static gboolean
stage_first (Booking *booking, gboolean locked, OvsTransfer **transfers, GError **error)
{
  OvsRows *rows = booking->rows;
  OvstagePathList *list = booking->query->list;
  OvsBuffer *values = ovs_pool_alloc (booking->stage->pool, (gsize) rows->count * rows->row_size);
  OvsColumn *column;

  if (values == NULL)
    return out_of_memory (error, (gsize) rows->count * rows->row_size);
  column = ensure_column (booking, rows->count);
  ovs_column_set_head_all (column, rows->count);
  for (guint32 i = 0; i < rows->count; i++)
    add_live (booking->stage, list->ids[i]);
  ovs_attr_note_structure (column->attr, booking->write->ordinal);
  if (locked)
    ovs_rows_copy (rows, 0, rows->count, values->data);
  else
    *transfers = ovs_transfer_new (NULL, rows, values, NULL, NULL);
  stage_part (booking, column, 0, rows->count, NULL, values, NULL, TRUE);
  return TRUE;
}

/* Everything of a write but its bytes; of those, what is not moved here is left in @transfers. */
static gboolean
book (Booking *booking, gboolean locked, const OvstagePlacement *placement, OvsTransfer **transfers, GError **error)
{
  OvsStage *stage = booking->stage;
  OvsWrite *write = booking->write;
  guint64 floor = ovs_floors_get (&stage->closing, write->attribute);
  g_autoptr (OvsBinding) binding = NULL;
  OvsColumn *only;
  gboolean fresh;

  if (write->ordinal <= floor)
    return ovs_fail (error, OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION,
                     "ordinal is %" G_GUINT64_FORMAT ", expected above the write floor of '%s', %" G_GUINT64_FORMAT,
                     write->ordinal, ovs_stage_name (stage, write->attribute), floor);

  booking->attr = ovs_stage_get_attr (stage, write->attribute);
  only = find_only_column (booking, &binding);
  fresh = booking->attr == NULL || booking->attr->columns->len == 0;
  if (only == NULL)
    find_state (booking);
  if (!check_prim_mode (booking, error) || !check_schema (booking, only, error) || !ovs_check_placement (placement, error) ||
      !check_budget (booking, error) || (!locked && !ovs_stage_check_queue (stage, error)))
    return FALSE;

  ovs_op_book (&write->op);
  if (only != NULL)
    return stage_plain (booking, only, binding, locked, transfers, error);
  if (fresh && booking->rows->mask == NULL && (guint64) booking->rows->count * 2 >= booking->query->list->n)
    return stage_first (booking, locked, transfers, error);
  return stage_each (booking, transfers, error);
}

static gboolean
check_reserved (OvsStage *stage, guint32 token, GError **error)
{
  for (guint i = 0; i < 4; i++)
    if (token == stage->reserved[i])
      return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "attribute '%s' is built in and cannot be written",
                       ovs_stage_name (stage, token));
  return TRUE;
}

static gboolean
check_enums (const OvstageWriteData *data, guint64 ordinal, OvstagePrimMode prim_mode, GError **error)
{
  if ((guint) prim_mode > OVSTAGE_PRIM_MODE_UPDATE)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "prim mode is %d, expected 0 (UPSERT), 1 (INSERT) or 2 (UPDATE)",
                     (int) prim_mode);
  if (!ovs_semantic_is_valid ((gint) data->semantic))
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic is %d, expected 0 (NONE) to 15 (FRAME)", (int) data->semantic);
  return ovs_check_ordinal (ordinal, "a write", error);
}

static gboolean
check_device (const OvstageWriteData *data, GError **error)
{
  GError *local = NULL;

  if (ovs_device_lookup (data->tensor->device_type, data->tensor->device_id, &local) == NULL)
    {
      g_propagate_prefixed_error (error, local, "tensor: ");
      return FALSE;
    }
  if (data->sync_stream != 0 || data->sync_event != 0)
    return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "sync: a CPU has neither stream nor event, expected 0 for both");
  return TRUE;
}

/* An empty query, or a mask that selects nothing. */
static gboolean
has_targets (const OvstageWriteData *data, const OvstagePathList *list)
{
  if (list->n == 0)
    return FALSE;
  if (data->mask == NULL)
    return TRUE;
  for (guint32 i = 0; i < data->count / 64; i++)
    if (data->mask[i] != 0)
      return TRUE;
  return data->count % 64 != 0 && (data->mask[data->count / 64] & ((G_GUINT64_CONSTANT (1) << (data->count % 64)) - 1)) != 0;
}

OvsOp *
ovs_stage_write (OvsStage *stage, OvsOp *query, guint64 attribute, guint64 ordinal, OvstageWriteData *data,
                 OvstagePrimMode prim_mode, const OvstagePlacement *placement)
{
  OvsWrite *write = ovs_op_new (stage, OVS_OP_WRITE, sizeof *write);
  OvsQuery *of = (OvsQuery *) query;
  gboolean async = (ovs_debug_flags () & OVS_DEBUG_ASYNC) != 0, locked, booked, open;
  Booking booking;
  OvsTransfer *transfers = NULL;
  GError *error = NULL;
  OvsRows rows;
  gsize work;

  if (!check_enums (data, ordinal, prim_mode, &error) || !ovs_stage_check_query (stage, query, &error) ||
      !ovs_stage_check_attribute (stage, attribute, &error) || !ovs_payload_check_form (data, &error) ||
      !check_device (data, &error) || !check_reserved (stage, (guint32) attribute, &error))
    return ovs_op_end_new (&write->op, error);
  if (!has_targets (data, of->list))
    {
      ovs_mutex_lock (&stage->lock);
      if (ovs_stage_check_open (stage, &error))
        ovs_op_book (&write->op);
      ovs_mutex_unlock (&stage->lock);
      return ovs_op_end_new (&write->op, error);
    }
  if (!ovs_payload_resolve (data, of->list->n, &rows, &error))
    return ovs_op_end_new (&write->op, error);

  write->attribute = (guint32) attribute;
  write->ordinal = ordinal;
  write->op.begun = TRUE;

  booking = (Booking){
    .stage = stage,
    .query = of,
    .write = write,
    .prim_mode = prim_mode,
    .schema = { rows.dtype, FALSE, data->semantic },
    .rows = &rows,
  };
  work = MAX (rows.n_selected * rows.row_size, rows.count / 8);
  locked = !async && work <= OVS_LOCKED_LIMIT;

  ovs_mutex_lock (&stage->lock);
  open = ovs_stage_check_open (stage, &error);
  booked = open && book (&booking, locked, placement, &transfers, &error);
  if (booked && locked)
    ovs_transfers_run (g_steal_pointer (&transfers), &rows);
  else if (booked)
    ovs_op_set_pending (&write->op);
  ovs_mutex_unlock (&stage->lock);
  g_free (booking.state);
  g_free (booking.above);

  if (!booked || locked)
    return ovs_op_end_new (&write->op, error);
  if (async || (work > stage->config.caller_limit && ovs_workers_get_n_threads (stage->workers) > 1))
    ovs_transfers_push (transfers, write, &rows);
  else
    {
      ovs_transfers_run (transfers, &rows);
      ovs_write_end (write);
    }
  return &write->op;
}
