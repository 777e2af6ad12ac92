/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/flight_sink.h"

/* ---- stacks, samples, events ---- */

/* Returns the table for a new node with that id. */
static struct vg_flight_table *table_for(struct vg_flight *flight, uint32_t id)
{
	struct vg_flight_table fresh = { .first = id, .used = flight->queue.next };
	struct vg_flight_table *last = flight->tables.count > 0 ?
				       &flight->tables.items[flight->tables.count - 1] : NULL;

	if (last != NULL && flight->generation_seen == *flight->generation &&
	    id == last->first + last->nodes.count)
		return last;
	flight->generation_seen = *flight->generation;
	if (vg_array_push(&flight->tables, &fresh) != 0)
		return NULL;
	return &flight->tables.items[flight->tables.count - 1];
}

/* If there is no memory, the node is left out, and stacks that contain it end there. */
static int on_stack(struct vg_writer_sink *sink, uint32_t id, uint32_t parent, uint32_t module,
		    uint64_t address, enum vg_found_by found)
{
	struct vg_flight *flight = (struct vg_flight *)sink;
	struct vg_flight_node node = { .address = address, .parent = parent, .module = module,
				       .found = (uint8_t)found, .end = (uint8_t)parent };
	struct vg_flight_table *table = table_for(flight, id);
	const struct vg_flight_node *caller;
	size_t capacity = table != NULL ? table->nodes.capacity : 0;

	if (parent >= VG_STACK_ROOTS) {
		caller = vg_flight_node(flight, parent);
		node.end = caller != NULL ? caller->end : VG_WALK_UNREADABLE;
	}
	if (table == NULL || vg_array_push(&table->nodes, &node) != 0)
		flight->dropped++;
	else if (table->nodes.capacity != capacity)
		flight->tables_grown = true;
	return 0;
}

static int on_sample(struct vg_writer_sink *sink, const struct vg_writer_sample *sample)
{
	struct vg_flight *flight = (struct vg_flight *)sink;
	struct vg_flight_table *table;
	struct vg_queue_entry *entry = vg_flight_push(flight, sample->time_ns, VG_ENTRY_SAMPLE,
						      sample->thread);

	if (entry == NULL)
		return 0;
	entry->sample.stack = sample->stack;
	entry->sample.count = sample->count;
	entry->sample.wall_ns = sample->wall_ns;
	entry->sample.cpu_ns = sample->cpu_ns;
	entry->sample.interval = sample->interval;
	table = vg_flight_table_of(flight, sample->stack);
	if (table != NULL)
		table->used = flight->queue.next;
	return 0;
}

static int on_event(struct vg_writer_sink *sink, const struct vg_writer_event *event)
{
	struct vg_flight *flight = (struct vg_flight *)sink;
	struct vg_queue_entry *entry = vg_flight_push(flight, event->time_ns, VG_ENTRY_EVENT,
						      event->thread);

	if (entry == NULL)
		return 0;
	entry->event_type = (uint8_t)event->type;
	entry->event.value = event->value;
	entry->event.token = event->token;
	entry->event.parent = event->parent;
	entry->event.kind = event->kind;
	entry->event.label = event->label;
	return 0;
}

static int on_perf_counters(struct vg_writer_sink *sink, const struct vg_writer_perf_counters *count)
{
	struct vg_queue_entry *entry = vg_flight_push((struct vg_flight *)sink, count->time_ns,
						      VG_ENTRY_COUNTERS, count->thread);

	if (entry == NULL)
		return 0;
	_Static_assert(sizeof entry->counters.values == sizeof count->values, "an entry has room for all values");
	memcpy(entry->counters.values, count->values, sizeof count->values);
	entry->counter_count = (uint8_t)count->count;
	return 0;
}

static int on_rate(struct vg_writer_sink *sink, uint64_t time_ns, uint64_t period_ns)
{
	struct vg_queue_entry *entry = vg_flight_push((struct vg_flight *)sink, time_ns, VG_ENTRY_RATE,
						      VG_NONE);

	if (entry != NULL)
		entry->rate.period_ns = period_ns;
	return 0;
}

/* ---- threads ---- */

static int on_thread(struct vg_writer_sink *sink, const struct vg_thread *thread, const char *name)
{
	struct vg_flight *flight = (struct vg_flight *)sink;
	struct vg_flight_thread fresh = { .thread = *thread, .dumped = VG_NONE };

	fresh.thread.end_ns = UINT64_MAX;
	/* A dump in progress may need any thread, so no thread is dropped during a dump. */
	if (flight->reader == NULL && flight->threads.count >= flight->cleanup_count)
		vg_flight_threads_drop(flight);
	fresh.name = name[0] != '\0' ? strdup(name) : NULL;
	if (vg_array_push(&flight->threads, &fresh) != 0) {
		free(fresh.name);
		flight->dropped++;
	}
	return 0;
}

