/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <ovstage/ovstage-filter.h>
#include <ovstage/ovstage-map.h>
#include <ovstage/ovstage-operation.h>
#include <ovstage/ovstage-ordinal-range.h>
#include <ovstage/ovstage-path-dictionary.h>
#include <ovstage/ovstage-placement.h>
#include <ovstage/ovstage-query.h>
#include <ovstage/ovstage-read.h>
#include <ovstage/ovstage-watch.h>

G_BEGIN_DECLS

#define OVSTAGE_TYPE_STAGE (ovstage_stage_get_type ())

OVSTAGE_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (OvstageStage, ovstage_stage, OVSTAGE, STAGE, GObject)

OVSTAGE_AVAILABLE_IN_1_0
OvstageStage *ovstage_stage_new (const char *name);

OVSTAGE_AVAILABLE_IN_1_0
OvstagePathDictionary *ovstage_stage_get_path_dictionary (OvstageStage *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_stage_get_write_floor (OvstageStage *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_stage_get_attribute_write_floor (OvstageStage *self, OvstageToken attribute);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_stage_get_oldest_preserved_ordinal (OvstageStage *self);
OVSTAGE_AVAILABLE_IN_1_0
guint64 ovstage_stage_get_value_frontier (OvstageStage *self);

OVSTAGE_AVAILABLE_IN_1_0
OvstageQuery *ovstage_stage_query_path_list (OvstageStage *self, OvstagePathList *list);
OVSTAGE_AVAILABLE_IN_1_0
OvstageQuery *ovstage_stage_query_filter (OvstageStage *self,
                                          OvstageFilter *filter,
                                          const OvstageToken *attributes,
                                          gsize n_attributes);

OVSTAGE_AVAILABLE_IN_1_0
OvstageOperation *ovstage_stage_write_attribute (OvstageStage *self,
                                                 OvstageQuery *query,
                                                 OvstageToken attribute,
                                                 guint64 ordinal,
                                                 OvstageWriteData *data,
                                                 OvstagePrimMode prim_mode,
                                                 const OvstagePlacement *placement);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOperation *ovstage_stage_delete_attributes (OvstageStage *self,
                                                   OvstageQuery *query,
                                                   const OvstageToken *attributes,
                                                   gsize n_attributes,
                                                   guint64 ordinal);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOperation *ovstage_stage_clone (OvstageStage *self,
                                       const char *source,
                                       const char *const *targets,
                                       guint64 ordinal);
OVSTAGE_AVAILABLE_IN_1_0
OvstageWatch *ovstage_stage_watch (OvstageStage *self,
                                   OvstageQuery *query,
                                   const OvstageToken *attributes,
                                   gsize n_attributes,
                                   OvstageWatchFunc callback,
                                   gpointer user_data,
                                   GDestroyNotify destroy,
                                   GError **error);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOperation *ovstage_stage_write_attributes (OvstageStage *self,
                                                  OvstageQuery *query,
                                                  const OvstageToken *attributes,
                                                  gsize n_attributes,
                                                  OvstageWriteData **datas,
                                                  gsize n_datas,
                                                  guint64 ordinal,
                                                  OvstagePrimMode prim_mode,
                                                  const OvstagePlacement *placement);
OVSTAGE_AVAILABLE_IN_1_0
OvstageOperation *ovstage_stage_advance_write_floor (OvstageStage *self,
                                                     guint64 ordinal,
                                                     OvstageScope scope,
                                                     const OvstageToken *attributes,
                                                     gsize n_attributes);
OVSTAGE_AVAILABLE_IN_1_0
OvstageMap *ovstage_stage_map_attribute (OvstageStage *self,
                                         OvstageQuery *query,
                                         OvstageToken attribute,
                                         const OvstageDataType *dtype,
                                         OvstageSemantic semantic,
                                         const gsize *element_counts,
                                         gsize n_element_counts,
                                         guint64 ordinal,
                                         OvstagePrimMode prim_mode,
                                         OvstageMapFlags flags,
                                         const OvstagePlacement *placement);
OVSTAGE_AVAILABLE_IN_1_0
OvstageRead *ovstage_stage_read_attributes (OvstageStage *self,
                                            OvstageQuery *query,
                                            const OvstageToken *attributes,
                                            gsize n_attributes,
                                            const OvstageOrdinalRange *range,
                                            const OvstagePlacement *placement);

OVSTAGE_AVAILABLE_IN_1_0
void ovstage_stage_trim (OvstageStage *self);

G_END_DECLS
