/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_REQUEST_H
#define VG_VIGNETTED_REQUEST_H

#include "libvgctl/channel.h"

/* Receives a request like vg_channel_receive().  Answers a request of a version that this helper does not speak with
 * FAILED, and still returns -EPROTONOSUPPORT. */
int vg_request_receive(int socket, struct vg_wire_message *message, int fds[VG_CHANNEL_FDS], int timeout_ms);

#endif
