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
GQuark
ovstage_error_quark (void)
{
  /* What G_DEFINE_QUARK() makes, for several threads that fail at once. */
  static GQuark quark; /* (atomic) */
  GQuark known = __atomic_load_n (&quark, __ATOMIC_RELAXED);

  if (G_UNLIKELY (known == 0))
    {
      known = g_quark_from_static_string ("ovstage-error-quark");
      __atomic_store_n (&quark, known, __ATOMIC_RELAXED);
    }
  return known;
}

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
