/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_CHANNEL_H
#define VG_LIBVGCTL_CHANNEL_H

#include <sys/types.h>

#include "libvgctl/wire.h"

/* Both ends of the wire send and receive with these.  None raises SIGPIPE. */

/* Sends one message, with a descriptor beside it unless fd is -1.  0; -ECONNRESET if the other
 * end is gone; another negative errno. */
int vg_channel_send(int socket, struct vg_wire_message *message, enum vg_wire_kind kind, int fd);

/*
 * Receives one message.  *fd is the descriptor that came with it, owned by the caller, or -1;
 * fd may be NULL where none is expected.  *pid is the sender's by its credentials, 0 if the
 * socket does not pass them; pid may be NULL.
 *
 * 0; -ECONNRESET if the other end is gone; -EPROTO if what came is no message of this version;
 * -ETIMEDOUT after timeout_ms (-1 for ever); -EPERM if the credentials are another user's.
 */
int vg_channel_receive(int socket, struct vg_wire_message *message, int *fd, pid_t *pid,
		       int timeout_ms);

#endif
