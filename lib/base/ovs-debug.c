/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-debug.h"

gint ovs_debug_value;

static const GDebugKey keys[] = {
  { "async", OVS_DEBUG_ASYNC },
  { "shuffle", OVS_DEBUG_SHUFFLE },
  { "copy", OVS_DEBUG_COPY },
  { "random", OVS_DEBUG_RANDOM },
  { "poison", OVS_DEBUG_POISON },
  { "compact", OVS_DEBUG_COMPACT },
  { "linger", OVS_DEBUG_LINGER },
};

OvsDebugFlags
ovs_debug_read (void)
{
  guint flags = g_parse_debug_string (g_getenv ("OVSTAGE_DEBUG"), keys, G_N_ELEMENTS (keys));

  /* Threads that meet here read the same text; flags that a test set meanwhile stand. */
  g_atomic_int_compare_and_exchange (&ovs_debug_value, 0, (gint) (flags | (1u << 31)));

  return (OvsDebugFlags) (g_atomic_int_get (&ovs_debug_value) & G_MAXINT);
}

void
ovs_debug_set_flags (OvsDebugFlags flags)
{
  g_atomic_int_set (&ovs_debug_value, (gint) (flags | (1u << 31)));
}
