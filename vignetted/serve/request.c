/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/request.h"

#include <errno.h>

#include "vignetted/serve/reply.h"

int vg_request_receive(int socket, struct vg_wire_message *message, int fds[VG_CHANNEL_FDS], int timeout_ms)
{
	int rc = vg_channel_receive(socket, message, fds, NULL, timeout_ms);

	if (rc == -EPROTONOSUPPORT)
		vg_reply_failed(socket, -EPROTO, message->version > VG_WIRE_NEWEST ?
				"the helper vignetted is too old for this request; use a vignetted of the version of "
				"libvgctl and vgctl" :
				"libvgctl or vgctl is too old for this helper vignetted; use those of the helper's "
				"version");
	return rc;
}
