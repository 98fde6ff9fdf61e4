/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Recycled, aligned memory for values.
 *
 * A fresh page costs several times the copy into it, so a frame loop must get
 * back the buffers it let go of. Sizes come in four classes per power of two.
 * Small buffers share slabs; large ones are mappings of their own, aligned for
 * huge pages. Every buffer holds a reference to its pool, so buffers outlive
 * the stage that made them. The pool's lock is a leaf. */

#pragma once

#include <glib.h>

#include "base/ovs-fence.h"

typedef struct _OvsPool OvsPool;
typedef struct _OvsBuffer OvsBuffer;

#define OVS_BUFFER_ALIGNMENT 256

typedef enum
{
  OVS_BUFFER_POOL,    /* memory of the pool: may be written in place, recycled at the end */
  OVS_BUFFER_ADOPTED, /* somebody else's memory: never written by us, destroyed at the end */
  OVS_BUFFER_MAP,     /* memory of the pool that users wrote to: written in place only while nobody else holds it */
} OvsBufferOrigin;

struct _OvsBuffer
{
  gint refs; /* (atomic) */
  OvsBufferOrigin origin;
  guint8 *data;
  gsize size;      /* as asked for */
  gsize capacity;  /* of the size class */
  OvsFence *ready; /* (owned) (nullable) last write of the bytes; NULL: they are there */
  OvsPool *pool;   /* (owned) (nullable) */
  GDestroyNotify destroy; /* of an adopted buffer */
  gpointer owner;
  guint64 checksum; /* of an adopted buffer, to see that nobody writes to it; 0: not taken */
  guint size_class; /* private to the pool, as is what follows */
  gboolean own_mapping;
  gpointer link;
};

typedef struct
{
  gsize live;      /* bytes handed out, in size classes */
  gsize free;      /* bytes kept for reuse */
  gsize n_live;
  gsize n_mapped;  /* mappings and slabs made since the pool was */
} OvsPoolStats;

OvsPool *ovs_pool_new (void);
OvsPool *ovs_pool_ref (OvsPool *pool);
void ovs_pool_unref (OvsPool *pool);

/* NULL when memory is used up. Size 0 gives a buffer with valid, aligned data. */
OvsBuffer *ovs_pool_alloc (OvsPool *pool, gsize size);
/* The same for memory whose address users get, who may use it for longer than they should: origin MAP, and used again as late
 * as can be. With OVS_DEBUG_POISON it is a mapping of its own, which comes to nobody else. */
OvsBuffer *ovs_pool_alloc_map (OvsPool *pool, gsize size);
/* Nobody writes to a buffer of origin MAP any more. With OVS_DEBUG_POISON a write is a fault from now on. */
void ovs_buffer_protect (OvsBuffer *buffer);
/* What a buffer of origin MAP holds is not wanted. With OVS_DEBUG_POISON it can be seen no more. */
void ovs_buffer_abandon (OvsBuffer *buffer);
/* A frame ended: lets go of free buffers above the high-water mark of the last 64 frames. */
void ovs_pool_mark_frame (OvsPool *pool);
/* Gives every free mapping back to the system. */
void ovs_pool_trim (OvsPool *pool);
void ovs_pool_get_stats (OvsPool *pool, OvsPoolStats *stats);
/* For tests: n more allocations succeed and the one after them fails, once. Below 0: none fails. */
void ovs_pool_fail_after (OvsPool *pool, gint n);

OvsBuffer *ovs_buffer_new_adopted (gpointer data, gsize size, GDestroyNotify destroy, gpointer owner);

static inline OvsBuffer *
ovs_buffer_ref (OvsBuffer *buffer)
{
  g_atomic_int_inc (&buffer->refs);
  return buffer;
}

void ovs_buffer_unref (OvsBuffer *buffer);

/* A few small buffers at hand, for whoever has a lock of its own: one that was let go of and is wanted again a moment later then needs not
 * that of the pool. They count as handed out. */
typedef struct
{
  OvsBuffer *buffers[8]; /* (owned) (nullable) each */
} OvsSpares;

/* As ovs_pool_alloc() and ovs_buffer_unref(). */
OvsBuffer *ovs_spares_alloc (OvsSpares *spares, OvsPool *pool, gsize size);
void ovs_spares_unref (OvsSpares *spares, OvsBuffer *buffer);
void ovs_spares_clear (OvsSpares *spares);

/* Between these two, which nest, the thread holds a lock that deleters must not meet: adopted buffers that it drops are
 * destroyed by the last ovs_buffers_let_go(). */
#define OVS_THREAD_LOCAL __thread __attribute__ ((tls_model ("initial-exec"), visibility ("hidden")))
extern OVS_THREAD_LOCAL gint ovs_buffers_n_holds;   /* private */
extern OVS_THREAD_LOCAL OvsBuffer *ovs_buffers_held; /* private */
void ovs_buffers_destroy_held (void);               /* private */

static inline void
ovs_buffers_hold_back (void)
{
  ovs_buffers_n_holds++;
}

static inline void
ovs_buffers_let_go (void)
{
  if (--ovs_buffers_n_holds == 0 && G_UNLIKELY (ovs_buffers_held != NULL))
    ovs_buffers_destroy_held ();
}

/* Memory of the store that it may write to, if nobody else holds the buffer. */
static inline gboolean
ovs_buffer_is_writable (const OvsBuffer *buffer)
{
  return buffer->origin == OVS_BUFFER_POOL || (buffer->origin == OVS_BUFFER_MAP && !buffer->own_mapping);
}

/* No reader anywhere: only the caller's reference is left, and no fence is open. */
gboolean ovs_buffer_is_exclusive (OvsBuffer *buffer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsPool, ovs_pool_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvsBuffer, ovs_buffer_unref)
