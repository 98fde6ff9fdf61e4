/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-dtype.h"

#include <string.h>

/* Names that fix code and bits. */
static const struct
{
  const char *name;
  guint8 code;
  guint8 bits;
} fixed_names[] = {
  { "bool", OVS_CODE_BOOL, 8 },
  { "float8_e3m4", OVS_CODE_FLOAT8_E3M4, 8 },
  { "float8_e4m3", OVS_CODE_FLOAT8_E4M3, 8 },
  { "float8_e4m3b11fnuz", OVS_CODE_FLOAT8_E4M3B11FNUZ, 8 },
  { "float8_e4m3fn", OVS_CODE_FLOAT8_E4M3FN, 8 },
  { "float8_e4m3fnuz", OVS_CODE_FLOAT8_E4M3FNUZ, 8 },
  { "float8_e5m2", OVS_CODE_FLOAT8_E5M2, 8 },
  { "float8_e5m2fnuz", OVS_CODE_FLOAT8_E5M2FNUZ, 8 },
  { "float8_e8m0fnu", OVS_CODE_FLOAT8_E8M0FNU, 8 },
  { "float6_e2m3fn", OVS_CODE_FLOAT6_E2M3FN, 6 },
  { "float6_e3m2fn", OVS_CODE_FLOAT6_E3M2FN, 6 },
  { "float4_e2m1fn", OVS_CODE_FLOAT4_E2M1FN, 4 },
};

/* Names that the number of bits follows. */
static const struct
{
  const char *name;
  guint8 code;
} sized_names[] = {
  { "int", OVS_CODE_INT },       { "uint", OVS_CODE_UINT },     { "float", OVS_CODE_FLOAT },
  { "opaque", OVS_CODE_OPAQUE }, { "bfloat", OVS_CODE_BFLOAT }, { "complex", OVS_CODE_COMPLEX },
};

const char *
ovs_dtype_format (OvstageDataType dtype, char *text)
{
  const char *name = NULL;
  gboolean with_bits = FALSE;
  int length;

  for (gsize i = 0; i < G_N_ELEMENTS (fixed_names) && name == NULL; i++)
    {
      if (fixed_names[i].code == dtype.code && fixed_names[i].bits == dtype.bits)
        name = fixed_names[i].name;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (sized_names) && name == NULL; i++)
    {
      if (sized_names[i].code == dtype.code)
        {
          name = sized_names[i].name;
          with_bits = TRUE;
        }
    }

  /* A code we have no name for, or a named one with other bits: still exact. */
  if (name == NULL)
    length = g_snprintf (text, OVS_DTYPE_TEXT_MAX, "code%ubits%u", dtype.code, dtype.bits);
  else if (with_bits)
    length = g_snprintf (text, OVS_DTYPE_TEXT_MAX, "%s%u", name, dtype.bits);
  else
    length = g_snprintf (text, OVS_DTYPE_TEXT_MAX, "%s", name);

  if (dtype.lanes != 1)
    g_snprintf (text + length, OVS_DTYPE_TEXT_MAX - length, "x%u", dtype.lanes);

  return text;
}

/* Decimal digits without sign or leading zero, at most @max. Moves @text past them. */
static gboolean
parse_number (const char **text, guint max, guint *number)
{
  const char *p = *text;
  guint value = 0;

  if (!g_ascii_isdigit (*p) || (*p == '0' && g_ascii_isdigit (p[1])))
    return FALSE;

  for (; g_ascii_isdigit (*p); p++)
    {
      value = value * 10 + (guint) (*p - '0');
      if (value > max)
        return FALSE;
    }

  *text = p;
  *number = value;
  return TRUE;
}

static gboolean
parse_base (const char **text, guint *code, guint *bits)
{
  gsize best = 0;

  /* The longest one: some names begin others. */
  for (gsize i = 0; i < G_N_ELEMENTS (fixed_names); i++)
    {
      gsize length = strlen (fixed_names[i].name);

      if (length > best && strncmp (*text, fixed_names[i].name, length) == 0)
        {
          best = length;
          *code = fixed_names[i].code;
          *bits = fixed_names[i].bits;
        }
    }
  if (best > 0)
    {
      *text += best;
      return TRUE;
    }

  for (gsize i = 0; i < G_N_ELEMENTS (sized_names); i++)
    {
      gsize length = strlen (sized_names[i].name);

      if (strncmp (*text, sized_names[i].name, length) == 0)
        {
          *text += length;
          *code = sized_names[i].code;
          return parse_number (text, G_MAXUINT8, bits);
        }
    }

  if (strncmp (*text, "code", 4) != 0)
    return FALSE;
  *text += 4;
  if (!parse_number (text, G_MAXUINT8, code) || strncmp (*text, "bits", 4) != 0)
    return FALSE;
  *text += 4;
  return parse_number (text, G_MAXUINT8, bits);
}

gboolean
ovs_dtype_parse (const char *text, OvstageDataType *dtype, GError **error)
{
  const char *rest = text;
  guint code = 0;
  guint bits = 0;
  guint lanes = 1;
  gboolean valid;

  valid = parse_base (&rest, &code, &bits);
  if (valid && *rest == 'x')
    {
      rest++;
      valid = parse_number (&rest, G_MAXUINT16, &lanes);
    }
  if (!valid || *rest != '\0')
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT,
                     "data type \"%s\" is not known, expected a name such as float32, uint8 or bool, with lanes as in "
                     "float32x3",
                     text);
  if (bits == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "data type \"%s\" has 0 bits, expected 1 to 255", text);
  if (lanes == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "data type \"%s\" has 0 lanes, expected 1 to 65535", text);

  *dtype = (OvstageDataType) { .code = (guint8) code, .bits = (guint8) bits, .lanes = (guint16) lanes };
  return TRUE;
}
