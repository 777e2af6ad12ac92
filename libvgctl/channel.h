/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_CHANNEL_H
#define VG_LIBVGCTL_CHANNEL_H

#include <sys/types.h>

#include "libvgctl/wire.h"

/* Both ends of the wire send and receive with these.  None raises SIGPIPE. */

/* Descriptors that may come with a message. */
enum { VG_CHANNEL_FDS = 2 };

/* Sends one message, with `count` descriptors beside it.  0; -ECONNRESET if the other end is gone;
 * another negative errno. */
int vg_channel_send(int socket, struct vg_wire_message *message, enum vg_wire_kind kind,
		    const int *fds, size_t count);

/*
 * Receives one message.  fds, of VG_CHANNEL_FDS, are the descriptors that came with it, owned by the
 * caller, and -1 behind them; fds may be NULL where none is expected.  *pid is the sender's by its credentials, 0 if the
 * socket does not pass them; pid may be NULL.
 *
 * 0; -ECONNRESET if the other end is gone; -EPROTO if what came is no message of this version;
 * -ETIMEDOUT after timeout_ms (-1 for ever); -EPERM if the credentials are another user's.
 */
int vg_channel_receive(int socket, struct vg_wire_message *message, int *fds, pid_t *pid,
		       int timeout_ms);

#endif
