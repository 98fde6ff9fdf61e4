/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Without a device the optional workflow is left out.
 * Prints: not there
 */

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include <stdio.h>

static int found;

static void
look_up (ovstage_instance_t *stage)
{
/* The block as it stands. */
const ovstage_placement_extension_v1_t* placement_api = NULL;
ovstage_api_status_t status =
    ovstage_query_placement_extension(stage, &placement_api);
if (status == OVSTAGE_ERROR_NOT_FOUND) {
    /* Disable this optional workflow, or select a CPU fallback. */
    return;
}
/* Check status before using placement_api or the wrappers below. */
/* End of the block. */

  found = status == OVSTAGE_OK && placement_api != NULL;
}

int
main (void)
{
  ovstage_instance_t *stage = NULL;

  if (ovstage_create_instance (NULL, &stage) != OVSTAGE_OK)
    return 1;
  look_up (stage);
  puts (found ? "there" : "not there");
  ovstage_destroy_instance (stage);
  return 0;
}
