/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "column/ovs-schema.h"

static const char *const semantic_names[] = {
  "NONE",   "ASSET_PATH_ID", "TOKEN_ID",   "PATH_EXPRESSION_STRING", "RELATIONSHIP_PATH_ID", "POINT",
  "VECTOR", "NORMAL",        "COLOR",      "QUATERNION",             "MATRIX",               "TEXTURE_COORDINATE",
  "CONNECTION_PATH_ID",      "STRING",     "TIME_CODE",              "FRAME",
};

gboolean
ovs_semantic_is_valid (gint semantic)
{
  return semantic >= 0 && semantic < (gint) G_N_ELEMENTS (semantic_names);
}

const char *
ovs_semantic_get_name (OvstageSemantic semantic)
{
  return ovs_semantic_is_valid ((gint) semantic) ? semantic_names[semantic] : "?";
}

const char *
ovs_schema_format (const OvsSchema *schema, char *text)
{
  char dtype[OVS_DTYPE_TEXT_MAX];

  g_snprintf (text, OVS_SCHEMA_TEXT_MAX, "%s%s%s%s", ovs_dtype_format (schema->dtype, dtype), schema->is_array ? "[]" : "",
              schema->semantic != OVSTAGE_SEMANTIC_NONE ? " " : "",
              schema->semantic != OVSTAGE_SEMANTIC_NONE ? ovs_semantic_get_name (schema->semantic) : "");
  return text;
}

gboolean
ovs_schema_check (const OvsSchema *schema, GError **error)
{
  OvsSchema wanted = { { OVS_CODE_UINT, 64, 1 }, FALSE, schema->semantic };
  char found_text[OVS_SCHEMA_TEXT_MAX], wanted_text[OVS_SCHEMA_TEXT_MAX];

  switch (schema->semantic)
    {
    case OVSTAGE_SEMANTIC_TOKEN_ID:
    case OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING:
      wanted.is_array = schema->is_array;
      break;
    case OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID:
      wanted.is_array = TRUE;
      break;
    case OVSTAGE_SEMANTIC_CONNECTION_PATH_ID:
      wanted.dtype.lanes = 2;
      wanted.is_array = TRUE;
      break;
    case OVSTAGE_SEMANTIC_ASSET_PATH_ID:
      wanted.dtype.lanes = 2;
      wanted.is_array = schema->is_array;
      break;
    case OVSTAGE_SEMANTIC_STRING:
      wanted.dtype.bits = 8;
      wanted.is_array = TRUE;
      break;
    case OVSTAGE_SEMANTIC_NONE:
    case OVSTAGE_SEMANTIC_POINT:
    case OVSTAGE_SEMANTIC_VECTOR:
    case OVSTAGE_SEMANTIC_NORMAL:
    case OVSTAGE_SEMANTIC_COLOR:
    case OVSTAGE_SEMANTIC_QUATERNION:
    case OVSTAGE_SEMANTIC_MATRIX:
    case OVSTAGE_SEMANTIC_TEXTURE_COORDINATE:
    case OVSTAGE_SEMANTIC_TIME_CODE:
    case OVSTAGE_SEMANTIC_FRAME:
    default:
      return TRUE;
    }

  if (ovs_schema_equal (schema, &wanted))
    return TRUE;
  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "semantic %s: the payload is %s, expected %s",
                   ovs_semantic_get_name (schema->semantic), ovs_schema_format (schema, found_text),
                   ovs_schema_format (&wanted, wanted_text));
}
