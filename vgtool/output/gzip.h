/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_GZIP_H
#define VG_VGTOOL_GZIP_H

#include <stdio.h>
#include <zlib.h>

/*
 * A stream that compresses its bytes (gzip, RFC 1952) and writes them to another stream.
 *
 *	file = vg_gzip_open(&gzip, stdout);
 *	fputs(text, file);
 *	rc = vg_gzip_close(&gzip, file);
 */
struct vg_gzip {
	FILE *to;                    /* the caller's */
	z_stream stream;
};

/* Returns the stream, or NULL if memory is exhausted.  *gzip must live until vg_gzip_close(). */
FILE *vg_gzip_open(struct vg_gzip *gzip, FILE *to);

/* Writes what is left and closes the stream.  Returns 0, or -EIO if a write to the stream or to `to` failed. */
int vg_gzip_close(struct vg_gzip *gzip, FILE *file);

#endif
