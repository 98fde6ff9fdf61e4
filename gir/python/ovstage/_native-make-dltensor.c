/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* make_dltensor(): other shapes and lanes for memory that stays as it is. */

#include "config.h"

#include "_native-tensor.h"

#include <string.h>

typedef struct
{
  OvstageDataType dtype;
  int n_dims;
  gint64 shape[PYOVS_MAX_DIMS];
  gint64 strides[PYOVS_MAX_DIMS];
  gboolean folded_all;
} Shape;

static gboolean
fold_lanes (Shape *shape, PyObject *object)
{
  OvstageDataType asked;
  guint lanes;
  gint64 want, product = 1;
  int i, d = shape->n_dims;

  if (!pyovs_as_data_type (object, &asked))
    return FALSE;
  lanes = asked.lanes;
  if (asked.code != shape->dtype.code || asked.bits != shape->dtype.bits)
    {
      char *text = ovstage_data_type_to_string (&shape->dtype), *asked_text = ovstage_data_type_to_string (&asked);

      PyErr_Format (PyExc_ValueError, "dtype: code and bits must be those of the source, which holds %s; %s was asked for", text,
                    asked_text);
      g_free (text);
      g_free (asked_text);
      return FALSE;
    }
  if (asked.bits == 0 || lanes == 0)
    {
      PyErr_Format (PyExc_ValueError, "dtype: %s is 0", asked.bits == 0 ? "bits" : "lanes");
      return FALSE;
    }
  if (asked.bits * shape->dtype.lanes % 8 != 0)
    {
      PyErr_Format (PyExc_ValueError, "dtype: the elements of the source are not whole bytes");
      return FALSE;
    }
  if (lanes % shape->dtype.lanes != 0)
    {
      PyErr_Format (PyExc_ValueError, "dtype: %d lanes cannot be made of elements of %d lanes", (int) lanes, (int) shape->dtype.lanes);
      return FALSE;
    }

  want = lanes / shape->dtype.lanes;
  while (product < want && d > 0)
    {
      d--;
      if (shape->shape[d] != 1 && shape->strides[d] != product)
        {
          PyErr_Format (PyExc_ValueError, "dtype: axis %d has the stride %lld, compact would be %lld", d,
                        (long long) shape->strides[d], (long long) product);
          return FALSE;
        }
      if (shape->shape[d] <= 0 || shape->shape[d] > want)
        {
          PyErr_Format (PyExc_ValueError, "dtype: axis %d has the extent %lld, %lld lanes do not take it whole", d,
                        (long long) shape->shape[d], (long long) want);
          return FALSE;
        }
      product *= shape->shape[d];
    }
  if (product != want)
    {
      PyErr_Format (PyExc_ValueError, "dtype: complete trailing axes hold %lld elements, %lld are needed for %d lanes",
                    (long long) product, (long long) want, (int) lanes);
      return FALSE;
    }
  if (want == 1)
    return TRUE;

  for (i = 0; i < d; i++)
    {
      if (shape->shape[i] > 1 && shape->strides[i] % want != 0)
        {
          PyErr_Format (PyExc_ValueError, "dtype: the stride of axis %d, %lld, is not a whole number of %d lanes", i,
                        (long long) shape->strides[i], (int) lanes);
          return FALSE;
        }
      shape->strides[i] /= want;
    }
  shape->n_dims = d;
  shape->dtype.lanes = lanes;
  if (d == 0)
    {
      shape->folded_all = TRUE;
      shape->n_dims = 1;
      shape->shape[0] = 1;
      shape->strides[0] = 1;
    }
  return TRUE;
}

/* -1 with an error. */
static int
get_integers (PyObject *object, const char *name, gboolean negative, gint64 *values)
{
  PyObject *tuple = PySequence_Tuple (object);
  Py_ssize_t i, n;

  if (tuple == NULL)
    {
      PyErr_Clear ();
      PyErr_Format (PyExc_TypeError, "%s: integers are needed, not %s", name, Py_TYPE (object)->tp_name);
      return -1;
    }
  n = PyTuple_GET_SIZE (tuple);
  if (n >= PYOVS_MAX_DIMS)
    {
      PyErr_Format (PyExc_ValueError, "%s: %zd axes are too many", name, n);
      Py_DECREF (tuple);
      return -1;
    }
  for (i = 0; i < n; i++)
    {
      PyObject *item = PyTuple_GET_ITEM (tuple, i);

      if (!PyIndex_Check (item))
        PyErr_Format (PyExc_TypeError, "%s: integers are needed, not %s", name, Py_TYPE (item)->tp_name);
      else
        values[i] = PyNumber_AsSsize_t (item, PyExc_ValueError);
      if (!PyErr_Occurred () && values[i] < 0 && !negative)
        PyErr_Format (PyExc_ValueError, "%s[%zd]: %R is negative", name, i, item);
      if (PyErr_Occurred ())
        {
          Py_DECREF (tuple);
          return -1;
        }
    }
  Py_DECREF (tuple);
  return n;
}

static gboolean
count_elements (const Shape *shape, gint64 *n)
{
  int i;

  *n = 1;
  for (i = 0; i < shape->n_dims; i++)
    if (__builtin_mul_overflow (*n, shape->shape[i], n))
      return FALSE;
  return TRUE;
}

/* The lowest and the highest element, from the first one. For shapes with elements. */
static gboolean
get_bounds (const Shape *shape, gint64 *low, gint64 *high)
{
  int i;

  *low = *high = 0;
  for (i = 0; i < shape->n_dims; i++)
    {
      gint64 reach;

      if (__builtin_mul_overflow (shape->shape[i] - 1, shape->strides[i], &reach) ||
          __builtin_add_overflow (reach < 0 ? *low : *high, reach, reach < 0 ? low : high))
        return FALSE;
    }
  return TRUE;
}

