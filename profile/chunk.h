/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_CHUNK_H
#define VG_PROFILE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/cursor.h"
#include "profile/model.h"
#include "profile/record.h"

/* Writes the header of a chunk in front of a payload of that length. */
void vg_chunk_header(unsigned char header[VG_CHUNK_HEADER_BYTES], uint32_t sequence,
		     const void *payload, size_t length);

/*
 * Walks the chunks of a file that is in memory.  Set bytes and length, zero the rest.
 */
struct vg_chunks {
	const unsigned char *bytes;
	uint64_t length;
	uint64_t at;                 /* offset of what comes next */
	uint64_t checked_bytes;      /* spent on checksums so far; bounded, or a hostile file of
	                                nested headers would take the square of its length */
	uint32_t next_sequence;
};

struct vg_chunk {
	uint64_t offset;             /* of the chunk in the file */
	uint32_t sequence;
	bool gap;                    /* chunks before this one are missing */
	struct vg_cursor payload;
};

enum vg_chunk_next {
	VG_CHUNK_END,                /* no more chunks */
	VG_CHUNK_GOOD,               /* *chunk is set */
	VG_CHUNK_DAMAGED,            /* *damage is set; call again for what follows it */
};

enum vg_chunk_next vg_chunk_next(struct vg_chunks *chunks, struct vg_chunk *chunk,
				 struct vg_damage *damage);

/* One record of a payload: its kind, and a cursor at its `fields` fields. */
struct vg_record_view {
	uint64_t kind;
	uint32_t fields;
	struct vg_cursor cursor;     /* ends where the record ends */
	const unsigned char *bytes;  /* the whole record */
	size_t length;
};

/* Takes the next record off the payload.  1, 0 at its end, -EBADMSG if what follows is no
 * record (the rest of the payload is then unreadable). */
int vg_record_next(struct vg_cursor *payload, struct vg_record_view *record);

#endif
