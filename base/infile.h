/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_INFILE_H
#define VG_BASE_INFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The bytes of a file: mapped where that is possible, read where it is not (a pipe).
 * A mapped file that another process shortens meanwhile raises SIGBUS, as any mapping does.
 */
struct vg_infile {
	const char *path;            /* the caller's; "standard input" for "-" */
	const unsigned char *bytes;  /* not NULL, even when length is 0 */
	uint64_t length;
	bool mapped;
};

/* "-" is standard input.  0, or a negative errno with the path named; -EFBIG for a pipe that
 * brings more than 4 GiB. */
int vg_infile_open(struct vg_infile *file, const char *path, struct vg_err *err);
void vg_infile_close(struct vg_infile *file);

#endif
