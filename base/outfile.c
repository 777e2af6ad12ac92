/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void vg_outfile_forget(struct vg_outfile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->part);
	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
}

/* The writer holds a lock for as long as any descriptor of the file is open, in whichever
 * process: a .part that can be locked has no writer left. */
static int stale_part_remove(const char *part)
{
	int fd = open(part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (unlink(part) != 0 && errno != ENOENT)
		rc = -errno;
	close(fd);
	return rc;
}

static int part_create(const char *part)
{
	for (int attempt = 0; attempt < 4; attempt++) {
		int fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		int rc;

		if (fd >= 0) {
			flock(fd, LOCK_EX | LOCK_NB);
			return fd;
		}
		if (errno != EEXIST)
			return -errno;
		rc = stale_part_remove(part);
		if (rc != 0)
			return rc;
	}
	return -EBUSY;
}

/* A device or a pipe (/dev/null, /dev/stdout) is written in place: renaming over it would
 * replace it for the whole machine. */
static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

int vg_outfile_open(struct vg_outfile *file, const char *path, struct vg_err *err)
{
	bool special = is_special(path);
	int fd;

	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
	file->path = strdup(path);
	if (file->path == NULL || asprintf(&file->part, "%s%s", path, special ? "" : ".part") < 0) {
		file->part = NULL;
		vg_outfile_forget(file);
		return vg_err_sys(err, -ENOMEM, "%s", path);
	}
	file->in_place = special;
	if (special)
		fd = open(path, O_WRONLY | O_CLOEXEC);
	else
		fd = part_create(file->part);
	if (special && fd < 0)
		fd = -errno;
	if (fd == -EBUSY)
		vg_err_set(err, fd, "%s: another process is writing it", file->part);
	else if (fd < 0)
		vg_err_sys(err, fd, "cannot create %s", file->part);
	if (fd < 0) {
		vg_outfile_forget(file);
		return fd;
	}
	file->fd = fd;
	return 0;
}

int vg_outfile_commit(struct vg_outfile *file, struct vg_err *err)
{
	int rc = 0;

	if (!file->in_place && rename(file->part, file->path) != 0)
		rc = vg_err_sys(err, -errno, "cannot rename %s to %s", file->part, file->path);
	vg_outfile_forget(file);
	return rc;
}

void vg_outfile_abandon(struct vg_outfile *file)
{
	if (file->fd >= 0 && !file->in_place)
		unlink(file->part);
	vg_outfile_forget(file);
}

int vg_write_all(int fd, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	while (length > 0) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -errno;
		at += wrote;
		length -= (size_t)wrote;
	}
	return 0;
}
