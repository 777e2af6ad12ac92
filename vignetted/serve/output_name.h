/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_OUTPUT_NAME_H
#define VG_VIGNETTED_OUTPUT_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/outfile.h"

/* Whether the profile's name is to be made: -o is a directory (vg_output_path_check_directory()), or was not given
 * (NULL). */
bool vg_output_is_directory(const char *output);

/* Opens a new profile of the process, PROGRAM.PID.vgp in the directory; NULL: in the current directory.  If this file
 * exists, opens PROGRAM.PID.1.vgp, and so on; no file is replaced.  PROGRAM is made by vg_output_path_make_name().
 * Returns what vg_outfile_open_new() returns.  file->path is the name. */
int vg_output_name_open(struct vg_outfile *file, const char *directory, pid_t pid, struct vg_err *err);

#endif
