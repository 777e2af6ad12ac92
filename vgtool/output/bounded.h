/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BOUNDED_H
#define VG_VGTOOL_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A stream that passes its bytes on to another stream, up to a limit.  Then it fails.  The limit protects
 * against hostile profiles: a profile has each function name and stack once, but a view can print them many
 * times.  So a profile of 100 KB can produce 100 GB of output.
 *
 *	file = vg_bounded_open(&bounded, stdout, 4096);
 *	fputs(text, file);
 *	fclose(file);
 *	if (bounded.exceeded) ...
 */
struct vg_bounded {
	FILE *to;                    /* the caller's */
	uint64_t left_bytes;         /* bytes that can be written before the limit is reached */
	bool exceeded;               /* more was written; the stream's error indicator is set, too */
};

/* Returns the stream, or NULL if memory is exhausted.  The caller closes the stream before `to`.  *bounded must
 * live until the stream is closed. */
FILE *vg_bounded_open(struct vg_bounded *bounded, FILE *to, uint64_t bytes_max);

#endif
