/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_REPLY_H
#define VG_VIGNETTED_REPLY_H

#include "libvgctl/channel.h"
#include "libvgctl/wire.h"
#include "vignetted/session/session.h"

/* Answers of the helper to the host and to peers. */

/* Sends FAILED: `text` is a sentence that says why a request failed, `code` a negative errno. */
int vg_reply_failed(int socket, int code, const char *text);

/* Sends the result of a dump.  The parameters are those of vg_dump_done. */
void vg_reply_dumped(int socket, const struct vg_dump *dump, int rc);

/* Takes one sample of the thread with this id, or of every thread if it is 0.  Sends that it was taken, or that there
 * is no such thread, or why the recording has ended. */
void vg_reply_sampled(struct vg_session *session, struct vg_recording *recording, uint32_t thread, int socket);

/* Ends a recording, and sends its summary or why it failed. */
void vg_reply_ended(struct vg_session *session, struct vg_recording *recording, int socket,
		    const char *reason);

/* Receives a request like vg_channel_receive().  Answers a request of a version that this helper does not speak with
 * FAILED, and still returns -EPROTONOSUPPORT. */
int vg_request_receive(int socket, struct vg_wire_message *message, int fds[VG_CHANNEL_FDS], int timeout_ms);

#endif
