/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* How the operations of a stage work together.
 *
 * One lock, the stage's, is the sequencer: whoever holds it books an operation, so
 * the order of bookings is the order of submission. Booking resolves, checks,
 * allocates and enters; after it, nothing on the CPU can fail. Few bytes are moved
 * within it; more of them outside, by the caller or the stage's threads, and the
 * operation is on the pending list until they are there. Versions, floors and
 * frontiers change only under the lock, so what a read takes in one hold of it is
 * one state, and reads need no other lock.
 *
 * Where the targets of an operation are not known yet, its booking waits, and with it
 * the booking of later ones that can see it: see OvsBlocked.
 *
 * Dependencies. An advance waits for pending writes at or below its ordinal in its
 * scope, and for pending advances and reads that touch its attributes. A read waits
 * for pending advances of its attributes, and so does a question for a floor. What
 * looks at staged values (a filter, a clone, a map that is filled) waits for the
 * pending writes and the advance that make them; what a map commits, for the map.
 * They name operations submitted before only, so there is no circle. While an advance
 * folds outside the lock it is pending, so nobody else folds its attributes or takes
 * their versions.
 *
 * Nothing waits in a worker: what becomes ready is run by whoever made it ready.
 *
 * Lock order, outer to inner: stage lock; then, each a leaf: wait lock, lock of a
 * binding, fence, pool, workers, dictionary and its lists. No callback, deleter or
 * signal under any. */

#pragma once

#include "base/ovs-pool.h"
#include "base/ovs-sync.h"
#include "base/ovs-worker.h"
#include "column/ovs-fold.h"
#include "column/ovs-peek.h"
#include "op/ovs-builtin.h"
#include "op/ovs-stage.h"
#include "order/ovs-write-floor.h"
#include "query/ovs-binding.h"

/* Up to this many bytes are moved while the stage lock is held, */
#define OVS_LOCKED_LIMIT (64 * 1024)
/* up to this many, if the configuration says nothing else, by the calling thread, and more by the stage's threads: waking
 * them costs more than it saves below that. */
#define OVS_CALLER_LIMIT (3 * 1024 * 1024)
#define OVS_BINDING_BUDGET (256 * 1024 * 1024)
#define OVS_N_RESERVED 6
#define OVS_N_READ_ONLY 4 /* of the reserved names, the first */

/* What the bookkeeping of an operation changes and looks at. */
typedef struct
{
  gboolean changes; /* it writes or deletes, at */
  guint64 ordinal;
  const guint32 *attributes; /* lent by the operation: of these, */
  gsize n_attributes;
  gboolean whole;   /* or of all there are */
  gboolean asks;    /* which prims exist, as of */
  guint64 asks_at;  /* OVSTAGE_ORDINAL_NEWEST: all that was submitted */
} OvsFootprint;

/* Does the bookkeeping of a blocked operation. No lock held; it takes the stage's, in one hold of which it calls
 * ovs_op_check_blocked(), books, and calls ovs_op_unblock(). */
typedef void (*OvsOpBookFunc) (OvsOp *op, GQueue *ready);

/* The bookkeeping of an operation is still to be done. */
typedef struct
{
  OvsFootprint footprint;
  OvsOp *query;      /* (owned) (nullable) where its targets come from */
  OvsFloors closing; /* as it was submitted: decides what is accepted */
  OvsOpBookFunc book;
  gpointer data; /* (owned) the book function's */
  GDestroyNotify free_data;
} OvsBlocked;

struct _OvsOp
{
  gint refs; /* (atomic) */
  gint done; /* (atomic) */
  OvsOpKind kind;
  gboolean withdrawn; /* set before done */
  guint64 id;         /* also the submission number; 0: refused */
  OvsStage *stage;    /* (nullable) owned if holds_stage; NULL once it is done without that */
  gboolean holds_stage;
  guint32 size;       /* of the whole struct */
  GError *error;      /* (owned) (nullable) set before done */

  /* Protected by the stage lock. */
  gboolean pending;
  gboolean begun; /* can not be withdrawn, */
  gboolean booked; /* nor can this, though it still waits for bytes */
  guint n_deps;
  guint64 failed_dep;    /* id of one that failed or was withdrawn; 0: none */
  GList link;            /* in the pending list */
  GPtrArray *deps;       /* (owned) (nullable) OvsOp */
  GPtrArray *dependents; /* (owned) (nullable) OvsOp */
  OvsBlocked *blocked;   /* (owned) (nullable) while it is not booked; lent to the book function */
  GPtrArray *followers;  /* (owned) (nullable) OvsOp that wait for its bookkeeping */

