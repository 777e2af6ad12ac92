/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/ledger.h"

/* Values below VG_LEDGER_STEPS have a bucket each; then every doubling has VG_LEDGER_STEPS. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t doubling, bucket;

	if (ns < VG_LEDGER_STEPS)
		return (uint32_t)ns;
	doubling = 63 - (uint32_t)__builtin_clzll(ns) - 3;
	bucket = (doubling + UINT64_C(1)) * VG_LEDGER_STEPS + ((ns >> doubling) & (VG_LEDGER_STEPS - 1));
	return bucket < VG_LEDGER_BUCKETS ? bucket : VG_LEDGER_BUCKETS - 1;
}

uint64_t vg_ledger_upper_ns(uint32_t bucket)
{
	uint32_t doubling;

	if (bucket < VG_LEDGER_STEPS)
		return bucket;
	doubling = bucket / VG_LEDGER_STEPS - 1;
	return ((UINT64_C(1) * VG_LEDGER_STEPS + bucket % VG_LEDGER_STEPS + 1) << doubling) - 1;
}

void vg_ledger_add(struct vg_ledger *ledger, uint64_t pause_ns)
{
	ledger->stops++;
	ledger->total_ns += pause_ns;
	if (pause_ns > ledger->max_ns)
		ledger->max_ns = pause_ns;
	ledger->buckets[bucket_of(pause_ns)]++;
}

void vg_ledger_since(struct vg_ledger *since, const struct vg_ledger *ledger,
		     const struct vg_ledger *before)
{
	*since = (struct vg_ledger){
		.stops = ledger->stops - before->stops,
		.total_ns = ledger->total_ns - before->total_ns,
	};
	for (uint32_t i = 0; i < VG_LEDGER_BUCKETS; i++) {
		since->buckets[i] = ledger->buckets[i] - before->buckets[i];
		if (since->buckets[i] != 0)
			since->max_ns = vg_ledger_upper_ns(i);
	}
	if (since->max_ns > ledger->max_ns)
		since->max_ns = ledger->max_ns;
}

uint64_t vg_ledger_percentile_ns(const struct vg_ledger *ledger, double percent)
{
	double wanted = (double)ledger->stops * percent / 100;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < VG_LEDGER_BUCKETS; i++) {
		seen += ledger->buckets[i];
		if (seen > 0 && (double)seen >= wanted)
			return vg_ledger_upper_ns(i) < ledger->max_ns ? vg_ledger_upper_ns(i) :
			       ledger->max_ns;
	}
	return 0;
}
