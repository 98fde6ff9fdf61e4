/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Write, seal and read.
 * Prints: read back ordinal 1: 1.0 2.0 3.0
 */

#include <ovstage/ovstage_api/ovstage_api.h>

#include <cstdio>
#include <cstdlib>

static void
check (ovstage_instance_t *stage, ovstage_api_status_t status, const char *what)
{
  if (status == OVSTAGE_OK)
    return;
  std::fprintf (stderr, "%s: %s: %s\n", what, ovstage_get_error_string (stage, status), ovstage_get_last_error ().ptr);
  std::exit (EXIT_FAILURE);
}

static void
waitOp (ovstage_instance_t *stage, ovstage_enqueue_result_t enq, const char *what)
{
  ovstage_op_wait_result_t result;

  check (stage, enq.status, what);
  check (stage, ovstage_wait_op (stage, enq.op_index, OVSTAGE_TIMEOUT_INFINITE, &result), what);
  if (result.error_op_id_count > 0)
    std::exit (EXIT_FAILURE);
  check (stage, ovstage_release_op (stage, enq.op_index), what);
}

int
main ()
{
  ovstage_instance_t *stage = nullptr;
  ovstage_api_status_t status = ovstage_create_instance (nullptr, &stage);
  path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary (stage);
  const ovx_string_t names[] = { literal_to_ovx_string ("/A"), literal_to_ovx_string ("/B"), literal_to_ovx_string ("/C") };
  const ovx_string_t name = literal_to_ovx_string ("temperature");
  ovx_primpath_list_t list = OVX_INVALID_PRIMPATH_LIST;
  ovx_token_t attr = OVX_INVALID_TOKEN;
  ovstage_query_handle_t query = OVSTAGE_INVALID_QUERY_HANDLE;

  check (stage, status, "create_instance");
  if (path_dictionary_create_path_list_from_strings (dictionary, names, 3, &list).status != OVX_API_SUCCESS
      || path_dictionary_create_tokens_from_strings (dictionary, &name, 1, &attr).status != OVX_API_SUCCESS)
    return EXIT_FAILURE;
  check (stage, ovstage_query_from_path_list (stage, list, &query), "query_from_path_list");
  const ovx_string_or_token_t attrArg = { attr, {} };

/* The block as it stands. */
// Write one float per prim into the "temperature" column (UPSERT creates
// the prims on first write), seal it by advancing the write floor to
// ordinal 1, then read the column back.
float values[] = { 1.0f, 2.0f, 3.0f };
int64_t shape[] = { 3 };
int64_t strides[] = { 1 };
DLTensor tensor{};
tensor.data = values;
tensor.device = { kDLCPU, 0 };
tensor.ndim = 1;
tensor.dtype = { kDLFloat, 32, 1 }; // {code, bits, lanes}
tensor.shape = shape;
tensor.strides = strides;

ovstage_write_data_t write{};
write.tensors = &tensor;
write.tensor_count = 1;
write.is_array = false;

ovstage_enqueue_result_t enq =
    ovstage_write_attribute(stage, query, attrArg, /*ordinal*/ 1, write, OVSTAGE_PRIM_MODE_UPSERT);
waitOp(stage, enq, "write_attribute");

ovstage_write_floor_desc_t writeFloor{};
writeFloor.ordinal = 1;
writeFloor.scope = OVSTAGE_SCOPE_ALL;
enq = ovstage_advance_write_floor(stage, &writeFloor);
waitOp(stage, enq, "advance_write_floor");

ovstage_ordinal_range_t range{};
range.end_ordinal = 1;
range.has_start_ordinal = false;
ovstage_read_handle_t read = OVSTAGE_INVALID_READ_HANDLE;
enq = ovstage_read_attributes(stage, query, &attr, 1, range, &read);
waitOp(stage, enq, "read_attributes");

ovstage_read_group_t group{};
status = ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group);
check(stage, status, "fetch_read_next");
if (group.data.tensor_count != 1 || !group.data.tensors[0].data)
{
    std::fprintf(stderr, "unexpected read layout\n");
    return EXIT_FAILURE;
}
const float* out = static_cast<const float*>(group.data.tensors[0].data);
std::printf("read back ordinal %llu: %.1f %.1f %.1f\n", (unsigned long long)group.ordinal, out[0], out[1], out[2]);
ovstage_release_group(stage, &group); // the tensor data is only valid until the group is released
/* End of the block. */

  waitOp (stage, ovstage_release_read (stage, read), "release_read");
  waitOp (stage, ovstage_release_query (stage, query), "release_query");
  path_dictionary_release_path_list_reference (dictionary, list);
  ovstage_destroy_instance (stage);
}