  /* Protected by the wait lock. */
  GSList *watches; /* (owned) Watch */
};

/* What a filter query looks at. */
typedef struct _OvsSelection OvsSelection;

typedef struct
{
  OvsOp op;
  OvstagePathList *list; /* (owned) (nullable) NULL: not done, or failed */
  OvsBinding *binding;   /* protected by the stage lock (owned) (nullable) the last one used */
  guint32 *attributes;   /* (owned) (nullable) that a filter found on its prims, ascending */
  gsize n_attributes;
  OvsSelection *selection; /* (owned) (nullable) of a filter that is still to be evaluated */
} OvsQuery;

/* What is left to do of a clone that is booked. */
typedef struct _OvsClone OvsClone;

typedef struct
{
  OvsOp op;
  guint64 ordinal;
  struct _OvsTransfer *transfers; /* (owned) (nullable) of one that is booked */
  OvsClone *clone; /* (owned) (nullable) */
  gsize n_attributes;
  guint32 *attributes; /* in the room that follows, or (owned) of a clone, which learns them when it is booked */
  guint32 room[];
} OvsWrite;

typedef struct
{
  OvsOp op;
  guint64 ordinal;
  OvstageScope scope;
  gboolean wanted; /* somebody wants to hear of a risen floor */
  gboolean touched; /* it sealed columns */
  OvsFold *fold;   /* (owned) (nullable) */
  GPtrArray *dropped; /* (owned) (nullable) what it is to let go of at its end */
  guint n_slices;  /* of the fold, when the stage's threads run it */
  gint next_slice; /* (atomic) */
  gint remaining;  /* (atomic) slices that are not done */
  gsize n_attributes;
  guint32 attributes[];
} OvsAdvance;

typedef struct
{
  OvsOp op;
  OvsOrdinalKind what;
  guint32 attribute;
  guint64 value; /* set before done */
} OvsOrdinal;

struct _OvsStage
{
  gint refs; /* (atomic) */
  OvsStageConfig config;
  OvsPathDict *dict;   /* (owned) */
  OvsPool *pool;       /* (owned) */
  OvsSpares spares;    /* protected by lock, as is */
  guint n_seals;       /* how many until these are given back */
  OvsWorkers *workers; /* (owned) */
  guint32 reserved[OVS_N_RESERVED]; /* tokens of built-in attributes */

  OvsFloorWantedFunc floor_wanted;
  OvsFloorRisenFunc floor_risen;
  gpointer floor_data;
  GDestroyNotify floor_destroy;

  OvsMutex lock; /* the sequencer; protects what follows */
  gboolean closed;
  guint64 next_id;
  OvsFloors closing; /* of the advances submitted: decide what is accepted */
  OvsFloors sealed;  /* of the advances published: decide what is read */
  GPtrArray *attrs;  /* (nullable) OvsAttr by token */
  GPtrArray *known;  /* (owned) those that are there, tokens ascending: names of prims are tokens too, so that there may be far fewer */
  GPtrArray *dirty;  /* OvsAttr with staged work */
  OvsFold *spare_fold; /* (owned) (nullable) of an advance that is over */
  guint32 *live;     /* (owned) by path id: attributes that live on it, at the head */
  gsize n_live;
  struct _OvsChildren *children; /* (owned) (nullable) of the prims that exist, once somebody asked */
  guint64 n_existence_changes; /* how often a prim came into being or ceased to be */
  OvsDeletes *prim_deletes; /* (owned) above the lowest sealed floor */
  GArray *structure_log; /* (owned) OvsStructureChange above the lowest sealed floor: empty while all are sealed together */
  GHashTable *layouts; /* (owned) path list -> (owned) OvsLayout that begins with it */
  guint layouts_swept;
  OvsBindingTable *bindings; /* (owned) */
  gsize staged_bytes;
  gssize mapped_bytes; /* (atomic) of maps that are open: they count like staged ones */
  GQueue pending; /* OvsOp, ids ascending */
  guint n_blocked; /* among them */
  GPtrArray *change_holds;  /* (owned) OvsChangeHold */
  GPtrArray *watches;       /* (owned) OvsWatch, each lent until it ends */
  guint64 emission_due;     /* 0: none */
  guint64 emission_running; /* 0: none */
  guint64 n_columns_sealed; /* for tests: columns that seals touched, */
  guint64 n_bytes_folded;   /* and bytes that they moved */

  OvsMutex wait_lock;
  OvsCond wait_cond;
  guint n_waiters;
};

