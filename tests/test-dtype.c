/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "tensor/ovs-dtype.h"

#include <dlpack/dlpack.h>
#include <string.h>

static OvstageDataType
parse_or_fail (const char *text)
{
  g_autoptr (GError) error = NULL;
  OvstageDataType dtype = { 0 };

  ovs_dtype_parse (text, &dtype, &error);
  g_assert_no_error (error);
  return dtype;
}

static void
test_names (void)
{
  static const struct
  {
    const char *text;
    OvstageDataType dtype;
  } cases[] = {
    { "int8", { kDLInt, 8, 1 } },
    { "int4", { kDLInt, 4, 1 } },
    { "int64x2", { kDLInt, 64, 2 } },
    { "uint8", { kDLUInt, 8, 1 } },
    { "uint1", { kDLUInt, 1, 1 } },
    { "float16", { kDLFloat, 16, 1 } },
    { "float32", { kDLFloat, 32, 1 } },
    { "float32x3", { kDLFloat, 32, 3 } },
    { "float64x16", { kDLFloat, 64, 16 } },
    { "float8x65535", { kDLFloat, 8, 65535 } },
    { "opaque64", { kDLOpaqueHandle, 64, 1 } },
    { "bfloat16", { kDLBfloat, 16, 1 } },
    { "complex64", { kDLComplex, 64, 1 } },
    { "complex128x2", { kDLComplex, 128, 2 } },
    { "bool", { 6, 8, 1 } },
    { "boolx4", { 6, 8, 4 } },
    { "code6bits1", { 6, 1, 1 } },
    { "float8_e3m4", { 7, 8, 1 } },
    { "float8_e4m3", { 8, 8, 1 } },
    { "float8_e4m3b11fnuz", { 9, 8, 1 } },
    { "float8_e4m3fn", { 10, 8, 1 } },
    { "float8_e4m3fnx2", { 10, 8, 2 } },
    { "float8_e4m3fnuz", { 11, 8, 1 } },
    { "float8_e5m2", { 12, 8, 1 } },
    { "float8_e5m2fnuz", { 13, 8, 1 } },
    { "float8_e8m0fnu", { 14, 8, 1 } },
    { "float6_e2m3fn", { 15, 6, 1 } },
    { "float6_e3m2fn", { 16, 6, 1 } },
    { "float4_e2m1fnx2", { 17, 4, 2 } },
    { "code42bits8", { 42, 8, 1 } },
    { "code255bits255x65535", { 255, 255, 65535 } },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char text[OVS_DTYPE_TEXT_MAX];

      g_assert_cmpstr (ovs_dtype_format (cases[i].dtype, text), ==, cases[i].text);
      g_assert_true (ovs_dtype_equal (parse_or_fail (cases[i].text), cases[i].dtype));
    }
}

/* Names that are read but not written. */
static void
test_other_spellings (void)
{
  g_assert_true (ovs_dtype_equal (parse_or_fail ("float32x1"), parse_or_fail ("float32")));
  g_assert_true (ovs_dtype_equal (parse_or_fail ("code2bits32x3"), parse_or_fail ("float32x3")));
  g_assert_true (ovs_dtype_equal (parse_or_fail ("code6bits8"), parse_or_fail ("bool")));
}

/* W25: every code keeps its own number and bits. */
static void
test_round_trip (void)
{
  for (guint code = 0; code <= G_MAXUINT8; code++)
    {
      for (guint bits = 1; bits <= G_MAXUINT8; bits++)
        {
          guint16 lanes = (guint16) (1 + (code * 251 + bits * 7) % 5);
          OvstageDataType dtype = { (guint8) code, (guint8) bits, lanes };
          char text[OVS_DTYPE_TEXT_MAX];

          g_assert_cmpuint (strlen (ovs_dtype_format (dtype, text)), <, OVS_DTYPE_TEXT_MAX);
          g_assert_true (ovs_dtype_equal (parse_or_fail (text), dtype));
        }
    }
}

static void
test_nonsense (void)
{
  static const char *const texts[] = {
    "",           "float",      "float032",   "float32x",      "float32x03",     "float32x-1",   "float32x65536",
    "float256",   "float 32",   " float32",   "float32 ",      "Float32",        "float32,3",    "float32x3x3",
    "flaot32",    "bool8",      "bool1",      "float8_e4m3f",  "float8_e4m3fn8", "code42",       "code256bits8",
    "code1bits",  "codebits8",  "x3",         "32",            "int-8",          "int+8",        "float99999999999",
    "f\xc3\xbc", "float32x99999999999",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      OvstageDataType dtype = { 1, 2, 3 };

      g_assert_false (ovs_dtype_parse (texts[i], &dtype, &error));
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
      g_assert_nonnull (strstr (error->message, texts[i]));
      g_assert_cmpuint (dtype.code, ==, 1);
    }
}

static void
test_zero_bits_and_lanes (void)
{
  g_autoptr (GError) bits_error = NULL;
  g_autoptr (GError) lanes_error = NULL;
  OvstageDataType dtype;

  g_assert_false (ovs_dtype_parse ("float0", &dtype, &bits_error));
  g_assert_error (bits_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_nonnull (strstr (bits_error->message, "\"float0\" has 0 bits"));
  g_assert_false (ovs_dtype_parse ("float32x0", &dtype, &lanes_error));
  g_assert_error (lanes_error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_nonnull (strstr (lanes_error->message, "\"float32x0\" has 0 lanes"));
}

/* Malformed types have a text as well: messages need one. */
static void
test_format_malformed (void)
{
  char text[OVS_DTYPE_TEXT_MAX];

  g_assert_cmpstr (ovs_dtype_format ((OvstageDataType) { 2, 0, 0 }, text), ==, "float0x0");
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/dtype/names", test_names);
  g_test_add_func ("/dtype/other-spellings", test_other_spellings);
  g_test_add_func ("/dtype/round-trip", test_round_trip);
  g_test_add_func ("/dtype/nonsense", test_nonsense);
  g_test_add_func ("/dtype/zero-bits-and-lanes", test_zero_bits_and_lanes);
  g_test_add_func ("/dtype/format-malformed", test_format_malformed);

  return g_test_run ();
}
