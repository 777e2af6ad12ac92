/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SAVING_H
#define VG_VGTOOL_SAVING_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/err.h"

/*
 * The files whose symbols go into a store: several at a time, each in a process of its own, the
 * largest first, their output in the order in which they were added.
 */
enum { VG_SAVING_JOBS_MAX = 1024 };

struct vg_saving_file {
	char *path;                  /* owned */
	off_t bytes;
	bool is_named;               /* by the caller, not found in a directory */
	bool failed;
};

struct vg_saving {
	const char *command;
	unsigned jobs;               /* at a time; 0: one for each CPU */

	/* Saves one file's symbols, in the child; returns the exit status. */
	int (*save)(void *context, const char *path, bool is_named);
	void *context;

	VG_ARRAY(struct vg_saving_file) files;
	size_t failures;             /* after the run */
};

/* A file found in a directory is left out if it does not start as ELF files do.  0 or -ENOMEM. */
int vg_saving_add(struct vg_saving *saving, const char *path, off_t bytes, bool is_named);

/* Saves all, and lists in the end what failed, if it was not the only one.  0, or why it did not
 * come to the end. */
int vg_saving_run(struct vg_saving *saving, struct vg_err *err);
void vg_saving_free(struct vg_saving *saving);

#endif
