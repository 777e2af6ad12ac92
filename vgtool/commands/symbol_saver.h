/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SYMBOL_SAVER_H
#define VG_VGTOOL_SYMBOL_SAVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/err.h"

/*
 * Saves the symbols of many files in a store.  Each file is read in a child process of its own.  Several
 * processes run at a time.  The largest file is read first.  The output is in the order in which the
 * files were added.
 *
 *	struct vg_symbol_saver saver = { .command = argv[0], .save = file_save };
 *	vg_symbol_saver_add(&saver, "/usr/bin/true", 30000, true);
 *	vg_symbol_saver_run(&saver, &err);
 *	vg_symbol_saver_free(&saver);
 */
enum { VG_SYMBOL_SAVER_JOBS_MAX = 1024 };

struct vg_symbol_saver_file {
	char *path;                  /* owned */
	off_t bytes;                 /* size of the file; decides which file is read first */
	bool is_named;               /* an argument of the command; false: found in a directory */
	bool failed;
};

struct vg_symbol_saver {
	const char *command;         /* "vgtool symbols", for messages; the caller's */
	unsigned jobs;               /* files at a time; 0: one for each CPU */

	/* Called in the child: saves one file's symbols.  Returns the exit status. */
	int (*save)(void *context, const char *path, bool is_named);
	void *context;

	VG_ARRAY(struct vg_symbol_saver_file) files;
	size_t failures;             /* number of files that failed, after vg_symbol_saver_run() */
};

/* Adds a file.  Ignores a file that was found in a directory and is not an ELF file.  Returns 0 or -ENOMEM. */
int vg_symbol_saver_add(struct vg_symbol_saver *saver, const char *path, off_t bytes, bool is_named);

/* Saves the symbols of all files.  If there are several files, prints a list of the failed ones at the end.
 * Returns 0, also if files failed, or a negative errno if not all files were tried. */
int vg_symbol_saver_run(struct vg_symbol_saver *saver, struct vg_err *err);
void vg_symbol_saver_free(struct vg_symbol_saver *saver);

#endif
