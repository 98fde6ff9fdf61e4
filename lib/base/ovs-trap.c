/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "base/ovs-trap.h"

#include <sys/mman.h>

#include "base/ovs-sync.h"

/* So many mappings, and bytes of them, stay behind. */
#define N_TRAPS 64
#define TRAP_BYTES ((gsize) 64 << 20)

typedef struct
{
  guint8 *data;
  gsize size;
} Trap;

static OvsMutex trap_lock; /* a leaf */
static Trap traps[N_TRAPS]; /* protected by trap_lock, as is what follows: the oldest is replaced */
static guint next_trap;
static gsize trapped_bytes;

void
ovs_trap_set (guint8 *data, gsize size)
{
  Trap gone[N_TRAPS];
  guint n_gone = 0;

  madvise (data, size, MADV_DONTNEED);
  if (mprotect (data, size, PROT_NONE) != 0 || size > TRAP_BYTES)
    {
      munmap (data, size);
      return;
    }
  ovs_mutex_lock (&trap_lock);
  for (guint i = 0; i < N_TRAPS && (i == 0 || trapped_bytes > TRAP_BYTES - size); i++)
    {
      Trap *oldest = &traps[(next_trap + i) % N_TRAPS];

      trapped_bytes -= oldest->size;
      gone[n_gone++] = *oldest;
      *oldest = (Trap){ NULL, 0 };
    }
  traps[next_trap] = (Trap){ data, size };
  trapped_bytes += size;
  next_trap = (next_trap + 1) % N_TRAPS;
  ovs_mutex_unlock (&trap_lock);

  for (guint i = 0; i < n_gone; i++)
    if (gone[i].data != NULL)
      munmap (gone[i].data, gone[i].size);
}
