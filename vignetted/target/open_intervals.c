/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/open_intervals.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 64 };

static size_t home_of(const struct vg_open_intervals *open, uint64_t token)
{
	return (size_t)vg_hash(&open->hash_key, &token, sizeof token) & (open->size - 1);
}

/* The slot that has the token, or the free slot for it. */
static size_t slot_of(const struct vg_open_intervals *open, uint64_t token)
{
	size_t at = home_of(open, token);

	while (open->slots[at].event.token != 0 && open->slots[at].event.token != token)
		at = (at + 1) & (open->size - 1);
	return at;
}

static bool grow(struct vg_open_intervals *open)
{
	struct vg_open_intervals larger = *open;

	larger.size = open->size > 0 ? 2 * open->size : FIRST_SIZE;
	larger.slots = calloc(larger.size, sizeof *larger.slots);
	if (larger.slots == NULL)
		return false;
	vg_hash_key(&larger.hash_key);
	for (size_t i = 0; i < open->size; i++) {
		if (open->slots[i].event.token != 0)
			larger.slots[slot_of(&larger, open->slots[i].event.token)] = open->slots[i];
	}
	free(open->slots);
	*open = larger;
	return true;
}

bool vg_open_intervals_add(struct vg_open_intervals *open, const struct vg_open_interval *begin)
{
	size_t at;

	if (begin->event.token == 0 || open->count >= open->max ||
	    (2 * (open->count + 1) > open->size && !grow(open)))
		return false;
	at = slot_of(open, begin->event.token);
	open->count += open->slots[at].event.token == 0;
	open->slots[at] = *begin;
	return true;
}

void vg_open_intervals_remove(struct vg_open_intervals *open, uint64_t token)
{
	size_t mask = open->size - 1, hole, at;

	if (open->count == 0 || token == 0)
		return;
	hole = slot_of(open, token);
	if (open->slots[hole].event.token == 0)
		return;
	open->count--;
	/* Linear probing: move later entries into the hole if a search for them would end there. */
	for (at = (hole + 1) & mask; open->slots[at].event.token != 0; at = (at + 1) & mask) {
		size_t home = home_of(open, open->slots[at].event.token);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		open->slots[hole] = open->slots[at];
		hole = at;
	}
	memset(&open->slots[hole], 0, sizeof open->slots[hole]);
}

void vg_open_intervals_note(struct vg_open_intervals *open, const struct vg_open_interval *interval)
{
	enum vg_event_type type = interval->event.type;

	if (type == VG_EVENT_BEGIN || type == VG_EVENT_DETACHED_BEGIN)
		(void)vg_open_intervals_add(open, interval);
	else if (type == VG_EVENT_END || type == VG_EVENT_DETACHED_END)
		vg_open_intervals_remove(open, interval->event.token);
}

void vg_open_intervals_threads_forget(struct vg_open_intervals *open, const struct vg_writer *writer)
{
	size_t i = 0;

	while (i < open->size) {
		struct vg_writer_event *event = &open->slots[i].event;
		bool has_ended = event->token != 0 && event->thread < writer->threads.count &&
				 writer->threads.items[event->thread].has_ended;

		if (has_ended && event->type == VG_EVENT_BEGIN) {
			vg_open_intervals_remove(open, event->token); /* may move another interval to i */
			continue;
		}
		if (has_ended)
			event->thread = VG_NONE;
		i++;
	}
}

static int by_time(const void *left, const void *right)
{
	const struct vg_open_interval *a = left, *b = right;

	if (a->event.time_ns != b->event.time_ns)
		return a->event.time_ns < b->event.time_ns ? -1 : 1;
	return a->event.token < b->event.token ? -1 : a->event.token > b->event.token;
}

struct vg_open_interval *vg_open_intervals_list(const struct vg_open_intervals *open)
{
	struct vg_open_interval *list;
	size_t count = 0;

	if (open->count == 0)
		return NULL;
	list = calloc(open->count, sizeof *list);
	if (list == NULL)
		return NULL;
	for (size_t i = 0; i < open->size; i++) {
		if (open->slots[i].event.token != 0)
			list[count++] = open->slots[i];
	}
	qsort(list, count, sizeof *list, by_time);
	return list;
}

void vg_open_intervals_free(struct vg_open_intervals *open)
{
	free(open->slots);
	memset(open, 0, sizeof *open);
}
