/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading.h"

#include <errno.h>

#include "profile/reading_fields.h"
#include "profile/reading_modules.h"

/* Our writers give stacks the ids VG_STACK_ROOTS, VG_STACK_ROOTS + 1 and so on, in the order of their records.  A
 * node's index then follows from its id.  Only files of other writers need a table of ids.  For a large profile, this
 * table would take more memory than any other part. */
static bool ids_are_dense(const struct vg_profile *profile)
{
	return profile->stack_ids.count == 0;
}

static int ids_fill(struct vg_profile *profile)
{
	int rc = 0;

	for (uint32_t i = 0; rc >= 0 && i < profile->stacks.count; i++) {
		uint32_t id = VG_STACK_ROOTS + i, index;

		rc = vg_intern(&profile->stack_ids, &id, sizeof id, &index);
	}
	return rc < 0 ? rc : 0;
}

/* Returns 1 if the id is new, 0 if a node has it already, or -ENOMEM.  A new id belongs to the next node. */
static int id_add(struct vg_profile *profile, uint32_t id)
{
	uint32_t index;
	int rc = 0;

	if (ids_are_dense(profile)) {
		if (id - VG_STACK_ROOTS == profile->stacks.count)
			return 1;
		rc = ids_fill(profile);
	}
	return rc < 0 ? rc : vg_intern(&profile->stack_ids, &id, sizeof id, &index);
}

/* Sets *index to the node that has this id in the file, and *end to the reason why its walk ended.  *index is VG_NONE
 * for a root.  Returns false if the node was lost. */
static bool stack_find(const struct vg_profile *profile, uint32_t id, uint32_t *index, uint8_t *end)
{
	*index = VG_NONE;
	*end = id < VG_STACK_ROOTS ? (uint8_t)id : VG_WALK_UNREADABLE;
	if (id < VG_STACK_ROOTS)
		return true;
	if (ids_are_dense(profile)) {
		if (id - VG_STACK_ROOTS >= profile->stacks.count)
			return false;
		*index = id - VG_STACK_ROOTS;
	} else if (!vg_intern_find(&profile->stack_ids, &id, sizeof id, index)) {
		return false;
	}
	*end = profile->stacks.items[*index].end;
	return true;
}

int vg_on_stack(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_stack stack = { .depth = 1 };
	uint32_t id, parent;
	uint64_t found_by = VG_FOUND_BY_CFI;
	int rc;

	if (vg_field_u32(record, &id) != 0 || id < VG_STACK_ROOTS || vg_field_u32(record, &parent) != 0)
		return -EBADMSG;
	rc = vg_field_module(reader, record, &stack.module);
	if (rc != 0 || vg_cursor_uint(&record->cursor, &stack.address) != 0)
		return rc != 0 ? rc : -EBADMSG;
	if (record->fields > 4 && (vg_cursor_uint(&record->cursor, &found_by) != 0 || found_by > UINT8_MAX))
		return -EBADMSG;
	stack.found_by = (uint8_t)found_by;
	stack_find(profile, parent, &stack.parent, &stack.end);
	if (stack.parent != VG_NONE)
		stack.depth = profile->stacks.items[stack.parent].depth + 1;
	if (stack.depth > VG_STACK_DEPTH_MAX)
		return -EBADMSG;
	rc = id_add(profile, id);
	if (rc == 0)
		return -EBADMSG;        /* a second record with this id: the first record is kept */
	return rc < 0 ? rc : vg_array_push(&profile->stacks, &stack);
}

/* [wall_us or nil, [count, [interval]]]: fields that most samples do not have. */
static int sample_optional_fields(struct vg_record_view *record, struct vg_sample *sample)
{
	struct vg_cursor ahead = record->cursor;
	struct vg_item item;

	if (record->fields > 4) {
		if (vg_cursor_next(&ahead, &item) != 0)
			return -EBADMSG;
		if (item.token != VG_TOKEN_NIL && vg_field_time_ns(record, &sample->wall_ns) != 0)
			return -EBADMSG;
		record->cursor = ahead;
	}
	if (record->fields > 5 && (vg_field_u32(record, &sample->count) != 0 || sample->count == 0))
		return -EBADMSG;
	if (record->fields > 6 && vg_cursor_uint(&record->cursor, &sample->interval) != 0)
		return -EBADMSG;
	return 0;
}

/* The time of a sample is relative to the previous sample or TIME record.  The difference can be negative, because
 * samples of different threads may be out of order. */
static int sample_time(struct vg_reader *reader, struct vg_record_view *record, uint64_t *now_us)
{
	int64_t since_us, now;

	if (vg_cursor_int(&record->cursor, &since_us) != 0 ||
	    __builtin_add_overflow((int64_t)reader->now_us, since_us, &now) || now < 0 ||
	    (uint64_t)now > VG_TIME_MAX_US)
		return -EBADMSG;
	*now_us = (uint64_t)now;
	return 0;
}

static int sample_cpu(struct vg_record_view *record, struct vg_sample *sample)
{
	uint64_t units;

	if (vg_cursor_uint(&record->cursor, &units) != 0 ||
	    units > VG_TIME_MAX_US * 1000 / VG_CPU_UNIT_NS)
		return -EBADMSG;
	sample->cpu_ns = units * VG_CPU_UNIT_NS;
	return 0;
}

int vg_on_sample(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_sample sample = { .count = 1 };
	struct vg_thread *thread;
	uint64_t now_us;
	uint32_t id, stack;
	int rc;

	if (vg_field_u32(record, &id) != 0 || sample_time(reader, record, &now_us) != 0 ||
	    vg_field_u32(record, &stack) != 0 || sample_cpu(record, &sample) != 0)
		return -EBADMSG;
	rc = vg_reader_thread(reader, id, &sample.thread);
	if (rc != 0)
		return rc;
	reader->now_us = now_us;
	sample.time_ns = now_us * 1000;
	if (!stack_find(profile, stack, &sample.stack, &sample.end))
		profile->samples_without_stack++;
	thread = &profile->threads.items[sample.thread];
	if (thread->last_segment != reader->segment) {
		thread->last_segment = reader->segment;
		if (thread->last_ns < reader->segment_us * 1000)
			thread->last_ns = reader->segment_us * 1000;
	}
	if (sample.time_ns > thread->last_ns)
		sample.wall_ns = sample.time_ns - thread->last_ns;
	if (sample_optional_fields(record, &sample) != 0)
		return -EBADMSG;
	thread->last_ns = sample.time_ns;
	thread->last_sample = (uint32_t)profile->samples.count;
	profile->samples_total += sample.count;
	return vg_array_push(&profile->samples, &sample);
}
