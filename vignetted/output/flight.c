/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/flight.h"

/* Of the memory, what the recorder's own table of stacks, threads and open intervals may take is
 * apart: that leaves so much for the tape and the stacks that it names. */
enum { TAPE_QUARTERS = 2, THREAD_SHARE_BYTES = 2048, OPEN_SHARE_BYTES = 2048 };

/* Entries that the reader reads at once when memory is short. */
enum { HURRY = 4096 };

/* ---- what goes ---- */

/* What an entry changes for good. */
static void fold(struct vg_flight *flight, const struct vg_tape_entry *entry)
{
	switch ((enum vg_tape_kind)entry->kind) {
	case VG_TAPE_EVENT:
		if (entry->what == VG_EVENT_BEGIN || entry->what == VG_EVENT_DETACHED_BEGIN)
			flight->dropped += !vg_open_intervals_add(&flight->open, entry);
		else if (entry->what == VG_EVENT_END || entry->what == VG_EVENT_DETACHED_END)
			vg_open_intervals_remove(&flight->open, entry->event.token);
		break;
	case VG_TAPE_RATE:
		flight->rate_ns = entry->rate.period_ns;
		break;
	case VG_TAPE_SAMPLE:
	case VG_TAPE_COUNT:
		break;
	}
}

/* Whether the reader has yet to read the oldest entry. */
static bool is_pinned(const struct vg_flight *flight)
{
	return flight->reader != NULL && flight->reader->needs(flight->reader, flight->tape.first);
}

static void tables_drop(struct vg_flight *flight)
{
	size_t gone = 0;

	while (gone + 1 < flight->tables.count &&
	       flight->tables.items[gone].used <= flight->tape.first) {
		vg_array_free(&flight->tables.items[gone].nodes);
		gone++;
	}
	if (gone == 0)
		return;
	flight->tables.count -= gone;
	memmove(flight->tables.items, flight->tables.items + gone,
		flight->tables.count * sizeof *flight->tables.items);
}

static void first_drop(struct vg_flight *flight)
{
	fold(flight, vg_tape_first(&flight->tape));
	vg_tape_drop(&flight->tape);
	if (flight->tables.count > 1)
		tables_drop(flight);
}

void vg_flight_trim(struct vg_flight *flight, uint64_t now_ns)
{
	const struct vg_tape_entry *first;

	if (now_ns > flight->now_ns)
		flight->now_ns = now_ns;
	while ((first = vg_tape_first(&flight->tape)) != NULL && !is_pinned(flight) &&
	       first->time_ns + flight->window_ns < flight->now_ns)
		first_drop(flight);
}

static uint64_t used_bytes(const struct vg_flight *flight)
{
	uint64_t bytes = flight->tape.blocks * (uint64_t)VG_TAPE_BLOCK_BYTES;

	for (size_t i = 0; i < flight->tables.count; i++)
		bytes += flight->tables.items[i].nodes.capacity * sizeof(struct vg_flight_node);
	return bytes;
}

/* Makes room for another block, and for the stacks that have come; the oldest go. */
static void room_make(struct vg_flight *flight)
{
	const struct vg_tape_entry *first;
	uint64_t max_bytes = flight->memory_bytes / 4 * TAPE_QUARTERS;

	flight->grown = false;
	while (used_bytes(flight) + VG_TAPE_BLOCK_BYTES > max_bytes &&
	       (first = vg_tape_first(&flight->tape)) != NULL) {
		size_t blocks = flight->tape.blocks, tables = flight->tables.count;

		/* Until that has given some back: to add up is dear. */
		while (first != NULL && flight->tape.blocks == blocks &&
		       flight->tables.count == tables) {
			if (is_pinned(flight))
				flight->reader->hurry(flight->reader, HURRY);
			if (first->time_ns > flight->short_ns)
				flight->short_ns = first->time_ns;
			flight->dropped++;
			first_drop(flight);
			first = vg_tape_first(&flight->tape);
		}
	}
}

struct vg_tape_entry *vg_flight_push(struct vg_flight *flight, uint64_t time_ns,
					enum vg_tape_kind kind, uint32_t thread)
{
	struct vg_tape_entry *entry;

	vg_flight_trim(flight, time_ns);
	/* One deep stack may take as much as a block of entries. */
	if (flight->grown || vg_tape_is_full(&flight->tape))
		room_make(flight);
	entry = vg_tape_push(&flight->tape);
	if (entry == NULL) {
		flight->dropped++;
		flight->short_ns = time_ns;
		return NULL;
	}
	memset(entry, 0, sizeof *entry);
	entry->time_ns = time_ns;
	entry->kind = (uint8_t)kind;
	entry->thread = thread;
	return entry;
}

/* ---- stacks ---- */

struct vg_flight_table *vg_flight_table_of(struct vg_flight *flight, uint32_t id)
{
	for (size_t i = flight->tables.count; i-- > 0;) {
		struct vg_flight_table *table = &flight->tables.items[i];

		if (id >= table->first)
			return id - table->first < table->nodes.count ? table : NULL;
	}
	return NULL;
}

