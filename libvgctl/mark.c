/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/mark.h"

#include <sys/stat.h>

struct vg_mark vg_mark_of(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 ?
	       (struct vg_mark){ status.st_dev, status.st_ino } : (struct vg_mark){ 0, 0 };
}

int vg_mark_check(int fd, struct vg_mark was)
{
	struct vg_mark is = vg_mark_of(fd);

	return is.device == was.device && is.inode == was.inode ? fd : -1;
}

struct vg_file_marks vg_file_marks_of(const struct vg_outfile *file)
{
	return (struct vg_file_marks){ vg_mark_of(file->fd), vg_mark_of(file->directory) };
}

bool vg_file_marks_check(struct vg_outfile *file, const struct vg_file_marks *was)
{
	int fd = file->fd, directory = file->directory;

	file->fd = vg_mark_check(fd, was->file);
	file->directory = vg_mark_check(directory, was->directory);
	return file->fd == fd && file->directory == directory;
}
