/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_LISTEN_H
#define VG_LIBVGCTL_LISTEN_H

#include "libvgctl/helper.h"

/* Connects to the helper that listens for this process.  *socket is the new connection, the caller's, and *helper a
 * share of the helper.  The caller holds the roster.  -ENOENT: no helper listens. */
int vg_listening_join(int *socket, struct vg_helper **helper);

#endif
