/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The struct is the one of the text.
 * Prints: the same
 */

#include <ovstage/ovstage_api/ovstage_api.h>

#include <stdio.h>

static const size_t sizes[] = { sizeof (ovstage_cuda_sync_t), offsetof (ovstage_cuda_sync_t, stream),
                                offsetof (ovstage_cuda_sync_t, wait_event) };

int
main (void)
{
/* The block as it stands. */
typedef struct {
    uintptr_t stream;     /* 0 = none, 1 = the default stream, >1 = a specific cudaStream_t */
    uintptr_t wait_event; /* 0 = none, else a cudaEvent_t to wait on */
} ovstage_cuda_sync_t;
/* End of the block. */

  puts (sizes[0] == sizeof (ovstage_cuda_sync_t) && sizes[1] == offsetof (ovstage_cuda_sync_t, stream)
                && sizes[2] == offsetof (ovstage_cuda_sync_t, wait_event)
            ? "the same"
            : "another");
  return 0;
}
