/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/program_open.h"

#include <elf.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/infile.h"

static bool has_type(int fd, bool may_be_relocatable)
{
	unsigned char header[EI_NIDENT + 2];
	unsigned type;

	if (pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header || memcmp(header, ELFMAG, SELFMAG) != 0)
		return false;
	type = header[EI_DATA] == ELFDATA2MSB ? header[EI_NIDENT] << 8 | header[EI_NIDENT + 1] :
						header[EI_NIDENT + 1] << 8 | header[EI_NIDENT];
	return type == ET_EXEC || type == ET_DYN || (may_be_relocatable && type == ET_REL);
}

/* On overlayfs and btrfs, /proc/PID/maps has another device than stat(2), but the same inode. */
static bool has_identity(int fd, const struct stat *status, const struct vg_file_identity *identity)
{
	struct statfs system;

	if (status->st_ino != identity->inode)
		return false;
	return status->st_dev == identity->device ||
	       (fstatfs(fd, &system) == 0 &&
		(system.f_type == OVERLAYFS_SUPER_MAGIC || system.f_type == BTRFS_SUPER_MAGIC));
}

static int file_open(const char *path, const struct vg_file_identity *identity, bool may_be_relocatable)
{
	int fd = vg_regular_file_open(path);
	struct stat status;

	if (fd < 0)
		return -1;
	if ((identity != NULL && (fstat(fd, &status) != 0 || !has_identity(fd, &status, identity))) ||
	    !has_type(fd, may_be_relocatable)) {
		close(fd);
		return -1;
	}
	return vg_descriptor_raise(fd);
}

int vg_program_open(const char *path, const struct vg_file_identity *identity)
{
	return file_open(path, identity, false);
}

int vg_debug_file_open(const char *path)
{
	return file_open(path, NULL, true);
}
