/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/ticks.h"

/* xorshift64: a step of three shifts (Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t random_next(struct vg_ticks *ticks)
{
	ticks->random ^= ticks->random << 13;
	ticks->random ^= ticks->random >> 7;
	ticks->random ^= ticks->random << 17;
	return ticks->random;
}

/* Of what a program does exactly as often, the second half would never be met: periods differ too, by up to an
 * eighth, and are right on the average. */
static void period_begin(struct vg_ticks *ticks, uint64_t begin_ns)
{
	ticks->due_ns = begin_ns + random_next(ticks) % (ticks->period_ns / 2);
	ticks->period_end_ns = begin_ns + ticks->period_ns - ticks->period_ns / 8 +
			       random_next(ticks) % (ticks->period_ns / 4);
}

void vg_ticks_start(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns)
{
	*ticks = (struct vg_ticks){ .period_ns = period_ns, .random = now_ns | 1 };
	if (period_ns != 0)
		period_begin(ticks, now_ns + period_ns);
}

void vg_ticks_restart(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns)
{
	ticks->period_ns = period_ns;
	if (period_ns != 0)
		period_begin(ticks, now_ns + period_ns);
}

bool vg_ticks_due(struct vg_ticks *ticks, uint64_t now_ns)
{
	uint64_t passed;

	if (ticks->period_ns == 0 || now_ns < ticks->due_ns)
		return false;
	if (now_ns - ticks->due_ns > ticks->period_ns / 2)
		ticks->late++;
	passed = now_ns > ticks->period_end_ns ?
		 (now_ns - ticks->period_end_ns) / ticks->period_ns : 0;
	ticks->skipped += passed;
	period_begin(ticks, ticks->period_end_ns + passed * ticks->period_ns);
	return true;
}

void vg_ticks_change(struct vg_ticks *ticks, uint64_t period_ns)
{
	uint64_t begin_ns = ticks->period_end_ns - ticks->period_ns;

	ticks->period_ns = period_ns;
	period_begin(ticks, begin_ns);
}
