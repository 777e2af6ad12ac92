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

/* Beyond this a time is nonsense (285 years), and sums of times could overflow. */
#define VG_TIME_MAX_US (UINT64_C(1) << 53)

/* Each takes one field off the record: 0, -EBADMSG, or -ENOMEM. */
int vg_field_time_ns(struct vg_record_view *record, uint64_t *time_ns);
int vg_field_u32(struct vg_record_view *record, uint32_t *value);
int vg_field_text(struct vg_reader *reader, struct vg_record_view *record, uint32_t *string);
/* nil is VG_NONE, in both. */
int vg_field_optional_text(struct vg_reader *reader, struct vg_record_view *record,
			   uint32_t *string);
/* An id, or VG_NONE for nil. */
int vg_field_optional_id(struct vg_record_view *record, uint32_t *id);

int vg_field_module(struct vg_reader *reader, struct vg_record_view *record, uint32_t *index);

/* Interns text, made fit for terminals: UTF-8 without control characters, of bounded length. */
int vg_field_keep(struct vg_profile *profile, const char *text, size_t length, uint32_t *string);

/* The index of what has that id in the file.  If its record was lost, it gets a placeholder. */
int vg_reader_module(struct vg_reader *reader, uint32_t id, uint32_t *index);
int vg_reader_thread(struct vg_reader *reader, uint32_t id, uint32_t *index);

/* Lists damage, up to a bound; counts all of it. */
int vg_reader_damage(struct vg_profile *profile, const struct vg_damage *damage);

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
