/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPEEDSCOPE_INTERVALS_H
#define VG_VGTOOL_SPEEDSCOPE_INTERVALS_H

#include "vgtool/analysis/spans.h"
#include "vgtool/output/json.h"

/*
 * The intervals of a thread as the events of a profile of type "evented", which Speedscope demands
 * to be well nested.  Where one ends before another that began after it, the other is closed and
 * opened again; beyond VG_SPEEDSCOPE_REOPENED_MAX of those it ends with them instead.  What is
 * nested too deep is one "[deeper intervals]".  Detached ones are left out.
 */
enum { VG_SPEEDSCOPE_REOPENED_MAX = 16, VG_SPEEDSCOPE_INTERVALS_DEPTH_MAX = 1000 };

struct vg_speedscope_intervals {
	const struct vg_spans *spans;      /* the caller's, as all up to `context` */
	struct vg_json *json;
	/* The number of the frame for a name; kind and label VG_NONE - 1: "[deeper intervals]". */
	uint32_t (*frame_of)(void *context, uint32_t kind, uint32_t label);
	void *context;

	/* Its own; all zero before the first thread. */
	VG_ARRAY(uint32_t) open;           /* spans that are shown, or DEEPER */
	unsigned char *marks;              /* by span: how it is treated */
	uint64_t hidden;                   /* open spans too deep to be shown */
};

/* Whether the thread has any. */
bool vg_speedscope_intervals_any(const struct vg_spans *spans, uint32_t thread);

/* Writes the array.  0 or -ENOMEM. */
int vg_speedscope_intervals_write(struct vg_speedscope_intervals *intervals, uint32_t thread);
void vg_speedscope_intervals_free(struct vg_speedscope_intervals *intervals);

#endif
