/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What OVSTAGE_DEBUG asks for: a list of the names below, or "all". Each makes
 * a choice that is free otherwise, and none may change a result. */

#pragma once

#include <glib.h>

typedef enum
{
  OVS_DEBUG_ASYNC = 1 << 0,   /* "async": bytes never run inline, only on the stage's threads */
  OVS_DEBUG_SHUFFLE = 1 << 1, /* "shuffle": these threads pick their jobs in random order */
  OVS_DEBUG_COPY = 1 << 2,    /* "copy": a fold always copies, and never works in place */
  OVS_DEBUG_RANDOM = 1 << 3,  /* "random": a fold takes one of its ways by chance */
  OVS_DEBUG_POISON = 1 << 4,  /* "poison": the pool fills what it hands out with 0xa5, and adopted memory must stay as it was */
  OVS_DEBUG_COMPACT = 1 << 5, /* "compact": a fold leaves no dead rows; with "random", by chance */
  OVS_DEBUG_LINGER = 1 << 6,  /* "linger": these threads now and then wait a moment before a job, so that others meet what is pending */
} OvsDebugFlags;

extern gint ovs_debug_value; /* (atomic) private: the flags and, once they were read, the sign bit */

OvsDebugFlags ovs_debug_read (void);
/* For tests: from now on these flags hold, whatever the environment says. */
void ovs_debug_set_flags (OvsDebugFlags flags);

static inline OvsDebugFlags
ovs_debug_flags (void)
{
  gint value = __atomic_load_n (&ovs_debug_value, __ATOMIC_RELAXED);

  return G_LIKELY (value < 0) ? (OvsDebugFlags) (value & G_MAXINT) : ovs_debug_read ();
}
