/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#include <ovstage/ovstage-path-dictionary.h>

#include "path/ovs-path-dict.h"

/* Only a stage makes one; it takes a reference of its own to @dict. */
OvstagePathDictionary *_ovstage_path_dictionary_new (OvsPathDict *dict);
/* Lent. */
OvsPathDict *_ovstage_path_dictionary_get_core (OvstagePathDictionary *self);
