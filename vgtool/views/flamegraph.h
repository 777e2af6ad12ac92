/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FLAMEGRAPH_H
#define VG_VGTOOL_FLAMEGRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/model.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * Writes a flame graph of all threads as an SVG picture.  The picture needs no script and no other file.  A frame's
 * tooltip has its name, its module, its time and its share.  The heaviest of several callees is on the left.
 *
 * Frames deeper than VG_FLAMEGRAPH_DEPTH_MAX are left out.
 */
struct vg_flamegraph {
	const char *title;           /* NULL: the name of the program */
	enum vg_weight weight;
	bool to_callers;             /* leaf frames at the top, and their callers below them */
	bool by_module;              /* addresses of a module without symbols are one function */
	uint32_t least_ppm;          /* frames with less than this share of the time are left out */
	const char *thread;          /* only threads with this name or id; NULL: all */
	uint32_t base_processes;     /* the first processes of the profile: the frames' colours compare the other
	                                processes with these; 0: the colours are those of the modules */
};

enum { VG_FLAMEGRAPH_DEPTH_MAX = 1000 };

/* Returns 0, -ENOMEM, -ESRCH if there is no such thread, or -ENODATA if the base, or the base's thread, has no time.
 * For write errors, check the stream. */
int vg_flamegraph_write(const struct vg_profile *profile, const struct vg_flamegraph *flamegraph, FILE *file);

#endif
