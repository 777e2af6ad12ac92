/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_NODES_H
#define VG_VGTOOL_CHROME_NODES_H

#include "vgtool/views/chrome_trace.h"

/* Numbers the nodes that samples need, callers included.  The numbers have no gaps, because importers may use them as
 * array indices.  Returns 0 or -ENOMEM. */
int vg_chrome_nodes_number(struct vg_chrome *chrome);

/* The chain (analysis/chains.h) that is shown for a sample; VG_NONE for an empty stack. */
uint32_t vg_chrome_sample_chain(const struct vg_chrome *chrome, const struct vg_sample *sample);

/* The number of the node of a sample, and the source line of its leaf frame; the line is 0 if it is unknown. */
uint32_t vg_chrome_sample_node(const struct vg_chrome *chrome, const struct vg_sample *sample);
uint32_t vg_chrome_sample_line(const struct vg_chrome *chrome, const struct vg_sample *sample);

/* The number of functions of a chain, and the i-th function, outermost first.  The i-th function has the node
 * chain_node_ids[chain] + i. */
struct vg_chrome_function {
	const char *name;
	const char *file;            /* NULL: unknown */
	uint32_t line;               /* the function's hottest line; 0: unknown */
};

size_t vg_chrome_functions(const struct vg_chrome *chrome, uint32_t chain);
struct vg_chrome_function vg_chrome_function(const struct vg_chrome *chrome, uint32_t chain, size_t i);

/* The number of the parent of the chain's first node. */
uint32_t vg_chrome_parent_node(const struct vg_chrome *chrome, uint32_t chain);

/* The index in end_node_ids for the reason why a stack's walk ended. */
size_t vg_chrome_end_index(uint8_t end);

/* The name of the node end_node_ids[end]. */
const char *vg_chrome_end_name(size_t end, struct vg_incomplete_name *room);

#endif
