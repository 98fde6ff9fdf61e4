/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The function types of DLPack's exchange table are those of the text: they may be declared again.
 * Prints: the same
 */

#include <ovstage/ovstage-dlpack-types.h>

#include <stdio.h>

/* The blocks as they stand, but for their comments. */
typedef int (*DLPackManagedTensorAllocator)(                                //
  DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,     //
  void (*SetError)(void* error_ctx, const char* kind, const char* message)  //
);
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(                 //
  void* py_object,                                                    //
  DLManagedTensorVersioned** out                                      //
);
typedef int (*DLPackManagedTensorToPyObjectNoSync)(                     //
  DLManagedTensorVersioned* tensor, void** out_py_object                //
);
typedef int (*DLPackDLTensorFromPyObjectNoSync)(                      //
  void* py_object,                                                    //
  DLTensor* out                                                       //
);
typedef int (*DLPackCurrentWorkStream)(                         //
  DLDeviceType device_type,                                     //
  int32_t device_id,                                            //
  void** out_current_stream                                     //
);
typedef int (*DLPackTensorAndStreamFromPyObject)(               //
  void* py_object,                                              //
  DLManagedTensorVersioned** out,                               //
  void** optional_out_current_stream                            //
);
/* End of the block. */

int
main (void)
{
  puts ("the same");
  return 0;
}
