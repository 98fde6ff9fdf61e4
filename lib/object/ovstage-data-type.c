/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-data-type.h>

#include "tensor/ovs-dtype.h"

G_DEFINE_BOXED_TYPE (OvstageDataType, ovstage_data_type, ovstage_data_type_copy, ovstage_data_type_free)

const OvstageDataType ovstage_data_type_bool = { OVS_CODE_BOOL, 8, 1 };
const OvstageDataType ovstage_data_type_int8 = { OVS_CODE_INT, 8, 1 };
const OvstageDataType ovstage_data_type_int16 = { OVS_CODE_INT, 16, 1 };
const OvstageDataType ovstage_data_type_int32 = { OVS_CODE_INT, 32, 1 };
const OvstageDataType ovstage_data_type_int64 = { OVS_CODE_INT, 64, 1 };
const OvstageDataType ovstage_data_type_uint8 = { OVS_CODE_UINT, 8, 1 };
const OvstageDataType ovstage_data_type_uint16 = { OVS_CODE_UINT, 16, 1 };
const OvstageDataType ovstage_data_type_uint32 = { OVS_CODE_UINT, 32, 1 };
const OvstageDataType ovstage_data_type_uint64 = { OVS_CODE_UINT, 64, 1 };
const OvstageDataType ovstage_data_type_float16 = { OVS_CODE_FLOAT, 16, 1 };
const OvstageDataType ovstage_data_type_float32 = { OVS_CODE_FLOAT, 32, 1 };
const OvstageDataType ovstage_data_type_float64 = { OVS_CODE_FLOAT, 64, 1 };
const OvstageDataType ovstage_data_type_bfloat16 = { OVS_CODE_BFLOAT, 16, 1 };
const OvstageDataType ovstage_data_type_float32x2 = { OVS_CODE_FLOAT, 32, 2 };
const OvstageDataType ovstage_data_type_float32x3 = { OVS_CODE_FLOAT, 32, 3 };
const OvstageDataType ovstage_data_type_float32x4 = { OVS_CODE_FLOAT, 32, 4 };
const OvstageDataType ovstage_data_type_float32x9 = { OVS_CODE_FLOAT, 32, 9 };
const OvstageDataType ovstage_data_type_float32x16 = { OVS_CODE_FLOAT, 32, 16 };
const OvstageDataType ovstage_data_type_float64x2 = { OVS_CODE_FLOAT, 64, 2 };
const OvstageDataType ovstage_data_type_float64x3 = { OVS_CODE_FLOAT, 64, 3 };
const OvstageDataType ovstage_data_type_float64x4 = { OVS_CODE_FLOAT, 64, 4 };
const OvstageDataType ovstage_data_type_float64x9 = { OVS_CODE_FLOAT, 64, 9 };
const OvstageDataType ovstage_data_type_float64x16 = { OVS_CODE_FLOAT, 64, 16 };
const OvstageDataType ovstage_data_type_uint64x2 = { OVS_CODE_UINT, 64, 2 };

/**
 * ovstage_data_type_copy:
 * @self: a data type
 *
 * Copies a data type.
 *
 * Returns: (transfer full): the copy
 *
 * Since: 1.0
 */
OvstageDataType *
ovstage_data_type_copy (const OvstageDataType *self)
{
  OvstageDataType *copy;

  g_return_val_if_fail (self != NULL, NULL);

  copy = g_new (OvstageDataType, 1);
  *copy = *self;
  return copy;
}

/**
 * ovstage_data_type_free:
 * @self: (transfer full) (nullable): a data type
 *
 * Frees a data type that [func@Ovstage.DataType.parse] or
 * [method@Ovstage.DataType.copy] gave.
 *
 * Since: 1.0
 */
void
ovstage_data_type_free (OvstageDataType *self)
{
  g_free (self);
}

/**
 * ovstage_data_type_parse:
 * @text: a data type in text form
 * @error: return location for an error
 *
 * Reads the text form of a data type.
 *
 * That is a kind of number with its bits, then `x` and the number of lanes
 * where there is more than one: `float32`, `float64x16`, `uint8`, `int64x2`,
 * `bfloat16`, `complex64` (two 32-bit floats), `opaque64`. `bool` has 8 bits.
 * The small floats have DLPack's names, such as `float8_e4m3fn` and
 * `float4_e2m1fn`. Any other code of DLPack is written by number, as in
 * `code42bits8`.
 *
 * `OVSTAGE_ERROR_INVALID_ARGUMENT` if @text is none of these.
 *
 * Returns: (transfer full): the data type, or `NULL` with @error set
 *
 * Since: 1.0
 */
OvstageDataType *
ovstage_data_type_parse (const char *text, GError **error)
{
  OvstageDataType dtype;

  g_return_val_if_fail (text != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!ovs_dtype_parse (text, &dtype, error))
    return NULL;
  return ovstage_data_type_copy (&dtype);
}

/**
 * ovstage_data_type_to_string:
 * @self: a data type
 *
 * Gives the text form, as [func@Ovstage.DataType.parse] reads it.
 *
 * Returns: (transfer full): the text
 *
 * Since: 1.0
 */
char *
ovstage_data_type_to_string (const OvstageDataType *self)
{
  char text[OVS_DTYPE_TEXT_MAX];

  g_return_val_if_fail (self != NULL, NULL);

  return g_strdup (ovs_dtype_format (*self, text));
}

/**
 * ovstage_data_type_get_row_size:
 * @self: a data type
 *
 * Gives the bytes that one row takes: bits times lanes, rounded up to bytes.
 *
 * Returns: the size in bytes
 *
 * Since: 1.0
 */
gsize
ovstage_data_type_get_row_size (const OvstageDataType *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return ((gsize) ovs_dtype_row_bits (*self) + 7) / 8;
}

/**
 * ovstage_data_type_equal:
 * @self: a data type
 * @other: another data type
 *
 * Whether two data types have the same code, bits and lanes.
 *
 * Returns: `TRUE` if they are equal
 *
 * Since: 1.0
 */
gboolean
ovstage_data_type_equal (const OvstageDataType *self, const OvstageDataType *other)
{
  g_return_val_if_fail (self != NULL, FALSE);
  g_return_val_if_fail (other != NULL, FALSE);

  return ovs_dtype_equal (*self, *other);
}
