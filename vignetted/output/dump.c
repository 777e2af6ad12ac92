/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/dump.h"

#include <errno.h>

static void dumped_clear(struct vg_flight *flight)
{
	for (size_t i = 0; i < flight->tables.count; i++) {
		struct vg_flight_table *table = &flight->tables.items[i];

		for (size_t at = 0; at < table->nodes.count; at++)
			table->nodes.items[at].dumped = 0;
	}
	for (size_t i = 0; i < flight->threads.count; i++)
		flight->threads.items[i].dumped = VG_NONE;
	for (size_t i = 0; i < flight->modules.count; i++)
		flight->modules.items[i].dumped = false;
	for (size_t i = 0; i < flight->labels.count; i++)
		flight->labels.items[i].dumped = VG_NONE;
}

/* ---- threads, modules, labels and stacks: written before the first entry that refers to them ---- */

static uint32_t thread_write(struct vg_dump *dump, struct vg_flight_thread *known)
{
	struct vg_thread thread = known->thread;

	if (known->dumped == VG_NONE) {
		thread.id = known->dumped = dump->threads++;
		vg_writer_thread(&dump->writer, &thread, known->name != NULL ? known->name : "");
	}
	return known->dumped;
}

/* VG_NONE: the thread is not known. */
static uint32_t thread_of(struct vg_dump *dump, uint32_t id)
{
	struct vg_flight_thread *known = vg_flight_thread(dump->flight, id);

	return known != NULL ? thread_write(dump, known) : VG_NONE;
}

static uint32_t module_of(struct vg_dump *dump, uint32_t id)
{
	struct vg_flight_module *known;

	if (id >= dump->flight->modules.count)
		return VG_NONE;
	known = &dump->flight->modules.items[id];
	if (known->name == NULL)
		return VG_NONE;
	if (!known->dumped)
		vg_writer_module(&dump->writer, &known->module, known->name);
	known->dumped = true;
	return id;
}

static uint32_t label_of(struct vg_dump *dump, uint32_t id)
{
	struct vg_flight_label *known = vg_flight_label(dump->flight, id);

	if (known == NULL || known->text == NULL)
		return VG_NONE;
	if (known->dumped == VG_NONE) {
		known->dumped = dump->labels++;
		vg_writer_label(&dump->writer, known->dumped, known->text, known->length);
	}
	return known->dumped;
}

static uint32_t label_add(struct vg_dump *dump, const char *text)
{
	vg_writer_label(&dump->writer, dump->labels, text, strlen(text));
	return dump->labels++;
}

static void node_write(struct vg_dump *dump, struct vg_flight_node *node, uint32_t parent)
{
	node->dumped = VG_STACK_ROOTS + dump->stacks++;
	vg_writer_stack(&dump->writer, node->dumped, parent, module_of(dump, node->module),
			node->address, node->found);
}

/* Returns the dump's id of a stack.  Writes the nodes that the dump does not have yet, root frame first. */
static uint32_t stack_of(struct vg_dump *dump, uint32_t id)
{
	struct vg_flight_node *node = NULL;
	uint32_t parent = id;

	dump->chain.count = 0;
	while (parent >= VG_STACK_ROOTS) {
		node = vg_flight_node(dump->flight, parent);
		if (node == NULL || vg_array_push(&dump->chain, &parent) != 0)
			return VG_WALK_UNREADABLE;
		if (node->dumped != 0)
			break;
		/* A valid parent has a smaller id. */
		if (node->parent >= parent)
			return VG_WALK_UNREADABLE;
		parent = node->parent;
	}
	if (parent >= VG_STACK_ROOTS) {
		parent = node->dumped;
		dump->chain.count--;
	}
	while (dump->chain.count > 0) {
		node = vg_flight_node(dump->flight, dump->chain.items[--dump->chain.count]);
		node_write(dump, node, parent);
		parent = node->dumped;
	}
	return parent;
}

/* ---- entries ---- */

static bool is_in_window(const struct vg_dump *dump, uint64_t time_ns)
{
	return time_ns >= dump->window_begin_ns && time_ns <= dump->end_ns;
}

