/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READING_H
#define VG_PROFILE_READING_H

#include "profile/chunk.h"
#include "profile/model.h"

/* The state of vg_profile_read(), used by reader.c, stream.c and reading.c only.  A vg_stream has one.  At the begin of
 * a profile, all members but the first two are 0. */
struct vg_reader {
	struct vg_profile *profile;
	const unsigned char *bytes;  /* of the file */
	uint64_t now_us;             /* time of the latest TIME or SAMPLE record; vgp(5) calls it "current time" */
	uint32_t segment;            /* number of gaps before this point: no sample's weight extends across a gap */
	uint64_t segment_us;         /* time when the segment began */
	bool segment_begins;         /* a gap was found: the next TIME record begins a segment */
	bool chunk_begins;           /* the next TIME record is the first of its chunk */
	uint64_t event_ns;           /* time of the chunk's previous event; before the first event, the chunk's time */
};

/* Adds the records of an intact chunk to the profile.  A malformed record is added to the damage.  Returns 0 or
 * -ENOMEM. */
int vg_reader_chunk(struct vg_reader *reader, struct vg_chunk *chunk);

#endif
