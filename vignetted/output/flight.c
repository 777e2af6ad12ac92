/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/flight.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/chunk.h"

enum { PAGE_BYTES = 4096 };

/* Three quarters of the memory are for chunks.  The rest is for the recorder's stack table, and for threads. */
enum { CHUNKS_QUARTERS = 3 };

/* A window has this number of segments.  With more, the definitions take more memory.  With fewer, a dump is longer
 * than the window by more. */
enum { SEGMENTS = 8 };

/* Labels of vg_flight_dump_note() get ids that no other label has. */
enum { NOTE_KIND = UINT32_MAX - 2, NOTE_LABEL = UINT32_MAX - 1 };

struct vg_flight_chunk {
	struct vg_flight_chunk *next;
	size_t room;                 /* bytes of its memory */
	size_t bytes;                /* of the payload */
	uint32_t sequence;           /* of the writer */
	bool begins_segment;
	bool is_state;
	uint64_t begin_ns;           /* of its segment */
	struct vg_losses lost;       /* before its segment */
	uint64_t samples, events, stacks_complete;
	unsigned char payload[];
};

/* ---- the watchdog ---- */

bool vg_watchdog_add(struct vg_watchdog *watchdog, uint64_t limit_ns, int fd)
{
	if (limit_ns == 0 || watchdog->file_count == VG_WIRE_WATCH_FILES)
		return false;
	watchdog->limit_ns = limit_ns;
	watchdog->files[watchdog->file_count++] = fd;
	return true;
}

enum vg_watch vg_watchdog_check(struct vg_watchdog *watchdog, uint64_t heartbeat_ns, uint64_t now_ns)
{
	if (watchdog->heartbeat_ns != 0) {
		if (heartbeat_ns == watchdog->heartbeat_ns)
			return VG_WATCH_STALL_LASTS;
		watchdog->heartbeat_ns = 0;
		return VG_WATCH_STALL_ENDED;
	}
	/* A heartbeat may be later than now_ns: it came after the clock was read, or the program writes wrong times. */
	if (watchdog->limit_ns == 0 || heartbeat_ns == 0 || heartbeat_ns > now_ns ||
	    now_ns - heartbeat_ns <= watchdog->limit_ns)
		return VG_WATCH_OK;
	watchdog->heartbeat_ns = heartbeat_ns;
	watchdog->stalls++;
	return VG_WATCH_STALL_BEGAN;
}

int vg_watchdog_file(struct vg_watchdog *watchdog)
{
	return watchdog->files_used < watchdog->file_count ?
	       watchdog->files[watchdog->files_used++] : -1;
}

void vg_watchdog_close(struct vg_watchdog *watchdog)
{
	for (uint32_t i = 0; i < watchdog->file_count; i++)
		close(watchdog->files[i]);
	memset(watchdog, 0, sizeof *watchdog);
}

/* ---- the dump ---- */

/* Notes the thread or the address of a record. */
static void record_note(struct vg_flight *flight, struct vg_record_view *record)
{
	struct vg_dump *dump = &flight->dump;
	uint64_t id, parent, address, found = VG_FOUND_BY_CFI;
	struct vg_item module;
	uint32_t thread, ignored;

	if (record->kind == VG_RECORD_THREAD && vg_cursor_uint(&record->cursor, &id) == 0) {
		thread = (uint32_t)id;
		(void)vg_intern(&dump->thread_ids, &thread, sizeof thread, &ignored);
	}
	if (record->kind != VG_RECORD_STACK || flight->perf_map == NULL || vg_cursor_uint(&record->cursor, &id) != 0 ||
	    vg_cursor_uint(&record->cursor, &parent) != 0 || vg_cursor_next(&record->cursor, &module) != 0 ||
	    module.token != VG_TOKEN_NIL || vg_cursor_uint(&record->cursor, &address) != 0)
		return;
	if (record->fields > 4)
		vg_cursor_uint(&record->cursor, &found);
	if (vg_perf_map_may_name(VG_NONE, (enum vg_found_by)found))
		(void)vg_intern(&dump->jit_addresses, &address, sizeof address, &ignored);
}

