/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READING_FIELDS_H
#define VG_PROFILE_READING_FIELDS_H

#include "profile/chunk.h"
#include "profile/model.h"

/* The latest time in a profile: 285 years.  The limit keeps sums of times in nanoseconds from overflowing. */
#define VG_TIME_MAX_US (UINT64_C(1) << 53)

/* Each function takes one field off the record.  Returns 0, -EBADMSG or -ENOMEM. */
int vg_field_time_ns(struct vg_record_view *record, uint64_t *time_ns);
int vg_field_u32(struct vg_record_view *record, uint32_t *value);
int vg_field_text(struct vg_profile *profile, struct vg_record_view *record, uint32_t *string);
/* Without directories: viewers open the files that some formats name. */
int vg_field_file_name(struct vg_profile *profile, struct vg_record_view *record, uint32_t *string);
/* For nil, *string or *id is VG_NONE. */
int vg_field_optional_text(struct vg_profile *profile, struct vg_record_view *record,
			   uint32_t *string);
int vg_field_optional_id(struct vg_record_view *record, uint32_t *id);

#endif
