/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_TABLES_H
#define VG_VGTOOL_FIREFOX_TABLES_H

#include "vgtool/views/firefox_ids.h"
#include "vgtool/views/firefox_profile.h"

/*
 * The tables of a thread in the Firefox Profiler's format: stacks, frames, functions, strings and so on.
 *
 *	vg_firefox_tables_open(&tables, firefox);
 *	for (each thread) {
 *		vg_firefox_tables_clear(&tables);
 *		vg_firefox_tables_add(&tables, sample);            (for each sample)
 *		... vg_firefox_tables_row(&tables, sample) is the sample's stack, an index in the stack table ...
 *		vg_firefox_tables_string(&tables, string, &number); (for each other string)
 *		vg_firefox_columns_write(&tables);                 (firefox_columns.h)
 *	}
 *	vg_firefox_tables_close(&tables);
 *
 * Several id spaces have further ids after those of the profile.  They stand for names that no profile has:
 *   nodes       profile->stacks, then enum vg_firefox_name
 *   frames      profile->symbol_lines, then functions
 *   functions   of struct vg_frames, then enum vg_firefox_name
 *   strings     profile->strings, then frames.names, then enum vg_firefox_name
 */
enum vg_firefox_name {
	VG_FIREFOX_IDLE = VG_WALK_ROOT, /* the other numbers of enum vg_walk_end: the stack is incomplete */
	VG_FIREFOX_END_UNKNOWN = VG_WALK_END_COUNT,
	VG_FIREFOX_CUT,
	VG_FIREFOX_NO_LABEL,
	VG_FIREFOX_NAMES,
};

/* The most rows of all stack tables together, if no stack is cut. */
enum { VG_FIREFOX_ROWS_MAX = 20000000 };

struct vg_firefox_tables {
	struct vg_firefox *firefox;  /* the caller's */
	struct vg_firefox_ids nodes, frames, functions, strings, libraries, symbols;
	uint32_t rows;               /* number of rows in the thread's stack table */
	uint32_t *row_of;            /* by node: its first row, which is its outermost frame */
	VG_ARRAY(uint32_t) frame_nodes; /* by number of a frame: a node that has the frame */
	VG_ARRAY(uint32_t) path;     /* nodes that must be added for a sample, innermost first */
	uint32_t *shown;             /* by node: the node that is shown: itself, or its deepest caller that is shown;
	                                NULL: all nodes are shown */
	unsigned char *has_cut_row;  /* by node: 1: it has one more row, which stands for deeper nodes; NULL: none */
	uint32_t *module_of;         /* by function: index of the module of its first node, or VG_NONE */
	uint64_t *symbol_address;    /* by function: its lowest address in that module; UINT64_MAX: none.  Version 50
	                                wants the begin of the function, which a profile does not have */
};

/* Returns 0 or -ENOMEM; call vg_firefox_tables_close() in either case. */
int vg_firefox_tables_open(struct vg_firefox_tables *tables, struct vg_firefox *firefox);
void vg_firefox_tables_close(struct vg_firefox_tables *tables);

void vg_firefox_tables_clear(struct vg_firefox_tables *tables);

/* Adds the sample's stack.  Returns 0 or -ENOMEM. */
int vg_firefox_tables_add(struct vg_firefox_tables *tables, const struct vg_sample *sample);

uint32_t vg_firefox_tables_row(const struct vg_firefox_tables *tables, const struct vg_sample *sample);

/* Sets *number to the number of a string: an id in the profile's strings, or VG_NONE for "(no label)".  Returns 0 or
 * -ENOMEM. */
int vg_firefox_tables_string(struct vg_firefox_tables *tables, uint32_t string, uint32_t *number);

/* The number of frames of a node, and the number and function of its i-th frame, innermost first. */
size_t vg_firefox_tables_frames(const struct vg_firefox_tables *tables, uint32_t node);
uint32_t vg_firefox_tables_frame(const struct vg_firefox_tables *tables, uint32_t node, size_t i, uint32_t *function);

/* The node of the caller, or VG_NONE. */
uint32_t vg_firefox_tables_parent(const struct vg_firefox_tables *tables, uint32_t node);

/* The function whose native symbol has the node's address, or VG_NONE. */
uint32_t vg_firefox_tables_symbol(const struct vg_firefox_tables *tables, uint32_t node);

/* The ids of a function's strings: returns its name, and sets *file to VG_NONE if there is none. */
uint32_t vg_firefox_tables_function(const struct vg_firefox_tables *tables, uint32_t function, uint32_t *file);

/* The text of an id in `strings`. */
const char *vg_firefox_tables_text(const struct vg_firefox_tables *tables, uint32_t string,
				   struct vg_incomplete_name *room);

#endif
