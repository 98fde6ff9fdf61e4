/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib-object.h>

#include <ovstage/ovstage-enums.h>
#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_FILTER (ovstage_filter_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_filter_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_has (OvstageToken attribute);
OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_in (OvstageToken attribute, GVariant *values);
OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_contains (OvstageToken attribute, GVariant *value);
OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_prefix (OvstageToken attribute, const char *text);
OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_compare (OvstageToken attribute, OvstageFilterOp op, GVariant *value);
OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_subtree (const char *path);

OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_all_of (OvstageFilter *const *filters, gsize n_filters);
OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_any_of (OvstageFilter *const *filters, gsize n_filters);
OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_new_not (OvstageFilter *filter);

OVSTAGE_AVAILABLE_IN_1_0
OvstageFilter *ovstage_filter_ref (OvstageFilter *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_filter_unref (OvstageFilter *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageFilter, ovstage_filter_unref)

G_END_DECLS
