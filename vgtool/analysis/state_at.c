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
	struct vg_state_text next_program; /* of the latest header */
	uint32_t headers;
	uint32_t *sampled_after;     /* by index of the thread: the number of headers before its latest sample */
};

/* The first record of this kind describes the begin.  Each further one says that the process has executed another
 * program, but not when. */
static void on_header(struct reader *reader, struct vg_cursor *cursor)
{
	struct vg_state_text name, *program = &reader->next_program;
	uint32_t count;

	if (vg_cursor_map(cursor, &count) != 0)
		return;
	for (; count > 0 && vg_cursor_str(cursor, &name.bytes, &name.length) == 0; count--) {
		bool is_program = name.length == strlen("program") && memcmp(name.bytes, "program", name.length) == 0;

		if (is_program ? vg_cursor_str(cursor, &program->bytes, &program->length) : vg_cursor_skip(cursor))
			break;
	}
	if (reader->headers++ == 0)
		reader->state->program = *program;
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

/* The writer holds the latest sample of each thread.  So a thread's first sample after a header can be older than the
 * header, but the second one cannot. */
static void on_sample(struct reader *reader, uint64_t thread)
{
	uint32_t key = (uint32_t)thread, index;

	if (thread >= VG_NONE || !vg_intern_find(&reader->profile->thread_ids, &key, sizeof key, &index))
		return;
	if (reader->sampled_after[index] == reader->headers && (uint64_t)reader->now_us < reader->before_us)
		reader->state->program = reader->next_program;
	reader->sampled_after[index] = reader->headers;
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
		    !__builtin_add_overflow(reader->now_us, us, &us)) {
			time_set(reader, us);
			on_sample(reader, thread);
		}
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
	struct reader reader = { .state = state, .profile = profile, .before_us = before_ns / 1000,
		.sampled_after = calloc(profile->threads.count + 1, sizeof *reader.sampled_after) };
	struct vg_record_view record;
	enum vg_chunk_next next;
	struct vg_damage damage;
	struct vg_chunk chunk;
	int rc;

	*state = (struct vg_state_at){
		.thread_names = calloc(profile->threads.count + 1, sizeof *state->thread_names) };
	rc = state->thread_names == NULL || reader.sampled_after == NULL ? -ENOMEM : 0;
	while (rc == 0 && (next = vg_chunk_next(&chunks, &chunk, &damage)) != VG_CHUNK_END) {
		while (rc == 0 && next == VG_CHUNK_GOOD && vg_record_next(&chunk.payload, &record) > 0)
			rc = on_record(&reader, &record);
	}
	free(reader.sampled_after);
	return rc;
}

void vg_state_at_free(struct vg_state_at *state)
{
	free(state->thread_names);
	vg_array_free(&state->rates);
	*state = (struct vg_state_at){ 0 };
}
