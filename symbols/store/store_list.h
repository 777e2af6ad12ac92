/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_LIST_H
#define VG_SYMBOLS_STORE_LIST_H

#include <stdint.h>

#include "base/err.h"

/* What is in a store: one of its .sym files. */
struct vg_store_entry {
	const char *path, *name, *debug_id, *code_id; /* "" where it does not say */
	uint64_t bytes, functions, publics, lines;
	const char *problem;         /* a sentence, or NULL */
};

/*
 * Calls visit for every .sym file of a store, in the order of names: <root>/<name>/<id>/<any>.sym,
 * of either layout, or the root itself if it is a file.  Each is read whole; one that cannot
 * be, has damaged records, ends within a line, or lies in a directory that is named by another id
 * has a problem.  visit returns 0, or a negative errno that ends the listing.
 *
 * 0; visit's; or why the root or, after all the others, a directory in it could not be read.
 */
int vg_store_list(const char *root,
		  int (*visit)(void *context, const struct vg_store_entry *entry), void *context,
		  struct vg_err *err);

#endif
