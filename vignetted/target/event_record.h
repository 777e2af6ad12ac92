/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_EVENT_RECORD_H
#define VG_VIGNETTED_EVENT_RECORD_H

#include "vignetted/target/events.h"

/* Functions that check records of the event ring and write them to the profiles.  Only events.c calls them. */

/* A copy of one record of the event ring, still untrusted. */
struct vg_event_record {
	uint64_t time_ns, type_and_labels, value, parent; /* as in struct vg_lane_record */
};

/* Copies `count` records, beginning with record number `tail`, from the lane's records. */
void vg_event_records_copy(const struct vg_lane_record *records, uint64_t tail, size_t count,
			   struct vg_event_record *batch);

/* Returns the number of the first intact record of a copy that begins at record number `tail`.  The host overwrote the
 * earlier records during the copy. */
uint64_t vg_event_first_intact(const struct vg_lane *lane, uint64_t tail);

/* Drops the lane's records, which no profile wants, without counting them. */
void vg_event_records_drop(struct vg_events *events, uint32_t lane);

/* Finds the labels that the host has added.  After a label with an invalid length no further labels are read. */
void vg_event_labels_read(struct vg_events *events);

/* Returns `token` if it names this lane and a record of this session before record number `head`.  Otherwise returns 0.
 * Does not check whether that record began an interval. */
uint64_t vg_event_token_check(const struct vg_events_lane *own, uint32_t lane, uint64_t token,
			      uint64_t head);

/* Returns the session time of record `number`, which is in the ring. */
uint64_t vg_event_record_ns(const struct vg_events *events, uint32_t lane, uint64_t number);

/* Writes `record`, whose number is the lane's `tail`, to each profile that has the lane's thread.  Labels that a
 * profile does not have yet are written before the record.  An invalid record is counted in events->malformed
 * instead. */
void vg_event_record_write(struct vg_events *events, const struct vg_drain_context *context, uint32_t lane,
			   const struct vg_event_record *record);

#endif
