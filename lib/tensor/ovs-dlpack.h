/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* DLPack in and out. What is taken is owned from the call on, also when the call
 * refuses it: the producer's deleter runs once, with the last reference to the
 * tensor or before the refusal returns. A deleter of NULL is never called. */

#pragma once

#include <ovstage/ovstage-dlpack-types.h>

#include "tensor/ovs-tensor.h"

/* NULL only for a NULL argument, or a major version above 1, where nothing but the deleter may be touched.
 * Whether shape and dtype make sense is for ovs_tensor_check(). */
OvstageTensor *ovs_dlpack_take (DLManagedTensorVersioned *managed, GError **error);
OvstageTensor *ovs_dlpack_take_legacy (DLManagedTensor *managed, GError **error);
/* Copies the struct, shape and strides; the values stay where they are, unowned. */
OvstageTensor *ovs_dlpack_borrow (const DLTensor *tensor);

/* A view that lives as long as the tensor. */
void ovs_dlpack_lend (const OvstageTensor *tensor, DLTensor *dl_tensor);

/* A view for others that holds a reference to the tensor until its deleter runs, in whatever thread.
 * Strides are always there. Only for tensors that passed the check. */
DLManagedTensorVersioned *ovs_dlpack_dup (OvstageTensor *tensor);
DLManagedTensor *ovs_dlpack_dup_legacy (OvstageTensor *tensor);
