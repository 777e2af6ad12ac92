/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_STREAM_H
#define VG_PROFILE_STREAM_H

#include "profile/reading.h"

/*
 * Reads a profile while it is written, for example from a pipe.  The bytes are untrusted.
 *
 *	struct vg_stream stream;
 *	if (vg_stream_open(&stream, &profile) == 0)
 *		vg_stream_add(&stream, bytes, count);                        (again and again)
 *	vg_stream_merge(&stream, vg_stream_now_ns(&stream) - window_ns);
 *	vg_stream_close(&stream);
 */
struct vg_stream {
	struct vg_profile *profile;  /* the caller's */
	size_t merged;               /* the first samples of the profile are results of vg_stream_merge() */

	/* Private: */
	struct vg_reader reader;
	VG_ARRAY(unsigned char) bytes;      /* of a chunk that is not complete */
	VG_ARRAY(uint32_t) merged_of;       /* by stack's index + 1: the index of its merged sample + 1, or 0 */
	uint32_t next_sequence;
};

/* The profile must be zeroed.  Free it after the stream is closed, with vg_profile_free().  Returns 0 or -ENOMEM;
 * call vg_stream_close() in either case. */
int vg_stream_open(struct vg_stream *stream, struct vg_profile *profile);

/* Adds the records of the chunks that are now complete to the profile.  Unlike vg_profile_read() it searches no chunk
 * after damage, because there is none in a pipe.  Returns 0; -EBADMSG: these bytes are no profile, or one of a later
 * version; or -ENOMEM. */
int vg_stream_add(struct vg_stream *stream, const void *bytes, size_t count);

/* The latest time in the profile, since the recording began. */
uint64_t vg_stream_now_ns(const struct vg_stream *stream);

/*
 * Adds up the samples before that time, so that memory does not grow with the number of samples.  Afterwards there is
 * one sample for each stack, which has the sums of count, wall_ns and cpu_ns.  Its other members are those of any of
 * the samples.  Samples are not in the exact order of their times, so some samples before that time can be left.
 * Returns 0 or -ENOMEM.
 */
int vg_stream_merge(struct vg_stream *stream, uint64_t before_ns);

void vg_stream_close(struct vg_stream *stream);

#endif