static void chunk_dump(struct vg_flight *flight, const struct vg_flight_chunk *chunk)
{
	struct vg_dump *dump = &flight->dump;
	struct vg_cursor payload = { chunk->payload, chunk->payload + chunk->bytes };
	struct vg_record_view record;

	dump->next = chunk == dump->last ? NULL : chunk->next;
	/* Of the segments' states, the dump has the first. */
	if ((chunk->is_state && chunk->begin_ns != dump->first_begin_ns) || dump->writer.failed != 0)
		return;
	vg_writer_copy(&dump->writer, chunk->payload, chunk->bytes);
	vg_writer_flush(&dump->writer);
	dump->samples += chunk->samples;
	dump->events += chunk->events;
	dump->stacks_complete += chunk->stacks_complete;
	while (vg_record_next(&payload, &record) > 0)
		record_note(flight, &record);
}

/* ---- chunks ---- */

static const struct vg_flight_chunk *second_segment(const struct vg_flight *flight)
{
	const struct vg_flight_chunk *chunk = flight->first != NULL ? flight->first->next : NULL;

	while (chunk != NULL && !chunk->begins_segment)
		chunk = chunk->next;
	return chunk;
}

static void first_chunk_drop(struct vg_flight *flight)
{
	struct vg_flight_chunk *chunk = flight->first;

	if (flight->dump.next == chunk)
		chunk_dump(flight, chunk);
	flight->first = chunk->next;
	if (flight->first == NULL)
		flight->latest = NULL;
	flight->chunks_bytes -= chunk->room;
	munmap(chunk, chunk->room);
}

/* Drops all chunks before `end`.  Returns how many samples and events they have. */
static uint64_t chunks_drop(struct vg_flight *flight, const struct vg_flight_chunk *end)
{
	uint64_t dropped = 0;

	while (flight->first != end) {
		if (!flight->first->is_state)
			dropped += flight->first->samples + flight->first->events;
		first_chunk_drop(flight);
	}
	/* A dump must not have two threads with one id. */
	if (end != NULL && flight->purpose == VG_DUMP_NONE)
		flight->recorder->writer.reuse_before = end->sequence;
	return dropped;
}

static void window_trim(struct vg_flight *flight, uint64_t now_ns)
{
	const struct vg_flight_chunk *second;

	while ((second = second_segment(flight)) != NULL && second->begin_ns + flight->window_ns <= now_ns)
		chunks_drop(flight, second);
}

static void memory_make_room(struct vg_flight *flight, size_t bytes)
{
	const struct vg_flight_chunk *second;

	while (flight->chunks_bytes + bytes > flight->chunks_max_bytes && (second = second_segment(flight)) != NULL)
		flight->dropped += chunks_drop(flight, second);
}

