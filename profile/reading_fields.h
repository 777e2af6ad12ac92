/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READING_FIELDS_H
#define VG_PROFILE_READING_FIELDS_H

#include "profile/reading.h"

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

/* Interns text, made fit for terminals: UTF-8 without control characters, of bounded length. */
int vg_field_keep(struct vg_profile *profile, const char *text, size_t length, uint32_t *string);

#endif
