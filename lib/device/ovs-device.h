/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* The table of functions a device offers. A call takes the fences it must wait
 * for and gives the fence of its own end; its status says only whether it could
 * be enqueued. On the CPU work is done when the call returns: nothing to wait
 * for, and the fence is NULL. */

#pragma once

#include "base/ovs-error.h"
#include "base/ovs-fence.h"

typedef struct _OvsDevice OvsDevice;

struct _OvsDevice
{
  gint32 device_type; /* DLDeviceType */
  gint32 device_id;
  const char *name;

  gboolean (*copy) (OvsDevice *device, OvsFence *const *waits, gsize n_waits, guint8 *dst, const guint8 *src, gsize n_bytes,
                    OvsFence **done, GError **error);
  /* dst[rows[i]] = src[i] */
  gboolean (*scatter) (OvsDevice *device, OvsFence *const *waits, gsize n_waits, guint8 *dst, const guint8 *src,
                       const guint32 *rows, gsize n_rows, gsize row_size, OvsFence **done, GError **error);
  /* dst[i] = src[rows[i]] */
  gboolean (*gather) (OvsDevice *device, OvsFence *const *waits, gsize n_waits, guint8 *dst, const guint8 *src,
                      const guint32 *rows, gsize n_rows, gsize row_size, OvsFence **done, GError **error);
};

/* NULL with INVALID_ARGUMENT for a device that cannot exist, NOT_SUPPORTED for one without a backend (W27). */
OvsDevice *ovs_device_lookup (gint32 device_type, gint32 device_id, GError **error);
OvsDevice *ovs_device_cpu (void);

/* The CPU's kernels, also for callers that know where they are. Row sizes that are common are specialised. */
void ovs_cpu_scatter (guint8 *dst, const guint8 *src, const guint32 *rows, gsize n_rows, gsize row_size);
/* The same on top of a copy of the rows [first, first + n_base) of @base, of which the copy may be a part. @large: the whole is,
 * as ovs_copy_is_large() says: then this is quicker than one after the other where the rows ascend. */
void ovs_cpu_copy_and_scatter (guint8 *dst, const guint8 *base, gsize first, gsize n_base, const guint8 *src, const guint32 *rows,
                               gsize n_rows, gsize row_size, gboolean large);
void ovs_cpu_gather (guint8 *dst, const guint8 *src, const guint32 *rows, gsize n_rows, gsize row_size);
/* The highest entry; 0 for none. */
guint32 ovs_cpu_max_u32 (const guint32 *values, gsize n);
