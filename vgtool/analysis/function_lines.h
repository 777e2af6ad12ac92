/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FUNCTION_LINES_H
#define VG_VGTOOL_FUNCTION_LINES_H

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * The hottest source line of each function: the line with the most time, over the samples of all threads.  A line's
 * time is the sum of the weights of the samples that have the line in any frame; a line counts once per sample.  If two
 * lines have the same time, the one with more samples is hotter, and then the one that is earlier in the file.
 *
 * Time and memory are proportional to the size of the profile.
 *
 *	vg_function_lines_build(&lines, &frames, VG_WEIGHT_CPU);
 *	line = lines.by_function[vg_frames_at(&frames, node, i).function];
 *	vg_function_lines_free(&lines);
 */
struct vg_function_lines {
	uint32_t *by_function;       /* by function number; 0: unknown, or the function is in no sample */
};

/* The frames must have come from vg_frames_build().  Returns 0 or -ENOMEM; call vg_function_lines_free() in either
 * case. */
int vg_function_lines_build(struct vg_function_lines *lines, const struct vg_frames *frames, enum vg_weight weight);
void vg_function_lines_free(struct vg_function_lines *lines);

#endif
