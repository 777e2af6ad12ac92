/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading.h"

#include <errno.h>

/* The node behind a file's stack id: VG_NONE and the reason for an empty stack. */
static bool stack_find(const struct vg_profile *profile, uint32_t id, uint32_t *index, uint8_t *end)
{
	*index = VG_NONE;
	*end = id < VG_STACK_ROOTS ? (uint8_t)id : VG_WALK_UNREAD;
	if (id < VG_STACK_ROOTS)
		return true;
	if (!vg_intern_find(&profile->stack_ids, &id, sizeof id, index))
		return false;
	*end = profile->stacks.items[*index].end;
	return true;
}

int vg_on_stack(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_stack stack = { .depth = 1 };
	uint32_t id, parent, index;
	uint64_t found = VG_FOUND_CFI;
	int rc;

	if (vg_field_u32(record, &id) != 0 || id < VG_STACK_ROOTS || vg_field_u32(record, &parent) != 0)
		return -EBADMSG;
	rc = vg_field_module(reader, record, &stack.module);
	if (rc != 0 || vg_cursor_uint(&record->cursor, &stack.address) != 0)
		return rc != 0 ? rc : -EBADMSG;
	if (record->fields > 4 && (vg_cursor_uint(&record->cursor, &found) != 0 || found > UINT8_MAX))
		return -EBADMSG;
	stack.found = (uint8_t)found;
	stack_find(profile, parent, &stack.parent, &stack.end);
	if (stack.parent != VG_NONE)
		stack.depth = profile->stacks.items[stack.parent].depth + 1;
	rc = vg_intern(&profile->stack_ids, &id, sizeof id, &index);
	if (rc == 0)
		return -EBADMSG;        /* defined twice: the first holds */
	return rc < 0 ? rc : vg_array_push(&profile->stacks, &stack);
}

int vg_on_sample(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_sample sample = { 0 };
	struct vg_thread *thread;
	uint64_t since_ns;
	uint32_t id, stack;
	int rc;

	if (vg_field_u32(record, &id) != 0 || vg_field_time_ns(record, &since_ns) != 0 ||
	    vg_field_u32(record, &stack) != 0 || vg_field_time_ns(record, &sample.cpu_ns) != 0)
		return -EBADMSG;
	if (reader->now_us + since_ns / 1000 > VG_TIME_MAX_US)
		return -EBADMSG;
	rc = vg_reader_thread(reader, id, &sample.thread);
	if (rc != 0)
		return rc;
	reader->now_us += since_ns / 1000;
	sample.time_ns = reader->now_us * 1000;
	if (!stack_find(profile, stack, &sample.stack, &sample.end))
		profile->samples_orphaned++;
	thread = &profile->threads.items[sample.thread];
	if (thread->last_run != reader->run) {
		thread->last_run = reader->run;
		if (thread->last_ns < reader->run_us * 1000)
			thread->last_ns = reader->run_us * 1000;
	}
	if (sample.time_ns > thread->last_ns)
		sample.wall_ns = sample.time_ns - thread->last_ns;
	if (record->fields > 4 && vg_field_time_ns(record, &sample.wall_ns) != 0)
		return -EBADMSG;
	thread->last_ns = sample.time_ns;
	return vg_array_push(&profile->samples, &sample);
}
