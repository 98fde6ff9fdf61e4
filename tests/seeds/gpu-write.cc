/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* What describes values on a GPU. They are refused where there is none.
 * Prints: NOT_SUPPORTED
 */

#include <ovstage/ovstage_api/ovstage_api.h>

#include <cstdio>
#include <cstdlib>

int
main ()
{
  ovstage_instance_t *stage = nullptr;
  const ovx_string_t name = literal_to_ovx_string ("/A");
  ovx_primpath_list_t list = OVX_INVALID_PRIMPATH_LIST;
  ovstage_query_handle_t query = OVSTAGE_INVALID_QUERY_HANDLE;
  int64_t shape[] = { 1 }, strides[] = { 1 };
  float value = 0;
  void *d_ptr = &value;
  uintptr_t my_kernel_done_event = 0;

  if (ovstage_create_instance (nullptr, &stage) != OVSTAGE_OK)
    return EXIT_FAILURE;
  path_dictionary_instance_t *dictionary = ovstage_get_path_dictionary (stage);
  path_dictionary_create_path_list_from_strings (dictionary, &name, 1, &list);
  ovstage_query_from_path_list (stage, list, &query);
  const ovx_string_or_token_t attrArg = { OVX_INVALID_TOKEN, literal_to_ovx_string ("temperature") };

/* The block as it stands. */
DLTensor t{};
t.data = d_ptr; // CUDA device pointer
t.device = { kDLCUDA, /*ordinal*/ 0 };
t.ndim = 1;
t.dtype = { kDLFloat, 32, 1 }; // {code, bits, lanes}; lanes = tuple width
t.shape = shape;
t.strides = strides;
ovstage_write_data_t w{};
w.tensors = &t;
w.tensor_count = 1;
w.cuda_sync.wait_event = my_kernel_done_event; // ovstage waits on this before copy-in ({0,0} if CPU/synced)
w.is_array = false; // explicit fixed-size attribute kind
// ovstage_write_attribute(stage, query, attrArg, /*ordinal*/ ord, w, OVSTAGE_PRIM_MODE_UPSERT)
/* End of the block. */

  const auto result = ovstage_write_attribute (stage, query, attrArg, /*ordinal*/ 1, w, OVSTAGE_PRIM_MODE_UPSERT);
  std::puts (result.status == OVSTAGE_ERROR_NOT_SUPPORTED ? "NOT_SUPPORTED" : ovstage_get_error_string (stage, result.status));
  ovstage_release_query (stage, query);
  path_dictionary_release_path_list_reference (dictionary, list);
  ovstage_destroy_instance (stage);
}
