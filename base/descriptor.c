/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

int vg_descriptor_raise(int fd)
{
	int raised;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	raised = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (raised < 0)
		raised = -errno;
	close(fd);
	return raised;
}

bool vg_descriptor_accepts(int fd, int wait_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	return poll(&ready, 1, wait_ms) == 1 && (ready.revents & POLLOUT) != 0;
}

int vg_write_all(int fd, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	while (length > 0) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		/* The pipe has O_NONBLOCK.  Do not clear O_NONBLOCK: other processes may share this open pipe, and
		 * the flag would change for them too. */
		if (wrote < 0 && errno == EAGAIN) {
			vg_descriptor_accepts(fd, -1);
			continue;
		}
		/* write() returned 0 without an error.  Trying again could loop forever. */
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		at += wrote;
		length -= (size_t)wrote;
	}
	return 0;
}
