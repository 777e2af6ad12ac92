/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/output_path.h"

/* Number of names PATH.part.N that are tried. */
enum { COPIES_MAX = 100 };

void vg_outfile_close_copy(struct vg_outfile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->directory >= 0)
		close(file->directory);
	free(file->path);
	free(file->part);
	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
}

/* Returns 1 if the name refers to the open file fd, 0 if not, or a negative errno if this cannot be checked. */
static int name_check(int fd, int directory, const char *name)
{
	struct stat file, named;

	if (fstat(fd, &file) != 0)
		return -errno;
	if (fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -errno;
	return file.st_dev == named.st_dev && file.st_ino == named.st_ino;
}

/* Only a regular file may be removed.  A file of another type at this path may have been created on purpose. */
static int part_check(const struct stat *status, const char *path, struct vg_err *err)
{
	return S_ISREG(status->st_mode) ? 0 :
	       vg_err_set(err, -EEXIST, "%s: cannot be replaced: it is not a regular file; remove it or use "
			  "another path", path);
}

/* Sets the error for a PATH.part that cannot be replaced.  rc is the negative errno of the failed call. */
static int part_error(const struct stat *status, const char *path, int rc, struct vg_err *err)
{
	if (rc == -EWOULDBLOCK && status->st_uid == geteuid())
		return vg_err_set(err, -EBUSY, "%s: another process is writing it", path);
	if (rc == -EWOULDBLOCK)
		return vg_err_set(err, -EBUSY, "%s: cannot be replaced: another user (uid %u) owns it, and a process "
				  "has locked it; use another path", path, status->st_uid);
	if ((rc == -EACCES || rc == -EPERM) && status->st_uid != geteuid())
		return vg_err_set(err, -EACCES, "%s: cannot be replaced: another user (uid %u) owns it; use another "
				  "path", path, status->st_uid);
	return vg_err_sys(err, rc, "%s: cannot create", path);
}

/* Removes a PATH.part whose writer has exited.  The writer holds a flock(2).  The kernel releases the lock when all
 * copies of the descriptor are closed, in all processes.  So if we get the lock, there is no writer.  Check the name
 * after locking: another process may have removed the file first and created a new one. */
static int stale_part_remove(int directory, const char *path, struct vg_err *err)
{
	const char *part = vg_path_name(path);
	struct stat status;
	int fd, rc;

	if (fstatat(directory, part, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : vg_err_sys(err, -errno, "%s: cannot create", path);
	rc = part_check(&status, path, err);
	if (rc != 0)
		return rc;
	fd = openat(directory, part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? 0 : part_error(&status, path, -errno, err);
	/* Check the opened file too: after fstatat(2), another process may have replaced the file. */
	if (fstat(fd, &status) == 0)
		rc = part_check(&status, path, err);
	if (rc == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
		rc = part_error(&status, path, -errno, err);
	if (rc == 0 && name_check(fd, directory, part) > 0 && unlinkat(directory, part, 0) != 0 && errno != ENOENT)
		rc = part_error(&status, path, -errno, err);
	close(fd);
	return rc;
}

static int part_create(int directory, const char *path, bool is_new, struct vg_err *err)
{
	const char *part = vg_path_name(path);

	for (int attempt = 0; attempt < 4; attempt++) {
		int fd = openat(directory, part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		int rc = 0;

		if (fd >= 0) {
			/* Another process may have removed the file as stale before we had the lock.  Some file
			 * systems do not support locks: flock(2) then fails with another errno, and we continue
			 * without a lock. */
			if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
				rc = name_check(fd, directory, part);
			if (rc > 0) {
				fd = vg_descriptor_raise(fd);
				return fd >= 0 ? fd : vg_err_sys(err, fd, "%s: cannot create", path);
			}
			close(fd);
			if (rc == 0)
				continue;
			/* name_check() failed, perhaps because a seccomp filter forbids stat(2).  Remove the file
			 * without a check: O_EXCL guarantees that we created it. */
			unlinkat(directory, part, 0);
			return vg_err_sys(err, rc, "%s: cannot create", path);
		}
		if (errno != EEXIST || is_new)
			return vg_err_sys(err, -errno, "%s: cannot create", path);
		rc = stale_part_remove(directory, path, err);
		if (rc != 0)
			return rc;
	}
	return vg_err_set(err, -EBUSY, "%s: another process is writing it", path);
}

/* Opens PATH.part, in file->directory if that is open.  If the file is written in place, file->fd is open already. */
static int file_open(struct vg_outfile *file, const char *path, struct vg_err *err)
{
	int rc = 0;

	file->path = strdup(path);
	if (file->path == NULL || asprintf(&file->part, "%s%s", path, file->in_place ? "" : ".part") < 0) {
		file->part = NULL;
		rc = vg_err_sys(err, -ENOMEM, "%s", path);
	}
	if (rc == 0 && !file->in_place && file->directory < 0) {
		file->directory = vg_output_path_directory(path);
		if (file->directory < 0)
			rc = vg_err_sys(err, file->directory, "%s: cannot create", file->part);
	}
	if (rc == 0 && !file->in_place) {
		file->fd = part_create(file->directory, file->part, file->is_new, err);
		rc = file->fd < 0 ? file->fd : 0;
	}
	if (rc != 0)
		vg_outfile_close_copy(file);
	return rc;
}

int vg_outfile_open(struct vg_outfile *file, const char *path, struct vg_err *err)
{
	int rc;

	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
	rc = vg_output_path_open_special(path, &file->fd, err);
	if (rc != 0)
		return rc;
	file->in_place = file->fd >= 0;
	return file_open(file, path, err);
}

int vg_outfile_open_new(struct vg_outfile *file, const char *path, struct vg_err *err)
{
	struct stat status;

	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
	if (lstat(path, &status) == 0)
		return vg_err_sys(err, -EEXIST, "%s: cannot create", path);
	file->is_new = true;
	return file_open(file, path, err);
}

int vg_outfile_open_in(struct vg_outfile *file, int directory, const char *path, struct vg_err *err)
{
	*file = (struct vg_outfile)VG_OUTFILE_CLOSED;
	file->directory = fcntl(directory, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (file->directory < 0)
		return vg_err_sys(err, -errno, "%s: cannot create", path);
	return file_open(file, path, err);
}

/* True if there is a .part to rename or remove. */
static bool has_part(const struct vg_outfile *file)
{
	return file->fd >= 0 && !file->in_place;
}

static bool part_is_named(const struct vg_outfile *file)
{
	return name_check(file->fd, file->directory, vg_path_name(file->part)) > 0;
}

/* Copies a file.  Returns 0 or a negative errno. */
static int bytes_copy(int from, int to)
{
	unsigned char piece[1024];   /* small, because a thread of the host may have a small stack */
	struct rlimit limit;
	off_t at = 0;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
		return -errno;
	for (;;) {
		ssize_t got = pread(from, piece, sizeof piece, at);
		int rc;

		if (got == 0)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		/* Writing beyond the limit would raise SIGXFSZ, which kills a program that does not handle it. */
		if (got > 0 && (rlim_t)(at + got) > limit.rlim_cur)
			return -EFBIG;
		rc = got < 0 ? -errno : vg_write_all(to, piece, (size_t)got);
		if (rc != 0)
			return rc;
		at += got;
	}
}

/* Creates PATH.part.N.  Returns its descriptor or a negative errno.  The caller frees *name in either case. */
static int copy_create(const struct vg_outfile *file, char **name)
{
	int fd = -EEXIST;

	*name = NULL;
	for (int i = 1; fd == -EEXIST && i <= COPIES_MAX; i++) {
		free(*name);
		if (asprintf(name, "%s.part.%d", file->path, i) < 0) {
			*name = NULL;
			return -ENOMEM;
		}
		fd = openat(file->directory, vg_path_name(*name),
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			fd = -errno;
	}
	return vg_descriptor_raise(fd);
}

/* Copies the data to a new file PATH.part.N.  The original file has no name any more and cannot get one, because
 * linkat(2) refuses a file without links. */
static int part_restore(struct vg_outfile *file, struct vg_err *err)
{
	char *name;
	int fd = copy_create(file, &name), rc;

	rc = fd < 0 ? fd : bytes_copy(file->fd, fd);
	if (rc == 0) {
		close(file->fd);
		free(file->part);
		file->fd = fd;
		file->part = name;
		return 0;
	}
	if (fd >= 0) {
		unlinkat(file->directory, vg_path_name(name), 0);
		close(fd);
	}
	free(name);
	return vg_err_sys(err, rc, "%s was removed or replaced, and its data cannot be saved as %s", file->part,
			  file->path);
}

static int part_rename(const struct vg_outfile *file)
{
	const char *part = vg_path_name(file->part), *name = vg_path_name(file->path);
	struct stat status;

	if (file->is_new) {
		if (syscall(SYS_renameat2, file->directory, part, file->directory, name, RENAME_NOREPLACE) == 0)
			return 0;
		/* EINVAL: the file system has no RENAME_NOREPLACE, for example NFS. */
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		if (fstatat(file->directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			return -EEXIST;
	}
	return renameat(file->directory, part, file->directory, name) == 0 ? 0 : -errno;
}

int vg_outfile_commit(struct vg_outfile *file, struct vg_err *err)
{
	int rc = 0;

	if (has_part(file) && !part_is_named(file))
		rc = part_restore(file, err);
	if (rc == 0 && has_part(file)) {
		rc = part_rename(file);
		if (rc != 0)
			vg_err_sys(err, rc, "%s: cannot rename to %s", file->part, file->path);
	}
	vg_outfile_close_copy(file);
	return rc;
}

void vg_outfile_abandon(struct vg_outfile *file)
{
	if (has_part(file) && part_is_named(file))
		unlinkat(file->directory, vg_path_name(file->part), 0);
	vg_outfile_close_copy(file);
}
