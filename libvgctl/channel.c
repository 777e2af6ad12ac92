/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/channel.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

int vg_channel_send(int socket, struct vg_wire_message *message, enum vg_wire_kind kind,
		    const int *fds, size_t count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(VG_CHANNEL_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { message, sizeof *message };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	message->magic = VG_WIRE_MAGIC;
	if (message->version == 0)
		message->version = VG_WIRE_FIRST;
	message->kind = (uint16_t)kind;
	if (count > VG_CHANNEL_FDS)
		return -EINVAL;
	if (count > 0) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count * sizeof *fds);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof *fds);
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof *fds);
	}
	do
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	return 0;
}

/* Each signal to the host interrupts poll(2) with EINTR.  The deadline is fixed, so that signals do not prolong the
 * wait. */
static int socket_wait(int socket, int timeout_ms)
{
	struct pollfd ready = { .fd = socket, .events = POLLIN };
	long long deadline_ms = (long long)(vg_now_ns() / 1000000) + timeout_ms;

	for (;;) {
		long long left_ms = timeout_ms < 0 ? -1 : deadline_ms - (long long)(vg_now_ns() / 1000000);
		int count = poll(&ready, 1, timeout_ms >= 0 && left_ms < 0 ? 0 : (int)left_ms);

		if (count > 0)
			return 0;
		if (count == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

/* Takes descriptors and credentials from the control data of a message. */
static int control_take(struct msghdr *header, int *fds, pid_t *pid)
{
	struct cmsghdr *part;
	size_t taken = 0;
	int rc = 0;

	for (part = CMSG_FIRSTHDR(header); part != NULL; part = CMSG_NXTHDR(header, part)) {
		if (part->cmsg_level != SOL_SOCKET)
			continue;
		if (part->cmsg_type == SCM_CREDENTIALS) {
			struct ucred sender;

			memcpy(&sender, CMSG_DATA(part), sizeof sender);
			*pid = sender.pid;
			/* The kernel sends the real user id. */
			if (sender.uid != getuid())
				rc = -EPERM;
		} else if (part->cmsg_type == SCM_RIGHTS) {
			size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

			for (size_t i = 0; i < count; i++) {
				int passed;

				memcpy(&passed, CMSG_DATA(part) + i * sizeof passed, sizeof passed);
				if (taken < VG_CHANNEL_FDS)
					fds[taken++] = passed;
				else
					close(passed);
			}
		}
	}
	return rc;
}

/* Checks a message of `got` bytes. */
static int message_check(struct vg_wire_message *message, size_t got)
{
	if (got < offsetof(struct vg_wire_message, bytes) || message->magic != VG_WIRE_MAGIC)
		return -EPROTO;
	memset((char *)message + got, 0, sizeof *message - got);
	if (message->kind == VG_WIRE_HELLO || message->kind == VG_WIRE_FAILED)
		return message->version == VG_WIRE_FIRST ? 0 : -EPROTO;
	return message->version >= VG_WIRE_OLDEST && message->version <= VG_WIRE_NEWEST ? 0 : -EPROTONOSUPPORT;
}

int vg_channel_receive(int socket, struct vg_wire_message *message, int *fds, pid_t *pid,
		       int timeout_ms)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { message, sizeof *message };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				 .msg_controllen = sizeof control };
	int passed[VG_CHANNEL_FDS] = { -1, -1 }, rc;
	pid_t sender = 0;
	ssize_t got;

	rc = socket_wait(socket, timeout_ms);
	if (rc != 0)
		return rc;
	do
		got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	rc = control_take(&header, passed, &sender);
	if (got == 0 && rc == 0)
		rc = -ECONNRESET;
	if (rc == 0)
		rc = message_check(message, (size_t)got);
	if (pid != NULL)
		*pid = sender;
	for (int i = 0; i < VG_CHANNEL_FDS; i++) {
		if (fds != NULL)
			fds[i] = rc == 0 ? passed[i] : -1;
		if (passed[i] >= 0 && (fds == NULL || rc != 0))
			close(passed[i]);
	}
	return rc;
}

int vg_channel_receive_until(int socket, struct vg_wire_message *message, pid_t *pid, uint64_t deadline_ns)
{
	uint64_t now_ns = vg_now_ns();

	if (now_ns >= deadline_ns)
		return -ETIMEDOUT;
	return vg_channel_receive(socket, message, NULL, pid, (int)((deadline_ns - now_ns) / 1000000 + 1));
}
