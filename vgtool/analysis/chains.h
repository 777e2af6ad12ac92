/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHAINS_H
#define VG_VGTOOL_CHAINS_H

#include "vgtool/analysis/frames.h"

/*
 * Which stacks show the same functions from root to leaf: many addresses, and so many nodes of the
 * tree, make one chain.  A chain has a number, a caller's chain and the node that it was seen at
 * first.  Callers have lower numbers.  The same functions make different chains where the walks
 * ended for different reasons, and where they are inlined in one and called in the other.
 *
 * Time and memory are in proportion to the profile.
 */
struct vg_chains {
	uint32_t *of_node;           /* by node: its chain */
	struct vg_intern keys;       /* struct vg_chain -> number */
	struct vg_intern lists;      /* the functions of one node -> number */
	VG_ARRAY(uint32_t) nodes;    /* by chain */
};

enum { VG_CHAIN_ROOTS_COUNT = 256 };
#define VG_CHAIN_ROOTS (VG_NONE - VG_CHAIN_ROOTS_COUNT)

struct vg_chain {
	uint32_t caller;             /* chain; or above VG_CHAIN_ROOTS, by the reason of the end */
	uint32_t list;
};

/* 0 or -ENOMEM; free in either case. */
int vg_chains_build(struct vg_chains *chains, const struct vg_frames *frames);
void vg_chains_free(struct vg_chains *chains);

/* VG_NONE of a chain that starts a thread. */
uint32_t vg_chain_caller(const struct vg_chains *chains, uint32_t chain);

#endif
