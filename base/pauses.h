/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_PAUSES_H
#define VG_BASE_PAUSES_H

#include <stdint.h>

/* How long threads were stopped: a histogram with eight steps to every doubling, so that what is
 * read from it is right within 12.5%. */
enum { VG_PAUSES_STEPS = 8, VG_PAUSES_BUCKETS = 48 * VG_PAUSES_STEPS };

struct vg_pauses {
	uint64_t stops;
	uint64_t total_ns, max_ns;
	uint64_t buckets[VG_PAUSES_BUCKETS];
};

void vg_pauses_add(struct vg_pauses *pauses, uint64_t pause_ns);

/* What was added since they were `before`.  The longest is then that of its bucket, unless it
 * is the longest of all. */
void vg_pauses_since(struct vg_pauses *since, const struct vg_pauses *pauses,
		     const struct vg_pauses *before);

/* The length that `percent` of the stops did not exceed; 0 if there were none. */
uint64_t vg_pauses_percentile_ns(const struct vg_pauses *pauses, double percent);

/* The longest stop that a bucket counts. */
uint64_t vg_pauses_upper_ns(uint32_t bucket);

#endif
