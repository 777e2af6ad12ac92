/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/output_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/output_path.h"
#include "vignetted/target/target.h"

enum { NAMES_MAX = 1000 };

bool vg_output_is_directory(const char *output)
{
	return output == NULL || vg_output_path_check_directory(output, NULL) == 0;
}

int vg_output_name_open(struct vg_outfile *file, const char *directory, pid_t pid, struct vg_err *err)
{
	char program[VG_PROGRAM_BYTES], name[VG_OUTPUT_NAME_BYTES], path[PATH_MAX + VG_OUTPUT_NAME_BYTES + 40];
	const char *slash = directory != NULL ? "/" : "";
	int rc = -EEXIST;

	vg_target_executable_name(pid, program);
	vg_output_path_make_name(*program != '\0' ? program : "process", name);
	for (int i = 0; rc == -EEXIST && i < NAMES_MAX; i++) {
		if (i == 0)
			snprintf(path, sizeof path, "%.4095s%s%s.%d.vgp", directory ?: "", slash, name, pid);
		else
			snprintf(path, sizeof path, "%.4095s%s%s.%d.%d.vgp", directory ?: "", slash, name, pid, i);
		rc = vg_outfile_open_new(file, path, err);
	}
	return rc;
}
