/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/pauses.h"

/* Each value below VG_PAUSES_STEPS has its own bucket.  Above, each range from 2^n to 2^(n+1) has VG_PAUSES_STEPS
 * buckets. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t doubling, bucket;

	if (ns < VG_PAUSES_STEPS)
		return (uint32_t)ns;
	doubling = 63 - (uint32_t)__builtin_clzll(ns) - 3;
	bucket = (doubling + UINT64_C(1)) * VG_PAUSES_STEPS + ((ns >> doubling) & (VG_PAUSES_STEPS - 1));
	return bucket < VG_PAUSES_BUCKETS ? bucket : VG_PAUSES_BUCKETS - 1;
}

uint64_t vg_pauses_upper_ns(uint32_t bucket)
{
	uint32_t doubling;

	if (bucket < VG_PAUSES_STEPS)
		return bucket;
	doubling = bucket / VG_PAUSES_STEPS - 1;
	return ((UINT64_C(1) * VG_PAUSES_STEPS + bucket % VG_PAUSES_STEPS + 1) << doubling) - 1;
}

void vg_pauses_add(struct vg_pauses *pauses, uint64_t pause_ns)
{
	pauses->stops++;
	pauses->total_ns += pause_ns;
	if (pause_ns > pauses->max_ns)
		pauses->max_ns = pause_ns;
	pauses->buckets[bucket_of(pause_ns)]++;
}

void vg_pauses_since(struct vg_pauses *since, const struct vg_pauses *pauses,
		     const struct vg_pauses *before)
{
	*since = (struct vg_pauses){
		.stops = pauses->stops - before->stops,
		.total_ns = pauses->total_ns - before->total_ns,
	};
	for (uint32_t i = 0; i < VG_PAUSES_BUCKETS; i++) {
		since->buckets[i] = pauses->buckets[i] - before->buckets[i];
		if (since->buckets[i] != 0)
			since->max_ns = vg_pauses_upper_ns(i);
	}
	if (since->max_ns > pauses->max_ns)
		since->max_ns = pauses->max_ns;
}

uint64_t vg_pauses_percentile_ns(const struct vg_pauses *pauses, double percent)
{
	double wanted = (double)pauses->stops * percent / 100;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < VG_PAUSES_BUCKETS; i++) {
		seen += pauses->buckets[i];
		if (seen > 0 && (double)seen >= wanted)
			return vg_pauses_upper_ns(i) < pauses->max_ns ? vg_pauses_upper_ns(i) :
			       pauses->max_ns;
	}
	return 0;
}
