/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/output_path.h"

static const uint64_t PIPE_MAX_BYTES = UINT64_C(4) << 30;
static const unsigned char empty[1];

/* ---- regular files ---- */

/* Opens the file of the handle again.  Without /proc, for example in a chroot(2), opens its path, and checks that the
 * file is the same. */
static int handle_open(int handle, const char *path, const struct stat *wanted)
{
	enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
	struct stat status;
	char link[40];
	int fd;

	snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
	fd = open(link, FLAGS);
	if (fd >= 0 || errno != ENOENT)
		return fd >= 0 ? fd : -errno;
	fd = open(path, FLAGS);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && status.st_dev == wanted->st_dev && status.st_ino == wanted->st_ino)
		return fd;
	close(fd);
	return -EINVAL;
}

int vg_regular_handle_open(int handle, const char *path)
{
	struct stat status = { 0 };

	if (fstat(handle, &status) == 0 && S_ISREG(status.st_mode))
		return handle_open(handle, path, &status);
	return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
}

int vg_regular_file_open(const char *path)
{
	int handle = open(path, O_PATH | O_CLOEXEC), fd;

	if (handle < 0)
		return -errno;
	fd = vg_regular_handle_open(handle, path);
	close(handle);
	return fd;
}

/* ---- files that an untrusted file names ---- */

/* The kernel's own limit for the links of a path. */
enum { LINKS_MAX = 40 };

/* Reads a link that is not in /proc.  Returns 0 with an empty text if the file is no link. */
static int link_read(int file, char text[PATH_MAX])
{
	struct statfs system;
	struct stat status;
	ssize_t length;

	*text = '\0';
	if (fstat(file, &status) != 0)
		return -errno;
	if (!S_ISLNK(status.st_mode))
		return 0;
	if (fstatfs(file, &system) != 0)
		return -errno;
	if (system.f_type == PROC_SUPER_MAGIC)
		return -ELOOP;
	length = readlinkat(file, "", text, PATH_MAX - 1);
	if (length <= 0)
		return length < 0 ? -errno : -ENOENT;
	text[length] = '\0';
	return 0;
}

/* Cuts the first name off a path.  Returns NULL if there is none. */
static char *name_take(char **rest)
{
	char *name = *rest + strspn(*rest, "/");

	*rest = name + strcspn(name, "/");
	if (**rest != '\0')
		*(*rest)++ = '\0';
	return *name != '\0' ? name : NULL;
}

/* Where a path begins. */
static int begin_open(const char *path)
{
	return open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Returns an O_PATH descriptor of the file itself, also if it is a link, or -1.  With O_DIRECTORY the kernel mounts
 * what is to be mounted there on first use (autofs); with O_PATH alone it does not. */
static int name_open(int directory, const char *name, bool is_last)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int file = is_last ? -1 : openat(directory, name, flags | O_DIRECTORY);

	return file >= 0 || (!is_last && errno != ENOTDIR) ? file : openat(directory, name, flags);
}

