/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PPROF_STACKS_H
#define VG_VGTOOL_PPROF_STACKS_H

#include "vgtool/analysis/frames.h"
#include "vgtool/views/pprof_file.h"

/*
 * The stacks of a pprof file, as lists of locations.
 *
 * A location is an address of a module with its functions, or a frame without a module.  Nodes of the stack tree with
 * the same location and equal callers are one stack, so stacks of several processes are merged.
 *
 *	vg_pprof_stacks_build(&stacks, profile);
 *	count = vg_pprof_stack_locations(&stacks, &file, stacks.of_node[sample->stack], sample->end, locations);
 *	vg_pprof_tables_write(&stacks, &file);                  (pprof_tables.h; after the last stack)
 *	vg_pprof_stacks_free(&stacks);
 */
struct vg_pprof_stacks {
	const struct vg_profile *profile;  /* the caller's; must outlive this */
	struct vg_frames frames;
	struct vg_intern locations;  /* struct vg_pprof_location -> number */
	VG_ARRAY(uint32_t) nodes;    /* by location: its first node */
	struct vg_intern stacks;     /* struct vg_pprof_stack -> number */
	VG_ARRAY(struct vg_pprof_step) steps; /* by stack */
	uint32_t *of_node;           /* by node: the number of its stack */
	struct vg_intern synthetic;  /* names of frames that are in no stack of the profile -> number */
};

struct vg_pprof_location {
	uint64_t address;
	uint32_t module;             /* index, or VG_NONE */
	uint32_t function;           /* number, if the address has no symbols; otherwise VG_NONE */
};

struct vg_pprof_stack {
	uint32_t caller;             /* number of a stack, or VG_NONE */
	uint32_t location;           /* number */
};

struct vg_pprof_step {
	struct vg_pprof_stack stack; /* a copy of the key: the table of keys would be slower */
	uint32_t depth;              /* locations from the leaf frame to the root frame */
	uint32_t outer;              /* on the path to the root: the last stack of VG_PPROF_OUTERMOST locations, or
	                                the stack itself if it has fewer */
};

enum {
	VG_PPROF_LOCATIONS_MAX = 2000, /* in a stack; one location replaces the middle of a longer one */
	VG_PPROF_OUTERMOST = VG_PPROF_LOCATIONS_MAX / 2 - 1,
	VG_PPROF_ROOM = VG_PPROF_LOCATIONS_MAX + 1, /* with the one that says why the stack is incomplete */
};

/* Returns 0 or -ENOMEM; call vg_pprof_stacks_free() in either case. */
int vg_pprof_stacks_build(struct vg_pprof_stacks *stacks, const struct vg_profile *profile);
void vg_pprof_stacks_free(struct vg_pprof_stacks *stacks);

/* Writes the ids of the stack's locations to `ids`, which has room for VG_PPROF_ROOM, and returns their number, 1 or
 * more.  stack may be VG_NONE: the sample has no frames. */
size_t vg_pprof_stack_locations(struct vg_pprof_stacks *stacks, struct vg_pprof_file *file, uint32_t stack,
				uint8_t end, uint64_t *ids);

#endif
