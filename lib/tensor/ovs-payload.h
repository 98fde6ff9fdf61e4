/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What a write brings: tensors with an optional index map or mask, and the rules
 * that turn them into rows. Checks follow the order of BEHAVIOUR "Status codes":
 * ovs_payload_check_form() is the tier "payload form", ovs_payload_resolve() the
 * tier "rows". Nothing here knows prims, floors or columns. */

#pragma once

#include "base/ovs-pool.h"
#include "tensor/ovs-rows.h"

typedef enum
{
  OVS_PAYLOAD_FIXED,
  OVS_PAYLOAD_ROWS,   /* array attribute, one tensor per row */
  OVS_PAYLOAD_PACKED, /* array attribute, rows of equal length in one tensor */
  OVS_PAYLOAD_RAGGED, /* array attribute, rows of any length in one tensor */
} OvsPayloadKind;

/* Where the elements of a row of its own are. */
typedef struct
{
  guint8 *data; /* lent by the tensor */
  gsize size;
} OvsRowSource;

typedef struct
{
  gsize n_bytes; /* of all */
  OvsRowSource rows[];
} OvsRowSources;

struct _OvstageWriteData
{
  gint refs; /* (atomic) */
  OvsPayloadKind kind;
  gboolean take;         /* the memory was handed over: it may become the store's */
  OvstageTensor *tensor; /* (owned) (nullable) NULL for one tensor per row */
  OvsBuffer *buffer;     /* (owned) (nullable) memory of the store that the tensor, compact and without map or mask, begins */
  OvstageTensor **tensors; /* (owned) (nullable) those of the rows */
  guint64 *offsets;      /* (owned) (nullable) of ragged rows, in elements of the tensor: n_rows + 1 */
  gsize n_rows;          /* of tensors or offsets */
  OvsRowSources *sources; /* (atomic) (owned) (nullable) of tensors that passed the form check and are compact */
  guint32 count;         /* 0: every prim of the query */
  guint32 *index_map;    /* (owned) (nullable) g_atomic_rc_box */
  gsize n_index_map;
  guint64 *mask;         /* (owned) (nullable) g_atomic_rc_box */
  gsize n_mask_words;
  OvstageSemantic semantic;
  guint64 sync_stream;
  guint64 sync_event;
  GError *fault;         /* (owned) (nullable) why it is none */
};

OvstageWriteData *ovs_payload_new (OvstageTensor *tensor);
/* The memory is handed over: whoever made it writes to it no more. */
OvstageWriteData *ovs_payload_new_take (OvstageTensor *tensor);
/* The memory is the store's: what was a map. */
OvstageWriteData *ovs_payload_new_buffer (OvstageTensor *tensor, OvsBuffer *buffer);
/* The same rows, map and mask, whatever is set on @payload later. */
OvstageWriteData *ovs_payload_dup (OvstageWriteData *payload);
/* Rows of an array attribute: one tensor each; of equal length in one tensor; or row i the elements from @offsets[i] to
 * @offsets[i + 1] of a tensor. @n: rows. Tensors are referenced, offsets copied. @take: the memory is handed over. */
OvstageWriteData *ovs_payload_new_rows (OvstageTensor *const *tensors, gsize n, gboolean take);
OvstageWriteData *ovs_payload_new_packed (OvstageTensor *tensor, gboolean take);
OvstageWriteData *ovs_payload_new_ragged (OvstageTensor *values, const guint64 *offsets, gsize n, gboolean take);
/* Texts: ragged rows of bytes, with the semantic STRING. */
OvstageWriteData *ovs_payload_new_strings (const char *const *strings);
/* What a face could not make a payload of: the form check fails with @error, which is taken. */
OvstageWriteData *ovs_payload_new_refused (GError *error);
OvstageWriteData *ovs_payload_ref (OvstageWriteData *payload);
void ovs_payload_unref (OvstageWriteData *payload);
/* NULL clears; an empty map is kept, and refused by the form check. The same for masks. */
void ovs_payload_set_index_map (OvstageWriteData *payload, const guint32 *map, gsize n);
void ovs_payload_set_mask (OvstageWriteData *payload, const guint64 *words, gsize n);

static inline gboolean
ovs_payload_is_array (const OvstageWriteData *payload)
{
  return payload->kind != OVS_PAYLOAD_FIXED;
}

static inline gsize
ovs_payload_n_tensors (const OvstageWriteData *payload)
{
  return payload->kind == OVS_PAYLOAD_ROWS ? payload->n_rows : payload->tensor != NULL;
}

static inline OvstageTensor *
ovs_payload_get_tensor (const OvstageWriteData *payload, gsize i)
{
  return payload->kind == OVS_PAYLOAD_ROWS ? payload->tensors[i] : payload->tensor;
}

/* W2, W11, W24, W25, W26 in that order, then that all tensors are of one data type and device. Devices (W27, W32) are looked up by the caller right after. */
gboolean ovs_payload_check_form (const OvstageWriteData *payload, GError **error);
/* W3 to W6, W10, W12, W16, W31 in that order, for a query of @n_prims. The payload passed the form check. What an array
 * payload is resolved to needs ovs_rows_place() before anything is copied. */
gboolean ovs_payload_resolve (const OvstageWriteData *payload, gsize n_prims, OvsRows *rows, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (OvstageWriteData, ovs_payload_unref)
