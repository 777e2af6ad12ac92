/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_CHANNEL_H
#define VG_LIBVGCTL_CHANNEL_H

#include <stdint.h>
#include <sys/types.h>

#include "libvgctl/wire.h"

/*
 * Sends and receives the messages of wire.h.  Used by libvgctl, vgctl and vignetted.  No function
 * raises SIGPIPE.
 *
 *     struct vg_wire_message message = { .begin = begin };
 *     rc = vg_channel_send(socket, &message, VG_WIRE_BEGIN, &fd, 1);
 *     if (rc == 0)
 *             rc = vg_channel_receive(socket, &message, NULL, NULL, timeout_ms);
 */

/* Limit of descriptors in one message. */
enum { VG_CHANNEL_FDS = 2 };

/* Sends one message and `count` descriptors.  A message that needs a later version than VG_WIRE_FIRST has this version
 * in message->version; the others have 0.  The caller still owns the descriptors.  Returns 0, -ECONNRESET if the other
 * end is closed, or another negative errno. */
int vg_channel_send(int socket, struct vg_wire_message *message, enum vg_wire_kind kind,
		    const int *fds, size_t count);

/*
 * Receives one message.  Puts its descriptors into fds[VG_CHANNEL_FDS], and -1 into the remaining elements.  The caller
 * owns the descriptors.  If fds is NULL, descriptors in the message are closed.  *pid is set to the pid in the sender's
 * credentials, or to 0 if the socket does not pass credentials.  pid may be NULL.
 *
 * Returns 0; -ECONNRESET if the other end is closed; -EPROTO if the message is invalid; -EPROTONOSUPPORT if it has a
 * version that this release does not speak, and message->version is then set; -ETIMEDOUT after timeout_ms (-1: never);
 * -EPERM if the sender is a process of another user; or another negative errno.
 */
int vg_channel_receive(int socket, struct vg_wire_message *message, int *fds, pid_t *pid,
		       int timeout_ms);

/* Like vg_channel_receive() without descriptors.  For several messages with one limit: fails with -ETIMEDOUT after
 * deadline_ns of CLOCK_MONOTONIC, even if there is a message. */
int vg_channel_receive_until(int socket, struct vg_wire_message *message, pid_t *pid, uint64_t deadline_ns);

#endif
