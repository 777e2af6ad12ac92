/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/ticks.h"

/* xorshift64: a step of three shifts (Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t random_next(struct vg_ticks *ticks)
{
	ticks->random ^= ticks->random << 13;
	ticks->random ^= ticks->random >> 7;
	ticks->random ^= ticks->random << 17;
	return ticks->random;
}

/* Moves the phase by up to half a period in either direction, and reflects it at the ends of the period.  So all
 * phases are equally likely, and two ticks are 1/2 to 3/2 of a period apart.  If the phase moved by up to 1/4 only, a
 * program that repeats at nearly the sampling rate would have errors twice as large as with random samples. */
static uint64_t phase_step(struct vg_ticks *ticks)
{
	int64_t period_ns = (int64_t)ticks->period_ns, most_ns = period_ns / 2;
	int64_t phase_ns = (int64_t)(ticks->phase_ns % ticks->period_ns) - most_ns +
			   (int64_t)(random_next(ticks) % (uint64_t)(2 * most_ns + 1));

	if (phase_ns < 0)
		phase_ns = -phase_ns;
	return (uint64_t)(phase_ns < period_ns ? phase_ns : 2 * period_ns - phase_ns - 1);
}

static void period_begin(struct vg_ticks *ticks, uint64_t begin_ns)
{
	ticks->phase_ns = ticks->in_first_half ? random_next(ticks) % (ticks->period_ns / 2) : phase_step(ticks);
	ticks->due_ns = begin_ns + ticks->phase_ns;
	ticks->period_end_ns = begin_ns + ticks->period_ns;
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
