/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READING_H
#define VG_PROFILE_READING_H

#include "profile/chunk.h"
#include "profile/model.h"

/* The state of vg_profile_read(), shared by reader.c, stream.c and reading.c only. */
struct vg_reader {
	struct vg_profile *profile;
	const unsigned char *bytes;  /* of the file */
	uint64_t now_us;             /* time of the latest TIME or SAMPLE record; vgp(5) calls it "current time" */
	uint32_t segment;            /* number of gaps before this point: no sample's weight extends across a gap */
	uint64_t segment_us;         /* time when the segment began */
	bool segment_begins;         /* a gap was found: the next TIME record begins a segment */
	bool chunk_begins;           /* the next TIME record is the first of its chunk */
	int64_t event_ns;            /* time of the chunk's previous event; before the first event, the chunk's time */
};

/* Sets the reader to the begin of a profile, which must be zeroed.  Returns 0 or -ENOMEM. */
int vg_reader_begin(struct vg_reader *reader, struct vg_profile *profile);

/* Adds the records of an intact chunk to the profile.  A malformed record is added to the damage.  Returns 0 or
 * -ENOMEM. */
int vg_reader_chunk(struct vg_reader *reader, struct vg_chunk *chunk);

/* Each function adds one record of its kind to the model.  Returns 0, -ENOMEM, or -EBADMSG for a malformed record. */
int vg_on_header(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_time(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_module(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_module_unload(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_thread(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_thread_name(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_thread_end(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_stack(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_sample(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_lost(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_stats(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_gap(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_end(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_function(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_symbol(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_unresolved(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_jit_code(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_kernel_symbol(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_label(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_event(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_perf_counters(struct vg_reader *reader, struct vg_record_view *record);

#endif
