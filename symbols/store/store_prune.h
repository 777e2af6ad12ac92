/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_PRUNE_H
#define VG_SYMBOLS_STORE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Which .sym files of a store are removed.  A file's age is the time since its mtime, which is when it was saved. */
struct vg_store_prune {
	uint64_t older_than_ns;      /* files of a greater age are removed; UINT64_MAX: none */
	uint64_t max_bytes;          /* the oldest files are removed until the others have at most this sum of sizes;
	                                UINT64_MAX: none */
	bool dry_run;                /* remove nothing */
	/* Called for each file that was removed, or with dry_run would be.  The path is valid only during the call. */
	void (*removed)(void *context, const char *path, uint64_t bytes, uint64_t age_ns);
	void *context;
	/* Results: */
	uint64_t files, bytes;       /* of the store, before */
	uint64_t removed_files, removed_bytes;
};

/*
 * Removes files of a store, the oldest first, and directories that become empty by that.  Opens no .sym file.  A file
 * is removed as a whole, in one step, so a process that reads the store, or a prune that is killed, leaves and finds
 * only whole files.  A file that another process is writing, or has written meanwhile, is kept.  Also removes files
 * NAME.sym.part whose writer was killed.  Waits until no other process prunes the store, unless with dry_run.
 *
 * Returns 0, or a negative errno with a message in err.  Other files are removed although one could not be.
 */
int vg_store_prune(const char *root, struct vg_store_prune *prune, struct vg_err *err);

#endif
