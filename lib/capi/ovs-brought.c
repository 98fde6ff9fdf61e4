/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "capi/ovs-brought.h"

#include "tensor/ovs-dlpack.h"

static void
clear_tensor (gpointer tensor)
{
  if (tensor != NULL)
    ovs_tensor_unref (tensor);
}

GHashTable *
ovs_brought_seen_new (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, clear_tensor);
}

/* A new reference to the tensor of @managed, which is taken the first time. */
static OvstageTensor *
take_managed (const DLManagedTensorVersioned *managed, GHashTable *seen, GError **error)
{
  gpointer known;

  if (managed != NULL && g_hash_table_lookup_extended (seen, managed, NULL, &known))
    {
      if (known == NULL)
        ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "managed tensor: it is there twice");
      return known != NULL ? ovs_tensor_ref (known) : NULL;
    }
  else
    {
      OvstageTensor *tensor = ovs_dlpack_take ((DLManagedTensorVersioned *) managed, error);

      if (managed != NULL)
        g_hash_table_insert (seen, (gpointer) managed, tensor != NULL ? ovs_tensor_ref (tensor) : NULL);
      return tensor;
    }
}

static void
set_fault (GError **fault, GError *error)
{
  if (*fault == NULL)
    *fault = error;
  else
    g_clear_error (&error);
}

/* All of them, whatever is wrong with one: they are ours from the call on. */
static GPtrArray *
take_all (const ovstage_write_data_t *data, GHashTable *seen, GError **fault)
{
  GPtrArray *tensors = g_ptr_array_new_with_free_func (clear_tensor);

  for (guint32 i = 0; i < data->tensor_count; i++)
    {
      GError *error = NULL;
      OvstageTensor *tensor = take_managed (data->managed_tensors[i], seen, &error);

      if (tensor == NULL)
        {
          g_prefix_error (&error, "managed_tensors[%u]: ", i);
          set_fault (fault, error);
        }
      g_ptr_array_add (tensors, tensor);
    }
  return tensors;
}

/* W1, W2 */
static GError *
find_fault (const ovstage_write_data_t *data)
{
  GError *fault = NULL;

  if ((data->tensors == NULL) == (data->managed_tensors == NULL))
    ovs_fail (&fault, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensors and managed_tensors: %s given, expected one of them",
              data->tensors == NULL ? "neither is" : "both are");
  else if (data->tensor_count == 0)
    ovs_fail (&fault, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor_count is 0, expected at least one tensor");
  else if (!data->is_array && data->tensor_count > 1)
    ovs_fail (&fault, OVSTAGE_ERROR_INVALID_ARGUMENT, "tensor_count is %u, expected 1 for a fixed attribute", data->tensor_count);
  return fault;
}

static OvstageWriteData *
make_payload (const ovstage_write_data_t *data, GPtrArray *taken)
{
  g_autoptr (GPtrArray) borrowed = NULL;
  OvstageTensor **tensors;

  if (taken == NULL)
    {
      borrowed = g_ptr_array_new_full (data->tensor_count, clear_tensor);
      for (guint32 i = 0; i < data->tensor_count; i++)
        g_ptr_array_add (borrowed, ovs_dlpack_borrow (&data->tensors[i]));
    }
  tensors = (OvstageTensor **) (taken != NULL ? taken : borrowed)->pdata;
  if (data->is_array && data->tensor_count > 1)
    return ovs_payload_new_rows (tensors, data->tensor_count, taken != NULL);
  if (data->is_array)
    return ovs_payload_new_packed (tensors[0], taken != NULL);
  return taken != NULL ? ovs_payload_new_take (tensors[0]) : ovs_payload_new (tensors[0]);
}

OvstageWriteData *
ovs_brought_new (const ovstage_write_data_t *data, GHashTable *seen)
{
  GError *fault = find_fault (data);
  g_autoptr (GHashTable) own_seen = NULL;
  g_autoptr (GPtrArray) taken = NULL;
  OvstageWriteData *payload;

  if (data->managed_tensors != NULL)
    {
      if (seen == NULL)
        seen = own_seen = ovs_brought_seen_new ();
      taken = take_all (data, seen, &fault);
    }
  if (fault != NULL)
    payload = ovs_payload_new_refused (fault);
  else
    payload = make_payload (data, taken);

  payload->count = data->count;
  payload->semantic = data->semantic;
  payload->sync_stream = data->cuda_sync.stream;
  payload->sync_event = data->cuda_sync.wait_event;
  ovs_payload_set_index_map (payload, data->index_map, data->count);
  ovs_payload_set_mask (payload, data->mask, ((gsize) data->count + 63) / 64);
  return payload;
}
