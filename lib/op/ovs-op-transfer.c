/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-op-transfer.h"

/* A slice on the stage's threads is at least so long. */
#define LEAST_SLICE (128 * 1024)

OvsTransfer *
ovs_transfer_new (OvsTransfer *next, const OvsRows *rows, OvsBuffer *values, OvsBuffer *row_numbers, OvsBinding *binding)
{
  OvsTransfer *transfer = g_new0 (OvsTransfer, 1);

  transfer->next = next;
  transfer->rows = *rows;
  transfer->values = ovs_buffer_ref (values);
  transfer->row_numbers = row_numbers != NULL ? ovs_buffer_ref (row_numbers) : NULL;
  transfer->binding = binding != NULL ? ovs_binding_ref (binding) : NULL;
  transfer->arrays = rows->arrays != NULL ? ovs_arrays_ref (rows->arrays) : NULL;
  return transfer;
}

OvsTransfer *
ovs_transfer_new_copies (OvsTransfer *next, OvsArrays *arrays)
{
  OvsTransfer *transfer = g_new0 (OvsTransfer, 1);

  transfer->next = next;
  transfer->arrays = ovs_arrays_ref (arrays);
  transfer->copies = TRUE;
  transfer->rows.count = arrays->n_copies;
  transfer->rows.n_selected = arrays->n_copies;
  transfer->rows.row_size = arrays->n_bytes / arrays->n_copies + 1;
  return transfer;
}

static void
run_elements (const OvsTransfer *transfer, guint32 first, guint32 n, gsize offset)
{
  if (transfer->copies)
    ovs_arrays_copy (transfer->arrays, first, n);
  else
    ovs_transfer_elements (&transfer->rows, transfer->values, transfer->row_numbers, transfer->binding, first, n, offset);
}

void
ovs_transfer_map_rows (const OvsBinding *binding, guint32 *rows, gsize n)
{
  if (binding->rows == NULL && binding->first == 0)
    return;
  for (gsize i = 0; i < n; i++)
    rows[i] = ovs_binding_get_row (binding, rows[i]);
}

void
ovs_transfer_elements (const OvsRows *rows, OvsBuffer *values, OvsBuffer *row_numbers, const OvsBinding *binding, guint32 first,
                       guint32 n, gsize offset)
{
  if (row_numbers != NULL)
    {
      guint32 *numbers = (guint32 *) row_numbers->data + offset;
      gsize n_copied = ovs_rows_copy_masked (rows, first, n, values->data + offset * rows->row_size, numbers);

      ovs_transfer_map_rows (binding, numbers, n_copied);
    }
  else
    ovs_rows_copy (rows, first, n, values->data + (gsize) first * rows->row_size);
}

static void
hold_rows (OvsTransfer *transfer)
{
  const guint32 *map = transfer->rows.index_map;

  if (transfer->holds_rows)
    return;
  transfer->holds_rows = TRUE;
  ovs_rows_hold (&transfer->rows);
  if (transfer->owns_map)
    g_atomic_rc_box_release ((gpointer) map);
}

void
ovs_transfers_hold (OvsTransfer *transfers)
{
  for (; transfers != NULL; transfers = transfers->next)
    hold_rows (transfers);
}

/* What later writes may reuse. The sources are let go of at the end. */
static void
drop_buffers (OvsTransfer *transfer)
{
  g_clear_pointer (&transfer->values, ovs_buffer_unref);
  g_clear_pointer (&transfer->row_numbers, ovs_buffer_unref);
  g_clear_pointer (&transfer->binding, ovs_binding_unref);
  if (transfer->promise != NULL)
    g_atomic_int_set (&transfer->promise->filled, TRUE);
  g_clear_pointer (&transfer->promise, ovs_row_promise_unref);
}

void
ovs_transfers_run (OvsTransfer *transfers)
{
  while (transfers != NULL)
    {
      OvsTransfer *transfer = transfers;

      transfers = transfer->next;
      run_elements (transfer, 0, transfer->rows.count, 0);
      drop_buffers (transfer);
      g_clear_pointer (&transfer->arrays, ovs_arrays_unref);
      if (transfer->holds_rows)
        ovs_rows_release (&transfer->rows);
      else if (transfer->owns_map)
        g_atomic_rc_box_release ((gpointer) transfer->rows.index_map);
      g_free (transfer);
    }
}

/* A booked write on the stage's threads. */
typedef struct _Job Job;

/* Some elements of one transfer, or all of several that follow one another. */
typedef struct
{
  Job *job;
  const OvsTransfer *transfer;
  guint n_transfers;
  guint32 first;
  guint32 n;
  gsize offset;
} Slice;

struct _Job
{
  OvsWrite *write; /* (owned) */
  OvsTransfer *transfers;    /* (owned) */
  gint remaining;  /* (atomic) */
  GArray *slices;  /* (owned) Slice */
};

