/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TREE_H
#define VG_VGTOOL_TREE_H

#include "profile/model.h"

/*
 * The stack tree of a profile, with links from each node to its callees, for walks from the roots.  The profile itself
 * links a node to its caller only.  Node numbers are indices into profile->stacks.  The walk does not recurse, so the
 * tree may have any depth.
 *
 *	vg_tree_build(&tree, profile);
 *	vg_tree_walk(&tree, enter, leave, context);
 *	vg_tree_free(&tree);
 */
struct vg_tree {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	uint32_t *first_child;             /* by node: its first callee, or VG_NONE.  One more entry, after
	                                      those of the nodes, has the first root */
	uint32_t *next_sibling;            /* by node, or VG_NONE */
};

/* Returns 0 or -ENOMEM. */
int vg_tree_build(struct vg_tree *tree, const struct vg_profile *profile);
void vg_tree_free(struct vg_tree *tree);

/* Calls enter(node), then visits the node's callees, then calls leave(node). */
typedef void vg_tree_visit(void *context, uint32_t node);
void vg_tree_walk(const struct vg_tree *tree, vg_tree_visit *enter, vg_tree_visit *leave,
		  void *context);

#endif
