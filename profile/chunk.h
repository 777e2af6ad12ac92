/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_CHUNK_H
#define VG_PROFILE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/cursor.h"
#include "profile/model.h"
#include "profile/record.h"

/* Writes a chunk's header.  `payload` is the chunk's payload, of at most VG_CHUNK_PAYLOAD_MAX bytes. */
void vg_chunk_header(unsigned char header[VG_CHUNK_HEADER_BYTES], uint32_t sequence,
		     const void *payload, size_t length);

/*
 * Iterates over the chunks and records of a file in memory.  The bytes are untrusted.  Set `bytes` and `length`, and
 * zero the other members:
 *
 *     struct vg_chunks chunks = { .bytes = file.bytes, .length = file.length };
 *     while ((next = vg_chunk_next(&chunks, &chunk, &damage)) != VG_CHUNK_END) {
 *             while (next == VG_CHUNK_GOOD && vg_record_next(&chunk.payload, &record) > 0)
 *                     ... record.kind, record.cursor ...
 *     }
 */
struct vg_chunks {
	const unsigned char *bytes;
	uint64_t length;
	uint64_t at;                 /* offset of the next chunk */
	uint64_t checked_bytes;      /* sum of the lengths of all checksummed payloads.  It is limited: in a hostile
	                                file with headers inside payloads, it could grow with the square of the file's
	                                length */
	uint32_t next_sequence;      /* expected in the next chunk */
};

struct vg_chunk {
	uint64_t offset;             /* of the chunk in the file */
	uint32_t sequence;
	bool gap;                    /* one or more chunks before this one are missing */
	struct vg_cursor payload;
};

/* Sets *length to the length of the chunk that begins at `bytes`, its header included, if the header is complete.
 * Returns 1, 0 if more bytes are needed, or -EBADMSG if no chunk begins there. */
int vg_chunk_length(const unsigned char *bytes, size_t count, size_t *length);

enum vg_chunk_next {
	VG_CHUNK_END,                /* no more chunks */
	VG_CHUNK_GOOD,               /* *chunk is set */
	VG_CHUNK_DAMAGED,            /* *damage is set; the next call continues after the damage */
};

enum vg_chunk_next vg_chunk_next(struct vg_chunks *chunks, struct vg_chunk *chunk,
				 struct vg_damage *damage);

/* One record of a payload.  Points into the file's bytes. */
struct vg_record_view {
	uint64_t kind;
	uint32_t fields;             /* number of fields after the kind */
	struct vg_cursor cursor;     /* from the first field to the end of the record */
	const unsigned char *bytes;  /* the whole record */
	size_t length;
};

/* Takes the next record off the payload.  Returns 1, or 0 at the end of the payload.  Returns -EBADMSG if the next
 * bytes are not a valid record: the rest of the payload is then unreadable. */
int vg_record_next(struct vg_cursor *payload, struct vg_record_view *record);

#endif
