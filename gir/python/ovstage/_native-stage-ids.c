/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The operations of a stage by their ids. */

#include "config.h"

#include "_native-stage.h"

/* Beyond so many failures that no wait_op() told, the oldest are forgotten. */
#define MAX_FAILURES 65536

static void
note_failure (PyovsStage *self, guint64 id)
{
  g_array_append_val (self->failures, id);
  if (self->failures->len > MAX_FAILURES)
    {
      guint n = self->failures->len - MAX_FAILURES / 2;

      g_array_remove_range (self->failures, 0, n);
      self->n_forgotten += n;
    }
}

void
pyovs_stage_sweep_pending (PyovsStage *self)
{
  g_autoptr (GPtrArray) done = g_ptr_array_new_with_free_func (g_object_unref);
  guint from, to = 0;

  for (from = 0; from < self->pending->len; from++)
    {
      OvstageOperation *op = g_ptr_array_index (self->pending, from);

      if (!ovstage_operation_is_done (op))
        {
          self->pending->pdata[to++] = op;
          continue;
        }
      if (ovstage_operation_get_error (op) != NULL)
        note_failure (self, ovstage_operation_get_id (op));
      g_ptr_array_add (done, op);
    }
  /* The rest was moved, or is let go of below: that may run Python, which may come back here. */
  self->pending->len = to;
  self->sweep_at = MAX (64, 2 * to);
}

static void
note_operation (PyovsStage *self, OvstageOperation *op)
{
  guint64 id = ovstage_operation_get_id (op);

  if (id == 0)
    return;
  self->last_id = MAX (self->last_id, id);
  if (!ovstage_operation_is_done (op))
    {
      guint i;

      if (self->stage == NULL)
        return;
      if (self->pending->len >= self->sweep_at)
        pyovs_stage_sweep_pending (self);
      /* Almost always the last: threads that submit at once may come in another order. */
      for (i = self->pending->len; i > 0 && ovstage_operation_get_id (g_ptr_array_index (self->pending, i - 1)) > id; i--)
        ;
      g_ptr_array_insert (self->pending, i, g_object_ref (op));
    }
  else if (ovstage_operation_get_error (op) != NULL)
    {
      note_failure (self, id);
    }
}

PyObject *
pyovs_stage_new_operation (PyovsStage *self, PyTypeObject *type, gpointer op)
{
  note_operation (self, op);
  return pyovs_operation_new (type, op);
}

static OvstageOperation *
find_pending (PyovsStage *self, guint64 id)
{
  guint low = 0, high = self->pending->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      OvstageOperation *op = g_ptr_array_index (self->pending, middle);
      guint64 found = ovstage_operation_get_id (op);

      if (found == id)
        return op;
      if (found < id)
        low = middle + 1;
      else
        high = middle;
    }
  return NULL;
}

/* The first run that ends at @id or later. */
static guint
find_run (PyovsStage *self, guint64 id)
{
  guint low = 0, high = self->released->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (self->released, PyovsIdRun, middle).last < id)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static gboolean
is_known (PyovsStage *self, guint64 id)
{
  guint run;

  if (self->released == NULL || id == 0 || id > self->last_id)
    return FALSE;
  run = find_run (self, id);
  return run == self->released->len || g_array_index (self->released, PyovsIdRun, run).first > id;
}

static void
release_id (PyovsStage *self, guint64 id)
{
  guint run = find_run (self, id);
  PyovsIdRun *before = run > 0 ? &g_array_index (self->released, PyovsIdRun, run - 1) : NULL;
  PyovsIdRun *after = run < self->released->len ? &g_array_index (self->released, PyovsIdRun, run) : NULL;
  PyovsIdRun alone = { id, id };

  if (before != NULL && before->last + 1 == id)
    {
      before->last = id;
      if (after != NULL && after->first == id + 1)
        {
          before->last = after->last;
          g_array_remove_index (self->released, run);
        }
    }
  else if (after != NULL && after->first == id + 1)
    after->first = id;
  else
    g_array_insert_val (self->released, run, alone);
}

/* The ids that failed since this thread asked last. */
static PyObject *
take_failures (PyovsStage *self)
{
  PyObject *threads = PyThreadState_GetDict (), *key, *seen, *result;
  guint64 end = self->n_forgotten + self->failures->len, begin = 0, i;

  key = PyUnicode_FromFormat ("ovstage.wait_op %llu", (unsigned long long) self->serial);
  if (key == NULL)
    return NULL;
  seen = threads != NULL ? PyDict_GetItemWithError (threads, key) : NULL;
  if (seen != NULL)
    begin = PyLong_AsUnsignedLongLong (seen);
  begin = MAX (begin, self->n_forgotten);

  result = PyList_New (0);
  for (i = begin; result != NULL && i < end; i++)
    {
      guint64 id = g_array_index (self->failures, guint64, i - self->n_forgotten);
      PyObject *number = is_known (self, id) ? PyLong_FromUnsignedLongLong (id) : Py_NewRef (Py_None);

      if (number == NULL || (number != Py_None && PyList_Append (result, number) < 0))
        Py_CLEAR (result);
      Py_XDECREF (number);
    }
  if (result != NULL && threads != NULL && begin != end)
    {
      seen = PyLong_FromUnsignedLongLong (end);
      if (seen == NULL || PyDict_SetItem (threads, key, seen) < 0)
        Py_CLEAR (result);
      Py_XDECREF (seen);
    }
  Py_DECREF (key);
  return result;
}

PyObject *
pyovs_stage_wait_op (PyovsStage *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "wait_op", .n_positional = 2, .n_required = 1, .names = { "op_id", "timeout" }
  };
  int code = 0;
  guint64 lowest = 0, id;
  PyObject *values[2], *failures, *code_object;
  OvstageOperation *op;
  gint64 timeout;

  if (!pyovs_parse (&signature, args, n_args, names, values) ||
      !pyovs_as_uint (values[0], "op_id", G_MAXUINT64, &id) || !pyovs_as_timeout (values[1], &timeout))
    return NULL;
  if (!is_known (self, id))
    {
      code = OVSTAGE_ERROR_INVALID_HANDLE;
      failures = PyList_New (0);
    }
  else
    {
      op = find_pending (self, id);
      if (op != NULL)
        {
          int waited;

          g_object_ref (op);
          waited = pyovs_wait (op, timeout);
          if (waited == 0)
            {
              code = OVSTAGE_ERROR_TIMEOUT;
              lowest = ovstage_operation_get_lowest_pending_id (op);
            }
          g_object_unref (op);
          if (waited < 0)
            return NULL;
        }
      pyovs_stage_sweep_pending (self);
      failures = take_failures (self);
    }
  code_object = failures != NULL ? pyovs_code (code) : NULL;
  if (code_object == NULL)
    {
      Py_XDECREF (failures);
      return NULL;
    }
  return Py_BuildValue ("(NNK)", code_object, failures, (unsigned long long) lowest);
}

PyObject *
pyovs_stage_release_op (PyovsStage *self, PyObject *object)
{
  guint64 id;

  if (!pyovs_as_uint (object, "op_id", G_MAXUINT64, &id))
    return NULL;
  if (!is_known (self, id))
    {
      char *message = g_strdup_printf ("op_id: %" G_GUINT64_FORMAT " is unknown or was released", id);

      pyovs_raise (pyovs.error, OVSTAGE_ERROR_INVALID_HANDLE, message);
      g_free (message);
      return NULL;
    }
  release_id (self, id);
  Py_RETURN_NONE;
}