struct vg_flight_node *vg_flight_node(struct vg_flight *flight, uint32_t id)
{
	struct vg_flight_table *table = vg_flight_table_of(flight, id);

	return table != NULL ? &table->nodes.items[id - table->first] : NULL;
}

/* ---- threads ---- */

struct vg_flight_thread *vg_flight_thread(struct vg_flight *flight, uint32_t id)
{
	size_t low = 0, high = flight->threads.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (flight->threads.items[middle].thread.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < flight->threads.count && flight->threads.items[low].thread.id == id ?
	       &flight->threads.items[low] : NULL;
}

static bool ended_before(const struct vg_flight_thread *thread, uint64_t time_ns)
{
	return thread->thread.end_ns != UINT64_MAX && thread->thread.end_ns < time_ns;
}

/* Since when no more than so many threads have ended: the window's beginning, or later. */
static uint64_t since_of(const struct vg_flight *flight, size_t most)
{
	uint64_t since_ns, span_ns = flight->window_ns;
	size_t later;

	do {
		since_ns = flight->now_ns > span_ns ? flight->now_ns - span_ns : 0;
		later = 0;
		for (size_t i = 0; i < flight->threads.count; i++)
			later += flight->threads.items[i].thread.end_ns != UINT64_MAX &&
				 !ended_before(&flight->threads.items[i], since_ns);
		span_ns = span_ns / 4 * 3;
	} while (later > most && span_ns > 0);
	return since_ns;
}

void vg_flight_threads_sweep(struct vg_flight *flight)
{
	size_t kept = 0, max = (size_t)(flight->memory_bytes / THREAD_SHARE_BYTES);
	uint64_t from_ns = since_of(flight, SIZE_MAX), since_ns = from_ns;

	/* The oldest go, so many that it is a while until the next have to. */
	if (flight->threads.count >= max)
		since_ns = since_of(flight, max / 2);
	for (size_t i = 0; i < flight->threads.count; i++) {
		struct vg_flight_thread *thread = &flight->threads.items[i];

		if (!ended_before(thread, since_ns)) {
			flight->threads.items[kept++] = *thread;
			continue;
		}
		flight->dropped += !ended_before(thread, from_ns);
		free(thread->name);
	}
	if (since_ns > from_ns && since_ns > flight->short_ns)
		flight->short_ns = since_ns;
	flight->threads.count = kept;
	flight->sweep_at = 2 * kept + 64 < max || kept >= max ? 2 * kept + 64 : max;
}

struct vg_flight_label *vg_flight_label(struct vg_flight *flight, uint32_t id)
{
	uint32_t index;

	return vg_intern_find(&flight->label_ids, &id, sizeof id, &index) &&
	       index < flight->labels.count ? &flight->labels.items[index] : NULL;
}

void vg_flight_stat(struct vg_flight *flight, const char *name, uint64_t value)
{
	for (size_t i = 0; i < flight->stats_count; i++) {
		if (strcmp(flight->stats[i].name, name) == 0)
			flight->stats[i].value = value;
	}
}

uint64_t vg_flight_lost_before(const struct vg_flight *flight, const char *name, uint64_t time_ns)
{
	uint64_t value = 0, latest_ns = 0;

	for (size_t i = 0; i < VG_FLIGHT_SNAPSHOTS && i < flight->snapshots_taken; i++) {
		if (flight->snapshots[i].time_ns > time_ns ||
		    flight->snapshots[i].time_ns < latest_ns)
			continue;
		latest_ns = flight->snapshots[i].time_ns;
		value = 0;
		for (size_t at = 0; at < flight->snapshots[i].count; at++) {
			if (strcmp(flight->snapshots[i].counts[at].name, name) == 0)
				value = flight->snapshots[i].counts[at].value;
		}
	}
	return value;
}

/* ---- beginning and end ---- */

void vg_flight_open(struct vg_flight *flight, uint64_t window_ns, uint64_t memory_bytes,
		    const uint32_t *generation)
{
	memset(flight, 0, sizeof *flight);
	flight->window_ns = window_ns;
	flight->memory_bytes = memory_bytes;
	flight->generation = generation;
	flight->generation_seen = *generation;
	flight->open.max = (size_t)(memory_bytes / OPEN_SHARE_BYTES);
	flight->sweep_at = 64;
}

void vg_flight_close(struct vg_flight *flight)
{
	for (size_t i = 0; i < flight->tables.count; i++)
		vg_array_free(&flight->tables.items[i].nodes);
	for (size_t i = 0; i < flight->threads.count; i++)
		free(flight->threads.items[i].name);
	for (size_t i = 0; i < flight->modules.count; i++)
		free(flight->modules.items[i].name);
	for (size_t i = 0; i < flight->labels.count; i++)
		free(flight->labels.items[i].text);
	vg_array_free(&flight->tables);
	vg_array_free(&flight->threads);
	vg_array_free(&flight->modules);
	vg_array_free(&flight->labels);
	vg_intern_free(&flight->label_ids);
	vg_open_intervals_free(&flight->open);
	vg_tape_free(&flight->tape);
	memset(flight, 0, sizeof *flight);
}
