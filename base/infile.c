/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

static const uint64_t PIPE_MAX_BYTES = UINT64_C(4) << 30;
static const unsigned char empty[1];

static int pipe_read(struct vg_infile *file, int fd, struct vg_err *err)
{
	VG_ARRAY(unsigned char) bytes = { 0 };
	ssize_t got = 1;
	int rc = 0;

	while (rc == 0 && got > 0) {
		rc = vg_array_reserve(&bytes, (size_t)64 * 1024);
		if (rc != 0)
			break;
		got = read(fd, bytes.items + bytes.count, bytes.capacity - bytes.count);
		if (got < 0 && errno == EINTR)
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

static int file_map(struct vg_infile *file, int fd, uint64_t length, struct vg_err *err)
{
	void *bytes;

	file->length = length;
	file->bytes = empty;
	if (length == 0)
		return 0;
	bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return vg_err_sys(err, -errno, "%s: cannot map", file->path);
	file->bytes = bytes;
	file->mapped = true;
	return 0;
}

int vg_infile_open(struct vg_infile *file, const char *path, struct vg_err *err)
{
	bool standard = strcmp(path, "-") == 0;
	struct stat status;
	int fd, rc;

	*file = (struct vg_infile){ .path = standard ? "standard input" : path, .bytes = empty };
	fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return vg_err_sys(err, -errno, "%s: cannot open", path);
	if (fstat(fd, &status) != 0)
		rc = vg_err_sys(err, -errno, "%s: cannot read", file->path);
	else if (S_ISDIR(status.st_mode))
		rc = vg_err_set(err, -EISDIR, "%s: is a directory; this command reads files", file->path);
	else if (S_ISREG(status.st_mode))
		rc = file_map(file, fd, (uint64_t)status.st_size, err);
	else
		rc = pipe_read(file, fd, err);
	if (!standard)
		close(fd);
	return rc;
}

void vg_infile_close(struct vg_infile *file)
{
	if (file->mapped)
		munmap((void *)file->bytes, file->length);
	else if (file->bytes != empty)
		free((void *)file->bytes);
	*file = (struct vg_infile){ .bytes = empty };
}
