/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/event_record.h"

#include <errno.h>

/* The clock readings of two processes may differ.  A record that is later than our clock by more than this is
 * forged. */
static const uint64_t CLOCK_AHEAD_MAX_NS = 1000000000;

void vg_event_labels_read(struct vg_events *events)
{
	uint64_t end = atomic_load_explicit(&events->shared->labels_bytes, memory_order_acquire);
	const volatile unsigned char *bytes = events->shared->labels;

	if (end > VG_LANES_LABELS_BYTES)
		return;
	while (events->labels_bytes + 2 <= end) {
		struct vg_events_label label = { .offset = (uint32_t)events->labels_bytes + 2 };

		label.length = bytes[label.offset - 2] | (uint32_t)bytes[label.offset - 1] << 8;
		if (label.length > VG_LANES_LABEL_MAX || label.length > end - label.offset ||
		    vg_array_push(&events->labels, &label) != 0)
			return;
		events->labels_bytes = label.offset + label.length;
	}
}

/* Returns the label's id in profiles: its number in the event ring, minus 1.  VG_NONE for number 0, which means no
 * label. */
static uint32_t label_id(uint64_t number)
{
	return number == 0 ? VG_NONE : (uint32_t)number - 1;
}

/* Writes the label to a profile that does not have it yet. */
static void label_write(struct vg_events *events, uint32_t out, uint32_t id)
{
	char text[VG_LANES_LABEL_MAX];
	struct vg_events_label *label;

	if (id == VG_NONE || (events->labels.items[id].written & 1u << out) != 0)
		return;
	label = &events->labels.items[id];
	label->written |= 1u << out;
	memcpy(text, events->shared->labels + label->offset, label->length);
	vg_writer_label(events->profiles[out].writer, id, text, label->length);
}

uint64_t vg_event_token_check(const struct vg_events_lane *own, uint32_t lane, uint64_t token,
			      uint64_t head)
{
	uint64_t number = token >> 8;

	return vg_token_lane(token) == lane && number > own->first && number <= head ? token : 0;
}

/* Fills *event; its time_ns is session time.  Returns 0, or -EBADMSG if the record is invalid. */
static int record_check(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane,
			const struct vg_event_record *record, struct vg_writer_event *event)
{
	const uint64_t mask = (UINT64_C(1) << VG_LANE_LABEL_BITS) - 1;
	uint64_t kind = record->type_and_labels >> VG_LANE_KIND_SHIFT & mask;
	uint64_t label = record->type_and_labels >> VG_LANE_LABEL_SHIFT & mask;
	struct vg_events_lane *own = &events->lanes[lane];

	*event = (struct vg_writer_event){
		.type = record->type_and_labels & 0xff, .value = record->value,
		.time_ns = record->time_ns - events->begin_ns,
		.kind = label_id(kind), .label = label_id(label),
	};
	if (event->type >= VG_EVENT_TYPES || record->time_ns < events->begin_ns ||
	    event->time_ns > context->now_ns + CLOCK_AHEAD_MAX_NS || kind > events->labels.count ||
	    label > events->labels.count)
		return -EBADMSG;
	if (event->time_ns < own->last_ns)
		event->time_ns = own->last_ns;
	switch (event->type) {
	case VG_EVENT_BEGIN:
	case VG_EVENT_DETACHED_BEGIN:
		event->token = vg_lane_token(own->tail, lane);
		event->parent = record->parent == event->token ? event->token :
				vg_event_token_check(own, lane, record->parent, own->tail);
		break;
	case VG_EVENT_END:
	case VG_EVENT_DETACHED_END:
		event->token = record->value;
		event->value = 0;
		event->time_ns = vg_lane_end_ns(own, event->token, event->time_ns);
		return record->value != 0 ? 0 : -EBADMSG;
	case VG_EVENT_INSTANT:
	case VG_EVENT_COUNTER:
	case VG_EVENT_TYPES:
		break;
	}
	return 0;
}

/* Whether the interval began before the recording `index` began. */
static bool began_before(const struct vg_events *events, uint32_t index, uint64_t token)
{
	return token >> 8 <= events->lanes[vg_token_lane(token)].first_of[index];
}

/* Writes the event to one profile, with that profile's time and thread id. */
static void record_write(struct vg_events *events, struct vg_events_lane *own, uint32_t index,
			 struct vg_writer_event event)
{
	struct vg_events_profile *out = &events->profiles[index];

	if (event.time_ns < out->since_ns) {
		own->first_of[index] = own->tail + 1;
		return;
	}
	if (event.time_ns > out->until_ns)
		return;
	if (event.token != 0 && began_before(events, index, event.token))
		return;
	if (vg_writer_full(out->writer)) {
		out->file_full++;
		return;
	}
	label_write(events, index, event.kind);
	label_write(events, index, event.label);
	event.time_ns -= out->since_ns;
	event.thread = own->threads[index];
	if (began_before(events, index, event.parent))
		event.parent = 0;
	out->recorded++;
	vg_writer_event(out->writer, &event);
}

uint64_t vg_event_first_intact(const struct vg_lane *lane, uint64_t tail)
{
	uint64_t head;

	atomic_thread_fence(memory_order_acquire);
	head = atomic_load_explicit(&lane->head, memory_order_relaxed);
	/* The record at `head` may be half written. */
	if (head < tail || head - tail < VG_LANE_RECORDS)
		return tail;
	return head - VG_LANE_RECORDS + 1;
}

void vg_event_records_copy(const struct vg_lane_record *records, uint64_t tail, size_t count,
			   struct vg_event_record *batch)
{
	for (size_t i = 0; i < count; i++) {
		const struct vg_lane_record *record = &records[(tail + i) % VG_LANE_RECORDS];

		batch[i].time_ns = atomic_load_explicit(&record->time_ns, memory_order_relaxed);
		batch[i].type_and_labels = atomic_load_explicit(&record->type_and_labels, memory_order_relaxed);
		batch[i].value = atomic_load_explicit(&record->value, memory_order_relaxed);
		batch[i].parent = atomic_load_explicit(&record->parent, memory_order_relaxed);
	}
}

void vg_event_records_drop(struct vg_events *events, uint32_t lane)
{
	struct vg_lane *shared = &events->shared->lanes[lane];
	struct vg_events_lane *own = &events->lanes[lane];

	own->tail = atomic_load_explicit(&shared->head, memory_order_acquire);
	VG_EACH_RECORDING(i, events->live)
		own->first_of[i] = own->tail;
	atomic_store_explicit(&shared->tail, own->tail, memory_order_release);
}

uint64_t vg_event_record_ns(const struct vg_events *events, uint32_t lane, uint64_t number)
{
	return atomic_load(&events->shared->records[lane][number % VG_LANE_RECORDS].time_ns) - events->begin_ns;
}

void vg_event_record_write(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane,
			   const struct vg_event_record *record)
{
	struct vg_events_lane *own = &events->lanes[lane];
	struct vg_writer_event event;

	if (record_check(events, context, lane, record, &event) != 0) {
		events->malformed++;
		return;
	}
	own->last_ns = event.time_ns;
	if (event.type == VG_EVENT_BEGIN)
		vg_lane_open(own, event.time_ns, event.token);
	else if (event.type == VG_EVENT_END)
		vg_lane_close(own, event.time_ns, event.token);
	VG_EACH_RECORDING(i, own->thread_written & ~own->skipped)
		record_write(events, own, i, event);
	/* Profiles that do not have the thread, or not yet, do not get the event. */
	VG_EACH_RECORDING(i, events->live & (~own->thread_written | own->skipped))
		own->first_of[i] = own->tail + 1;
}
