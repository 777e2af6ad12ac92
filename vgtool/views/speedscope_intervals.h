/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPEEDSCOPE_INTERVALS_H
#define VG_VGTOOL_SPEEDSCOPE_INTERVALS_H

#include "vgtool/analysis/intervals.h"
#include "vgtool/output/json.h"

/*
 * Writes the intervals of a thread as the events of an "evented" profile.  Detached intervals are left out.
 *
 * Speedscope requires nested intervals.  If an interval ends before intervals that began after it, these later
 * intervals are closed with it and opened again.  If more than VG_SPEEDSCOPE_REOPENED_MAX intervals would have to be
 * opened again, the interval is shown too long instead: it is closed after the later intervals.  Intervals nested
 * deeper than VG_SPEEDSCOPE_INTERVALS_DEPTH_MAX are shown as one interval, "[deeper intervals]".
 */
enum { VG_SPEEDSCOPE_REOPENED_MAX = 16, VG_SPEEDSCOPE_INTERVALS_DEPTH_MAX = 1000 };

struct vg_speedscope_intervals {
	const struct vg_intervals *program_intervals; /* set and owned by the caller, like all fields up to `context` */
	struct vg_json *json;
	/* Returns the number of the frame for a kind and label; both VG_NONE - 1: "[deeper intervals]". */
	uint32_t (*frame_of)(void *context, uint32_t kind, uint32_t label);
	void *context;

	/* Private; all zero before the first thread. */
	VG_ARRAY(uint32_t) open;           /* the open intervals that are shown, or DEEPER_INTERVALS */
	unsigned char *marks;              /* by interval: enum mark */
	uint64_t hidden;                   /* number of open intervals that are too deep to be shown */
};

/* True if the thread has intervals that are not detached. */
bool vg_speedscope_intervals_any(const struct vg_intervals *intervals, uint32_t thread);

/* Writes the array of events.  Returns 0 or -ENOMEM. */
int vg_speedscope_intervals_write(struct vg_speedscope_intervals *writer, uint32_t thread);
void vg_speedscope_intervals_free(struct vg_speedscope_intervals *writer);

#endif
