/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_LISTEN_H
#define VG_LIBVGCTL_LISTEN_H

#include "libvgctl/helper.h"
#include "libvgctl/process.h"

/* Connects one more session to the helper that vgctl_listen() started.  The caller owns *socket and gets a reference to
 * *helper.  The caller must have locked the session list.  Returns 0, -ENOENT if this process has no such helper, or
 * another negative errno. */
int vg_listening_connect(const struct vg_session_list *list, int *socket, struct vg_helper **helper);

#endif
