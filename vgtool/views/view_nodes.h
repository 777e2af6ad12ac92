/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIEW_NODES_H
#define VG_VGTOOL_VIEW_NODES_H

#include "vgtool/analysis/frame_class.h"
#include "vgtool/analysis/frames.h"

/*
 * The tree of stacks for pictures: one node for each frame of a stack, inlined functions included.  Two frames with the
 * same callers, function and line are one node, even if their addresses differ.  A caller has a lower number than its
 * callees.  The outermost node of an incomplete stack says why the stack is incomplete.
 *
 *	vg_view_nodes_build(&nodes, &frames, VG_VIEW_NODES_MAX);
 *	node = vg_view_node(&nodes, sample);
 *	vg_view_nodes_free(&nodes);
 *
 * Functions have the numbers of struct vg_frames.  The functions after these, VG_WALK_END_COUNT in number, stand for
 * the reasons why stacks are incomplete.
 */
struct vg_view_frame {
	uint32_t function;
	uint32_t line;               /* 0: unknown */
	uint32_t is_inline;
};

struct vg_view_nodes {
	const struct vg_frames *frames; /* the caller's; must outlive this */
	VG_ARRAY(uint32_t) parents;  /* by node: its caller, or VG_NONE */
	VG_ARRAY(uint32_t) frame_of; /* by node: number of its frame */
	struct vg_intern list;       /* struct vg_view_frame -> number */
	uint32_t *by_node;           /* by node of the profile: the node of its innermost frame */
	uint32_t incomplete[VG_WALK_END_COUNT + 1]; /* by enum vg_walk_end: the node that stands for it */
	/* Private: */
	unsigned char *classes;      /* by function of `frames`: enum vg_frame_class */
	uint32_t *slots;             /* number of a node + 1, by the hash of its caller and frame; 0: free */
	uint32_t slot_count;         /* a power of two */
	uint32_t nodes_max;
	struct vg_hash_key hash_key;
};

/* Limit of the nodes of a picture.  The stacks of a hostile profile can have 1000 inlined functions at each frame. */
enum { VG_VIEW_NODES_MAX = 1 << 23 };

/* Returns 0, -ENOMEM, or -EFBIG if there would be more than nodes_max nodes, which is at most VG_VIEW_NODES_MAX.  Call
 * vg_view_nodes_free() in either case. */
int vg_view_nodes_build(struct vg_view_nodes *nodes, const struct vg_frames *frames, uint32_t nodes_max);
void vg_view_nodes_free(struct vg_view_nodes *nodes);

/* The node of the sample's leaf frame.  VG_NONE: the thread was not running. */
uint32_t vg_view_node(const struct vg_view_nodes *nodes, const struct vg_sample *sample);

/* The number of functions, those for incomplete stacks included. */
uint32_t vg_view_functions(const struct vg_view_nodes *nodes);

enum vg_frame_class vg_view_class(const struct vg_view_nodes *nodes, uint32_t function);

/* The names of a function. */
struct vg_function_view vg_view_function(const struct vg_view_nodes *nodes, uint32_t function,
					 struct vg_incomplete_name *room);

#endif
