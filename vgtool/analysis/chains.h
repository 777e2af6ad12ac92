/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHAINS_H
#define VG_VGTOOL_CHAINS_H

#include "vgtool/analysis/frames.h"

/*
 * Merges nodes of the stack tree.  Two nodes have the same chain if the paths from the root to them show the same
 * functions, even if the addresses differ.  A chain has a number, its caller's chain, and its first node.
 * A caller has a lower number than its callees.
 *
 * Stacks with the same functions still belong to different chains if their walks ended for different reasons, or if a
 * function is inlined in one stack and called in the other.
 *
 * Time and memory are proportional to the size of the profile.
 *
 *	vg_chains_build(&chains, &frames);
 *	same = chains.by_node[a->stack] == chains.by_node[b->stack];
 *	vg_chains_free(&chains);
 */
struct vg_chains {
	uint32_t *by_node;           /* by node: the number of its chain */
	struct vg_intern keys;       /* struct vg_chain -> number */
	struct vg_intern lists;      /* the functions of one node -> number of the list */
	VG_ARRAY(uint32_t) nodes;    /* by chain: its first node */
};

/* A `caller` of VG_CHAIN_ROOTS or more is not a chain.  It says why the walk of the stack ended. */
enum { VG_CHAIN_ROOTS_COUNT = 256 };
#define VG_CHAIN_ROOTS (VG_NONE - VG_CHAIN_ROOTS_COUNT)

struct vg_chain {
	uint32_t caller;             /* the caller's chain; for a root frame, VG_CHAIN_ROOTS + enum vg_walk_end */
	uint32_t list;               /* number in `lists` of the node's functions, inlined functions included */
};

/* Returns 0 or -ENOMEM; call vg_chains_free() in either case.  The frames must outlive the chains. */
int vg_chains_build(struct vg_chains *chains, const struct vg_frames *frames);
void vg_chains_free(struct vg_chains *chains);

/* Returns the caller's chain, or VG_NONE for the chain of a root frame. */
uint32_t vg_chain_caller(const struct vg_chains *chains, uint32_t chain);

#endif