static int on_thread_name(struct vg_writer_sink *sink, uint32_t id, const char *name)
{
	struct vg_flight_thread *thread = vg_flight_thread((struct vg_flight *)sink, id);
	char *copy = thread != NULL ? strdup(name) : NULL;

	if (copy == NULL)
		return 0;
	free(thread->name);
	thread->name = copy;
	return 0;
}

static int on_thread_end(struct vg_writer_sink *sink, uint32_t id, uint64_t time_ns)
{
	struct vg_flight_thread *thread = vg_flight_thread((struct vg_flight *)sink, id);

	if (thread != NULL)
		thread->thread.end_ns = time_ns;
	return 0;
}

/* ---- modules, labels and statistics ---- */

static int on_module(struct vg_writer_sink *sink, const struct vg_module *module, const char *name)
{
	struct vg_flight *flight = (struct vg_flight *)sink;
	const struct vg_flight_module none = { .name = NULL };
	struct vg_flight_module *known;

	while (flight->modules.count <= module->id) {
		if (vg_array_push(&flight->modules, &none) != 0)
			return 0;
	}
	known = &flight->modules.items[module->id];
	if (known->name == NULL)
		known->name = strdup(name);
	known->module = *module;
	known->module.unload_ns = UINT64_MAX;
	return 0;
}

static int on_module_unload(struct vg_writer_sink *sink, uint32_t id, uint64_t time_ns)
{
	struct vg_flight *flight = (struct vg_flight *)sink;

	if (id < flight->modules.count)
		flight->modules.items[id].module.unload_ns = time_ns;
	return 0;
}

static int on_label(struct vg_writer_sink *sink, uint32_t id, const char *text, size_t length)
{
	struct vg_flight *flight = (struct vg_flight *)sink;
	const struct vg_flight_label none = { .text = NULL, .dumped = VG_NONE };
	struct vg_flight_label *label;
	uint32_t index;

	if (vg_intern(&flight->label_ids, &id, sizeof id, &index) < 0)
		return 0;
	while (flight->labels.count <= index) {
		if (vg_array_push(&flight->labels, &none) != 0)
			return 0;
	}
	label = &flight->labels.items[index];
	free(label->text);
	label->text = malloc(length + 1);
	label->length = (uint32_t)length;
	if (label->text != NULL)
		memcpy(label->text, text, length);
	return 0;
}

static int on_header(struct vg_writer_sink *sink, const struct vg_writer_header *header)
{
	struct vg_flight *flight = (struct vg_flight *)sink;

	flight->header = *header;
	strncpy(flight->arch, header->arch, sizeof flight->arch - 1);
	flight->header.arch = flight->arch;
	return 0;
}

static int on_stats(struct vg_writer_sink *sink, const struct vg_named_value *counts, size_t count)
{
	struct vg_flight *flight = (struct vg_flight *)sink;

	flight->stats_count = count < VG_FLIGHT_COUNTS ? count : VG_FLIGHT_COUNTS;
	memcpy(flight->stats, counts, flight->stats_count * sizeof *counts);
	return 0;
}

static int on_lost(struct vg_writer_sink *sink, const struct vg_named_value *counts, size_t count)
{
	struct vg_flight *flight = (struct vg_flight *)sink;
	size_t last = (flight->loss_history_count + VG_FLIGHT_LOSS_HISTORY - 1) % VG_FLIGHT_LOSS_HISTORY;
	size_t next = flight->loss_history_count % VG_FLIGHT_LOSS_HISTORY;

	flight->lost_count = count < VG_FLIGHT_LOSSES ? count : VG_FLIGHT_LOSSES;
	memcpy(flight->lost, counts, flight->lost_count * sizeof *counts);
	/* Add to the history so rarely that its oldest values are always from before the window. */
	if (flight->loss_history_count > 0 && flight->now_ns - flight->loss_history[last].time_ns <
	    flight->window_ns / (VG_FLIGHT_LOSS_HISTORY - 2))
		return 0;
	flight->loss_history_count++;
	flight->loss_history[next].time_ns = flight->now_ns;
	flight->loss_history[next].count = flight->lost_count;
	memcpy(flight->loss_history[next].counts, flight->lost, sizeof flight->lost);
	return 0;
}

static int on_pauses(struct vg_writer_sink *sink, const uint64_t (*pairs)[2], size_t count)
{
	struct vg_flight *flight = (struct vg_flight *)sink;

	flight->pauses_count = count < VG_PAUSES_BUCKETS ? count : VG_PAUSES_BUCKETS;
	memcpy(flight->pauses, pairs, flight->pauses_count * sizeof *pairs);
	return 0;
}

static const struct vg_writer_sink operations = {
	.header = on_header, .module = on_module, .module_unload = on_module_unload,
	.thread = on_thread, .thread_name = on_thread_name, .thread_end = on_thread_end,
	.stack = on_stack, .sample = on_sample, .label = on_label, .event = on_event,
	.perf_counters = on_perf_counters, .rate = on_rate, .lost = on_lost, .stats = on_stats,
	.pauses = on_pauses,
};

struct vg_writer_sink *vg_flight_sink(struct vg_flight *flight)
{
	flight->sink = operations;
	return &flight->sink;
}
