/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_PAUSES_H
#define VG_BASE_PAUSES_H

#include <stdint.h>

/*
 * The pause histogram: how long threads were stopped.  Each range from 2^n to 2^(n+1) ns has 8 buckets, so that values
 * are exact within 12.5 %.
 *
 * 	struct vg_pauses pauses = { 0 };
 * 	vg_pauses_add(&pauses, pause_ns);
 * 	p99_ns = vg_pauses_percentile_ns(&pauses, 99);
 */
enum { VG_PAUSES_STEPS = 8, VG_PAUSES_BUCKETS = 48 * VG_PAUSES_STEPS };

struct vg_pauses {
	uint64_t stops;              /* number of pauses */
	uint64_t total_ns, max_ns;
	uint64_t buckets[VG_PAUSES_BUCKETS];
};

void vg_pauses_add(struct vg_pauses *pauses, uint64_t pause_ns);

/* Sets *since to the pauses that were added after `before` was copied from `pauses`.  since->max_ns is the upper bound
 * of the highest bucket in *since, or pauses->max_ns if that is lower. */
void vg_pauses_since(struct vg_pauses *since, const struct vg_pauses *pauses,
		     const struct vg_pauses *before);

/* The length that `percent` percent of the pauses did not exceed.  0 if there are no pauses. */
uint64_t vg_pauses_percentile_ns(const struct vg_pauses *pauses, double percent);

/* The upper bound of the pauses in the bucket, in ns. */
uint64_t vg_pauses_upper_ns(uint32_t bucket);

#endif
