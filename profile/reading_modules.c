/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading_modules.h"

#include <errno.h>
#include <string.h>

#include "profile/reading_fields.h"

int vg_reader_module(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_module module = { .id = id, .unload_ns = UINT64_MAX };
	int rc = vg_intern(&profile->module_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_field_intern(profile, "?", 1, &module.name);
	return rc != 0 ? rc : vg_array_push(&profile->modules, &module);
}

int vg_field_module(struct vg_reader *reader, struct vg_record_view *record, uint32_t *index)
{
	uint32_t id;
	int rc = vg_field_optional_id(record, &id);

	*index = VG_NONE;
	return rc != 0 || id == VG_NONE ? rc : vg_reader_module(reader, id, index);
}

int vg_reader_thread(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_thread thread = { .id = id, .end_ns = UINT64_MAX, .last_segment = reader->segment,
				    .last_sample = VG_NONE,
				    .begin_ns = reader->segment_us * 1000,
				    .last_ns = reader->segment_us * 1000 };
	int rc = vg_intern(&profile->thread_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_field_intern(profile, "?", 1, &thread.name);
	return rc != 0 ? rc : vg_array_push(&profile->threads, &thread);
}

int vg_on_module(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_module module = { .unload_ns = UINT64_MAX };
	const unsigned char *build_id;
	size_t length;
	uint32_t index;
	int rc;

	if (vg_field_u32(record, &module.id) != 0 || vg_field_time_ns(record, &module.load_ns) != 0)
		return -EBADMSG;
	rc = vg_field_file_name(reader, record, &module.name);
	if (rc != 0 || vg_cursor_bin(&record->cursor, &build_id, &length) != 0 ||
	    length > sizeof module.build_id ||
	    vg_cursor_uint(&record->cursor, &module.base) != 0 ||
	    vg_cursor_uint(&record->cursor, &module.size_bytes) != 0)
		return rc != 0 ? rc : -EBADMSG;
	memcpy(module.build_id, build_id, length);
	module.build_id_bytes = (uint8_t)length;
	rc = vg_reader_module(reader, module.id, &index);
	if (rc == 0)
		reader->profile->modules.items[index] = module;
	return rc;
}

int vg_on_module_unload(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = vg_reader_module(reader, id, &index);
	if (rc == 0)
		reader->profile->modules.items[index].unload_ns = time_ns;
	return rc;
}

int vg_on_thread(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_thread thread = { .end_ns = UINT64_MAX, .last_segment = reader->segment,
				    .last_sample = VG_NONE };
	uint32_t index, tid;
	int rc;

	if (vg_field_u32(record, &thread.id) != 0 || vg_field_time_ns(record, &thread.begin_ns) != 0 ||
	    vg_field_u32(record, &tid) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader, record, &thread.name);
	if (rc == 0)
		rc = vg_reader_thread(reader, thread.id, &index);
	if (rc != 0)
		return rc;
	thread.tid = (int32_t)tid;
	thread.last_ns = thread.begin_ns;
	reader->profile->threads.items[index] = thread;
	return 0;
}

int vg_on_thread_name(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index, name;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader, record, &name);
	if (rc == 0)
		rc = vg_reader_thread(reader, id, &index);
	if (rc == 0)
		reader->profile->threads.items[index].name = name;
	return rc;
}

int vg_on_thread_end(struct vg_reader *reader, struct vg_record_view *record)
{
	uint64_t time_ns;
	uint32_t id, index;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &time_ns) != 0)
		return -EBADMSG;
	rc = vg_reader_thread(reader, id, &index);
	if (rc == 0)
		reader->profile->threads.items[index].end_ns = time_ns;
	return rc;
}
