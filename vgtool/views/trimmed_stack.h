/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TRIMMED_STACK_H
#define VG_VGTOOL_TRIMMED_STACK_H

#include "vgtool/analysis/frames.h"

/*
 * The functions of a stack.  The middle of a deep stack is left out, because both ends are more useful.
 *
 * vg_trimmed_stack_build() computes the depth of each node and where its outermost functions begin.  So the time of
 * vg_trimmed_stack_fill() depends on the number of functions that are shown, and not on the depth of the stack.
 *
 *	vg_trimmed_stack_build(&trimmed, &frames);
 *	vg_trimmed_stack_fill(&trimmed, sample->stack, VG_TRIMMED_STACK_MAX);
 *	for (size_t i = 0; i < trimmed.count; i++)
 *		... trimmed.functions[i] ...
 *	vg_trimmed_stack_free(&trimmed);
 */
enum {
	VG_TRIMMED_STACK_MAX = 2000, /* most functions that are shown of one stack */
	VG_TRIMMED_STACK_OUTERMOST = VG_TRIMMED_STACK_MAX / 2 - 1, /* number of outermost functions that are
	                                                              shown, if the middle is left out */
	VG_TRIMMED_STACK_GAP = VG_NONE, /* stands for the middle */
};

struct vg_trimmed_stack {
	const struct vg_frames *frames; /* the caller's; must outlive this */
	uint32_t *depths;            /* by node: functions from the node to the root */
	uint32_t *outer;             /* by node: on the path from the root to the node, the first node whose depth is
	                                VG_TRIMMED_STACK_OUTERMOST or more; if there is none, the node itself */

	/* Results of vg_trimmed_stack_fill(). */
	uint32_t functions[VG_TRIMMED_STACK_MAX]; /* numbers, innermost first */
	size_t count;
	uint32_t cut;                /* functions that VG_TRIMMED_STACK_GAP stands for; 0: there is no gap */
};

/* Returns 0 or -ENOMEM; call vg_trimmed_stack_free() in either case. */
int vg_trimmed_stack_build(struct vg_trimmed_stack *trimmed, const struct vg_frames *frames);
void vg_trimmed_stack_free(struct vg_trimmed_stack *trimmed);

/* Fills functions, count and cut.  node may be VG_NONE.  functions_max is VG_TRIMMED_STACK_MAX minus the number of
 * frames that the view itself adds.  It must be more than VG_TRIMMED_STACK_OUTERMOST + 1. */
void vg_trimmed_stack_fill(struct vg_trimmed_stack *trimmed, uint32_t node, uint32_t functions_max);

#endif
