/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_LEDGER_H
#define VG_VIGNETTED_LEDGER_H

#include <stdint.h>

/* How long threads were stopped: a histogram with eight steps to every doubling, so that what is
 * read from it is right within 12.5%. */
enum { VG_LEDGER_STEPS = 8, VG_LEDGER_BUCKETS = 48 * VG_LEDGER_STEPS };

struct vg_ledger {
	uint64_t stops;
	uint64_t total_ns, max_ns;
	uint64_t buckets[VG_LEDGER_BUCKETS];
};

void vg_ledger_add(struct vg_ledger *ledger, uint64_t pause_ns);

/* What was added since the ledger was `before`.  The longest is then that of its bucket, unless it
 * is the longest of all. */
void vg_ledger_since(struct vg_ledger *since, const struct vg_ledger *ledger,
		     const struct vg_ledger *before);

/* The length that `percent` of the stops did not exceed; 0 if there were none. */
uint64_t vg_ledger_percentile_ns(const struct vg_ledger *ledger, double percent);

/* The longest stop that a bucket counts. */
uint64_t vg_ledger_upper_ns(uint32_t bucket);

#endif
