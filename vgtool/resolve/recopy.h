/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RECOPY_H
#define VG_VGTOOL_RECOPY_H

#include "base/infile.h"
#include "profile/chunk.h"
#include "profile/writer.h"

/*
 * Copies a profile chunk by chunk, every record byte for byte, those of unknown kinds included.
 * Left out are earlier names (FUNCTION, SYMBOL, UNRESOLVED) unless it recovers, what is
 * damaged, in whose place a GAP record stands, and the end, which belongs behind what the caller
 * adds.
 */
struct vg_recopy {
	bool recovers;               /* the caller's: earlier names are kept, and what makes no
	                                sense in a good chunk is left out too */
	struct vg_cursor end;        /* the END record, in the file's bytes; empty: there is none */
	struct vg_cursor end_time;   /* the TIME record of its chunk, or empty */
	uint64_t last_us;            /* the latest TIME record's */
	uint64_t damaged_bytes;      /* left out, in all */
};

/* *recopy is all zero but for the caller's field.  0 or the writer's failure. */
int vg_recopy_chunks(struct vg_recopy *recopy, const struct vg_infile *file,
		     struct vg_writer *writer);

/* Writes the END record, if there was one, and flushes; an empty chunk if nothing at all was
 * written.  0 or the writer's failure. */
int vg_recopy_end(const struct vg_recopy *recopy, struct vg_writer *writer);

#endif
