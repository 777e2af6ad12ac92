/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/state_at.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/chunk.h"

struct reader {
	struct vg_state_at *state;
	const struct vg_profile *profile;
	uint64_t before_us;
	int64_t now_us;              /* the time of the latest TIME or SAMPLE record */
};

static void on_header(struct reader *reader, struct vg_cursor *cursor)
{
	struct vg_state_text name, *program = &reader->state->program;
	uint32_t count;

	/* The first record of this kind describes the begin.  Each further one says that the process has executed
	 * another program now. */
	if ((program->bytes != NULL && (uint64_t)reader->now_us >= reader->before_us) ||
	    vg_cursor_map(cursor, &count) != 0)
		return;
	for (; count > 0 && vg_cursor_str(cursor, &name.bytes, &name.length) == 0; count--) {
		bool is_program = name.length == strlen("program") && memcmp(name.bytes, "program", name.length) == 0;

		if (is_program ? vg_cursor_str(cursor, &program->bytes, &program->length) : vg_cursor_skip(cursor))
			return;
	}
}

/* A THREAD or THREAD_NAME record. */
static void on_thread(struct reader *reader, struct vg_cursor *cursor, bool has_tid)
{
	struct vg_state_text name;
	uint64_t id, time_us, tid;
	uint32_t key, index;

	if (vg_cursor_uint(cursor, &id) != 0 || id >= VG_NONE || vg_cursor_uint(cursor, &time_us) != 0 ||
	    (has_tid && vg_cursor_uint(cursor, &tid) != 0) ||
	    vg_cursor_str(cursor, &name.bytes, &name.length) != 0 || time_us >= reader->before_us)
		return;
	key = (uint32_t)id;
	if (vg_intern_find(&reader->profile->thread_ids, &key, sizeof key, &index))
		reader->state->thread_names[index] = name;
}

static int on_rate(struct reader *reader, struct vg_cursor *cursor)
{
	struct vg_state_rate rate;

	if (vg_cursor_uint(cursor, &rate.time_us) != 0 || vg_cursor_uint(cursor, &rate.period_ns) != 0 ||
	    rate.time_us >= reader->before_us)
		return 0;
	return vg_array_push(&reader->state->rates, &rate);
}

static void time_set(struct reader *reader, int64_t now_us)
{
	if (now_us >= 0)
		reader->now_us = now_us;
}

static int on_record(struct reader *reader, const struct vg_record_view *record)
{
	struct vg_cursor cursor = record->cursor;
	uint64_t thread;
	int64_t us;

	switch (record->kind) {
	case VG_RECORD_TIME:
		if (vg_cursor_int(&cursor, &us) == 0)
			time_set(reader, us);
		break;
	case VG_RECORD_SAMPLE:
		if (vg_cursor_uint(&cursor, &thread) == 0 && vg_cursor_int(&cursor, &us) == 0 &&
		    !__builtin_add_overflow(reader->now_us, us, &us))
			time_set(reader, us);
		break;
	case VG_RECORD_HEADER:
		on_header(reader, &cursor);
		break;
	case VG_RECORD_THREAD:
	case VG_RECORD_THREAD_NAME:
		on_thread(reader, &cursor, record->kind == VG_RECORD_THREAD);
		break;
	case VG_RECORD_RATE:
		return on_rate(reader, &cursor);
	}
	return 0;
}

int vg_state_at_read(struct vg_state_at *state, const struct vg_profile *profile, const struct vg_infile *file,
		     uint64_t before_ns)
{
	struct vg_chunks chunks = { .bytes = file->bytes, .length = file->length };
	struct reader reader = { state, profile, before_ns / 1000, 0 };
	struct vg_record_view record;
	enum vg_chunk_next next;
	struct vg_damage damage;
	struct vg_chunk chunk;
	int rc;

	*state = (struct vg_state_at){
		.thread_names = calloc(profile->threads.count + 1, sizeof *state->thread_names) };
	rc = state->thread_names == NULL ? -ENOMEM : 0;
	while (rc == 0 && (next = vg_chunk_next(&chunks, &chunk, &damage)) != VG_CHUNK_END) {
		while (rc == 0 && next == VG_CHUNK_GOOD && vg_record_next(&chunk.payload, &record) > 0)
			rc = on_record(&reader, &record);
	}
	return rc;
}

void vg_state_at_free(struct vg_state_at *state)
{
	free(state->thread_names);
	vg_array_free(&state->rates);
	*state = (struct vg_state_at){ 0 };
}
