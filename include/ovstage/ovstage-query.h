/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <ovstage/ovstage-operation.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_QUERY (ovstage_query_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (OvstageQuery, ovstage_query, OVSTAGE, QUERY, OvstageOperation)

OVSTAGE_AVAILABLE_IN_1_0
guint32 ovstage_query_get_prim_count (OvstageQuery *self);
OVSTAGE_AVAILABLE_IN_1_0
OvstagePathList *ovstage_query_ref_path_list (OvstageQuery *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 *ovstage_query_dup_attributes (OvstageQuery *self, gsize *n_attributes);

G_END_DECLS
