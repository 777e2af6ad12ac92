/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/directories.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int vg_directories_make(char *path, mode_t mode, struct vg_err *err)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		int rc = 0;

		*slash = '\0';
		if (mkdir(path, mode) != 0 && errno != EEXIST)
			rc = vg_err_sys(err, -errno, "%.200s: cannot create the directory", path);
		*slash = '/';
		if (rc != 0)
			return rc;
	}
	return 0;
}
