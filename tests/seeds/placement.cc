/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Write and read on one GPU, where there is one. What the text leaves to the application stands in for it here.
 * Prints: no placement
 */

#include <ovstage/ovstage_api/experimental/ovstage_placement_extension.h>

#include <cstdio>
#include <cstdlib>

using cudaStream_t = struct Stream *;
using cudaEvent_t = struct Event *;

static void
check (ovstage_instance_t *stage, ovstage_api_status_t status, const char *what)
{
  if (status == OVSTAGE_OK)
    return;
  std::fprintf (stderr, "%s: %s: %s\n", what, ovstage_get_error_string (stage, status), ovstage_get_last_error ().ptr);
  std::exit (EXIT_FAILURE);
}

static void
waitOp (ovstage_instance_t *stage, ovstage_enqueue_result_t enq, const char *what = "")
{
  ovstage_op_wait_result_t result;

  check (stage, enq.status, what);
  check (stage, ovstage_wait_op (stage, enq.op_index, OVSTAGE_TIMEOUT_INFINITE, &result), what);
  if (result.error_op_id_count > 0)
    std::exit (EXIT_FAILURE);
  check (stage, ovstage_release_op (stage, enq.op_index), what);
}

static void
checkStage (ovstage_instance_t *stage, ovstage_api_status_t status)
{
  check (stage, status, "");
}

static void
checkCuda (int status)
{
  if (status != 0)
    std::exit (EXIT_FAILURE);
}

static int
cudaStreamWaitEvent (cudaStream_t, cudaEvent_t, unsigned)
{
  return 0;
}

static int
cudaStreamSynchronize (cudaStream_t)
{
  return 0;
}

static int
cudaEventSynchronize (cudaEvent_t)
{
  return 0;
}

static void
enqueueConsumer (cudaStream_t, const ovstage_read_group_t &)
{
}

static void
write_and_read (ovstage_instance_t *stage, ovstage_query_handle_t query, ovx_token_t attribute, ovstage_ordinal_t ordinal,
                ovstage_write_data_t data, int device_id, cudaStream_t writer, cudaStream_t reader, cudaStream_t consumer,
                cudaEvent_t producer_ready, cudaEvent_t write_ready, cudaEvent_t read_ready)
{
/* The block as it stands. */
ovstage_placement_t writePlacement = OVSTAGE_PLACEMENT_INIT;
writePlacement.device = { kDLCUDA, device_id };
writePlacement.stream = reinterpret_cast<uintptr_t>(writer);
writePlacement.availability_event = reinterpret_cast<uintptr_t>(write_ready);
data.cuda_sync.wait_event = reinterpret_cast<uintptr_t>(producer_ready);
data.cuda_sync.stream = 0;
waitOp(stage, ovstage_write_attribute_on_device(
    stage, query, { attribute, {} }, ordinal, data,
    OVSTAGE_PRIM_MODE_UPSERT, &writePlacement));

ovstage_write_floor_desc_t floor{};
floor.ordinal = ordinal;
floor.scope = OVSTAGE_SCOPE_ALL;
waitOp(stage, ovstage_advance_write_floor(stage, &floor));

ovstage_placement_t readPlacement = OVSTAGE_PLACEMENT_INIT;
readPlacement.device = { kDLCUDA, device_id };
readPlacement.stream = reinterpret_cast<uintptr_t>(reader);
readPlacement.availability_event = reinterpret_cast<uintptr_t>(read_ready);
ovstage_read_handle_t read = OVSTAGE_INVALID_READ_HANDLE;
waitOp(stage, ovstage_read_attributes_on_device(
    stage, query, &attribute, 1, { 0, ordinal, false }, &readPlacement, &read));
for (;;) {
    ovstage_read_group_t group{};
    const auto status = ovstage_fetch_read_next(
        stage, read, OVSTAGE_TIMEOUT_INFINITE, &group);
    if (status == OVSTAGE_ERROR_END_OF_ITERATION)
        break;
    checkStage(stage, status);
    checkCuda(cudaStreamWaitEvent(consumer, read_ready, 0));
    enqueueConsumer(consumer, group);
    checkCuda(cudaStreamSynchronize(consumer));
    checkStage(stage, ovstage_release_group(stage, &group));
}
waitOp(stage, ovstage_release_read(stage, read));
checkCuda(cudaEventSynchronize(write_ready));
// The source allocation can now be reused or freed.
/* End of the block. */
}

int
main ()
{
  ovstage_instance_t *stage = nullptr;
  const ovstage_placement_extension_v1_t *placement = nullptr;

  check (nullptr, ovstage_create_instance (nullptr, &stage), "create_instance");
  if (ovstage_query_placement_extension (stage, &placement) == OVSTAGE_ERROR_NOT_FOUND)
    std::puts ("no placement");
  else
    write_and_read (stage, OVSTAGE_INVALID_QUERY_HANDLE, 1, 1, {}, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  ovstage_destroy_instance (stage);
}
