/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READING_H
#define VG_PROFILE_READING_H

#include "profile/chunk.h"
#include "profile/model.h"

/* The reader's own parts, for the files of the reader alone. */
struct vg_reader {
	struct vg_profile *profile;
	const unsigned char *bytes;  /* of the file, for offsets */
	uint64_t now_us;
	uint32_t run;                /* changes at every gap: no weight spans one */
	uint64_t run_us;             /* when this run began */
	bool run_opens;              /* the next TIME record opens a run */
	bool event_opens;            /* the next TIME record is the chunk's first */
	int64_t event_ns;            /* time of the event before, or of the chunk */
};

/* One for each record kind: 0, -EBADMSG if it is malformed, -ENOMEM. */
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
int vg_on_code(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_label(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_event(struct vg_reader *reader, struct vg_record_view *record);
int vg_on_count(struct vg_reader *reader, struct vg_record_view *record);

#endif