static void sample_write(struct vg_dump *dump, const struct vg_queue_entry *entry)
{
	const struct vg_flight_node *leaf = vg_flight_node(dump->flight, entry->sample.stack);
	struct vg_writer_sample sample = {
		.thread = thread_of(dump, entry->thread), .count = entry->sample.count,
		.time_ns = entry->time_ns, .wall_ns = entry->sample.wall_ns,
		.cpu_ns = entry->sample.cpu_ns, .interval = entry->sample.interval,
	};

	if (sample.thread == VG_NONE || !is_in_window(dump, entry->time_ns))
		return;
	sample.stack = stack_of(dump, entry->sample.stack);
	/* The sample's wall time may begin before the window. */
	if (sample.wall_ns > entry->time_ns - dump->window_begin_ns)
		sample.wall_ns = entry->time_ns - dump->window_begin_ns;
	dump->samples += sample.count;
	if (leaf != NULL ? leaf->end == VG_WALK_ROOT : entry->sample.stack == VG_WALK_ROOT)
		dump->samples_complete += sample.count;
	vg_writer_sample(&dump->writer, &sample);
}

static void event_write(struct vg_dump *dump, const struct vg_queue_entry *entry)
{
	struct vg_writer_event event = {
		.type = entry->event_type, .thread = thread_of(dump, entry->thread),
		.time_ns = entry->time_ns, .value = entry->event.value,
		.token = entry->event.token, .parent = entry->event.parent,
	};

	/* Of the events before the window, only begins and ends of intervals are written: events in the window may
	 * belong to those intervals. */
	if (event.thread == VG_NONE || entry->time_ns > dump->end_ns ||
	    (entry->time_ns < dump->window_begin_ns && event.token == 0))
		return;
	event.kind = label_of(dump, entry->event.kind);
	event.label = label_of(dump, entry->event.label);
	dump->events++;
	vg_writer_event(&dump->writer, &event);
}

/* The values cover the time since the thread's previous reading of perf counters.  That reading may be from before the
 * window. */
static void perf_counters_write(struct vg_dump *dump, const struct vg_queue_entry *entry)
{
	struct vg_writer_perf_counters count = {
		.thread = thread_of(dump, entry->thread), .count = entry->counter_count,
		.time_ns = entry->time_ns,
	};

	if (count.thread == VG_NONE || !is_in_window(dump, entry->time_ns))
		return;
	memcpy(count.values, entry->counters.values, sizeof count.values);
	vg_writer_perf_counters(&dump->writer, &count);
}

static void entry_write(struct vg_dump *dump, const struct vg_queue_entry *entry)
{
	switch ((enum vg_entry_kind)entry->kind) {
	case VG_ENTRY_SAMPLE:
		sample_write(dump, entry);
		break;
	case VG_ENTRY_EVENT:
		event_write(dump, entry);
		break;
	case VG_ENTRY_COUNTERS:
		perf_counters_write(dump, entry);
		break;
	case VG_ENTRY_RATE:
		vg_writer_rate(&dump->writer, entry->time_ns, entry->rate.period_ns);
		break;
	}
}

bool vg_dump_behind(const struct vg_dump *dump)
{
	return dump->flight != NULL && dump->writer.failed == 0 &&
	       dump->cursor.number < dump->stop_number && dump->cursor.number < dump->flight->queue.next;
}

static bool on_needs(const struct vg_flight_reader *reader, uint64_t number)
{
	const struct vg_dump *dump = (const struct vg_dump *)reader;

	return vg_dump_behind(dump) && number >= dump->cursor.number && number < dump->stop_number;
}

bool vg_dump_run(struct vg_dump *dump, size_t count)
{
	for (; count > 0 && vg_dump_behind(dump); count--)
		entry_write(dump, vg_event_queue_read(&dump->flight->queue, &dump->cursor));
	return vg_dump_behind(dump);
}

static void on_catch_up(struct vg_flight_reader *reader, size_t entries)
{
	vg_dump_run((struct vg_dump *)reader, entries);
}

/* ---- beginning and end ---- */

static void open_write(struct vg_dump *dump)
{
	const struct vg_open_intervals *open = &dump->flight->open;
	struct vg_queue_entry *begins = vg_open_intervals_list(open);

	for (size_t i = 0; begins != NULL && i < open->count; i++)
		event_write(dump, &begins[i]);
	free(begins);
}

int vg_dump_begin(struct vg_dump *dump, struct vg_flight *flight, int fd, uint64_t now_ns,
		  bool continues)
{
	struct vg_writer_header header = flight->header;

	memset(dump, 0, sizeof *dump);
	vg_flight_trim(flight, now_ns);
	dumped_clear(flight);
	/* Count the window back from flight->now_ns, which may be later than now_ns: the flight recorder has dropped
	 * older entries. */
	dump->window_begin_ns = flight->now_ns > flight->window_ns ? flight->now_ns - flight->window_ns : 0;
	if (dump->window_begin_ns < flight->memory_short_ns)
		dump->window_begin_ns = flight->memory_short_ns;
	dump->cursor.number = flight->queue.first;
	dump->stop_number = dump->end_ns = UINT64_MAX;
	dump->flight = flight;
	if (!continues)
		vg_dump_stop(dump, now_ns);
	vg_writer_open(&dump->writer, fd, 0);
	dump->writer.name_max_bytes = flight->name_max_bytes;
	header.window_begin_ns = dump->window_begin_ns;
	vg_writer_header(&dump->writer, &header);
	if (flight->period_before_queue_ns != 0)
		vg_writer_rate(&dump->writer, dump->window_begin_ns, flight->period_before_queue_ns);
	open_write(dump);
	dump->reader = (struct vg_flight_reader){ .needs = on_needs, .catch_up = on_catch_up };
	flight->reader = &dump->reader;
	return dump->writer.failed;
}

