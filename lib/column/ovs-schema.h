/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#include "tensor/ovs-dtype.h"

/* What the values of an attribute on a prim are. */
typedef struct
{
  OvstageDataType dtype;
  gboolean is_array;
  OvstageSemantic semantic;
} OvsSchema;

#define OVS_SCHEMA_TEXT_MAX 128

static inline gboolean
ovs_schema_equal (const OvsSchema *a, const OvsSchema *b)
{
  return ovs_dtype_equal (a->dtype, b->dtype) && a->is_array == b->is_array && a->semantic == b->semantic;
}

/* Text such as "float32x3[] POINT", into a buffer of OVS_SCHEMA_TEXT_MAX; gives @text. */
const char *ovs_schema_format (const OvsSchema *schema, char *text);
const char *ovs_semantic_get_name (OvstageSemantic semantic);
gboolean ovs_semantic_is_valid (gint semantic);
/* W21: semantics that are ids or text have one dtype. */
gboolean ovs_schema_check (const OvsSchema *schema, GError **error);
