/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The helper's side of the control protocol. The input is cut into messages, each after two bytes with its length. All
 * are sent before the helper reads. The host is this process, which cannot trace itself. So each session fails as it
 * begins, and only the code up to this failure is tested. */
#include "libvgctl/wire.h"
#include "tests/fuzz/input.h"
#include "vignetted/capture/priority.h"
#include "vignetted/serve/confine.h"
#include "vignetted/serve/control.h"
#include "vignetted/serve/loop.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* Replace the helper's functions: the fuzzer itself must neither change its priority nor confine itself. */
void vg_priority_begin(struct vg_priority *priority)
{
	(void)priority;
}

void vg_priority_raise(struct vg_priority *priority)
{
	(void)priority;
}

void vg_priority_lower(struct vg_priority *priority)
{
	(void)priority;
}

void vg_priority_woken(struct vg_priority *priority)
{
	(void)priority;
}

void vg_priority_lower_now(struct vg_priority *priority)
{
	(void)priority;
}

int vg_confine(bool listens, uint64_t memory_bytes, struct vg_err *err)
{
	(void)listens;
	(void)memory_bytes;
	(void)err;
	return 0;
}

/* Longer than the longest length in the input. */
enum { MESSAGE_BYTES = 1024 };

static void message_send(int socket, const uint8_t *data, size_t size, int fd)
{
	uint8_t message[MESSAGE_BYTES];
	union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec iov = { message, size };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(message, data, size);
	/* LISTEN creates its directory, so this must not be a directory of the fuzzer's choice. */
	if (size > offsetof(struct vg_wire_message, listen.directory) &&
	    message[offsetof(struct vg_wire_message, kind)] == VG_WIRE_LISTEN)
		message[offsetof(struct vg_wire_message, listen.directory)] = '\0';
	if (fd >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof control;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	}
	sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int signals = -1;
	int ends[2];

	if (signals < 0)
		signals = vg_loop_signals();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		abort();
	while (size > 2) {
		size_t length = data[0] | (size_t)(data[1] & 3) << 8;
		bool with_file = (data[1] & 0x80) != 0;

		data += 2;
		size -= 2;
		length = length < size ? length : size;
		message_send(ends[0], data, length, with_file ? input_fd(data, 0) : -1);
		data += length;
		size -= length;
	}
	shutdown(ends[0], SHUT_WR);
	vg_control_serve(ends[1], signals);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
