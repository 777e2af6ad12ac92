/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CALL_TREE_H
#define VG_VGTOOL_CALL_TREE_H

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * A tree of functions over a set of samples, for people: functions with less than a share of the time are left out.
 *
 *   callees   the rows below a function are the functions that it calls.  The trees begin at the root frames
 *   callers   the rows below a function are the functions that call it.  The trees begin at the leaf frames
 *
 * With `begin`, there is one tree.  In each stack it begins at the outermost frame that has a marked function.  So a
 * sample counts once in the root, even if a marked function is recursive.  A tree of callers then shows who made the
 * outermost call.
 *
 * The work grows with the part of the stacks that is shown, and is bounded for hostile profiles.  Nothing recurses.
 *
 *	vg_call_tree_build(&tree, &frames, threads.order, count, &(struct vg_call_tree_options){
 *		.to_callers = true, .weight = VG_WEIGHT_CPU, .least_ppm = 5000 });
 *	for (size_t i = 0; i < tree.rows.count; i++)
 *		printf("%*s%s\n", tree.rows.items[i].depth, "", name(tree.rows.items[i].function));
 *	vg_call_tree_free(&tree);
 */
struct vg_call_tree_options {
	bool to_callers;             /* rows below a row are its callers, not its callees */
	enum vg_weight weight;
	const uint64_t *values;      /* by sample, in place of weights; NULL: weights */
	const unsigned char *begin;  /* by function: 1: the tree begins at this function; NULL: trees begin at the
	                                ends of stacks */
	uint32_t least_ppm;          /* rows with less than this part of all samples (with `begin`: of the root) are
	                                left out */
};

struct vg_call_row {
	uint32_t function;           /* the function's number in struct vg_frames; VG_NONE: the root, if `begin` marks
	                                several functions */
	uint32_t depth;              /* 0 for a root */
	uint32_t branches;           /* rows on the path from the root, including this one, that have siblings */
	bool is_branch;              /* it has siblings */
	uint64_t total_ns;           /* of the samples whose stacks have this path */
	uint64_t self_ns;            /* of the samples whose stacks end with this path; 0 in a tree of callers */
	uint64_t samples;            /* number of the samples of total_ns */
};

struct vg_call_tree {
	VG_ARRAY(struct vg_call_row) rows; /* each row before the rows below it; of siblings the heaviest first */
	uint64_t samples, weight_ns; /* of all samples, empty stacks included */
	bool is_incomplete;          /* a limit was reached: rows are missing */
};

/* Limits.  A name has at most 16 KiB, so the rows of a tree are printed in at most 4 GiB. */
enum { VG_CALL_TREE_ROWS_MAX = 1 << 18, VG_CALL_TREE_STEPS_MAX = 1 << 26 };

/* samples: indices into the profile's samples.  Returns 0 or -ENOMEM; call vg_call_tree_free() in either case. */
int vg_call_tree_build(struct vg_call_tree *tree, const struct vg_frames *frames, const uint32_t *samples, size_t count,
		       const struct vg_call_tree_options *options);
void vg_call_tree_free(struct vg_call_tree *tree);

#endif
