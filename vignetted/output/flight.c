/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/flight.h"

/* Shares of the flight recorder's memory: QUEUE_QUARTERS / 4 of it are for the queue and the stacks of its entries.
 * The rest is for the recorder's stack table, for one thread per THREAD_SHARE_BYTES of the memory, and for one open
 * interval per OPEN_SHARE_BYTES. */
enum { QUEUE_QUARTERS = 2, THREAD_SHARE_BYTES = 2048, OPEN_SHARE_BYTES = 2048 };

/* The number of entries that a dump writes at once when memory is short. */
enum { CATCH_UP_ENTRIES = 4096 };

/* ---- dropping entries ---- */

/* Keeps what a dropped entry changes for later entries: open intervals and the sampling period. */
static void entry_apply(struct vg_flight *flight, const struct vg_queue_entry *entry)
{
	switch ((enum vg_entry_kind)entry->kind) {
	case VG_ENTRY_EVENT:
		if (entry->event_type == VG_EVENT_BEGIN || entry->event_type == VG_EVENT_DETACHED_BEGIN)
			flight->dropped += !vg_open_intervals_add(&flight->open, entry);
		else if (entry->event_type == VG_EVENT_END || entry->event_type == VG_EVENT_DETACHED_END)
			vg_open_intervals_remove(&flight->open, entry->event.token);
		break;
	case VG_ENTRY_RATE:
		flight->period_before_queue_ns = entry->rate.period_ns;
		break;
	case VG_ENTRY_SAMPLE:
	case VG_ENTRY_COUNTERS:
		break;
	}
}

/* Whether the reader needs the oldest entry. */
static bool first_is_needed(const struct vg_flight *flight)
{
	return flight->reader != NULL && flight->reader->needs(flight->reader, flight->queue.first);
}

static void tables_drop(struct vg_flight *flight)
{
	size_t dropped = 0;

	while (dropped + 1 < flight->tables.count &&
	       flight->tables.items[dropped].used <= flight->queue.first) {
		vg_array_free(&flight->tables.items[dropped].nodes);
		dropped++;
	}
	if (dropped == 0)
		return;
	flight->tables.count -= dropped;
	memmove(flight->tables.items, flight->tables.items + dropped,
		flight->tables.count * sizeof *flight->tables.items);
}

static void first_drop(struct vg_flight *flight)
{
	entry_apply(flight, vg_event_queue_first(&flight->queue));
	vg_event_queue_drop(&flight->queue);
	if (flight->tables.count > 1)
		tables_drop(flight);
}

void vg_flight_trim(struct vg_flight *flight, uint64_t now_ns)
{
	const struct vg_queue_entry *first;

	if (now_ns > flight->now_ns)
		flight->now_ns = now_ns;
	while ((first = vg_event_queue_first(&flight->queue)) != NULL && !first_is_needed(flight) &&
	       first->time_ns + flight->window_ns < flight->now_ns)
		first_drop(flight);
}

static uint64_t used_bytes(const struct vg_flight *flight)
{
	uint64_t bytes = flight->queue.blocks * (uint64_t)VG_QUEUE_BLOCK_BYTES;

	for (size_t i = 0; i < flight->tables.count; i++)
		bytes += flight->tables.items[i].nodes.capacity * sizeof(struct vg_flight_node);
	return bytes;
}

/* Drops the oldest entries until there is room for another block and for the stacks. */
static void memory_make_room(struct vg_flight *flight)
{
	const struct vg_queue_entry *first;
	uint64_t max_bytes = flight->memory_bytes / 4 * QUEUE_QUARTERS;

	flight->tables_grown = false;
	while (used_bytes(flight) + VG_QUEUE_BLOCK_BYTES > max_bytes &&
	       (first = vg_event_queue_first(&flight->queue)) != NULL) {
		size_t blocks = flight->queue.blocks, tables = flight->tables.count;

		/* Drop entries until a block or a table is freed: used_bytes() changes only then, and is slow. */
		while (first != NULL && flight->queue.blocks == blocks &&
		       flight->tables.count == tables) {
			if (first_is_needed(flight))
				flight->reader->catch_up(flight->reader, CATCH_UP_ENTRIES);
			if (first->time_ns > flight->memory_short_ns)
				flight->memory_short_ns = first->time_ns;
			flight->dropped++;
			first_drop(flight);
			first = vg_event_queue_first(&flight->queue);
		}
	}
}

struct vg_queue_entry *vg_flight_push(struct vg_flight *flight, uint64_t time_ns,
				      enum vg_entry_kind kind, uint32_t thread)
{
	struct vg_queue_entry *entry;

	vg_flight_trim(flight, time_ns);
	/* One deep stack may take as much memory as a block of entries. */
	if (flight->tables_grown || vg_event_queue_is_full(&flight->queue))
		memory_make_room(flight);
	entry = vg_event_queue_push(&flight->queue);
	if (entry == NULL) {
		flight->dropped++;
		flight->memory_short_ns = time_ns;
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

static bool exited_before(const struct vg_flight_thread *thread, uint64_t time_ns)
{
	return thread->thread.end_ns != UINT64_MAX && thread->thread.end_ns < time_ns;
}

/* Returns the beginning of the window.  If more than `most` threads have exited since then, returns a later time, since
 * which at most `most` threads have exited. */
static uint64_t exited_since(const struct vg_flight *flight, size_t most)
{
	uint64_t since_ns, reach_ns = flight->window_ns;
	size_t later;

	do {
		since_ns = flight->now_ns > reach_ns ? flight->now_ns - reach_ns : 0;
		later = 0;
		for (size_t i = 0; i < flight->threads.count; i++)
			later += flight->threads.items[i].thread.end_ns != UINT64_MAX &&
				 !exited_before(&flight->threads.items[i], since_ns);
		reach_ns = reach_ns / 4 * 3;
	} while (later > most && reach_ns > 0);
	return since_ns;
}

void vg_flight_threads_drop(struct vg_flight *flight)
{
	size_t kept = 0, max = (size_t)(flight->memory_bytes / THREAD_SHARE_BYTES);
	uint64_t from_ns = exited_since(flight, SIZE_MAX), since_ns = from_ns;

	/* Keep at most max / 2 exited threads, so that the next new thread does not need another drop. */
	if (flight->threads.count >= max)
		since_ns = exited_since(flight, max / 2);
	for (size_t i = 0; i < flight->threads.count; i++) {
		struct vg_flight_thread *thread = &flight->threads.items[i];

		if (!exited_before(thread, since_ns)) {
			flight->threads.items[kept++] = *thread;
			continue;
		}
		flight->dropped += !exited_before(thread, from_ns);
		free(thread->name);
	}
	if (since_ns > from_ns && since_ns > flight->memory_short_ns)
		flight->memory_short_ns = since_ns;
	flight->threads.count = kept;
	flight->cleanup_count = 2 * kept + 64 < max || kept >= max ? 2 * kept + 64 : max;
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

	for (size_t i = 0; i < VG_FLIGHT_LOSS_HISTORY && i < flight->loss_history_count; i++) {
		if (flight->loss_history[i].time_ns > time_ns ||
		    flight->loss_history[i].time_ns < latest_ns)
			continue;
		latest_ns = flight->loss_history[i].time_ns;
		value = 0;
		for (size_t at = 0; at < flight->loss_history[i].count; at++) {
			if (strcmp(flight->loss_history[i].counts[at].name, name) == 0)
				value = flight->loss_history[i].counts[at].value;
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
	flight->cleanup_count = 64;
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
	vg_event_queue_free(&flight->queue);
	memset(flight, 0, sizeof *flight);
}
