/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_OUTPUT_H
#define VG_VGTOOL_OUTPUT_H

#include <stdio.h>

#include "base/err.h"
#include "base/outfile.h"

/*
 * Where a command writes: standard output, or a file that appears under its name only when it
 * is whole.
 */
struct vg_output {
	FILE *file;                  /* owned, unless it is stdout */
	struct vg_outfile outfile;   /* closed for stdout */
	const char *name;            /* for sentences; the caller's */
};

#define VG_OUTPUT_CLOSED { .outfile = VG_OUTFILE_CLOSED }

/* NULL and "-" are standard output.  0 or a negative errno. */
int vg_output_open(struct vg_output *output, const char *path, struct vg_err *err);

/* Writes out what is buffered and gives the file its name; closes.  0 or a negative errno, the
 * first failure of the whole stream included; the file does not appear then. */
int vg_output_commit(struct vg_output *output, struct vg_err *err);

/* Leaves no file behind.  Does nothing to a closed one. */
void vg_output_abandon(struct vg_output *output);

#endif
