/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Placement: on which device, stream and event a request works. An extension, of a
 * version and size that the program was built with, or none: this may change.
 *
 * The functions here look it up before they call it. Where it is not there, or is
 * another one, they give NOT_FOUND, also for a placement of NULL, and the managed
 * tensors of a write are let go of, as by any write that is refused. */

#pragma once

#include <ovstage/ovstage_api/ovstage_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OVSTAGE_PLACEMENT_EXTENSION_NAME "ovstage.placement"
#define OVSTAGE_PLACEMENT_EXTENSION_VERSION_1 1u

/* Begin with OVSTAGE_PLACEMENT_INIT: the CPU. */
typedef struct ovstage_placement_t
{
  uint32_t struct_size;
  DLDevice device;
  uintptr_t stream;             /* 0: one of the stage */
  uintptr_t availability_event; /* 0: none; recorded once the data is there on the stream */
} ovstage_placement_t;

#define OVSTAGE_PLACEMENT_INIT { sizeof (ovstage_placement_t), { kDLCPU, 0 }, 0, 0 }

/* A placement of NULL makes each the function without one. */
typedef struct ovstage_placement_extension_v1_t
{
  uint32_t version;
  uint32_t struct_size;
  ovstage_enqueue_result_t (*write_attribute) (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                               ovx_string_or_token_t attribute, ovstage_ordinal_t ordinal,
                                               ovstage_write_data_t data, ovstage_prim_mode_t prim_mode,
                                               const ovstage_placement_t *placement);
  ovstage_enqueue_result_t (*write_attributes) (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                                const ovstage_attribute_write_t *writes, size_t num_writes,
                                                ovstage_ordinal_t ordinal, ovstage_prim_mode_t prim_mode,
                                                const ovstage_placement_t *placement);
  ovstage_enqueue_result_t (*read_attributes) (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                               const ovx_token_t *attributes, size_t num_attributes,
                                               ovstage_ordinal_range_t range, const ovstage_placement_t *placement,
                                               ovstage_read_handle_t *out_read);
  ovstage_enqueue_result_t (*map_attribute) (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                             const ovstage_map_desc_t *desc, ovstage_ordinal_t ordinal,
                                             const size_t *element_sizes, size_t num_element_sizes,
                                             const ovstage_placement_t *placement, ovstage_map_handle_t *out_map);
} ovstage_placement_extension_v1_t;

/* The table, if it is the one that the program was built with. */
static inline ovstage_api_status_t
ovstage_query_placement_extension (ovstage_instance_t *instance, const ovstage_placement_extension_v1_t **out_extension)
{
  const void *table = NULL;
  const ovstage_placement_extension_v1_t *extension;
  ovstage_api_status_t status;

  if (out_extension == NULL)
    return ovstage_query_extension (instance, OVSTAGE_PLACEMENT_EXTENSION_NAME, NULL);
  *out_extension = NULL;
  status = ovstage_query_extension (instance, OVSTAGE_PLACEMENT_EXTENSION_NAME, &table);
  if (status != OVSTAGE_OK)
    return status;
  extension = (const ovstage_placement_extension_v1_t *) table;
  if (extension == NULL || extension->version != OVSTAGE_PLACEMENT_EXTENSION_VERSION_1
      || extension->struct_size < sizeof (ovstage_placement_extension_v1_t))
    {
      /* There is none of this name: that it is not there is the thread's last error then. */
      (void) ovstage_query_extension (instance, OVSTAGE_PLACEMENT_EXTENSION_NAME " as of version 1", &table);
      return OVSTAGE_ERROR_NOT_FOUND;
    }
  *out_extension = extension;
  return OVSTAGE_OK;
}

static inline ovstage_enqueue_result_t
ovstage_write_attribute_on_device (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                   ovx_string_or_token_t attribute, ovstage_ordinal_t ordinal, ovstage_write_data_t data,
                                   ovstage_prim_mode_t prim_mode, const ovstage_placement_t *placement)
{
  const ovstage_placement_extension_v1_t *extension;
  ovstage_enqueue_result_t result = { ovstage_query_placement_extension (instance, &extension), OVSTAGE_INVALID_OP_ID };

  if (result.status == OVSTAGE_OK)
    return extension->write_attribute (instance, query, attribute, ordinal, data, prim_mode, placement);
  if (data.managed_tensors != NULL)
    {
      /* A write to no instance: all it does is to let go of them. */
      (void) ovstage_write_attribute (NULL, query, attribute, ordinal, data, prim_mode);
      result.status = ovstage_query_placement_extension (instance, &extension);
    }
  return result;
}

static inline ovstage_enqueue_result_t
ovstage_write_attributes_on_device (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                    const ovstage_attribute_write_t *writes, size_t num_writes,
                                    ovstage_ordinal_t ordinal, ovstage_prim_mode_t prim_mode,
                                    const ovstage_placement_t *placement)
{
  const ovstage_placement_extension_v1_t *extension;
  ovstage_enqueue_result_t result = { ovstage_query_placement_extension (instance, &extension), OVSTAGE_INVALID_OP_ID };

  if (result.status == OVSTAGE_OK)
    return extension->write_attributes (instance, query, writes, num_writes, ordinal, prim_mode, placement);
  if (writes != NULL)
    {
      (void) ovstage_write_attributes (NULL, query, writes, num_writes, ordinal, prim_mode);
      result.status = ovstage_query_placement_extension (instance, &extension);
    }
  return result;
}

static inline ovstage_enqueue_result_t
ovstage_read_attributes_on_device (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                   const ovx_token_t *attributes, size_t num_attributes, ovstage_ordinal_range_t range,
                                   const ovstage_placement_t *placement, ovstage_read_handle_t *out_read)
{
  const ovstage_placement_extension_v1_t *extension;
  ovstage_enqueue_result_t result = { ovstage_query_placement_extension (instance, &extension), OVSTAGE_INVALID_OP_ID };

  if (result.status == OVSTAGE_OK)
    result = extension->read_attributes (instance, query, attributes, num_attributes, range, placement, out_read);
  else if (out_read != NULL)
    *out_read = OVSTAGE_INVALID_READ_HANDLE;
  return result;
}

static inline ovstage_enqueue_result_t
ovstage_map_attribute_on_device (ovstage_instance_t *instance, ovstage_query_handle_t query,
                                 const ovstage_map_desc_t *desc, ovstage_ordinal_t ordinal, const size_t *element_sizes,
                                 size_t num_element_sizes, const ovstage_placement_t *placement,
                                 ovstage_map_handle_t *out_map)
{
  const ovstage_placement_extension_v1_t *extension;
  ovstage_enqueue_result_t result = { ovstage_query_placement_extension (instance, &extension), OVSTAGE_INVALID_OP_ID };

  if (result.status == OVSTAGE_OK)
    result = extension->map_attribute (instance, query, desc, ordinal, element_sizes, num_element_sizes, placement, out_map);
  else if (out_map != NULL)
    *out_map = OVSTAGE_INVALID_MAP_HANDLE;
  return result;
}

#ifdef __cplusplus
}
#endif
