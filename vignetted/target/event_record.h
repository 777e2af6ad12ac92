/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_EVENT_RECORD_H
#define VG_VIGNETTED_EVENT_RECORD_H

#include "vignetted/target/events.h"

/* From a copy of what a host wrote to what the profile is told: for events.c alone. */
struct vg_event_record {
	uint64_t time_ns, what, value, parent; /* as in struct vg_lane_record */
};

/* Goes through the labels that were added.  Lengths that lead out of their area end it for good. */
void vg_event_labels_read(struct vg_events *events);

/* A token that the lane's thread can have got in this session, before the lane's head was there;
 * else 0. */
uint64_t vg_event_token_check(const struct vg_events_lane *own, uint32_t lane, uint64_t token,
			      uint64_t head);

/* Writes the lane's record number own->tail to every profile, and the labels that it is the first to
 * name; one that makes no sense is counted instead. */
void vg_event_record_write(struct vg_events *events, const struct vg_events_sink *sink, uint32_t lane,
			  const struct vg_event_record *record);

#endif
