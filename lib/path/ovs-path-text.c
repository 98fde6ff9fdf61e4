/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "path/ovs-path-text.h"

#include <string.h>

#include "path/ovs-path-hash.h"

#define LONGEST_QUOTE 160

#define BYTES(b) (G_GUINT64_CONSTANT (0x0101010101010101) * (b))

char *
ovs_quote_text (const char *text, gssize length)
{
  gsize n = length < 0 ? strlen (text) : (gsize) length;
  GString *quoted = g_string_new ("\"");

  for (gsize i = 0; i < n;)
    {
      gunichar c = g_utf8_get_char_validated (text + i, n - i);
      gsize size = 1;

      if (quoted->len > LONGEST_QUOTE)
        {
          g_string_append (quoted, "…");
          break;
        }
      if (c == (gunichar) -1 || c == (gunichar) -2 || c < 0x20 || c == 0x7f)
        g_string_append_printf (quoted, "\\x%02x", (guint8) text[i]);
      else if (c == '"' || c == '\\')
        g_string_append_printf (quoted, "\\%c", (char) c);
      else
        {
          size = g_utf8_skip[(guint8) text[i]];
          g_string_append_len (quoted, text + i, size);
        }
      i += size;
    }
  g_string_append_c (quoted, '"');
  return g_string_free (quoted, FALSE);
}

static gboolean
fail_text (GError **error, const char *what, const char *text, gsize length, const char *fault, gsize at)
{
  g_autofree char *quoted = ovs_quote_text (text, length);

  return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "%s %s %s at byte %" G_GSIZE_FORMAT, what, quoted, fault, at);
}

static const char *
name_bad_byte (const char *bad)
{
  return *bad == '\0' ? "has a NUL" : "is not valid UTF-8";
}

gboolean
ovs_check_token_text (const char *text, gsize length, GError **error)
{
  const char *bad;

  if (length == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "token \"\" is empty: a token has at least one byte");
  if (g_utf8_validate_len (text, length, &bad))
    return TRUE;
  return fail_text (error, "token", text, length, name_bad_byte (bad), bad - text);
}

/* Whether an ASCII path is right, eight bytes at a time. FALSE only means: look closer. */
static gboolean
path_is_plain (const char *path, gsize length)
{
  gsize i = 0;
  guint64 before = 0;

  if (length == 0 || path[0] != '/')
    return FALSE;
  for (; i + 8 <= length; i += 8)
    {
      guint64 word = ovs_load_word (path + i);
      guint64 slashes;

      if ((word & BYTES (0x80)) != 0 || ((word + BYTES (0x7f)) & BYTES (0x80)) != BYTES (0x80))
        return FALSE;
      slashes = ~((word ^ BYTES ('/')) + BYTES (0x7f)) & BYTES (0x80);
      if ((slashes & (slashes << 8 | before)) != 0)
        return FALSE;
      before = slashes >> 56;
    }
  for (; i < length; i++)
    {
      if (path[i] <= 0 || (guint8) path[i] >= 0x80 || (path[i] == '/' && i > 0 && path[i - 1] == '/'))
        return FALSE;
    }
  return length == 1 || path[length - 1] != '/';
}

gboolean
ovs_check_path_text (const char *path, gsize length, GError **error)
{
  const char *bad;
  const char *empty;

  if (path_is_plain (path, length))
    return TRUE;
  if (length == 0)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "path \"\" is empty: a prim path starts with \"/\"");
  if (path[0] != '/')
    return fail_text (error, "path", path, length, "does not start with \"/\"", 0);
  g_utf8_validate_len (path, length, &bad);
  empty = g_strstr_len (path, bad - path, "//");
  if (empty != NULL)
    return fail_text (error, "path", path, length, "has an empty component", empty + 1 - path);
  if (bad < path + length)
    return fail_text (error, "path", path, length, name_bad_byte (bad), bad - path);
  if (length > 1 && path[length - 1] == '/')
    return fail_text (error, "path", path, length, "ends with \"/\"", length - 1);
  return TRUE;
}
