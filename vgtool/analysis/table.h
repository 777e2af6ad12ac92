/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TABLE_H
#define VG_VGTOOL_TABLE_H

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/threads.h"
#include "vgtool/analysis/tree.h"

/*
 * Self and total time per function over a set of samples.  Self is where the innermost frame of a
 * sample is, total where any frame is; a function that calls itself counts once per sample.
 */
struct vg_row {
	uint32_t function;           /* number of vg_frames */
	uint64_t self_ns, total_ns;
	uint64_t self_samples, total_samples;
};

struct vg_table {
	VG_ARRAY(struct vg_row) rows; /* self, then total descending, then by name */
	uint64_t samples;
	uint64_t weight_ns;          /* of all samples, empty stacks included */
	uint64_t wall_ns, cpu_ns;
};

/*
 * What the making of any number of tables over one profile needs.  A table costs time in
 * proportion to its samples and to the nodes that these reach, however large the profile is, without
 * those of recursion.
 */
struct vg_tables {
	const struct vg_profile *profile;
	const struct vg_frames *frames;
	enum vg_weight weight;
	const uint64_t *values;      /* the caller's, by sample: their weights instead; to be set behind
	                                vg_tables_open(); NULL: there are none */
	uint64_t *repeat_at;         /* by node: where its bits start */
	unsigned char *repeats;      /* bits, by node and frame: an outer frame is the same function */
	uint32_t *counted;           /* by node: itself, or the nearest above, with a frame that is no repeat */
	struct vg_subtree { uint64_t ns, samples; } *subtrees;  /* by node */
	unsigned char *reached;      /* by node */
	uint32_t *row_of;            /* by function: row + 1, or 0 */
	VG_ARRAY(uint32_t) nodes;    /* that are reached */
};

/* 0 or -ENOMEM; free in either case.  The frames must outlive this. */
int vg_tables_open(struct vg_tables *tables, const struct vg_frames *frames,
		   enum vg_weight weight);
void vg_tables_close(struct vg_tables *tables);

/* The table of those samples (indices).  0 or -ENOMEM. */
int vg_table_build(struct vg_table *table, struct vg_tables *tables, const uint32_t *samples,
		   size_t count);
void vg_table_free(struct vg_table *table);

#endif
