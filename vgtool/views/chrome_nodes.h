/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_NODES_H
#define VG_VGTOOL_CHROME_NODES_H

#include "vgtool/views/chrome_inside.h"

/* Marks what the samples need, callers included, then numbers it without gaps: an importer may use
 * the numbers as indices.  0 or -ENOMEM. */
int vg_chrome_nodes_number(struct vg_chrome *chrome);

/* A sample's chain as far as it is shown, VG_NONE for an empty stack, and the node that it is at. */
uint32_t vg_chrome_sample_chain(const struct vg_chrome *chrome, const struct vg_sample *sample);
uint32_t vg_chrome_sample_node(const struct vg_chrome *chrome, const struct vg_sample *sample);

/* A chain's functions, counted from the outermost, whose node is chain_ids[chain]; those of the
 * others follow it. */
size_t vg_chrome_functions(const struct vg_chrome *chrome, uint32_t chain);
const char *vg_chrome_function(const struct vg_chrome *chrome, uint32_t chain, size_t i);
uint32_t vg_chrome_parent_node(const struct vg_chrome *chrome, uint32_t chain);

/* The index of a reason in end_ids, and what its node is called: static text, or in the room. */
size_t vg_chrome_end_index(uint8_t end);
const char *vg_chrome_end_name(size_t end, char *room, size_t room_bytes);

/* How often a record is written, and the time of the i-th of those, the last at the record's own. */
uint32_t vg_chrome_repeats(const struct vg_chrome *chrome, const struct vg_sample *sample);
uint64_t vg_chrome_repeat_us(const struct vg_sample *sample, uint32_t i, uint32_t repeats);

#endif