/* Follows the path name by name.  Returns an O_PATH descriptor or a negative errno. */
static int path_find(const char *path)
{
	char text[PATH_MAX], target[PATH_MAX], longer[2 * PATH_MAX], *rest = text, *name;
	int at, links = 0, rc = 0;

	if (snprintf(text, sizeof text, "%s", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	at = begin_open(path);
	while (at >= 0 && rc == 0 && (name = name_take(&rest)) != NULL) {
		int next = name_open(at, name, *rest == '\0');

		rc = next < 0 ? -errno : link_read(next, target);
		if (rc == 0 && *target != '\0') {
			rc = ++links > LINKS_MAX ? -ELOOP : 0;
			close(next);
			next = *target == '/' ? begin_open(target) : fcntl(at, F_DUPFD_CLOEXEC, 3);
			snprintf(longer, sizeof longer, "%s/%s", target, rest);
			if (snprintf(text, sizeof text, "%s", longer) >= PATH_MAX)
				rc = -ENAMETOOLONG;
			rest = text;
		}
		close(at);
		at = next;
	}
	if (rc == 0)
		return at >= 0 ? at : -errno;
	if (at >= 0)
		close(at);
	return rc;
}

int vg_named_file_open(const char *path)
{
	int file = path_find(path), fd;

	if (file < 0)
		return file;
	fd = vg_regular_handle_open(file, path);
	close(file);
	return fd;
}

char *vg_named_real_path(const char *path)
{
	char link[40], real[PATH_MAX];
	int file = path_find(path);
	ssize_t length;

	if (file < 0) {
		errno = -file;
		return NULL;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	length = readlink(link, real, sizeof real - 1);
	close(file);
	if (length <= 0 || real[0] != '/') {
		errno = ENOENT;
		return NULL;
	}
	real[length] = '\0';
	return strdup(real);
}

/* ---- the contents of a file ---- */

static uint64_t data_bytes_count(int fd, uint64_t size)
{
	enum { PIECES_MAX = 65536 };
	off_t before, at = 0, end;
	uint64_t data_bytes = 0;
	struct stat status;

	/* Most files have no holes.  On a network file system, SEEK_DATA asks the server. */
	if (fstat(fd, &status) == 0 && (uint64_t)status.st_blocks * 512 >= size)
		return size;
	before = lseek(fd, 0, SEEK_CUR);
	for (int i = 0; i < PIECES_MAX && at >= 0 && (uint64_t)at < size; i++) {
		at = lseek(fd, at, SEEK_DATA);
		end = at >= 0 ? lseek(fd, at, SEEK_HOLE) : -1;
		/* ENXIO: only a hole is left. */
		if (at < 0 || end < 0) {
			data_bytes = errno == ENXIO ? data_bytes : size;
			break;
		}
		data_bytes += (uint64_t)(end - at);
		at = end;
	}
	lseek(fd, before >= 0 ? before : 0, SEEK_SET);
	return data_bytes < size ? data_bytes : size;
}

int vg_file_holes_check(int fd, uint64_t size, const char *path, uint64_t *data_bytes, struct vg_err *err)
{
	enum { HOLES_MAX_MIB = 1024 };
	uint64_t holes;

	*data_bytes = data_bytes_count(fd, size);
	holes = size - *data_bytes;
	if (holes > (uint64_t)HOLES_MAX_MIB << 20)
		return vg_err_set(err, -EFBIG, "%s: %" PRIu64 " MiB of holes; at most %d are read", path, holes >> 20,
				  HOLES_MAX_MIB);
	return 0;
}

/* Waits for a pipe that was opened with O_NONBLOCK: poll(2) also waits for the first writer, which read(2) does not. */
static int pipe_wait(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	while (poll(&wait, 1, -1) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int pipe_read(struct vg_infile *file, int fd, struct vg_err *err)
{
	VG_ARRAY(unsigned char) bytes = { 0 };
	ssize_t got = 1;
	int rc = 0;

	while (rc == 0 && got > 0) {
		rc = vg_array_reserve(&bytes, (size_t)64 * 1024);
		if (rc == 0)
			rc = pipe_wait(fd);
		if (rc != 0)
			break;
		got = read(fd, bytes.items + bytes.count, bytes.capacity - bytes.count);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			got = 1;
		else if (got < 0)
			rc = -errno;
		else
			bytes.count += (size_t)got;
		if (bytes.count > PIPE_MAX_BYTES)
			rc = -EFBIG;
	}
	if (rc != 0) {
		vg_array_free(&bytes);
		return vg_err_sys(err, rc, "%s: cannot read", file->path);
	}
	file->bytes = bytes.items;
	file->length = bytes.count;
	return 0;
}

/* A named pipe of another user may never have a writer.  A pipe without a name, as of a shell, was given to us. */
static int pipe_check(int fd, const struct stat *status, const char *path, struct vg_err *err)
{
	struct statfs system;

	if (!S_ISFIFO(status->st_mode) || vg_output_path_owner_is_trusted(status->st_uid) ||
	    (fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC))
		return 0;
	return vg_err_set(err, -EACCES, "%s: a named pipe of another user (uid %u)", path, (unsigned)status->st_uid);
}

static int file_map(struct vg_infile *file, int fd, uint64_t length, struct vg_err *err)
{
	uint64_t data_bytes;
	void *bytes;
	int rc = vg_file_holes_check(fd, length, file->path, &data_bytes, err);

	if (rc != 0 || length == 0)
		return rc;
	bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return vg_err_sys(err, -errno, "%s: cannot map", file->path);
	file->bytes = bytes;
	file->length = length;
	file->mapped = true;
	return 0;
}

static int directory_error(const char *path, struct vg_err *err)
{
	return vg_err_set(err, -EISDIR, "%s: is a directory; this command reads files", path);
}

/* Takes ownership of fd, unless it is standard input. */
static int contents_read(struct vg_infile *file, int fd, bool was_given, struct vg_err *err)
{
	struct stat status;
	int rc;

	if (fstat(fd, &status) != 0)
		rc = vg_err_sys(err, -errno, "%s: cannot read", file->path);
	else if (S_ISDIR(status.st_mode))
		rc = directory_error(file->path, err);
	else if (S_ISREG(status.st_mode))
		rc = file_map(file, fd, (uint64_t)status.st_size, err);
	else if (was_given || (rc = pipe_check(fd, &status, file->path, err)) == 0)
		rc = pipe_read(file, fd, err);
	if (fd != STDIN_FILENO)
		close(fd);
	return rc;
}

int vg_infile_open(struct vg_infile *file, const char *path, struct vg_err *err)
{
	int fd = vg_regular_file_open(path);

	*file = (struct vg_infile){ .path = path, .bytes = empty };
	if (fd == -EINVAL)
		return vg_err_set(err, fd, "%s: not a regular file", path);
	if (fd == -EISDIR)
		return directory_error(path, err);
	return fd >= 0 ? contents_read(file, fd, false, err) : vg_err_sys(err, fd, "%s: cannot open", path);
}

int vg_infile_open_argument(struct vg_infile *file, const char *path, struct vg_err *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*file = (struct vg_infile){ .path = standard ? "standard input" : path, .bytes = empty };
	return fd >= 0 ? contents_read(file, fd, standard, err) : vg_err_sys(err, -errno, "%s: cannot open", path);
}

void vg_infile_close(struct vg_infile *file)
{
	if (file->mapped)
		munmap((void *)file->bytes, file->length);
	else if (file->bytes != empty)
		free((void *)file->bytes);
	*file = (struct vg_infile){ .bytes = empty };
}
