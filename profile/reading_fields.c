/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading_fields.h"

#include <errno.h>
#include <string.h>

int vg_field_time_ns(struct vg_record_view *record, uint64_t *time_ns)
{
	uint64_t us;

	if (vg_cursor_uint(&record->cursor, &us) != 0 || us > VG_TIME_MAX_US)
		return -EBADMSG;
	*time_ns = us * 1000;
	return 0;
}

int vg_field_u32(struct vg_record_view *record, uint32_t *value)
{
	uint64_t wide;

	if (vg_cursor_uint(&record->cursor, &wide) != 0 || wide >= VG_NONE)
		return -EBADMSG;
	*value = (uint32_t)wide;
	return 0;
}

int vg_field_text(struct vg_profile *profile, struct vg_record_view *record, uint32_t *string)
{
	const char *text;
	size_t length;
	int rc = vg_cursor_str(&record->cursor, &text, &length);

	return rc != 0 ? rc : vg_profile_add_string(profile, text, length, string);
}

int vg_field_file_name(struct vg_profile *profile, struct vg_record_view *record, uint32_t *string)
{
	const char *text, *slash;
	size_t length;
	int rc = vg_cursor_str(&record->cursor, &text, &length);

	if (rc != 0)
		return rc;
	slash = memrchr(text, '/', length);
	if (slash != NULL) {
		length -= (size_t)(slash + 1 - text);
		text = slash + 1;
	}
	return vg_profile_add_string(profile, text, length, string);
}

int vg_field_optional_text(struct vg_profile *profile, struct vg_record_view *record, uint32_t *string)
{
	struct vg_item item;
	struct vg_cursor ahead = record->cursor;

	if (vg_cursor_next(&ahead, &item) != 0)
		return -EBADMSG;
	if (item.token != VG_TOKEN_NIL)
		return vg_field_text(profile, record, string);
	record->cursor = ahead;
	*string = VG_NONE;
	return 0;
}

int vg_field_optional_id(struct vg_record_view *record, uint32_t *id)
{
	struct vg_item item;

	*id = VG_NONE;
	if (vg_cursor_next(&record->cursor, &item) != 0)
		return -EBADMSG;
	if (item.token == VG_TOKEN_NIL)
		return 0;
	if (item.token != VG_TOKEN_UINT || item.number >= VG_NONE)
		return -EBADMSG;
	*id = (uint32_t)item.number;
	return 0;
}