static void
set_row_major (Shape *shape)
{
  gint64 step = 1;
  int i;

  for (i = shape->n_dims - 1; i >= 0; i--)
    {
      shape->strides[i] = step;
      step *= MAX (shape->shape[i], 1);
    }
}

static gboolean
override_shape (Shape *shape, PyObject *new_shape, PyObject *new_ndim, PyObject *new_strides)
{
  Shape source = *shape;
  gint64 n_source, n, low, high, source_low, source_high;
  guint64 n_dims;

  if (!count_elements (&source, &n_source))
    {
      PyErr_SetString (PyExc_ValueError, "obj: too many elements");
      return FALSE;
    }
  if (new_shape != NULL)
    {
      shape->n_dims = get_integers (new_shape, "shape", FALSE, shape->shape);
      if (shape->n_dims < 0)
        return FALSE;
    }
  if (new_ndim != NULL)
    {
      if (!pyovs_as_uint (new_ndim, "ndim", PYOVS_MAX_DIMS - 1, &n_dims))
        return FALSE;
      if (n_dims != (guint64) shape->n_dims)
        {
          PyErr_Format (PyExc_ValueError, "ndim: %d was given, the shape has %d axes", (int) n_dims, shape->n_dims);
          return FALSE;
        }
    }
  if (!count_elements (shape, &n) || n != n_source)
    {
      PyErr_Format (PyExc_ValueError, "shape: the source has %lld elements, the shape another number", (long long) n_source);
      return FALSE;
    }

  if (new_strides != NULL)
    {
      int n_strides = get_integers (new_strides, "strides", TRUE, shape->strides);

      if (n_strides < 0)
        return FALSE;
      if (n_strides != shape->n_dims)
        {
          PyErr_Format (PyExc_ValueError, "strides: %d were given for %d axes", n_strides, shape->n_dims);
          return FALSE;
        }
      if (n > 0 && (!get_bounds (shape, &low, &high) || !get_bounds (&source, &source_low, &source_high) ||
                    low < source_low || high > source_high))
        {
          PyErr_SetString (PyExc_ValueError, "strides: they lead out of the memory of the source");
          return FALSE;
        }
    }
  else if (new_shape != NULL && (shape->n_dims != source.n_dims ||
                                 memcmp (shape->shape, source.shape, shape->n_dims * sizeof shape->shape[0]) != 0))
    {
      if (!pyovs_is_compact (source.n_dims, source.shape, source.strides))
        {
          PyErr_SetString (PyExc_ValueError, "shape: the source is not compact, a new shape needs strides");
          return FALSE;
        }
      set_row_major (shape);
    }

  if (shape->folded_all &&
      (shape->n_dims != 1 || shape->shape[0] != 1 || shape->strides[0] != 1))
    {
      PyErr_SetString (PyExc_ValueError, "a fold of every axis gives one element: only shape=[1], ndim=1, strides=[1] fit");
      return FALSE;
    }
  return TRUE;
}

static void
unref_tensor (gpointer tensor)
{
  ovstage_tensor_unref (tensor);
}

PyObject *
pyovs_make_dltensor (PyObject *module, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
  static PyovsSignature signature = {
    .function = "make_dltensor", .n_positional = 2, .n_required = 1, .names = { "obj", "dtype", "shape", "ndim", "strides" }
  };
  PyObject *values[5];
  OvstageTensor *base, *tensor;
  gboolean read_only;
  GError *error = NULL;
  gint64 n_elements;
  gsize n_dims;
  Shape shape;
  int i;

  if (!pyovs_parse (&signature, args, n_args, names, values))
    return NULL;
  for (i = 1; i < 5; i++)
    if (values[i] == Py_None)
      values[i] = NULL;
  base = pyovs_tensor_import_or_raise (values[0], NULL, &read_only);
  if (base == NULL)
    return NULL;

  shape.dtype = *ovstage_tensor_get_data_type (base);
  n_dims = ovstage_tensor_get_n_dims (base);
  if (n_dims >= PYOVS_MAX_DIMS)
    {
      PyErr_SetString (PyExc_ValueError, "obj: too many axes");
      pyovs_tensor_unref (base);
      return NULL;
    }
  shape.n_dims = n_dims;
  shape.folded_all = FALSE;
  if (n_dims > 0)
    {
      memcpy (shape.shape, ovstage_tensor_get_shape (base, NULL), n_dims * sizeof shape.shape[0]);
      memcpy (shape.strides, ovstage_tensor_get_strides (base, NULL), n_dims * sizeof shape.strides[0]);
      /* Where there are no elements, strides mean nothing, and may be anything. */
      if (count_elements (&shape, &n_elements) && n_elements == 0)
        set_row_major (&shape);
    }
  if ((values[1] != NULL && !fold_lanes (&shape, values[1])) ||
      ((values[2] != NULL || values[3] != NULL || values[4] != NULL) &&
       !override_shape (&shape, values[2], values[3], values[4])))
    {
      pyovs_tensor_unref (base);
      return NULL;
    }
  tensor = ovstage_tensor_new_take (ovstage_tensor_get_data (base), ovstage_tensor_get_device_type (base),
                                    ovstage_tensor_get_device_id (base), &shape.dtype, shape.shape, shape.n_dims,
                                    shape.strides, unref_tensor, base, &error);
  if (tensor == NULL)
    return pyovs_raise_gerror (pyovs.error, error);
  return pyovs_tensor_new (&pyovs_tensor_type, tensor, read_only);
}
