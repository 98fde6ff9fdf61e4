/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the structs that are given out point to, and what keeps it. */

#pragma once

#include "capi/ovs-instance.h"
#include "op/ovs-read-group.h"

typedef struct
{
  OvstageReadGroup *group; /* (owned) */
  guint64 list;            /* an inner reference to its handle; 0: none */
  OvstageTensor **refs;    /* (owned) (nullable) of the tensors */
  DLTensor *tensors;       /* n_tensors of the group's: one, or (owned) */
  OvstageTensor *one_ref;  /* (owned) (nullable) */
  DLTensor one;
} OvsGivenGroup;

typedef struct
{
  guint64 query;       /* the handle that goes with it */
  guint64 *attributes; /* (owned) (nullable) */
  gsize n_attributes;
} OvsGivenResult;

OvsGivenGroup *ovs_given_group_new (OvstageReadGroup *group);
void ovs_given_group_free (OvsGivenGroup *given);
void ovs_given_group_fill (const OvsGivenGroup *given, ovstage_read_group_t *out);
void ovs_given_result_free (OvsGivenResult *given);
