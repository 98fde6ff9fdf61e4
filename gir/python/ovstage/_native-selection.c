/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Index maps and masks. */

#include "config.h"

#include "_native-tensor.h"

#include <string.h>

/* Whether @object is an array; what is not is read as a sequence. -1 with a Python error. */
static int
is_array (PyObject *object)
{
  const DLPackExchangeAPI *table;
  PyObject *dlpack;

  if (PyList_CheckExact (object) || PyTuple_CheckExact (object))
    return FALSE;
  if (PyObject_CheckBuffer (object) || PyObject_TypeCheck (object, &pyovs_tensor_type) || PyCapsule_CheckExact (object))
    return TRUE;
  if (!pyovs_exchange_find (Py_TYPE (object), &table))
    return -1;
  if (table != NULL)
    return TRUE;
  if (!pyovs_get_optional (object, pyovs.str_dlpack, &dlpack))
    return -1;
  Py_XDECREF (dlpack);
  return dlpack != NULL;
}

/* A vector in CPU memory, with one lane. */
static OvstageTensor *
import_vector (PyObject *object, const char *what)
{
  PyovsRefusal refusal = { 0, NULL };
  PyovsSource source = { 0, };
  OvstageTensor *tensor;

  tensor = pyovs_tensor_import (object, what, PYOVS_IMPORT_MAY_COPY, NULL, &source, &refusal);
  if (tensor == NULL)
    {
      if (refusal.code != 0)
        PyErr_Format (PyExc_ValueError, "%s: %s", what, refusal.message);
      g_free (refusal.message);
      return NULL;
    }
  if (ovstage_tensor_get_device_type (tensor) != kDLCPU && ovstage_tensor_get_device_type (tensor) != kDLCUDAHost)
    PyErr_Format (PyExc_BufferError, "%s: CPU memory is needed", what);
  else if (ovstage_tensor_get_n_dims (tensor) != 1 || ovstage_tensor_get_data_type (tensor)->lanes != 1)
    PyErr_Format (PyExc_ValueError, "%s: one dimension is needed, not %zu", what, ovstage_tensor_get_n_dims (tensor));
  else
    return tensor;
  pyovs_tensor_unref (tensor);
  return NULL;
}

static void
raise_dtype (OvstageTensor *tensor, PyObject *type, const char *what, const char *expected)
{
  char *text = ovstage_data_type_to_string (ovstage_tensor_get_data_type (tensor));

  PyErr_Format (type, "%s: %s, not %s", what, expected, text);
  g_free (text);
}

static gint64
load_integer (const guint8 *p, const OvstageDataType *dtype, gboolean *fits)
{
  union
  {
    gint8 i8;
    gint16 i16;
    gint32 i32;
    gint64 i64;
    guint8 u8;
    guint16 u16;
    guint32 u32;
  } v;

  memcpy (&v, p, dtype->bits / 8);
  *fits = TRUE;
  switch (dtype->bits)
    {
    case 8:
      return dtype->code == kDLInt ? v.i8 : v.u8;
    case 16:
      return dtype->code == kDLInt ? v.i16 : v.u16;
    case 32:
      return dtype->code == kDLInt ? v.i32 : (gint64) v.u32;
    default:
      *fits = dtype->code == kDLInt || v.i64 >= 0;
      return v.i64;
    }
}

static gboolean
map_from_tensor (PyovsIndexMap *map, OvstageTensor *tensor)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (tensor);
  const guint8 *data = ovstage_tensor_get_data (tensor);
  gint64 stride = ovstage_tensor_get_strides (tensor, NULL)[0];
  gsize i;

  if ((dtype->code != kDLInt && dtype->code != kDLUInt) ||
      (dtype->bits != 8 && dtype->bits != 16 && dtype->bits != 32 && dtype->bits != 64))
    {
      raise_dtype (tensor, PyExc_TypeError, "index_map", "integers are needed");
      return FALSE;
    }
  map->n = ovstage_tensor_get_shape (tensor, NULL)[0];
  if (dtype->code == kDLUInt && dtype->bits == 32 && (stride == 1 || map->n <= 1) && GPOINTER_TO_SIZE (data) % 4 == 0)
    {
      map->values = (const guint32 *) data;
      return TRUE;
    }
  map->own = g_try_new (guint32, MAX (map->n, 1));
  if (map->own == NULL)
    {
      PyErr_NoMemory ();
      return FALSE;
    }
  map->values = map->own;
  for (i = 0; i < map->n; i++)
    {
      gboolean fits;
      gint64 value = load_integer (data + (gint64) i * stride * (dtype->bits / 8), dtype, &fits);

      if (!fits || value < 0 || value > G_MAXUINT32)
        {
          char *text = fits ? g_strdup_printf ("%" G_GINT64_FORMAT, value) : g_strdup_printf ("%" G_GUINT64_FORMAT, (guint64) value);

          PyErr_Format (PyExc_ValueError, "index_map[%zu]: %s is not between 0 and %u", i, text, G_MAXUINT32);
          g_free (text);
          return FALSE;
        }
      map->own[i] = value;
    }
  return TRUE;
}

