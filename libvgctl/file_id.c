/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/file_id.h"

#include <sys/stat.h>

struct vg_file_id vg_file_id_of(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 ?
	       (struct vg_file_id){ status.st_dev, status.st_ino } : (struct vg_file_id){ 0, 0 };
}

int vg_file_id_check(int fd, struct vg_file_id was)
{
	struct vg_file_id is = vg_file_id_of(fd);

	return is.device == was.device && is.inode == was.inode ? fd : -1;
}

struct vg_outfile_ids vg_outfile_ids_of(const struct vg_outfile *file)
{
	return (struct vg_outfile_ids){ vg_file_id_of(file->fd), vg_file_id_of(file->directory) };
}

bool vg_outfile_ids_check(struct vg_outfile *file, const struct vg_outfile_ids *was)
{
	int fd = file->fd, directory = file->directory;

	file->fd = vg_file_id_check(fd, was->file);
	file->directory = vg_file_id_check(directory, was->directory);
	return file->fd == fd && file->directory == directory;
}
