/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-error.h"

/**
 * ovstage_error_quark:
 *
 * Gets the quark of the error domain.
 *
 * The `OVSTAGE_ERROR` macro calls this. The codes of the domain are those of
 * [error@Ovstage.Error].
 *
 * Returns: the quark
 *
 * Since: 1.0
 */
G_DEFINE_QUARK (ovstage-error-quark, ovstage_error)

gboolean
ovs_fail (GError **error, OvstageError code, const char *format, ...)
{
  va_list args;

  if (error == NULL)
    return FALSE;

  g_return_val_if_fail (*error == NULL, FALSE);

  va_start (args, format);
  *error = g_error_new_valist (OVSTAGE_ERROR, code, format, args);
  va_end (args);

  return FALSE;
}
