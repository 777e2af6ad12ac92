/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_INDEXER_H
#define VG_VGTOOL_INDEXER_H

#include <stddef.h>

#include "base/err.h"

/*
 * The indexes of symbol stores, in $XDG_CACHE_HOME/vignette/indexes/HASH/index.  HASH: of the store's path.
 *
 * An index is made and brought up to date by a child process, which reads the files of the store.  The child is
 * confined: it can read the store only, and write in the directory of the index only.  It has no descriptor except the
 * standard ones, which are /dev/null.  The caller parses nothing.
 *
 *	struct vg_indexer indexer = { .stores = stores, .count = 1, .update = vg_store_index_update };
 *	fd = vg_indexer_open(&indexer, 0);
 */
struct vg_indexer {
	const char *const *stores;   /* the caller's */
	size_t count;
	/* Makes the index `path` of a store, or brings it up to date. */
	int (*update)(const char *store, const char *path, struct vg_err *err);
	/* Private: */
	size_t next;                 /* first store whose index was not updated */
};

/* Opens the index of stores[number].  The first call for a store updates the index.  Returns a descriptor, or -ENOENT
 * if the store is no directory, or if there is no place for the index. */
int vg_indexer_open(struct vg_indexer *indexer, size_t number);

#endif
