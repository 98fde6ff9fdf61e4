/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The numbers of a type that a predicate accepts, however many values it has. */

#pragma once

#include "query/ovs-filter.h"

typedef struct _OvsNumberSet OvsNumberSet;

/* Whether there are sets of its numbers. */
gboolean ovs_number_set_fits (OvstageDataType dtype);

/* @values: numbers, of which one has to hold with @op. */
OvsNumberSet *ovs_number_set_new (OvstageDataType dtype, gint op, const OvsValue *values, gsize n_values);
void ovs_number_set_free (OvsNumberSet *set);

/* Sets the bits of those of @n numbers that are in the set. @values: aligned. @words: as many as @n needs */
void ovs_number_set_run (const OvsNumberSet *set, const guint8 *values, guint32 n, guint64 *words);
/* In a set of uint64. */
gboolean ovs_number_set_has_id (const OvsNumberSet *set, guint64 id);
