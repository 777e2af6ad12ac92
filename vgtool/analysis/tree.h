/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TREE_H
#define VG_VGTOOL_TREE_H

#include "profile/model.h"

/*
 * The stacks of a profile seen from their roots: the model links a frame to its caller only.
 * Node numbers are indices into profile->stacks.  Any depth is fine; nothing recurses.
 */
struct vg_tree {
	const struct vg_profile *profile;  /* the caller's */
	uint32_t *first_child;             /* by node, and one more for the children of no node */
	uint32_t *next_sibling;
};

/* 0 or -ENOMEM. */
int vg_tree_build(struct vg_tree *tree, const struct vg_profile *profile);
void vg_tree_free(struct vg_tree *tree);

/* Calls enter(node) before, and leave(node) after, everything that was called from that frame. */
typedef void vg_tree_visit(void *context, uint32_t node);
void vg_tree_walk(const struct vg_tree *tree, vg_tree_visit *enter, vg_tree_visit *leave,
		  void *context);

#endif
