/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FDE_INDEX_H
#define VG_VIGNETTED_FDE_INDEX_H

#include <stdbool.h>

#include "base/array.h"

#include <stdint.h>

/* An index of .eh_frame: where functions begin and where their FDEs are.  Used for images without the sorted table in
 * .eh_frame_hdr, such as programs linked with -static.  All zero is an empty index. */

/* The most functions in one index, and in all indices together.  An entry takes 8 bytes, so all indices take 8 MiB at
 * most.  Sorting a full index takes 18 to 70 ms.  For comparison: libLLVM-14 of Debian 12 has 95,000 functions. */
enum { VG_FDE_INDEX_MAX = 1 << 19, VG_FDE_INDEX_ALL_MAX = 1 << 20 };

struct vg_fde_entry {
	uint32_t code, fde;          /* offsets from the image's base */
};

struct vg_fde_index {
	VG_ARRAY(struct vg_fde_entry) entries; /* owned; sorted when the index is complete */
	uint64_t at, end;            /* absolute addresses: the part of .eh_frame that is not read yet */
	bool begun, complete;        /* reading has begun; all entries are read and sorted */
	bool overflowed;             /* there were too many functions, or there was no memory */
	uint32_t *total;             /* the caller's counter of entries in all indices; NULL: only this one exists */
};

/* Adds an entry.  If there are too many functions or there is no memory, empties the index for good and returns
 * false. */
bool vg_fde_index_add(struct vg_fde_index *index, uint32_t code, uint32_t fde);

/* Sorts the index.  No entry may be added after that. */
void vg_fde_index_complete(struct vg_fde_index *index);

/* Returns the last entry whose code begins at or before `code`.  NULL: there is none, or the index is not
 * complete. */
const struct vg_fde_entry *vg_fde_index_find(const struct vg_fde_index *index, uint32_t code);

void vg_fde_index_free(struct vg_fde_index *index);

#endif
