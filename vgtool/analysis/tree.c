/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int vg_tree_build(struct vg_tree *tree, const struct vg_profile *profile)
{
	size_t count = profile->stacks.count;

	*tree = (struct vg_tree){ .profile = profile };
	tree->first_child = malloc((count + 1) * sizeof *tree->first_child);
	tree->next_sibling = malloc((count + 1) * sizeof *tree->next_sibling);
	if (tree->first_child == NULL || tree->next_sibling == NULL) {
		vg_tree_free(tree);
		return -ENOMEM;
	}
	memset(tree->first_child, 0xff, (count + 1) * sizeof *tree->first_child);
	/* In descending order, so that siblings end up in the order of the file. */
	for (size_t node = count; node-- > 0;) {
		uint32_t parent = profile->stacks.items[node].parent;
		size_t at = parent == VG_NONE ? count : parent;

		tree->next_sibling[node] = tree->first_child[at];
		tree->first_child[at] = (uint32_t)node;
	}
	return 0;
}

void vg_tree_free(struct vg_tree *tree)
{
	free(tree->first_child);
	free(tree->next_sibling);
	*tree = (struct vg_tree){ 0 };
}

void vg_tree_walk(const struct vg_tree *tree, vg_tree_visit *enter, vg_tree_visit *leave,
		  void *context)
{
	uint32_t node = tree->first_child[tree->profile->stacks.count];

	while (node != VG_NONE) {
		enter(context, node);
		if (tree->first_child[node] != VG_NONE) {
			node = tree->first_child[node];
			continue;
		}
		while (node != VG_NONE) {
			leave(context, node);
			if (tree->next_sibling[node] != VG_NONE) {
				node = tree->next_sibling[node];
				break;
			}
			node = tree->profile->stacks.items[node].parent;
		}
	}
}
