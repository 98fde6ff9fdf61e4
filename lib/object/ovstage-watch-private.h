/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#include <ovstage/ovstage-watch.h>

#include "op/ovs-stage.h"

/* NULL with an error; @user_data is the caller's then. */
OvstageWatch *_ovstage_watch_new (OvsStage *stage, OvsOp *query, const OvstageToken *attributes, gsize n_attributes,
                                  OvstageWatchFunc callback, gpointer user_data, GDestroyNotify destroy, GError **error);
