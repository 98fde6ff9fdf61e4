/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-types.h>

#include "column/ovs-version.h"

OvsVersion *
ovs_version_new (const OvsSchema *schema, guint32 row_size, guint64 ordinal, OvsLayout *layout, guint32 n_rows, guint32 n_live,
                 OvsBits *live, OvsBuffer *values)
{
  return ovs_version_renew (NULL, schema, row_size, ordinal, layout, n_rows, n_live, live, values);
}

OvsVersion *
ovs_version_renew (OvsVersion *version, const OvsSchema *schema, guint32 row_size, guint64 ordinal, OvsLayout *layout,
                   guint32 n_rows, guint32 n_live, OvsBits *live, OvsBuffer *values)
{
  if (version == NULL)
    {
      version = g_new (OvsVersion, 1);
      version->layout = NULL;
    }
  version->refs = 1;
  version->schema = *schema;
  version->row_size = row_size;
  version->n_rows = n_rows;
  version->n_live = n_live;
  version->ordinal = ordinal;
  version->until = OVSTAGE_ORDINAL_NEWEST;
  version->live = live;
  if (version->layout != layout)
    {
      g_clear_pointer (&version->layout, ovs_layout_unref);
      version->layout = ovs_layout_ref (layout);
    }
  version->numbering = 0;
  version->values = values;
  version->ragged = NULL;
  version->packed = NULL;
  return version;
}

OvsVersion *
ovs_version_ref (OvsVersion *version)
{
  g_atomic_int_inc (&version->refs);
  return version;
}

void
ovs_version_unref (OvsVersion *version)
{
  if (ovs_version_retire (version))
    ovs_version_free_retired (version);
}

void
ovs_version_free_retired (OvsVersion *version)
{
  ovs_layout_unref (version->layout);
  g_free (version);
}

gboolean
ovs_version_retire (OvsVersion *version)
{
  /* Whoever has the only reference is alone, and need not pay for an atomic write. */
  if (g_atomic_int_get (&version->refs) != 1 && !g_atomic_int_dec_and_test (&version->refs))
    return FALSE;
  g_clear_pointer (&version->live, ovs_bits_unref);
  g_clear_pointer (&version->values, ovs_buffer_unref);
  g_clear_pointer (&version->ragged, ovs_ragged_unref);
  g_clear_pointer (&version->packed, ovs_packed_rows_unref);
  return TRUE;
}
