/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib-object.h>

#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_DATA_TYPE (ovstage_data_type_get_type ())

/**
 * OvstageDataType:
 * @code: the kind of number, a `DLDataTypeCode` of DLPack
 * @bits: bits of one lane
 * @lanes: width of the tuple, 1 for scalars
 *
 * The type of one row of a tensor, with the layout of DLPack's `DLDataType`.
 *
 * Since: 1.0
 */
struct _OvstageDataType
{
  guint8 code;
  guint8 bits;
  guint16 lanes;
};

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_data_type_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstageDataType *ovstage_data_type_copy (const OvstageDataType *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_data_type_free (OvstageDataType *self);

OVSTAGE_AVAILABLE_IN_1_0
OvstageDataType *ovstage_data_type_parse (const char *text, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
char *ovstage_data_type_to_string (const OvstageDataType *self);
OVSTAGE_AVAILABLE_IN_1_0
gsize ovstage_data_type_get_row_size (const OvstageDataType *self);
OVSTAGE_AVAILABLE_IN_1_0
gboolean ovstage_data_type_equal (const OvstageDataType *self, const OvstageDataType *other);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageDataType, ovstage_data_type_free)

#ifndef __GI_SCANNER__

/* Constants whose address can be taken in C: `&OVSTAGE_DATA_TYPE_FLOAT32`. */
#define OVSTAGE_DATA_TYPE_BOOL       (ovstage_data_type_bool)
#define OVSTAGE_DATA_TYPE_INT8       (ovstage_data_type_int8)
#define OVSTAGE_DATA_TYPE_INT16      (ovstage_data_type_int16)
#define OVSTAGE_DATA_TYPE_INT32      (ovstage_data_type_int32)
#define OVSTAGE_DATA_TYPE_INT64      (ovstage_data_type_int64)
#define OVSTAGE_DATA_TYPE_UINT8      (ovstage_data_type_uint8)
#define OVSTAGE_DATA_TYPE_UINT16     (ovstage_data_type_uint16)
#define OVSTAGE_DATA_TYPE_UINT32     (ovstage_data_type_uint32)
#define OVSTAGE_DATA_TYPE_UINT64     (ovstage_data_type_uint64)
#define OVSTAGE_DATA_TYPE_FLOAT16    (ovstage_data_type_float16)
#define OVSTAGE_DATA_TYPE_FLOAT32    (ovstage_data_type_float32)
#define OVSTAGE_DATA_TYPE_FLOAT64    (ovstage_data_type_float64)
#define OVSTAGE_DATA_TYPE_BFLOAT16   (ovstage_data_type_bfloat16)
#define OVSTAGE_DATA_TYPE_FLOAT32X2  (ovstage_data_type_float32x2)
#define OVSTAGE_DATA_TYPE_FLOAT32X3  (ovstage_data_type_float32x3)
#define OVSTAGE_DATA_TYPE_FLOAT32X4  (ovstage_data_type_float32x4)
#define OVSTAGE_DATA_TYPE_FLOAT32X9  (ovstage_data_type_float32x9)
#define OVSTAGE_DATA_TYPE_FLOAT32X16 (ovstage_data_type_float32x16)
#define OVSTAGE_DATA_TYPE_FLOAT64X2  (ovstage_data_type_float64x2)
#define OVSTAGE_DATA_TYPE_FLOAT64X3  (ovstage_data_type_float64x3)
#define OVSTAGE_DATA_TYPE_FLOAT64X4  (ovstage_data_type_float64x4)
#define OVSTAGE_DATA_TYPE_FLOAT64X9  (ovstage_data_type_float64x9)
#define OVSTAGE_DATA_TYPE_FLOAT64X16 (ovstage_data_type_float64x16)
#define OVSTAGE_DATA_TYPE_UINT64X2   (ovstage_data_type_uint64x2)

OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_bool;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_int8;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_int16;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_int32;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_int64;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_uint8;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_uint16;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_uint32;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_uint64;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float16;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float32;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float64;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_bfloat16;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float32x2;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float32x3;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float32x4;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float32x9;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float32x16;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float64x2;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float64x3;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float64x4;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float64x9;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_float64x16;
OVSTAGE_AVAILABLE_IN_1_0
const OvstageDataType ovstage_data_type_uint64x2;

#endif

G_END_DECLS
