/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BASE64_H
#define VG_VGTOOL_BASE64_H

#include <stdio.h>

/*
 * A stream that writes its bytes as base64 (RFC 4648), without newlines, to another stream.
 *
 *	file = vg_base64_open(&base64, stdout);
 *	fwrite(bytes, 1, count, file);
 *	rc = vg_base64_close(&base64, file);
 */
struct vg_base64 {
	FILE *to;                    /* the caller's */
	unsigned char rest[3];       /* bytes that are not written yet, because three bytes make four letters */
	size_t rest_count;
};

/* Returns the stream, or NULL if memory is exhausted.  *base64 must live until vg_base64_close(). */
FILE *vg_base64_open(struct vg_base64 *base64, FILE *to);

/* Writes what is left and closes the stream.  Returns 0, or -EIO if a write to the stream or to `to` failed. */
int vg_base64_close(struct vg_base64 *base64, FILE *file);

#endif
