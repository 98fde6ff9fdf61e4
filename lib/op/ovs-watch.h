/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Who follows the changes of attributes on the prims of a query. It remembers up to
 * where it told, attribute by attribute since they may be sealed apart, and keeps the
 * records of what came after: whoever is slow reads all of it at once. */

#pragma once

#include "op/ovs-op-private.h"

typedef struct _OvsWatch OvsWatch;

/* An advance sealed up to somewhere in a watched attribute: there may be changes. Or the stage was closed. No lock held;
 * any thread. */
typedef void (*OvsWatchFunc) (gpointer user_data);

/* Of what is sealed from now on. @destroy: with the last reference. NULL with an error; @user_data is the caller's then. */
OvsWatch *ovs_watch_new (OvsStage *stage, OvsOp *query, const guint64 *attributes, gsize n_attributes, OvsWatchFunc due,
                         gpointer user_data, GDestroyNotify destroy, GError **error);
OvsWatch *ovs_watch_ref (OvsWatch *watch);
void ovs_watch_unref (OvsWatch *watch);
/* Is told nothing more. Idempotent. */
void ovs_watch_end (OvsWatch *watch);
/* Whether there may be more to come: FALSE once the stage is closed. */
gboolean ovs_watch_is_open (OvsWatch *watch);
/* Up to where everything was told. */
guint64 ovs_watch_get_cursor (OvsWatch *watch);
/* A read of all changes that were not told; one at a time. */
OvsOp *ovs_watch_read (OvsWatch *watch);
/* Its groups, perhaps none, once it is done; they count as told then. NULL: it failed. */
GPtrArray *ovs_watch_take (OvsWatch *watch, OvsOp *read);

/* After an advance, no lock held. */
void ovs_watches_tell (OvsStage *stage, const OvsAdvance *advance);
/* After the stage was closed, no lock held. */
void ovs_watches_tell_closed (OvsStage *stage);