static gboolean
map_from_sequence (PyovsIndexMap *map, PyObject *object)
{
  PyObject *sequence = PySequence_Tuple (object);
  gsize i;

  if (sequence == NULL)
    {
      if (PyErr_ExceptionMatches (PyExc_TypeError))
        PyErr_Format (PyExc_TypeError, "index_map: integers are needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  map->n = PyTuple_GET_SIZE (sequence);
  map->own = g_new (guint32, MAX (map->n, 1));
  map->values = map->own;
  for (i = 0; i < map->n; i++)
    {
      char name[40];
      guint64 value;

      g_snprintf (name, sizeof name, "index_map[%" G_GSIZE_FORMAT "]", i);
      if (!pyovs_as_uint (PyTuple_GET_ITEM (sequence, i), name, G_MAXUINT32, &value))
        {
          Py_DECREF (sequence);
          return FALSE;
        }
      map->own[i] = value;
    }
  Py_DECREF (sequence);
  return TRUE;
}

gboolean
pyovs_index_map_init (PyovsIndexMap *map, PyObject *object)
{
  int array = is_array (object);

  if (array <= 0)
    return array == 0 && map_from_sequence (map, object);
  map->tensor = import_vector (object, "index_map");
  return map->tensor != NULL && map_from_tensor (map, map->tensor);
}

void
pyovs_index_map_clear (PyovsIndexMap *map)
{
  g_free (map->own);
  g_clear_pointer (&map->tensor, pyovs_tensor_unref);
}

static void
pack_bools (guint64 *words, const guint8 *data, gint64 stride, gsize n)
{
  gsize i = 0;

#if G_BYTE_ORDER == G_LITTLE_ENDIAN
  /* Eight bytes at a time: each becomes 0 or 1, and a product brings them side by side. */
  for (; stride == 1 && i + 8 <= n; i += 8)
    {
      guint64 bytes;

      memcpy (&bytes, data + i, sizeof bytes);
      bytes |= bytes >> 4;
      bytes |= bytes >> 2;
      bytes |= bytes >> 1;
      bytes &= G_GUINT64_CONSTANT (0x0101010101010101);
      words[i / 64] |= bytes * G_GUINT64_CONSTANT (0x0102040810204080) >> 56 << i % 64;
    }
#endif
  for (; i < n; i++)
    words[i / 64] |= (guint64) (data[(gint64) i * stride] != 0) << i % 64;
}

static gboolean
mask_from_tensor (PyovsMask *mask, OvstageTensor *tensor)
{
  const OvstageDataType *dtype = ovstage_tensor_get_data_type (tensor);
  const guint8 *data = ovstage_tensor_get_data (tensor);
  gint64 stride = ovstage_tensor_get_strides (tensor, NULL)[0];
  gsize i;

  mask->n = ovstage_tensor_get_shape (tensor, NULL)[0];
  if (dtype->code == kDLBool && dtype->bits == 8)
    {
      mask->own = g_try_new0 (guint64, mask->n / 64 + 1);
      if (mask->own == NULL)
        {
          PyErr_NoMemory ();
          return FALSE;
        }
      mask->words = mask->own;
      pack_bools (mask->own, data, stride, mask->n);
      return TRUE;
    }
  if (dtype->code == kDLUInt && dtype->bits == 64)
    {
      mask->is_words = TRUE;
      if ((stride == 1 || mask->n <= 1) && GPOINTER_TO_SIZE (data) % 8 == 0)
        {
          mask->words = (const guint64 *) data;
          return TRUE;
        }
      mask->own = g_try_new (guint64, MAX (mask->n, 1));
      if (mask->own == NULL)
        {
          PyErr_NoMemory ();
          return FALSE;
        }
      mask->words = mask->own;
      for (i = 0; i < mask->n; i++)
        memcpy (mask->own + i, data + (gint64) i * stride * 8, 8);
      return TRUE;
    }
  raise_dtype (tensor, PyExc_TypeError, "mask", "bools or uint64 words are needed");
  return FALSE;
}

/* -1 with an error. Numpy's own bool has a buffer of one. */
static int
as_bool (PyObject *object)
{
  Py_buffer view;
  int result = -1;

  if (PyBool_Check (object))
    return object == Py_True;
  if (PyObject_CheckBuffer (object))
    {
      if (PyObject_GetBuffer (object, &view, PyBUF_RECORDS_RO) < 0)
        PyErr_Clear ();
      else
        {
          if (view.format != NULL && strcmp (view.format, "?") == 0 && view.len == 1)
            result = *(const guint8 *) view.buf != 0;
          PyBuffer_Release (&view);
          if (result >= 0)
            return result;
        }
    }
  PyErr_Format (PyExc_TypeError, "mask: bools or uint64 words are needed, not %s", Py_TYPE (object)->tp_name);
  return -1;
}

static gboolean
mask_from_sequence (PyovsMask *mask, PyObject *object)
{
  PyObject *sequence = PySequence_Tuple (object);
  gsize i;

  if (sequence == NULL)
    {
      if (PyErr_ExceptionMatches (PyExc_TypeError))
        PyErr_Format (PyExc_TypeError, "mask: bools or uint64 words are needed, not %s", Py_TYPE (object)->tp_name);
      return FALSE;
    }
  mask->n = PyTuple_GET_SIZE (sequence);
  mask->own = g_new0 (guint64, mask->n / 64 + 1);
  mask->words = mask->own;
  for (i = 0; i < mask->n; i++)
    {
      int value = as_bool (PyTuple_GET_ITEM (sequence, i));

      if (value < 0)
        {
          Py_DECREF (sequence);
          return FALSE;
        }
      mask->own[i / 64] |= (guint64) value << i % 64;
    }
  Py_DECREF (sequence);
  return TRUE;
}

gboolean
pyovs_mask_init (PyovsMask *mask, PyObject *object)
{
  int array = is_array (object);

  if (array <= 0)
    return array == 0 && mask_from_sequence (mask, object);
  mask->tensor = import_vector (object, "mask");
  return mask->tensor != NULL && mask_from_tensor (mask, mask->tensor);
}

void
pyovs_mask_clear (PyovsMask *mask)
{
  g_free (mask->own);
  g_clear_pointer (&mask->tensor, pyovs_tensor_unref);
}
