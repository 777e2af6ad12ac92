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
