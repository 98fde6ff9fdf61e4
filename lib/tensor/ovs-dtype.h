/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#include <ovstage/ovstage-data-type.h>

#include "base/ovs-error.h"

/* DLDataTypeCode, by number: the core does not need the header. */
typedef enum
{
  OVS_CODE_INT = 0,
  OVS_CODE_UINT = 1,
  OVS_CODE_FLOAT = 2,
  OVS_CODE_OPAQUE = 3,
  OVS_CODE_BFLOAT = 4,
  OVS_CODE_COMPLEX = 5,
  OVS_CODE_BOOL = 6,
  OVS_CODE_FLOAT8_E3M4 = 7,
  OVS_CODE_FLOAT8_E4M3 = 8,
  OVS_CODE_FLOAT8_E4M3B11FNUZ = 9,
  OVS_CODE_FLOAT8_E4M3FN = 10,
  OVS_CODE_FLOAT8_E4M3FNUZ = 11,
  OVS_CODE_FLOAT8_E5M2 = 12,
  OVS_CODE_FLOAT8_E5M2FNUZ = 13,
  OVS_CODE_FLOAT8_E8M0FNU = 14,
  OVS_CODE_FLOAT6_E2M3FN = 15,
  OVS_CODE_FLOAT6_E3M2FN = 16,
  OVS_CODE_FLOAT4_E2M1FN = 17,
} OvsTypeCode;

#define OVS_DTYPE_TEXT_MAX 48

static inline gboolean
ovs_dtype_equal (OvstageDataType a, OvstageDataType b)
{
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/* Bits of one row: bits times lanes. */
static inline guint32
ovs_dtype_row_bits (OvstageDataType dtype)
{
  return (guint32) dtype.bits * dtype.lanes;
}

/* Text form, such as "float32x3", into a buffer of OVS_DTYPE_TEXT_MAX; gives @text. */
const char *ovs_dtype_format (OvstageDataType dtype, char *text);
gboolean ovs_dtype_parse (const char *text, OvstageDataType *dtype, GError **error);
