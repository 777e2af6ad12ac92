/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SHOWN_H
#define VG_VGTOOL_SHOWN_H

#include "vgtool/analysis/frames.h"

/*
 * The functions of a stack, as views show them that cut the middle of a deep one out: both ends say
 * most.  The cost of a stack is that of the functions that are shown, however deep it is: each node
 * knows its depth, and where the outermost functions of its stack begin.
 */
enum {
	VG_SHOWN_MAX = 2000,         /* functions of one stack */
	VG_SHOWN_OUTERMOST = VG_SHOWN_MAX / 2 - 1, /* of those, when the middle is cut */
	VG_SHOWN_CUT = VG_NONE,      /* stands for the middle */
};

struct vg_shown {
	const struct vg_frames *frames; /* the caller's; must outlive this */
	uint32_t *depths;            /* by node: functions from there to the root */
	uint32_t *outer;             /* by node: the first of its stack, counted from the root, that is as
	                                deep as VG_SHOWN_OUTERMOST; or the node itself */
	/* Of the last stack that was asked for. */
	uint32_t functions[VG_SHOWN_MAX]; /* numbers, innermost first */
	size_t count;
	uint32_t cut;                /* functions that VG_SHOWN_CUT stands for; 0: it is not there */
};

/* 0 or -ENOMEM; free in either case. */
int vg_shown_build(struct vg_shown *shown, const struct vg_frames *frames);
void vg_shown_free(struct vg_shown *shown);

/* Fills functions, count and cut.  node may be VG_NONE; room is VG_SHOWN_MAX, or less by what the view
 * itself adds to the stack, and more than VG_SHOWN_OUTERMOST + 1. */
void vg_shown_stack(struct vg_shown *shown, uint32_t node, uint32_t room);

#endif