/* What was handed over and is dropped under the stage lock is let go of after it: deleters may call in. */
static inline void
ovs_stage_lock (OvsStage *stage)
{
  ovs_mutex_lock (&stage->lock);
  ovs_buffers_hold_back ();
}

static inline void
ovs_stage_unlock (OvsStage *stage)
{
  ovs_mutex_unlock (&stage->lock);
  ovs_buffers_let_go ();
}

/* @size: of the whole struct. The operation is not done and has no id. A query or a map holds the stage; another one does from when it
 * is pending: most are done before the call that submits them returns, and the caller holds the stage that long. */
gpointer ovs_op_new (OvsStage *stage, OvsOpKind kind, gsize size);
/* Each attribute once, in the order of the first. Gives how many; @tokens has room for @n. */
gsize ovs_list_tokens (const guint64 *attributes, gsize n, guint32 *tokens);
OvsWrite *ovs_write_new (OvsStage *stage, guint64 ordinal, gsize n_attributes);
/* Ends an operation that nobody else knows yet. Takes @error. Gives @op. */
OvsOp *ovs_op_end_new (OvsOp *op, GError *error);
/* It is done, nobody else knew it meanwhile, and its stage may be gone by the time somebody asks. */
static inline void
ovs_op_leave_stage (OvsOp *op)
{
  if (!op->holds_stage)
    op->stage = NULL;
}

/* From now on it is done. Takes @error. Who waits is told by ovs_op_end(). */
void ovs_op_set_done (OvsOp *op, GError *error);
/* Wakes who waits and runs the watches of an operation that was set done. No lock held. */
void ovs_op_end (OvsOp *op);

/* Stage lock held for these. One that was blocked has its id. */
static inline void
ovs_op_book (OvsOp *op)
{
  if (op->id == 0)
    op->id = op->stage->next_id++;
}

/* The prims of a query are there. At any time. */
static inline gboolean
ovs_query_has_list (OvsOp *query)
{
  return ovs_op_is_done (query) && query->error == NULL;
}

/* Whether the bookkeeping has to wait. @query: (nullable) */
gboolean ovs_op_must_block (OvsOp *op, OvsOp *query, const OvsFootprint *footprint);
/* Makes it wait: it is pending then and can be withdrawn until it is booked. FALSE: refused. It may have nothing left to wait for, and
 * is then among @ready, for ovs_ops_run() without the lock. Takes @data, also when it is refused. */
gboolean ovs_op_block (OvsOp *op, OvsOp *query, const OvsFootprint *footprint, OvsOpBookFunc book, gpointer data, GDestroyNotify free_data,
                       GQueue *ready, GError **error);
/* Its query went well and the stage is open. */
gboolean ovs_op_check_blocked (OvsOp *op, GError **error);
/* It was booked, failed or was withdrawn: who waited for that goes on. For the caller to free without the lock, once the operation is done
 * or its bytes are on their way. */
OvsBlocked *ovs_op_unblock (OvsOp *op, GQueue *ready);
void ovs_blocked_free (OvsBlocked *blocked); /* (nullable) No lock held. */
/* Whether it changes something that an advance to @ordinal has to seal. */
gboolean ovs_blocked_meets_scope (const OvsBlocked *blocked, OvstageScope scope, const guint32 *attributes, gsize n_attributes,
                                  guint64 ordinal);

/* The floors that decide what is accepted. */
static inline const OvsFloors *
ovs_op_get_closing (const OvsOp *op)
{
  return op->blocked != NULL ? &op->blocked->closing : &op->stage->closing;
}

void ovs_op_set_pending (OvsOp *op);
/* Whatever ovs_peek_run() on the attribute has to wait for: the bytes of pending writes at or below @ordinal, and an advance
 * that folds now. */
void ovs_op_add_peek_deps (OvsOp *op, guint32 attribute, guint64 ordinal);
void ovs_op_add_dep (OvsOp *op, OvsOp *dep);
/* Undoes ovs_op_add_dep() for an operation that is refused after all. */
void ovs_op_drop_deps (OvsOp *op);
/* Takes it off the pending list and sets it done, in one: who no longer has to wait for it finds it done. What has now
 * nothing left to wait for begins, and is added to @ready. Takes @error. */
void ovs_op_unset_pending (OvsOp *op, GError *error, GQueue *ready);
GError *ovs_cancelled_error_new (void);
/* No lock held: runs what is ready, and what that makes ready. */
void ovs_ops_run_all (GQueue *ready);
static inline void
ovs_ops_run (GQueue *ready)
{
  if (G_UNLIKELY (ready->head != NULL))
    ovs_ops_run_all (ready);
}

