/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_DIRECTORIES_H
#define VG_BASE_DIRECTORIES_H

#include <sys/types.h>

#include "base/err.h"

/* Makes all directories above the last component of the path.  "a/b/" is the path of a directory: b is made, too.
 * Directories that exist stay as they are.  Changes the path while it runs.  Returns 0, or a negative errno with a
 * message in err. */
int vg_directories_make(char *path, mode_t mode, struct vg_err *err);

#endif
