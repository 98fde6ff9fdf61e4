/* Target: flat API from C, without GLib.  Build: cc flat.c $(pkg-config --cflags --libs ovstage)
 * Prints:  temperature @ 1: 1 2 3
 */
#include <ovstage/ovstage_api/ovstage_api.h>

#include <stdio.h>
#include <stdlib.h>

/* What went wrong, if anything, is in the status and in a text of this thread. */
static void
check (ovstage_api_status_t status, const char *what)
{
  ovx_string_t text = ovstage_get_last_error ();

  if (status == OVSTAGE_OK)
    return;
  fprintf (stderr, "%s: %s: %.*s\n", what, ovstage_get_error_string (NULL, status), (int) text.length, text.ptr);
  exit (EXIT_FAILURE);
}

static void
check_dictionary (path_dictionary_instance_t *dictionary, ovx_api_result_t result)
{
  if (result.status == OVX_API_SUCCESS)
    return;
  fprintf (stderr, "dictionary: %.*s\n", (int) result.error.length, result.error.ptr);
  path_dictionary_release_error (dictionary, result.error);
  exit (EXIT_FAILURE);
}

/* A request is observed by its operation. */
static void
wait_for (ovstage_instance_t *stage, ovstage_enqueue_result_t request, const char *what)
{
  ovstage_op_wait_result_t failed;

  check (request.status, what);
  check (ovstage_wait_op (stage, request.op_index, OVSTAGE_TIMEOUT_INFINITE, &failed), what);
  for (size_t i = 0; i < failed.error_op_id_count; i++)
    {
      ovx_string_t text = ovstage_get_last_op_error (stage, failed.error_op_ids[i]);

      fprintf (stderr, "%s: %.*s\n", what, (int) text.length, text.ptr);
      exit (EXIT_FAILURE);
    }
  check (ovstage_release_op (stage, request.op_index), what);
}

int
main (void)
{
  const ovstage_instance_desc_t desc = { .name = "example.flat" };
  const ovx_string_t names[] = { literal_to_ovx_string ("/World/A"), literal_to_ovx_string ("/World/B"),
                                 literal_to_ovx_string ("/World/C") };
  const ovx_string_t name = literal_to_ovx_string ("temperature");
  float values[] = { 1.0f, 2.0f, 3.0f };
  int64_t shape[] = { 3 };
  DLTensor tensor = { .data = values, .device = { kDLCPU, 0 }, .ndim = 1, .dtype = { kDLFloat, 32, 1 }, .shape = shape };
  ovstage_write_data_t data = { .tensors = &tensor, .tensor_count = 1 };
  ovstage_write_floor_desc_t floor = { .ordinal = 1, .scope = OVSTAGE_SCOPE_ALL };
  ovstage_ordinal_range_t range = { .end_ordinal = 1 };
  ovstage_instance_t *stage;
  path_dictionary_instance_t *dictionary;
  ovx_token_t temperature;
  ovx_primpath_list_t prims;
  ovstage_query_handle_t query;
  ovstage_read_handle_t read;
  ovstage_read_group_t group;
  const float *read_back;

  check (ovstage_create_instance (&desc, &stage), "create_instance");
  dictionary = ovstage_get_path_dictionary (stage);
  check_dictionary (dictionary, path_dictionary_create_tokens_from_strings (dictionary, &name, 1, &temperature));
  check_dictionary (dictionary, path_dictionary_create_path_list_from_strings (dictionary, names, 3, &prims));
  check (ovstage_query_from_path_list (stage, prims, &query), "query_from_path_list");
  check_dictionary (dictionary, path_dictionary_release_path_list_reference (dictionary, prims)); /* the query has it */

  wait_for (stage,
            ovstage_write_attribute (stage, query, (ovx_string_or_token_t) { .token = temperature }, 1, data, OVSTAGE_PRIM_MODE_UPSERT),
            "write_attribute");
  wait_for (stage, ovstage_advance_write_floor (stage, &floor), "advance_write_floor");
  wait_for (stage, ovstage_read_attributes (stage, query, &temperature, 1, range, &read), "read_attributes");

  check (ovstage_fetch_read_next (stage, read, OVSTAGE_TIMEOUT_INFINITE, &group), "fetch_read_next");
  read_back = group.data.tensors[0].data; /* points into the stage, until the group is released */
  printf ("temperature @ %llu: %g %g %g\n", (unsigned long long) group.ordinal, read_back[0], read_back[1], read_back[2]);

  check (ovstage_release_group (stage, &group), "release_group");
  wait_for (stage, ovstage_release_read (stage, read), "release_read");
  wait_for (stage, ovstage_release_query (stage, query), "release_query");
  ovstage_destroy_instance (stage);
  return EXIT_SUCCESS;
}
