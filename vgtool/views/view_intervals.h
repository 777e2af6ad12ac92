/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIEW_INTERVALS_H
#define VG_VGTOOL_VIEW_INTERVALS_H

#include "vgtool/analysis/intervals.h"

/*
 * The program's intervals for pictures.
 *
 * Paths: an interval's label, and the labels of the intervals around it.  Many intervals have the same path.  A path
 * around another one has the lower number.
 *
 * The longest intervals are for a picture by time.  Detached intervals are left out, because they may overlap.
 *
 *	vg_view_intervals_build(&view, profile);
 *	path = view.by_sample != NULL ? view.by_sample[sample] : VG_NONE;
 *	vg_view_intervals_free(&view);
 */
struct vg_view_path {
	uint32_t label;              /* id in `labels` */
	uint32_t parent;             /* path, or VG_NONE */
};

struct vg_view_intervals {
	struct vg_intervals intervals;
	struct vg_intern labels;     /* strings */
	struct vg_intern paths;      /* struct vg_view_path -> number */
	uint32_t *by_sample;         /* by sample: path of the innermost open interval, or VG_NONE; NULL: the profile
	                                has no intervals */
	VG_ARRAY(uint32_t) longest;  /* indices of intervals, in the order of their begin events */
};

enum { VG_VIEW_INTERVALS_MAX = 100000 };

/* Returns 0 or -ENOMEM; call vg_view_intervals_free() in either case. */
int vg_view_intervals_build(struct vg_view_intervals *view, const struct vg_profile *profile);
void vg_view_intervals_free(struct vg_view_intervals *view);

#endif