void vg_dump_stop(struct vg_dump *dump, uint64_t now_ns)
{
	const struct vg_flight *flight = dump->flight;

	if (dump->end_ns != UINT64_MAX)
		return;
	dump->stop_number = flight->queue.next;
	dump->end_ns = now_ns;
	dump->lost_count = flight->lost_count;
	memcpy(dump->lost, flight->lost, sizeof dump->lost);
}

void vg_dump_note(struct vg_dump *dump, pid_t tid, const char *what, uint64_t time_ns,
		  uint64_t value)
{
	struct vg_flight *flight = dump->flight;
	struct vg_flight_thread *of = NULL;
	struct vg_writer_event event = {
		.type = VG_EVENT_INSTANT, .time_ns = time_ns, .value = value,
	};

	if (flight == NULL)
		return;
	for (size_t i = 0; i < flight->threads.count; i++) {
		struct vg_flight_thread *thread = &flight->threads.items[i];

		if (thread->thread.end_ns == UINT64_MAX && (of == NULL || thread->thread.tid == tid))
			of = thread;
	}
	if (of == NULL)
		return;
	event.thread = thread_write(dump, of);
	event.kind = label_add(dump, "watchdog");
	event.label = label_add(dump, what);
	dump->events++;
	vg_writer_event(&dump->writer, &event);
}

/* Writes threads that lived in the window and had no sample, exits of threads, and unloads of modules. */
static void threads_and_modules_end(struct vg_dump *dump)
{
	struct vg_flight *flight = dump->flight;

	for (size_t i = 0; i < flight->threads.count; i++) {
		struct vg_flight_thread *thread = &flight->threads.items[i];

		if ((thread->thread.end_ns < dump->window_begin_ns || thread->thread.begin_ns > dump->end_ns) &&
		    thread->dumped == VG_NONE)
			continue;
		thread_write(dump, thread);
		if (thread->thread.end_ns <= dump->end_ns)
			vg_writer_thread_end(&dump->writer, thread->dumped, thread->thread.end_ns);
	}
	for (uint32_t i = 0; i < flight->modules.count; i++) {
		const struct vg_flight_module *module = &flight->modules.items[i];

		if (module->dumped && module->module.unload_ns <= dump->end_ns)
			vg_writer_module_unload(&dump->writer, i, module->module.unload_ns);
	}
}

static void counts_write(struct vg_dump *dump)
{
	const struct vg_flight *flight = dump->flight;
	struct vg_named_value counts[VG_FLIGHT_COUNTS + 1];
	size_t count = 0;

	for (size_t i = 0; i < dump->lost_count; i++) {
		counts[count] = dump->lost[i];
		counts[count].value -= vg_flight_lost_before(flight, counts[count].name,
							     dump->window_begin_ns);
		count += counts[count].value != 0;
	}
	vg_writer_lost(&dump->writer, counts, count);
	memcpy(counts, flight->stats, flight->stats_count * sizeof *counts);
	counts[flight->stats_count] = (struct vg_named_value){ "flight_dropped", flight->dropped };
	vg_writer_stats(&dump->writer, counts, flight->stats_count + 1);
	if (flight->pauses_count > 0)
		vg_writer_pauses(&dump->writer, (const uint64_t (*)[2])flight->pauses,
				 flight->pauses_count);
}

int vg_dump_end(struct vg_dump *dump, const char *reason)
{
	const struct vg_named_value totals[] = {
		{ "samples", dump->samples }, { "threads", dump->threads },
		{ "stacks_complete", dump->samples_complete },
	};
	int rc;

	vg_dump_run(dump, SIZE_MAX);
	if (dump->writer.failed == 0) {
		threads_and_modules_end(dump);
		counts_write(dump);
	}
	rc = vg_writer_end(&dump->writer, reason, dump->end_ns, totals, sizeof totals / sizeof *totals);
	vg_writer_close(&dump->writer);
	vg_array_free(&dump->chain);
	dump->flight->reader = NULL;
	dump->flight = NULL;
	return rc;
}