/* Has a thread of the stage run an operation that has begun. */
void ovs_op_push (OvsOp *op);

/* No lock held. The operation has begun, and waits for nothing. */
void ovs_query_run (OvsOp *query, GQueue *ready);
void ovs_write_run (OvsWrite *write);
void ovs_clone_run (OvsWrite *write);
void ovs_advance_run (OvsAdvance *advance, GQueue *ready);
void ovs_map_run (OvsOp *map, GQueue *ready);
void ovs_ordinal_run (OvsOrdinal *ordinal, GQueue *ready);
/* The last reference goes. */
void ovs_query_clear (OvsQuery *query);
void ovs_advance_clear (OvsAdvance *advance);
void ovs_map_clear (OvsOp *map);

/* Lets go of what an unfinished filter holds, once nobody will evaluate it. */
void ovs_query_drop_selection (OvsOp *query);
gboolean ovs_advance_covers (const OvsAdvance *advance, guint32 attribute);
gboolean ovs_ordinal_meets (const OvsOrdinal *ordinal, const OvsAdvance *advance);

/* Stage lock held. */
void ovs_stage_recompute_closing (OvsStage *stage);
guint64 ovs_stage_find_oldest_preserved (OvsStage *stage);
static inline OvsAttr * /* (nullable) */
ovs_stage_get_attr (const OvsStage *stage, guint32 token)
{
  return token < stage->attrs->len ? stage->attrs->pdata[token] : NULL;
}

OvsAttr *ovs_stage_ensure_attr (OvsStage *stage, guint32 token);
OvsLayout *ovs_stage_ensure_layout (OvsStage *stage, OvstagePathList *list); /* lent */
void ovs_stage_set_dirty (OvsStage *stage, OvsAttr *attr);
/* As of @ordinal, which is above what advances were submitted for, or kept. */
OvsPeek *ovs_stage_peek (OvsStage *stage, OvsAttr *attr, guint64 ordinal, GError **error);
/* A new reference; NULL without memory. */
OvsBinding *ovs_stage_bind (OvsStage *stage, OvsQuery *query, OvsLayout *layout);
/* The rows that the query was bound to last, if they are of @layout: lent until it is bound again. */
static inline OvsBinding *
ovs_query_get_binding (const OvsQuery *query, const OvsLayout *layout)
{
  OvsBinding *binding = query->binding;

  return binding != NULL && binding->layout == layout && ovs_binding_is_fresh (binding) ? binding : NULL;
}

/* Refused: no memory for another operation in the queue. */
gboolean ovs_stage_check_queue (OvsStage *stage, GError **error);
gboolean ovs_stage_check_open (OvsStage *stage, GError **error);

/* Keeps the records of changes above @ordinal of some attributes (none: of all) from being forgotten, also beyond the budget,
 * until the hold is moved or dropped. What was forgotten before stays so. */
OvsChangeHold *ovs_stage_hold_changes (OvsStage *stage, const guint32 *attributes, gsize n_attributes, guint64 ordinal);
void ovs_stage_move_hold (OvsStage *stage, OvsChangeHold *hold, guint64 ordinal);
void ovs_stage_drop_hold (OvsStage *stage, OvsChangeHold *hold);

/* Handles and enums, with the fault that BEHAVIOUR gives each. */
gboolean ovs_stage_check_query (OvsStage *stage, OvsOp *query, GError **error);
gboolean ovs_stage_check_attribute (OvsStage *stage, guint64 attribute, GError **error);
/* W23 */
gboolean ovs_stage_check_writable (OvsStage *stage, guint32 attribute, GError **error);
gboolean ovs_check_prim_mode (OvstagePrimMode prim_mode, GError **error);
gboolean ovs_check_semantic (OvstageSemantic semantic, GError **error);
gboolean ovs_check_ordinal (guint64 ordinal, const char *what, GError **error);
/* A CPU has neither stream nor event. */
gboolean ovs_check_no_sync (guint64 stream, guint64 event, const char *what, GError **error);
gboolean ovs_check_placement (const OvstagePlacement *placement, GError **error);
/* The reserved names are the first tokens, one after another. */
static inline OvsBuiltinKind
ovs_stage_get_builtin (OvsStage *stage, guint32 token)
{
  guint32 i = token - stage->reserved[0];

  return i < OVS_N_READ_ONLY ? (OvsBuiltinKind) (i + 1) : OVS_BUILTIN_NONE;
}

/* The name of an attribute, for messages. */
const char *ovs_stage_name (OvsStage *stage, guint32 token);
