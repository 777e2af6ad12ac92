/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "vignetted/target/target.h"

/* A file name has at most 255 bytes (NAME_MAX), and ".part" is added. */
enum { NAMES_MAX = 1000, PROGRAM_BYTES = 200 };

int vg_output_name_open(struct vg_outfile *file, pid_t pid, struct vg_err *err)
{
	char program[VG_PROGRAM_BYTES], name[PROGRAM_BYTES + 1], path[PROGRAM_BYTES + 40];
	int rc = -EEXIST;

	vg_target_executable_name(pid, program);
	snprintf(name, sizeof name, "%.200s", *program != '\0' ? program : "process");
	vg_utf8_make_printable(name, strlen(name));
	for (int i = 0; rc == -EEXIST && i < NAMES_MAX; i++) {
		if (i == 0)
			snprintf(path, sizeof path, "%s.%d.vgp", name, pid);
		else
			snprintf(path, sizeof path, "%s.%d.%d.vgp", name, pid, i);
		rc = vg_outfile_open_new(file, path, err);
	}
	return rc;
}
