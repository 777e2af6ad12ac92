/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/crowd.h"

/* Each thread that is gone when we come to it counts for a crowd, each that is not twice as much against it, and
 * where none is found for a while, there is none. */
enum { CROWD = 32, CROWD_MOST = 64, GONE_COUNTS = 4, LIVES_COUNTS = 8, NOBODY_COUNTS = 1 };

static void less(struct vg_crowd *crowd, uint32_t by)
{
	crowd->level -= crowd->level < by ? crowd->level : by;
}

void vg_crowd_met(struct vg_crowd *crowd, bool is_gone)
{
	if (!is_gone)
		less(crowd, LIVES_COUNTS);
	else if (crowd->level < CROWD_MOST)
		crowd->level += GONE_COUNTS;
}

void vg_crowd_nobody(struct vg_crowd *crowd)
{
	less(crowd, NOBODY_COUNTS);
}

bool vg_crowd_is(const struct vg_crowd *crowd)
{
	return crowd->level >= CROWD;
}

bool vg_crowd_is_early(const struct vg_crowd *crowd, uint64_t since_ns, bool ticks_wide)
{
	uint64_t apart_ns = ticks_wide ? VG_CROWD_SCAN_NS / 2 : VG_CROWD_SCAN_NS;

	return vg_crowd_is(crowd) && since_ns < apart_ns;
}
