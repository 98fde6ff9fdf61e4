/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The floors of all attributes, known or not: a default, and a floor of its own
 * for each attribute that a scoped advance named (ENGINE rule 14). A stage keeps
 * two of these: what advances have been submitted for, and what they published. */

#pragma once

#include <ovstage/ovstage-enums.h>

#include <glib.h>

typedef struct
{
  guint64 shared;  /* of every attribute without a floor of its own */
  GHashTable *own; /* (owned) (nullable) token -> floor; NULL while there are none */
} OvsFloors;

void ovs_floors_init (OvsFloors *floors);
void ovs_floors_clear (OvsFloors *floors);
void ovs_floors_copy (OvsFloors *floors, const OvsFloors *from);

/* private: where some have floors of their own, or get them */
guint64 ovs_floors_get_own (const OvsFloors *floors, guint32 attribute);
guint64 ovs_floors_get_lowest (const OvsFloors *floors);
void ovs_floors_raise_scoped (OvsFloors *floors, OvstageScope scope, const guint32 *attributes, gsize n_attributes, guint64 ordinal);

static inline guint64
ovs_floors_get (const OvsFloors *floors, guint32 attribute)
{
  return G_LIKELY (floors->own == NULL) ? floors->shared : ovs_floors_get_own (floors, attribute);
}

/* The lowest of all: never falls. */
static inline guint64
ovs_floors_get_global (const OvsFloors *floors)
{
  return G_LIKELY (floors->own == NULL) ? floors->shared : ovs_floors_get_lowest (floors);
}

/* Here and below, @attributes ascend; one may stand there twice. */
static inline void
ovs_floors_raise (OvsFloors *floors, OvstageScope scope, const guint32 *attributes, gsize n_attributes, guint64 ordinal)
{
  /* The usual advance, in a stage that knows no other. */
  if (G_LIKELY (scope == OVSTAGE_SCOPE_ALL && floors->own == NULL))
    floors->shared = MAX (floors->shared, ordinal);
  else
    ovs_floors_raise_scoped (floors, scope, attributes, n_attributes, ordinal);
}

/* Whether an advance of this scope moves @attribute, or attributes at large. */
gboolean ovs_scope_covers (OvstageScope scope, const guint32 *attributes, gsize n_attributes, guint32 attribute);
