/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/event_record.h"

#include <errno.h>

/* A clock that two processes read may differ by so much; records from further ahead are forged. */
static const uint64_t AHEAD_NS = 1000000000;

/* Goes through what was added.  Lengths that lead out of the area end it for good. */
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

/* A label's id in profiles is the host's number for it less one. */
static uint32_t label_id(uint64_t number)
{
	return number == 0 ? VG_NONE : (uint32_t)number - 1;
}

/* Writes the label if the profile has not got it. */
static void label_write(struct vg_events *events, uint32_t out, uint32_t id)
{
	char text[VG_LANES_LABEL_MAX];
	struct vg_events_label *label;

	if (id == VG_NONE || (events->labels.items[id].written & 1u << out) != 0)
		return;
	label = &events->labels.items[id];
	label->written |= 1u << out;
	memcpy(text, events->shared->labels + label->offset, label->length);
	vg_writer_label(events->outs[out].writer, id, text, label->length);
}

/* A token that the thread can have got from this lane. */
uint64_t vg_event_token_check(const struct vg_events_lane *own, uint32_t lane, uint64_t token,
			    uint64_t head)
{
	uint64_t number = token >> 8;

	return vg_token_lane(token) == lane && number > own->first && number <= head ? token : 0;
}

/* 0, or -EBADMSG if it makes no sense.  Its time is the session's. */
static int record_check(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane,
			const struct vg_event_record *record, struct vg_writer_event *event)
{
	const uint64_t mask = (UINT64_C(1) << VG_LANE_LABEL_BITS) - 1;
	uint64_t kind = record->what >> VG_LANE_KIND_SHIFT & mask;
	uint64_t label = record->what >> VG_LANE_LABEL_SHIFT & mask;
	struct vg_events_lane *own = &events->lanes[lane];

	*event = (struct vg_writer_event){
		.what = record->what & 0xff, .value = record->value,
		.time_ns = record->time_ns - events->begin_ns,
		.kind = label_id(kind), .label = label_id(label),
	};
	if (event->what >= VG_EVENT_WHATS || record->time_ns < events->begin_ns ||
	    event->time_ns > sink->now_ns + AHEAD_NS || kind > events->labels.count ||
	    label > events->labels.count)
		return -EBADMSG;
	if (event->time_ns < own->last_ns)
		event->time_ns = own->last_ns;
	switch (event->what) {
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
		return record->value != 0 ? 0 : -EBADMSG;
	case VG_EVENT_INSTANT:
	case VG_EVENT_COUNTER:
	case VG_EVENT_WHATS:
		break;
	}
	return 0;
}

/* Whether the interval began before the profile had the lane's records. */
static bool began_before(const struct vg_events *events, uint32_t index, uint64_t token)
{
	return token >> 8 <= events->lanes[vg_token_lane(token)].first_of[index];
}

/* One profile's copy, in its own time and with its own number of the thread. */
static void record_put(struct vg_events *events, struct vg_events_lane *own, uint32_t index,
		       struct vg_writer_event event)
{
	struct vg_events_out *out = &events->outs[index];

	if (event.time_ns < out->since_ns) {
		own->first_of[index] = own->tail + 1;
		return;
	}
	if (event.time_ns > out->until_ns)
		return;
	if (event.token != 0 && began_before(events, index, event.token))
		return;
	if (vg_writer_full(out->writer)) {
		out->cut++;
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

void vg_event_record_write(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane,
			   const struct vg_event_record *record)
{
	struct vg_events_lane *own = &events->lanes[lane];
	struct vg_writer_event event;

	if (record_check(events, sink, lane, record, &event) != 0) {
		events->bad++;
		return;
	}
	own->last_ns = event.time_ns;
	if (event.what == VG_EVENT_BEGIN)
		vg_lane_open(own, event.time_ns, event.token);
	else if (event.what == VG_EVENT_END)
		vg_lane_close(own, event.time_ns, event.token);
	VG_EACH_RECORDING(i, own->joined)
		record_put(events, own, i, event);
	/* Profiles that do not know the thread yet do not have the event. */
	VG_EACH_RECORDING(i, events->live & ~own->joined)
		own->first_of[i] = own->tail + 1;
}
