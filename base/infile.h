/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_INFILE_H
#define VG_BASE_INFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* All bytes of a file.  Regular files are mapped; pipes are read.  If another process shortens a mapped file, reading
 * the missing bytes raises SIGBUS. */
struct vg_infile {
	const char *path;            /* the caller's; "standard input" for "-" */
	const unsigned char *bytes;  /* never NULL, even if length is 0 */
	uint64_t length;
	bool mapped;
};

/* Opens a file; "-" is standard input.  Returns 0, or a negative errno with err set.  For a pipe with more than 4 GiB,
 * returns -EFBIG. */
int vg_infile_open(struct vg_infile *file, const char *path, struct vg_err *err);
void vg_infile_close(struct vg_infile *file);

#endif
