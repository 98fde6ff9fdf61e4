/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib-object.h>

#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_PATH_LIST (ovstage_path_list_get_type ())

/**
 * OvstagePathList:
 *
 * An ordered list of distinct prim paths.
 *
 * A list never changes. It is counted: [method@Ovstage.PathList.ref] and
 * [method@Ovstage.PathList.unref] may be called from any thread, and so may all
 * else. Equal lists of one dictionary are one and the same object for as long as
 * anybody holds it, so that making a list a second time is cheap for what was
 * worked out for the first.
 *
 * Lists are made by [method@Ovstage.PathDictionary.create_path_list] and
 * [method@Ovstage.PathDictionary.create_path_list_from_paths]. A list keeps what
 * it needs of its dictionary, and outlives it.
 *
 * Since: 1.0
 */

OVSTAGE_AVAILABLE_IN_1_0
GType ovstage_path_list_get_type (void);

OVSTAGE_AVAILABLE_IN_1_0
OvstagePathList *ovstage_path_list_ref (OvstagePathList *self);
OVSTAGE_AVAILABLE_IN_1_0
void ovstage_path_list_unref (OvstagePathList *self);

OVSTAGE_AVAILABLE_IN_1_0
gsize ovstage_path_list_get_length (OvstagePathList *self);
OVSTAGE_AVAILABLE_IN_1_0
OvstagePath ovstage_path_list_get_path (OvstagePathList *self, gsize i);
OVSTAGE_AVAILABLE_IN_1_0
char *ovstage_path_list_dup_path_string (OvstagePathList *self, gsize i);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstagePathList, ovstage_path_list_unref)

G_END_DECLS
