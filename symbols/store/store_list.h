/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_STORE_LIST_H
#define VG_SYMBOLS_STORE_LIST_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/* One .sym file of a store.  The strings are valid only during the call of visit(). */
struct vg_store_entry {
	const char *path;            /* of the file */
	const char *name, *debug_id, *code_id; /* of the module; "" if the file does not have them */
	uint64_t bytes;              /* size of the file */
	uint64_t functions, public_symbols, lines; /* numbers of functions, PUBLIC records and lines */
	const char *problem;         /* a sentence about what is wrong with the file; NULL: nothing */
};

/*
 * Calls visit() for each .sym file of a store: each file <root>/<name>/<id>/<any>.sym.  If the root is
 * a file, visits only that file.  Files are visited in the order of their names, and read
 * completely.  An entry has a problem if the file cannot be read, has damaged records, is truncated, or
 * is in a directory with another id.  visit() returns 0, or a negative errno, which ends the listing.
 *
 * Returns 0; the error of visit(); or an error of reading the root.  An unreadable directory inside
 * the root does not end the listing; its error is returned at the end.
 */
int vg_store_list(const char *root,
		  int (*visit)(void *context, const struct vg_store_entry *entry), void *context,
		  struct vg_err *err);

/* Calls visit() for each regular file <root>/<name>/<id>/<any><suffix>, in the order of the names, without opening it.
 * If the root is a file, visits only that file, with an id of NULL.  The rest is as in vg_store_list(). */
int vg_store_walk(const char *root, const char *suffix,
		  int (*visit)(void *context, const char *path, const char *id, const struct stat *status),
		  void *context, struct vg_err *err);

#endif
