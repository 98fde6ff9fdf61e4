/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* For programs that handle DLPack structs themselves: the completed DLPack types
 * and the functions that take them. <ovstage/ovstage.h> does not include it. */

#pragma once

#ifdef OVSTAGE_COMPILATION
#include <ovstage/ovstage-tensor.h>
#else
#include <ovstage/ovstage.h>
#endif

#include <ovstage/ovstage-dlpack-types.h>

G_BEGIN_DECLS

#ifndef __GI_SCANNER__

OVSTAGE_AVAILABLE_IN_1_0
OvstageTensor *ovstage_tensor_new_for_dltensor (const DLTensor *tensor);

#endif

G_END_DECLS
