/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FOLDED_H
#define VG_VGTOOL_FOLDED_H

#include <stdio.h>

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * Writes folded stacks, the input of flamegraph.pl and similar programs.  Each different stack is a line:
 * functions from the root with semicolons between them, a space, and a number.
 *
 * The format cannot quote a semicolon in a name, so a semicolon becomes a colon.  "[stack incomplete: REASON]"
 * stands for unknown callers, "[idle]" for a stack without frames.  In a stack of more than
 * VG_TRIMMED_STACK_MAX functions, "[N frames cut]" stands for the middle.
 *
 *	vg_folded_write(&profile, &(struct vg_folded_options){ .weight = VG_WEIGHT_CPU }, stdout);
 */
struct vg_folded_options {
	enum vg_weight weight;
	bool in_samples;             /* numbers are samples; false: microseconds of the weight */
	bool by_thread;              /* the thread's name is the first frame */
	const char *thread;          /* id or name: only these threads; NULL: all */
};

/* Returns 0, -ESRCH if no thread matches options->thread, or -ENOMEM.  For write errors, check the stream. */
int vg_folded_write(const struct vg_profile *profile, const struct vg_folded_options *options, FILE *file);

#endif
