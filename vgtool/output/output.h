/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_OUTPUT_H
#define VG_VGTOOL_OUTPUT_H

#include <stdio.h>

#include "base/err.h"
#include "base/outfile.h"

/*
 * The output of a command: standard output, or a file that appears under its name only when it is
 * complete.
 *
 *	struct vg_output output;
 *	rc = vg_output_open(&output, path, &err);
 *	fprintf(output.file, ...);
 *	rc = vg_output_commit(&output, &err);                      (or vg_output_abandon())
 */
struct vg_output {
	FILE *file;                  /* owned, unless it is stdout */
	struct vg_outfile outfile;   /* VG_OUTFILE_CLOSED if the output is stdout */
	const char *name;            /* for messages; the caller's */
};

#define VG_OUTPUT_CLOSED { .outfile = VG_OUTFILE_CLOSED }

/* Opens the output.  path NULL or "-": standard output.  Returns 0, or a negative errno with a message in err. */
int vg_output_open(struct vg_output *output, const char *path, struct vg_err *err);

/* For a binary format.  path: see vg_output_open().  Returns 0, or -EINVAL with a message in err if the output is a
 * terminal. */
int vg_output_check_terminal(const char *path, struct vg_err *err);

/* Flushes and closes the output, and gives the file its name.  Returns 0.  If one of these steps or an earlier write
 * failed, the file does not appear, and a negative errno is returned with a message in err. */
int vg_output_commit(struct vg_output *output, struct vg_err *err);

/* Closes the output and removes the incomplete file.  Does nothing if the output is closed. */
void vg_output_abandon(struct vg_output *output);

#endif