/* vg_writer.take().  If there is no memory, the chunk is lost. */
static void on_chunk(void *taker, const void *payload, size_t bytes)
{
	struct vg_flight *flight = taker;
	const struct vg_recorder *recorder = flight->recorder;
	struct vg_flight_chunk *chunk, head = {
		.room = (sizeof head + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES,
		.bytes = bytes, .sequence = recorder->writer.sequence,
		.begins_segment = flight->begins_segment, .is_state = flight->is_state,
		.begin_ns = flight->segment_begin_ns, .lost = flight->segment_lost,
		.samples = recorder->writer.samples - flight->samples,
		.events = recorder->writer.events - flight->events,
		.stacks_complete = recorder->stacks_complete - flight->stacks_complete,
	};

	flight->samples = recorder->writer.samples;
	flight->events = recorder->writer.events;
	flight->stacks_complete = recorder->stacks_complete;
	memory_make_room(flight, head.room);
	/* Not from the heap: the heap would keep a freed chunk that lies between used ones. */
	chunk = mmap(NULL, head.room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED) {
		flight->dropped += head.samples + head.events;
		return;
	}
	*chunk = head;
	memcpy(chunk->payload, payload, bytes);
	flight->begins_segment = false;
	flight->chunks_bytes += chunk->room;
	flight->segment_bytes += chunk->room;
	if (flight->latest != NULL)
		flight->latest->next = chunk;
	else
		flight->first = chunk;
	flight->latest = chunk;
	if (flight->purpose != VG_DUMP_NONE && !flight->dump.is_stopped && flight->dump.next == NULL)
		flight->dump.next = chunk;
}

/* ---- segments ---- */

bool vg_flight_segment_is_full(const struct vg_flight *flight)
{
	return flight->segment_bytes >= flight->chunks_max_bytes / SEGMENTS &&
	       flight->segment_bytes >= flight->definitions_bytes;
}

bool vg_flight_segment_due(const struct vg_flight *flight, uint64_t now_ns)
{
	uint64_t length_ns = flight->window_ns / SEGMENTS;

	return now_ns >= flight->segment_begin_ns + length_ns || vg_flight_segment_is_full(flight);
}

void vg_flight_segment_begin(struct vg_flight *flight, uint64_t now_ns)
{
	vg_writer_flush(&flight->recorder->writer);
	flight->begins_segment = flight->is_state = true;
	flight->segment_begin_ns = now_ns;
	flight->segment_bytes = 0;
	flight->segment_lost = flight->recorder->losses;
}

void vg_flight_state_end(struct vg_flight *flight)
{
	vg_writer_flush(&flight->recorder->writer);
	flight->is_state = false;
}

void vg_flight_definitions_end(struct vg_flight *flight)
{
	vg_writer_flush(&flight->recorder->writer);
	flight->definitions_bytes = flight->segment_bytes;
	flight->segment_bytes = 0;
	window_trim(flight, flight->segment_begin_ns);
}

void vg_flight_open(struct vg_flight *flight, struct vg_recorder *recorder, const struct vg_writer_header *header,
		    uint64_t window_ns, uint64_t memory_bytes)
{
	*flight = (struct vg_flight){
		.recorder = recorder, .header = header, .window_ns = window_ns,
		.chunks_max_bytes = memory_bytes / 4 * CHUNKS_QUARTERS, .begins_segment = true,
	};
	recorder->writer.limit_bytes = 0;
	recorder->writer.take = on_chunk;
	recorder->writer.taker = flight;
}

/* ---- counts ---- */

void vg_flight_counts(struct vg_flight *flight, const struct vg_named_value *stats, size_t stats_count,
		      const struct vg_pauses *pauses)
{
	flight->stats_count = stats_count < VG_FLIGHT_COUNTS ? stats_count : VG_FLIGHT_COUNTS - 1;
	memcpy(flight->stats, stats, flight->stats_count * sizeof *stats);
	flight->pauses = *pauses;
}

/* ---- the dump's begin and end ---- */

int vg_flight_dump_begin(struct vg_flight *flight, enum vg_dump_purpose purpose, int fd, uint64_t now_ns)
{
	struct vg_writer_header header = *flight->header;
	struct vg_dump *dump = &flight->dump;

	vg_writer_flush(&flight->recorder->writer);
	window_trim(flight, now_ns);
	flight->purpose = purpose;
	flight->fd = fd;
	*dump = (struct vg_dump){
		.next = flight->first,
		.first_begin_ns = flight->first != NULL ? flight->first->begin_ns : flight->segment_begin_ns,
		.before = flight->first != NULL ? flight->first->lost : flight->segment_lost,
	};
	vg_writer_open(&dump->writer, fd, 0);
	dump->writer.name_max_bytes = flight->recorder->writer.name_max_bytes;
	/* If the fetch before the dump had more than the memory holds, its segments began after now_ns. */
	dump->window_begin_ns = dump->first_begin_ns < now_ns ? dump->first_begin_ns : now_ns;
	header.window_begin_ns = dump->window_begin_ns;
	vg_writer_header(&dump->writer, &header);
	vg_writer_flush(&dump->writer);
	if (purpose != VG_DUMP_STALL)
		vg_flight_dump_stop(flight, now_ns);
	return dump->writer.failed;
}

void vg_flight_dump_stop(struct vg_flight *flight, uint64_t now_ns)
{
	struct vg_dump *dump = &flight->dump;

	if (flight->purpose == VG_DUMP_NONE || dump->is_stopped)
		return;
	vg_writer_flush(&flight->recorder->writer);
	dump->is_stopped = true;
	dump->last = flight->latest;
	dump->end_ns = now_ns;
	dump->writer.last_us = now_ns / 1000;
	dump->lost = flight->recorder->losses;
}

void vg_flight_dump_note(struct vg_flight *flight, uint32_t thread, const char *what, uint64_t time_ns, uint64_t value)
{
	struct vg_writer *writer = &flight->dump.writer;

	if (flight->purpose == VG_DUMP_NONE || thread == VG_NONE)
		return;
	writer->last_us = time_ns / 1000;
	vg_writer_label(writer, NOTE_KIND, "watchdog", strlen("watchdog"));
	vg_writer_label(writer, NOTE_LABEL, what, strlen(what));
	vg_writer_event(writer, &(struct vg_writer_event){
		.type = VG_EVENT_INSTANT, .thread = thread, .kind = NOTE_KIND, .label = NOTE_LABEL, .time_ns = time_ns,
		.value = value,
	});
	vg_writer_flush(writer);
	flight->dump.events++;
}

bool vg_flight_dump_run(struct vg_flight *flight, size_t count)
{
	for (; count > 0 && flight->dump.next != NULL; count--)
		chunk_dump(flight, flight->dump.next);
	if (flight->dump.next != NULL)
		return true;
	/* The dump has all events before the stall now. */
	if (flight->late_ns != 0)
		vg_flight_dump_note(flight, flight->stall_thread, "the heartbeat is late", flight->stall_ns,
				    flight->late_ns);
	flight->late_ns = 0;
	return false;
}

/* Writes the names that the process's perf map has now for JIT code in the dump's samples. */
static void perf_map_write(struct vg_flight *flight)
{
	const struct vg_intern *found = &flight->dump.jit_addresses;
	VG_ARRAY(uint64_t) addresses = { 0 };

	if (flight->perf_map == NULL || flight->perf_map->directory < 0)
		return;
	for (uint32_t i = 0; i < found->count; i++) {
		uint64_t address;

		memcpy(&address, vg_intern_bytes(found, i, NULL), sizeof address);
		if (vg_array_push(&addresses, &address) != 0)
			break;
	}
	vg_perf_map_write(flight->perf_map, addresses.items, addresses.count, &flight->dump.writer);
	vg_array_free(&addresses);
	/* vg_flight_counts() had the count of the dump before. */
	for (size_t i = 0; i < flight->stats_count; i++) {
		if (strcmp(flight->stats[i].name, VG_PERF_MAP_STATISTIC) == 0)
			flight->stats[i].value = flight->perf_map->unread_bytes;
	}
}

int vg_flight_dump_end(struct vg_flight *flight, const char *reason)
{
	struct vg_dump *dump = &flight->dump;
	struct vg_named_value totals[] = { { "samples", 0 }, { "threads", 0 }, { "stacks_complete", 0 } };
	enum vg_dump_purpose purpose = flight->purpose;
	int rc;

	vg_flight_dump_run(flight, SIZE_MAX);
	perf_map_write(flight);
	vg_losses_write(&dump->writer, &dump->lost, &dump->before);
	flight->stats[flight->stats_count] = (struct vg_named_value){ "flight_dropped", flight->dropped };
	vg_writer_counts(&dump->writer, VG_RECORD_STATS, flight->stats, flight->stats_count + 1);
	vg_writer_pauses(&dump->writer, &flight->pauses);
	totals[0].value = dump->samples;
	totals[1].value = dump->threads = dump->thread_ids.count;
	totals[2].value = dump->stacks_complete;
	rc = vg_writer_end(&dump->writer, reason, dump->end_ns, totals, sizeof totals / sizeof *totals);
	vg_writer_close(&dump->writer);
	vg_intern_free(&dump->thread_ids);
	vg_intern_free(&dump->jit_addresses);
	flight->purpose = VG_DUMP_NONE;
	if (purpose == VG_DUMP_REQUESTED) {
		close(flight->fd);
		if (flight->peer >= 0)
			flight->done(flight->peer, dump, rc);
	}
	/* The program reads this count.  When the count rises, the program may rename the stall's file. */
	if (purpose == VG_DUMP_STALL)
		atomic_fetch_add(flight->stalls_written, 1);
	return rc;
}

int vg_flight_dump_final(struct vg_flight *flight, int fd, const char *reason, uint64_t ended_ns)
{
	const struct vg_dump *dump = &flight->dump;
	int rc;

	if (flight->purpose != VG_DUMP_NONE) {
		vg_flight_dump_stop(flight, ended_ns);
		vg_flight_dump_end(flight, reason);
	}
	vg_flight_dump_begin(flight, VG_DUMP_FINAL, fd, ended_ns);
	rc = vg_flight_dump_end(flight, reason);
	flight->final.samples = dump->samples;
	flight->final.events = dump->events;
	flight->final.threads = dump->threads;
	flight->final.file_bytes = dump->writer.file_bytes;
	return rc;
}

void vg_flight_close(struct vg_flight *flight)
{
	/* A dump that was requested after the end of the recording. */
	if (flight->purpose != VG_DUMP_NONE)
		vg_flight_dump_end(flight, "the recording ended");
	while (flight->first != NULL)
		first_chunk_drop(flight);
	vg_watchdog_close(&flight->watchdog);
	memset(flight, 0, sizeof *flight);
}
