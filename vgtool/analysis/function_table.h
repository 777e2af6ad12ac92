/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FUNCTION_TABLE_H
#define VG_VGTOOL_FUNCTION_TABLE_H

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/thread_samples.h"
#include "vgtool/analysis/tree.h"

/*
 * Self and total time of each function over a set of samples.  Self counts the samples whose leaf
 * frame is the function.  Total counts the samples that have the function in any frame; a recursive
 * function counts once per sample.
 */
struct vg_function_row {
	uint32_t function;           /* the function's number in struct vg_frames */
	uint64_t self_ns, total_ns;
	uint64_t self_samples, total_samples;
};

struct vg_function_table {
	VG_ARRAY(struct vg_function_row) rows; /* self descending, then total descending, then by name */
	uint64_t samples;
	uint64_t weight_ns;          /* of all samples, empty stacks included */
	uint64_t wall_ns, cpu_ns;
};

/*
 * State that is shared by many tables of one profile: one table for each thread, for example.  A table
 * costs time in proportion to its samples and the nodes that they reach, however large the profile is.
 * Nodes that only repeat functions (recursion) cost nothing.
 *
 *	vg_table_maker_open(&maker, &frames, VG_WEIGHT_CPU);
 *	vg_function_table_build(&table, &maker, order, count);
 *	vg_function_table_free(&table);
 *	vg_table_maker_close(&maker);
 */
struct vg_table_maker {
	const struct vg_profile *profile;
	const struct vg_frames *frames;
	enum vg_weight weight;
	const uint64_t *values;      /* by sample: the value to sum up; NULL: the samples' weights are summed up.
	                                Owned by the caller, who sets it after vg_table_maker_open() */
	uint64_t *first_bit;         /* by node: index of its first bit in repeats */
	unsigned char *repeats;      /* a bit for each frame of each node: 1: an outer frame has the same function */
	uint32_t *non_repeat;        /* by node: the node itself if it has a frame that is no repeat, otherwise its
	                                nearest caller that has one */
	struct vg_subtree { uint64_t ns, samples; } *subtrees;  /* by node: samples at the node and its callees */
	unsigned char *reached;      /* by node: 1: it is in `nodes` */
	uint32_t *row_of;            /* by function: index of its row + 1; 0: it has no row */
	VG_ARRAY(uint32_t) nodes;    /* nodes of the samples of the current table, and their callers */
};

/* Returns 0 or -ENOMEM; call vg_table_maker_close() in either case.  The frames must outlive the maker. */
int vg_table_maker_open(struct vg_table_maker *maker, const struct vg_frames *frames,
			enum vg_weight weight);
void vg_table_maker_close(struct vg_table_maker *maker);

/* samples: indices into the profile's samples.  Returns 0 or -ENOMEM. */
int vg_function_table_build(struct vg_function_table *table, struct vg_table_maker *maker,
			    const uint32_t *samples, size_t count);
void vg_function_table_free(struct vg_function_table *table);

#endif
