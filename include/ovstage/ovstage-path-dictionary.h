/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib-object.h>

#include <ovstage/ovstage-path-list.h>
#include <ovstage/ovstage-types.h>
#include <ovstage/ovstage-version-macros.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_PATH_DICTIONARY (ovstage_path_dictionary_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (OvstagePathDictionary, ovstage_path_dictionary, OVSTAGE, PATH_DICTIONARY, GObject)

OVSTAGE_AVAILABLE_IN_1_0
OvstageToken ovstage_path_dictionary_intern_token (OvstagePathDictionary *self, const char *text, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
const char *ovstage_path_dictionary_get_token_string (OvstagePathDictionary *self, OvstageToken token);

OVSTAGE_AVAILABLE_IN_1_0
OvstagePath ovstage_path_dictionary_intern_path (OvstagePathDictionary *self, const char *path, GError **error);
OVSTAGE_AVAILABLE_IN_1_0
char *ovstage_path_dictionary_dup_path_string (OvstagePathDictionary *self, OvstagePath path);

OVSTAGE_AVAILABLE_IN_1_0
OvstagePathList *ovstage_path_dictionary_create_path_list (OvstagePathDictionary *self,
                                                           const char *const *paths,
                                                           GError **error);
OVSTAGE_AVAILABLE_IN_1_0
OvstagePathList *ovstage_path_dictionary_create_path_list_from_paths (OvstagePathDictionary *self,
                                                                      const OvstagePath *paths,
                                                                      gsize n_paths,
                                                                      GError **error);

G_END_DECLS
