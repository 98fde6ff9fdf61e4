/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The instances of the process, and what each has open.
 *
 * What goes out as `ovstage_instance_t *` is no address but the number of a place in
 * a table that is never freed, with a serial number of who has the place. So any
 * value can be looked at, and one of an instance that was destroyed finds nothing.
 * The path dictionary's pointer is the same number with another mark.
 *
 * Whoever calls in enters the instance for the length of the call. Destroying lets
 * nobody in any more, and the last to leave frees it. */

#pragma once

#include <ovstage/ovstage_api/ovstage_api.h>

#include "base/ovs-sync.h"
#include "capi/ovs-handles.h"
#include "capi/ovs-records.h"
#include "capi/ovs-thread.h"
#include "op/ovs-stage.h"

/* A list that has a handle: of the caller, and of what was given out that names it. */
typedef struct
{
  guint64 handle;
  OvstagePathList *list; /* (owned) */
  guint n_callers;
  guint n_inner;
} OvsListHandle;

typedef struct
{
  char *name; /* (owned) (nullable) */
  ovstage_instance_t *pointer;
  OvsStage *stage;     /* (owned) */
  OvsRecords *records; /* (owned) */

  OvsMutex lock; /* a leaf; protects what follows, and what the objects of handles count */
  OvsHandles handles;
  GHashTable *lists; /* OvstagePathList -> OvsListHandle, which the handles own */
} OvsInstance;

/* NULL: no memory or no place. */
ovstage_instance_t *ovs_instance_new (const char *name, GError **error);
/* FALSE: it is none, or somebody else destroys it. */
gboolean ovs_instance_destroy (ovstage_instance_t *pointer);

/* NULL, with the thread's error, for what is no instance. */
OvsInstance *ovs_instance_enter (const ovstage_instance_t *pointer);
/* INVALID_HANDLE, and the thread's error says so. */
OvstageError ovs_instance_fail (const ovstage_instance_t *pointer);
OvsInstance *ovs_instance_enter_dictionary (const path_dictionary_instance_t *pointer);
void ovs_instance_leave (OvsInstance *instance);
path_dictionary_instance_t *ovs_instance_get_dictionary (OvsInstance *instance);

/* Handles of counted operations: queries, reads, ordinal queries. @op: a new reference, or NULL. */
guint64 ovs_instance_add_op (OvsInstance *instance, OvsHandleKind kind, OvsOp *op);
OvsOp *ovs_instance_ref_op (OvsInstance *instance, OvsHandleKind kind, guint64 handle);
OvsOp *ovs_instance_steal_op (OvsInstance *instance, OvsHandleKind kind, guint64 handle);

/* The handle of a list, made if it has none; for the caller, or for what is given out. */
guint64 ovs_instance_add_list (OvsInstance *instance, OvstagePathList *list, gboolean inner);
/* FALSE: unknown, or the caller has no reference. */
gboolean ovs_instance_ref_list_handle (OvsInstance *instance, guint64 handle);
gboolean ovs_instance_unref_list_handle (OvsInstance *instance, guint64 handle, gboolean inner);
/* A new reference, or NULL. */
OvstagePathList *ovs_instance_ref_list (OvsInstance *instance, guint64 handle);

/* The results of functions. An operation is taken. */
ovstage_enqueue_result_t ovs_instance_finish (OvsInstance *instance, OvsOp *op);
ovstage_enqueue_result_t ovs_enqueue_fail (GError *error);
/* Lets go of the handle of an operation. What uses it holds the operation. */
ovstage_enqueue_result_t ovs_release_handle (ovstage_instance_t *pointer, OvsHandleKind kind, guint64 handle, const char *what);
/* For what the face itself does not like about a request: the core refuses it. */
ovstage_enqueue_result_t ovs_enqueue_fail_with (OvstageError code, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Waits for what a fetch needs. With TIMEOUT or the operation's own error, that is the thread's. */
OvstageError ovs_instance_wait (OvsInstance *instance, OvsOp *op, guint64 timeout);
/* The token of a name, interned where it is new. 0 for an empty one. */
gboolean ovs_instance_resolve (OvsInstance *instance, ovx_string_or_token_t name, guint64 *token, GError **error);
gboolean ovs_check_string (ovx_string_t string, GError **error);
/* That @n entries can be there. What asks for room for as many may still not get it. */
gboolean ovs_check_array (gconstpointer array, gsize n, const char *name, GError **error);
gboolean ovs_check_room (gconstpointer made, gsize n, GError **error);
