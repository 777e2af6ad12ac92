/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PROFILE_COPY_H
#define VG_VGTOOL_PROFILE_COPY_H

#include "base/infile.h"
#include "profile/chunk.h"
#include "profile/writer.h"

/*
 * Copies a profile chunk by chunk.  Records are copied byte for byte, even if their kind is unknown.  These
 * are not copied:
 *  - symbols of an earlier `vgtool resolve` (FUNCTION, SYMBOL, UNRESOLVED), unless is_recovery is set,
 *  - damage; a GAP record replaces it,
 *  - the END record; vg_profile_copy_end() writes it, so that the caller can add records before it.
 *
 *	struct vg_profile_copy copy = { 0 };
 *	vg_profile_copy_chunks(&copy, &file, &writer);
 *	...
 *	vg_profile_copy_end(&copy, &writer);
 */
struct vg_profile_copy {
	bool is_recovery;            /* set by the caller: keep symbols; if a record is malformed in a chunk with a
	                                good checksum, leave out this record and the rest of the chunk */
	struct vg_cursor end;        /* points to the END record in the bytes of `file`; empty: there is none */
	struct vg_cursor end_time;   /* the TIME record before `end` in its chunk; empty: there is none */
	uint64_t last_us;            /* latest time of a TIME record so far, in us since the recording began */
	uint64_t damaged_bytes;      /* bytes left out because of damage */
};

/* All members of *copy except is_recovery must be zero.  Returns 0 or the writer's negative errno. */
int vg_profile_copy_chunks(struct vg_profile_copy *copy, const struct vg_infile *file,
			   struct vg_writer *writer);

/* Writes the END record, if there was one, and flushes.  If the file would be empty, writes an empty chunk.
 * Returns 0 or the writer's negative errno. */
int vg_profile_copy_end(const struct vg_profile_copy *copy, struct vg_writer *writer);

#endif
