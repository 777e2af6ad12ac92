/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TICKS_H
#define VG_VIGNETTED_TICKS_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC. */
static inline uint64_t vg_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* When samples are due: absolute deadlines, so that late ones do not shift the rest. */
struct vg_ticks {
	uint64_t period_ns;          /* 0: never */
	uint64_t next_ns;
	uint64_t skipped;            /* deadlines that had passed before the one before was met */
};

static inline void vg_ticks_start(struct vg_ticks *ticks, uint64_t period_ns, uint64_t now_ns)
{
	*ticks = (struct vg_ticks){ .period_ns = period_ns, .next_ns = now_ns + period_ns };
}

/* Whether a sample is due; if so, sets the next deadline. */
static inline int vg_ticks_due(struct vg_ticks *ticks, uint64_t now_ns)
{
	uint64_t late;

	if (ticks->period_ns == 0 || now_ns < ticks->next_ns)
		return 0;
	late = (now_ns - ticks->next_ns) / ticks->period_ns;
	ticks->skipped += late;
	ticks->next_ns += (late + 1) * ticks->period_ns;
	return 1;
}

#endif
