/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BOUNDED_H
#define VG_VGTOOL_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A stream that goes on into another one, and fails after so many bytes.  A profile names a function or
 * a stack once, in a few bytes, and a view prints the whole of it each time: what 100 KB ask for may be
 * 100 GB.
 */
struct vg_bounded {
	FILE *to;                    /* the caller's */
	uint64_t left_bytes;
	bool exceeded;               /* there was more; the stream has its error indicator set */
};

/* The stream, which the caller closes before `to`; NULL if there is no memory.  *bounded must live as
 * long. */
FILE *vg_bounded_open(struct vg_bounded *bounded, FILE *to, uint64_t bytes_max);

#endif
