/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/record_filter.h"

#include <errno.h>
#include <string.h>

#include "vgtool/analysis/thread_names.h"

static bool thread_matches(const struct vg_record_filter *filter, int32_t tid, const char *name,
			   size_t length)
{
	char text[VG_NAME_MAX_BYTES + 1];

	if (length > VG_NAME_MAX_BYTES)
		return false;
	memcpy(text, name, length);
	text[length] = '\0';
	return vg_thread_matches(filter->thread, tid, text);
}

/* Adds the thread's id to filter->ids, if the record is a THREAD or THREAD_NAME record with the wanted tid or name.
 * Other records refer to the thread by this id. */
static int thread_id_collect(struct vg_record_filter *filter, const struct vg_record_view *record)
{
	struct vg_cursor cursor = record->cursor;
	uint64_t id, time_us, tid = INT32_MAX;
	uint32_t key, index;
	const char *name;
	size_t length;
	int rc;

	if (record->kind != VG_RECORD_THREAD && record->kind != VG_RECORD_THREAD_NAME)
		return 0;
	if (vg_cursor_uint(&cursor, &id) != 0 || vg_cursor_uint(&cursor, &time_us) != 0 ||
	    (record->kind == VG_RECORD_THREAD && vg_cursor_uint(&cursor, &tid) != 0) ||
	    vg_cursor_str(&cursor, &name, &length) != 0 || id >= VG_NONE)
		return 0;
	key = (uint32_t)id;
	if (!thread_matches(filter, (int32_t)tid, name, length))
		return 0;
	rc = vg_intern(&filter->ids, &key, sizeof key, &index);
	return rc < 0 ? rc : 0;
}

int vg_record_filter_open(struct vg_record_filter *filter, const struct vg_infile *file)
{
	struct vg_chunks chunks = { .bytes = file->bytes, .length = file->length };
	struct vg_record_view record;
	enum vg_chunk_next next;
	struct vg_damage damage;
	struct vg_chunk chunk;
	bool any = false;
	int rc = 0;

	if (filter->thread == NULL)
		return 0;
	while (rc == 0 && (next = vg_chunk_next(&chunks, &chunk, &damage)) != VG_CHUNK_END) {
		while (rc == 0 && next == VG_CHUNK_GOOD && vg_record_next(&chunk.payload, &record) > 0)
			rc = thread_id_collect(filter, &record);
		any = any || next == VG_CHUNK_GOOD;
	}
	/* A file without a good chunk is no profile.  The caller reports such a file. */
	return rc == 0 && any && filter->ids.count == 0 ? -ESRCH : rc;
}

void vg_record_filter_close(struct vg_record_filter *filter)
{
	vg_intern_free(&filter->ids);
}

void vg_record_filter_chunk_begin(struct vg_record_filter *filter)
{
	filter->at_chunk_begin = true;
	if (__builtin_mul_overflow(filter->sample_us, (int64_t)1000, &filter->event_ns))
		filter->event_ns = 0;
}

static void time_set(struct vg_record_filter *filter, struct vg_cursor cursor)
{
	uint64_t time_us;

	if (vg_cursor_uint(&cursor, &time_us) != 0 || time_us > UINT64_C(1) << 53)
		return;
	filter->sample_us = (int64_t)time_us;
	if (filter->at_chunk_begin)
		filter->event_ns = filter->sample_us * 1000;
	filter->at_chunk_begin = false;
}

/* Adds the next field of the record to *time if the sum is a valid time. */
static void time_advance(int64_t *time, struct vg_cursor *cursor)
{
	int64_t since, now;

	if (vg_cursor_int(cursor, &since) == 0 && !__builtin_add_overflow(*time, since, &now) && now >= 0)
		*time = now;
}

static bool is_thread_record(uint64_t kind)
{
	return kind == VG_RECORD_THREAD || kind == VG_RECORD_THREAD_NAME ||
	       kind == VG_RECORD_THREAD_END || kind == VG_RECORD_SAMPLE || kind == VG_RECORD_EVENT ||
	       kind == VG_RECORD_PERF_COUNTERS;
}

bool vg_record_filter_matches(struct vg_record_filter *filter, const struct vg_record_view *record,
			      int64_t *time_ns)
{
	struct vg_cursor cursor = record->cursor;
	uint32_t key, index;
	uint64_t id, event_type;

	*time_ns = -1;
	if (filter->thread == NULL)
		return true;
	if (record->kind == VG_RECORD_TIME)
		time_set(filter, cursor);
	if (!is_thread_record(record->kind) ||
	    (record->kind == VG_RECORD_EVENT && vg_cursor_uint(&cursor, &event_type) != 0))
		return false;
	if (vg_cursor_uint(&cursor, &id) != 0 || id >= VG_NONE)
		return false;
	if (record->kind == VG_RECORD_SAMPLE) {
		time_advance(&filter->sample_us, &cursor);
		if (__builtin_mul_overflow(filter->sample_us, (int64_t)1000, time_ns))
			*time_ns = -1;
	} else if (record->kind == VG_RECORD_EVENT) {
		time_advance(&filter->event_ns, &cursor);
		*time_ns = filter->event_ns;
	}
	key = (uint32_t)id;
	return vg_intern_find(&filter->ids, &key, sizeof key, &index);
}