void
ovs_write_end (OvsWrite *write)
{
  OvsStage *stage = write->op.stage;
  GQueue ready = G_QUEUE_INIT;

  ovs_stage_lock (stage);
  ovs_op_unset_pending (&write->op, NULL, &ready);
  ovs_stage_unlock (stage);
  ovs_op_end (&write->op);
  ovs_ops_run (&ready);
}

static void
run_slice (gpointer data)
{
  const Slice *slice = data;
  const OvsTransfer *transfer = slice->transfer;
  Job *job = slice->job;

  run_elements (transfer, slice->first, slice->n, slice->offset);
  for (guint i = 1; i < slice->n_transfers; i++)
    {
      transfer = transfer->next;
      run_elements (transfer, 0, transfer->rows.count, 0);
    }
  if (!g_atomic_int_dec_and_test (&job->remaining))
    return;

  for (OvsTransfer *done = job->transfers; done != NULL; done = done->next)
    {
      drop_buffers (done);
      if (done->arrays != NULL)
        ovs_arrays_drop_buffers (done->arrays);
    }
  ovs_write_end (job->write);
  while (job->transfers != NULL)
    {
      OvsTransfer *done = job->transfers;

      job->transfers = done->next;
      ovs_rows_release (&done->rows); /* may run a deleter, */
      g_clear_pointer (&done->arrays, ovs_arrays_unref); /* and so may this */
      g_free (done);
    }
  ovs_op_unref (&job->write->op);
  g_array_unref (job->slices);
  g_free (job);
}

static gsize
get_work (const OvsTransfer *transfer)
{
  return (gsize) transfer->rows.count * transfer->rows.row_size;
}

gsize
ovs_transfers_get_work (const OvsTransfer *transfers)
{
  gsize work = 0;

  for (; transfers != NULL; transfers = transfers->next)
    work += MAX (transfers->rows.n_selected * transfers->rows.row_size, transfers->rows.count / 8);
  return work;
}

/* A slice for whole transfers, which is made up to the least length. Gives the length of the last slice, or 0 if it is not of
 * this sort. */
static gsize
add_to_slice (Job *job, const OvsTransfer *transfer, gsize length)
{
  Slice slice = { job, transfer, 1, 0, transfer->rows.count, 0 };
  gsize work = get_work (transfer);

  if (length > 0 && length + work <= LEAST_SLICE)
    {
      g_array_index (job->slices, Slice, job->slices->len - 1).n_transfers++;
      return length + work;
    }
  g_array_append_val (job->slices, slice);
  return work;
}

static void
add_slices (Job *job, const OvsTransfer *transfer, guint n_threads)
{
  const OvsRows *rows = &transfer->rows;
  gsize n_slices = CLAMP (get_work (transfer) / LEAST_SLICE, 1, MIN (2 * (gsize) n_threads, rows->count));
  guint32 step = (guint32) ((rows->count + n_slices - 1) / n_slices);
  gsize offset = 0;

  if (transfer->row_numbers != NULL)
    step = (step + 63) / 64 * 64;

  for (gsize first = 0; first < rows->count; first += step)
    {
      Slice slice = { job, transfer, 1, (guint32) first, (guint32) MIN (step, rows->count - first), offset };

      g_array_append_val (job->slices, slice);
      if (transfer->row_numbers == NULL || first + step >= rows->count)
        continue;
      for (gsize word = first / 64; word < (first + step) / 64; word++)
        offset += (gsize) __builtin_popcountll (rows->mask[word]);
    }
}

void
ovs_transfers_push (OvsTransfer *transfers, OvsWrite *write)
{
  OvsStage *stage = write->op.stage;
  guint n_threads = ovs_workers_get_n_threads (stage->workers);
  Job *job = g_new0 (Job, 1);
  gsize length = 0; /* of a last slice that others may join */
  guint n_slices;

  job->write = (OvsWrite *) ovs_op_ref (&write->op);
  job->transfers = transfers;
  job->slices = g_array_new (FALSE, FALSE, sizeof (Slice));
  for (OvsTransfer *transfer = transfers; transfer != NULL; transfer = transfer->next)
    {
      hold_rows (transfer);
      if (get_work (transfer) < LEAST_SLICE)
        length = add_to_slice (job, transfer, length);
      else
        {
          add_slices (job, transfer, n_threads);
          length = 0;
        }
    }
  n_slices = job->slices->len;
  g_atomic_int_set (&job->remaining, (gint) n_slices);
  /* The job may be gone as soon as its last slice is pushed. */
  for (guint i = 0; i < n_slices; i++)
    ovs_workers_push (stage->workers, run_slice, &g_array_index (job->slices, Slice, i));
}
