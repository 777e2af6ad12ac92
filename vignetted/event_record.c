/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/event_record.h"

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

/* The profile's id of the host's label, which is written if it is new; VG_NONE for none. */
static int label_get(struct vg_events *events, struct vg_writer *writer, uint64_t number, uint32_t *id)
{
	char text[VG_LANES_LABEL_MAX];
	struct vg_events_label *label;

	*id = VG_NONE;
	if (number == 0)
		return 0;
	if (number > events->labels.count)
		return -EBADMSG;
	label = &events->labels.items[number - 1];
	*id = (uint32_t)number - 1;
	if (label->written)
		return 0;
	label->written = true;
	memcpy(text, events->shared->labels + label->offset, label->length);
	return vg_writer_label(writer, *id, text, label->length);
}

/* A token that the thread can have got from this lane. */
uint64_t vg_event_token_check(const struct vg_events_lane *own, uint32_t lane, uint64_t token,
			    uint64_t head)
{
	uint64_t number = token >> 8;

	return (token & 0xff) == lane && number > own->first && number <= head ? token : 0;
}

/* 0, or -EBADMSG if it makes no sense. */
static int record_check(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane,
			const struct vg_event_record *record, struct vg_writer_event *event)
{
	const uint64_t mask = (UINT64_C(1) << VG_LANE_LABEL_BITS) - 1;
	struct vg_events_lane *own = &events->lanes[lane];
	int rc;

	*event = (struct vg_writer_event){
		.what = record->what & 0xff, .thread = own->thread, .value = record->value,
		.time_ns = record->time_ns - events->begin_ns,
	};
	if (event->what >= VG_EVENT_WHATS || record->time_ns < events->begin_ns ||
	    event->time_ns > sink->now_ns + AHEAD_NS)
		return -EBADMSG;
	if (event->time_ns < own->last_ns)
		event->time_ns = own->last_ns;
	rc = label_get(events, sink->writer, record->what >> VG_LANE_KIND_SHIFT & mask, &event->kind);
	if (rc == 0)
		rc = label_get(events, sink->writer, record->what >> VG_LANE_LABEL_SHIFT & mask,
			       &event->label);
	if (rc != 0)
		return rc;
	switch (event->what) {
	case VG_EVENT_BEGIN:
	case VG_EVENT_DETACHED_BEGIN:
		event->token = vg_lane_token(own->tail, lane);
		event->parent = vg_event_token_check(own, lane, record->parent, own->tail);
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

int vg_event_record_write(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane,
			const struct vg_event_record *record)
{
	struct vg_events_lane *own = &events->lanes[lane];
	struct vg_writer_event event;
	int rc;

	if (vg_writer_full(sink->writer)) {
		events->overrun++;
		return 0;
	}
	rc = record_check(events, sink, lane, record, &event);
	if (rc == -EBADMSG) {
		events->bad++;
		return 0;
	}
	own->last_ns = event.time_ns;
	if (event.what == VG_EVENT_BEGIN)
		vg_lane_open(own, event.time_ns, event.token);
	else if (event.what == VG_EVENT_END)
		vg_lane_close(own, event.time_ns, event.token);
	events->recorded++;
	return rc != 0 ? rc : vg_writer_event(sink->writer, &event);
}
