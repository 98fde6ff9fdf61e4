/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What the flat API costs: write three floats, seal and read them, next to the same
 * through the core, which has its payload ready. */

#include "config.h"

#define BENCH_WARM_CALLS 8

#include "bench-column.h"

#include "op/ovs-read-group.h"
#include "op/ovs-stage.h"

#define N 3

typedef struct
{
  guint64 ordinal;
  float values[N];
  int64_t shape;

  ovstage_instance_t *stage;
  ovstage_query_handle_t query;
  ovx_token_t token;

  OvsStage *core;  /* (owned) */
  OvsOp *core_query; /* (owned) */
  guint64 core_token;
  OvstageWriteData *core_data; /* (owned) */
} Flat;

static ovstage_op_id_t
check (ovstage_enqueue_result_t result)
{
  if (result.status != OVSTAGE_OK)
    g_error ("refused: %s", ovstage_get_last_error ().ptr);
  return result.op_index;
}

static void
end (Flat *flat, ovstage_op_id_t op)
{
  if (ovstage_wait_op (flat->stage, op, OVSTAGE_TIMEOUT_INFINITE, NULL) != OVSTAGE_OK ||
      ovstage_release_op (flat->stage, op) != OVSTAGE_OK)
    g_error ("an operation of the flat API failed");
}

static void
run_frame (Flat *flat, gboolean observe)
{
  const guint64 ordinal = ++flat->ordinal;
  DLTensor tensor = {
    .data = flat->values, .device = { kDLCPU, 0 }, .ndim = 1, .dtype = { kDLFloat, 32, 1 }, .shape = &flat->shape,
  };
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1 };
  ovstage_write_floor_desc_t floor = { .ordinal = ordinal, .scope = OVSTAGE_SCOPE_ALL };
  ovstage_ordinal_range_t range = { .end_ordinal = ordinal };
  ovx_string_or_token_t name = { .token = flat->token };
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  ovstage_op_id_t ops[4];

  ops[0] = check (ovstage_write_attribute (flat->stage, flat->query, name, ordinal, data, OVSTAGE_PRIM_MODE_UPSERT));
  ops[1] = check (ovstage_advance_write_floor (flat->stage, &floor));
  ops[2] = check (ovstage_read_attributes (flat->stage, flat->query, &flat->token, 1, range, &read));
  if (ovstage_fetch_read_next (flat->stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) != OVSTAGE_OK)
    g_error ("the flat API reads nothing");
  BENCH_KEEP (group.data.tensors[0].data);
  ovstage_release_group (flat->stage, &group);
  ops[3] = check (ovstage_release_read (flat->stage, read));
  for (guint i = 0; observe && i < G_N_ELEMENTS (ops); i++)
    end (flat, ops[i]);
}

static void
run_flat (gpointer data)
{
  run_frame (data, FALSE);
}

static void
run_observed (gpointer data)
{
  run_frame (data, TRUE);
}

static void
end_op (OvsOp *op)
{
  ovs_op_wait (op, -1, NULL);
  if (ovs_op_get_error (op) != NULL)
    g_error ("an operation of the core failed: %s", ovs_op_get_error (op)->message);
  ovs_op_unref (op);
}

static void
run_core (gpointer data)
{
  Flat *flat = data;
  const guint64 ordinal = ++flat->ordinal;
  const OvstageOrdinalRange range = { .end_ordinal = ordinal };
  OvsOp *write, *seal, *read;
  OvstageReadGroup *group;
  OvstageTensor *tensor;

  write = ovs_stage_write (flat->core, flat->core_query, flat->core_token, ordinal, flat->core_data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
  seal = ovs_stage_advance (flat->core, ordinal, OVSTAGE_SCOPE_ALL, NULL, 0);
  read = ovs_stage_read (flat->core, flat->core_query, &flat->core_token, 1, &range, NULL);
  ovs_op_wait (read, -1, NULL);
  if (!ovs_read_next (read, &group, NULL) || group == NULL)
    g_error ("the core reads nothing");
  tensor = ovs_read_group_ref_tensor (group, 0);
  BENCH_KEEP (tensor->data);
  ovs_tensor_unref (tensor);
  ovs_read_group_unref (group);
  end_op (read);
  end_op (seal);
  end_op (write);
}

static void
open_flat (Flat *flat)
{
  const ovx_string_t names[N] = { { "/World/A", 8 }, { "/World/B", 8 }, { "/World/C", 8 } };
  const ovx_string_t name = { "temperature", 11 };
  path_dictionary_instance_t *dictionary;
  ovx_primpath_list_t list;

  ovstage_create_instance (NULL, &flat->stage);
  dictionary = ovstage_get_path_dictionary (flat->stage);
  path_dictionary_create_tokens_from_strings (dictionary, &name, 1, &flat->token);
  path_dictionary_create_path_list_from_strings (dictionary, names, N, &list);
  ovstage_query_from_path_list (flat->stage, list, &flat->query);
  path_dictionary_release_path_list_reference (dictionary, list);
}

static void
open_core (Flat *flat)
{
  const OvsStageConfig config = { .history_depth = 1, .queue_capacity = 4096 };
  const char *const names[N] = { "/World/A", "/World/B", "/World/C" };
  const gint64 shape = N;
  OvstageTensor *tensor;
  OvstagePathList *list;
  OvsPathDict *dict;

  flat->core = ovs_stage_new (&config);
  dict = ovs_stage_get_dict (flat->core);
  flat->core_token = ovs_path_dict_intern_token (dict, "temperature", -1, NULL);
  list = ovs_path_list_new_for_strings (dict, names, N, NULL);
  flat->core_query = ovs_stage_query_list (flat->core, list);
  tensor = ovs_tensor_new (OVSTAGE_DATA_TYPE_FLOAT32, OVS_DEVICE_CPU, 0, 1, &shape, NULL, flat->values, 0, NULL, NULL);
  flat->core_data = ovs_payload_new (tensor);
  ovs_tensor_unref (tensor);
  ovs_path_list_unref (list);
}

int
main (void)
{
  Flat flat = { .values = { 1, 2, 3 }, .shape = N };

  bench_noise ();
  open_flat (&flat);
  open_core (&flat);
  bench_ratio ("write, seal, read 3 floats, flat API / core", 60, run_flat, run_core, &flat);
  bench_ratio ("the same with every operation waited for and released / core", 60, run_observed, run_core, &flat);
  ovstage_release_query (flat.stage, flat.query);
  ovstage_destroy_instance (flat.stage);
  ovs_payload_unref (flat.core_data);
  ovs_op_unref (flat.core_query);
  ovs_stage_close (flat.core);
  ovs_stage_unref (flat.core);
  return 0;
}
