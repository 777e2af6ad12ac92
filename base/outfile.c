/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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

void vg_outfile_forget(struct vg_outfile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->directory >= 0)
		close(file->directory);
	free(file->path);
	free(file->part);
	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The directory may have another path later, or none: after a chdir or chroot. */
static int directory_open(const char *path)
{
	char *name = strndup(path, (size_t)(name_of(path) - path));
	int fd;

	if (name == NULL)
		return -ENOMEM;
	fd = open(*name != '\0' ? name : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(name);
	return vg_descriptor_raise(fd);
}

/* Whether that is still the file's name. */
static bool is_named(int fd, int directory, const char *name)
{
	struct stat file, named;

	return fstat(fd, &file) == 0 &&
	       fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

/* The writer holds a lock for as long as any descriptor of the file is open, in whichever
 * process: a .part that can be locked has no writer left.  Unless others were faster, and it is
 * another file by now. */
static int stale_part_remove(int directory, const char *part)
{
	int fd = openat(directory, part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else if (is_named(fd, directory, part) && unlinkat(directory, part, 0) != 0 && errno != ENOENT)
		rc = -errno;
	close(fd);
	return rc;
}

static int part_create(int directory, const char *part)
{
	for (int attempt = 0; attempt < 4; attempt++) {
		int fd = openat(directory, part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				0600);
		int rc;

		if (fd >= 0) {
			/* Before it has the lock, another process may remove it as stale.  (Some
			 * file systems know no locks.) */
			if ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
			    is_named(fd, directory, part))
				return fd;
			close(fd);
			continue;
		}
		if (errno != EEXIST)
			return -errno;
		rc = stale_part_remove(directory, part);
		if (rc != 0)
			return rc;
	}
	return -EBUSY;
}

/* What a link to a standard descriptor (/dev/stdout) leads to, or -1.  Even if that is a regular
 * file, it is written in place: renaming over the link would replace it for the whole machine. */
static int standard_at(const char *path)
{
	struct stat link, target, standard;

	if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode) || stat(path, &target) != 0)
		return -1;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fstat(fd, &standard) == 0 && standard.st_dev == target.st_dev &&
		    standard.st_ino == target.st_ino)
			return fd;
	}
	return -1;
}

/* A device or a pipe is written in place likewise. */
static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* A pipe that nobody reads is ENXIO, rather than a wait for a reader. */
static int special_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

int vg_outfile_open(struct vg_outfile *file, const char *path, struct vg_err *err)
{
	int standard = standard_at(path), fd;

	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
	file->in_place = standard >= 0 || is_special(path);
	file->path = strdup(path);
	if (file->path == NULL ||
	    asprintf(&file->part, "%s%s", path, file->in_place ? "" : ".part") < 0) {
		file->part = NULL;
		vg_outfile_forget(file);
		return vg_err_sys(err, -ENOMEM, "%s", path);
	}
	if (standard >= 0) {
		fd = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (fd < 0)
			fd = -errno;
	} else if (file->in_place) {
		fd = special_open(path);
	} else {
		fd = file->directory = directory_open(path);
		if (fd >= 0)
			fd = part_create(file->directory, name_of(file->part));
	}
	fd = vg_descriptor_raise(fd);
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

/* Whether the .part is ours to rename or remove. */
static bool has_part(const struct vg_outfile *file)
{
	return file->fd >= 0 && !file->in_place;
}

int vg_outfile_commit(struct vg_outfile *file, struct vg_err *err)
{
	int rc = 0;

	if (has_part(file) && !is_named(file->fd, file->directory, name_of(file->part)))
		rc = vg_err_set(err, -ENOENT, "%s has been removed or replaced", file->part);
	else if (has_part(file) && renameat(file->directory, name_of(file->part), file->directory,
					    name_of(file->path)) != 0)
		rc = vg_err_sys(err, -errno, "cannot rename %s to %s", file->part, file->path);
	vg_outfile_forget(file);
	return rc;
}

void vg_outfile_abandon(struct vg_outfile *file)
{
	if (has_part(file) && is_named(file->fd, file->directory, name_of(file->part)))
		unlinkat(file->directory, name_of(file->part), 0);
	vg_outfile_forget(file);
}

int vg_write_all(int fd, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	while (length > 0) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		/* A pipe that was given to us may be one that others want to be told of so. */
		if (wrote < 0 && errno == EAGAIN) {
			poll(&ready, 1, -1);
			continue;
		}
		/* Nothing written and no reason given: once more would be for ever. */
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		at += wrote;
		length -= (size_t)wrote;
	}
	return 0;
}
