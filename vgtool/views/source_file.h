/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SOURCE_FILE_H
#define VG_VGTOOL_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/infile.h"

/*
 * The lines of a source file.
 *
 *	if (vg_source_open(&source, "/build/app/src/main.c", directories, count) == 0)
 *		text = vg_source_line(&source, 12, &bytes);
 *	vg_source_close(&source);
 */
struct vg_source {
	char *path;                  /* owned; NULL: not open */
	struct vg_infile file;
	uint64_t offset;             /* of the line `line` */
	uint32_t line;
};

/* Opens the file that the compiler called `name`.  The sources may have moved since then, so in each directory the
 * function looks for the whole name first, and then for the name without its first directory, without its first two
 * directories, and so on: DIRECTORY/build/app/src/main.c, ..., DIRECTORY/src/main.c, DIRECTORY/main.c.  The name is
 * untrusted.  Not opened are a name with "..", a file that is not regular, a link that leads out of the directory, and
 * a file that has a name or directory there that begins with a dot.  Returns 0, -ENOENT or -ENOMEM.  Call
 * vg_source_close() in either case. */
int vg_source_open(struct vg_source *source, const char *name, const char *const *directories, size_t count);
void vg_source_close(struct vg_source *source);

/* The text of a line, 1 or more, without its newline.  Returns NULL if the file has fewer lines.  Fast if lines are
 * asked for in ascending order. */
const char *vg_source_line(struct vg_source *source, uint32_t line, size_t *bytes);

#endif
