/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FOLDED_H
#define VG_VGTOOL_FOLDED_H

#include <stdio.h>

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/threads.h"

/*
 * Writes folded stacks, as flamegraph.pl and its kin read them: a line for each different stack,
 * functions root first with a semicolon between them, a space, and a number.
 *
 * A semicolon in a name becomes a colon, as it has no way to be quoted.  "[stack incomplete:
 * REASON]" stands where callers are unknown, "[idle]" for a stack without frames.  Of a stack of
 * more than VG_SHOWN_MAX functions the middle is "[N frames cut]".
 */

struct vg_folding {
	enum vg_weight weight;
	bool in_samples;             /* numbers are samples; else microseconds of the weight */
	bool by_thread;              /* the thread's name stands in front of the root */
	const char *thread;          /* only threads of that id or name; NULL: all */
};

/* 0; -ESRCH if no thread is as folding->thread says; -ENOMEM.  Failures to write stay in the
 * stream. */
int vg_folded_write(const struct vg_profile *profile, const struct vg_folding *folding, FILE *file);

#endif
