/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* One predicate of a filter on the values of one schema.
 *
 * A comparison of numbers becomes one of the type that the column holds: the values
 * it accepts are intervals of that type, found exactly when the matcher is made. So
 * the pass over a column is a loop without conversions. Texts behind ids are looked
 * at once for each id. */

#pragma once

#include "column/ovs-version.h"
#include "path/ovs-path-dict.h"
#include "query/ovs-filter.h"

typedef struct _OvsMatcher OvsMatcher;

/* NOT_SUPPORTED for an operator that does not fit the schema, INVALID_ARGUMENT for a text against a number. @predicate is
 * lent; it is not HAS. @name: of the attribute, for messages. */
OvsMatcher *ovs_matcher_new (OvsPathDict *dict, const OvstageFilter *predicate, const OvsSchema *schema, const char *name,
                             GError **error);
void ovs_matcher_free (OvsMatcher *matcher);

/* Sets the bits of the rows of a version that match, whether they live or not. @rows: at least n_rows bits, clear. */
void ovs_matcher_run (OvsMatcher *matcher, const OvsVersion *version, OvsBits *rows);
/* The same for one path as a value. */
gboolean ovs_matcher_test_path (OvsMatcher *matcher, guint32 path);
