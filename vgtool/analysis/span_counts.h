/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPAN_COUNTS_H
#define VG_VGTOOL_SPAN_COUNTS_H

#include "vgtool/analysis/counted.h"
#include "vgtool/analysis/spans.h"

/*
 * How far a counter of the thread went during each interval: in itself, by the rule of spans.h, and in
 * all, of which one within another of its name has no part.  A detached interval, which is no
 * thread's, has none.
 */
struct vg_span_counts {
	uint64_t *self, *once;       /* by span */
};

/* 0 or -ENOMEM; free in either case. */
int vg_span_counts_build(struct vg_span_counts *own, const struct vg_spans *spans,
			 const struct vg_counted *counts);
void vg_span_counts_free(struct vg_span_counts *own);

#endif
