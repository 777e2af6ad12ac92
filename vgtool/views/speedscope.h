/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPEEDSCOPE_H
#define VG_VGTOOL_SPEEDSCOPE_H

#include <stdio.h>

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * Writes a profile in Speedscope's format (its file-format-schema.json): for each thread a profile of type
 * "sampled", with weights in nanoseconds.  A thread with intervals has a second profile after it, of type
 * "evented".  If there are several threads, the last profile is "all threads": each distinct stack is one sample.  All
 * profiles share one table of frames.
 *
 * A frame is a function, with its hottest source line (analysis/function_lines.h), or a source line, by `kind`:
 * VG_FRAMES_FUNCTION or VG_FRAMES_LINE.  Speedscope's sandwich view shows neither file nor line, so the name of a
 * source line has the line: "work:12".  Speedscope sorts colors by file, so the file of all system calls is
 * "[system call]".
 *
 * Neighbouring samples with the same functions are merged, because Speedscope reads a file above 134 MB by
 * a slower path.  Samples without weight are left out, as Speedscope does itself.  Idle time is written
 * as samples without frames.  The frame "[stack incomplete: REASON]" stands for unknown callers.
 *
 * Stacks deeper than VG_TRIMMED_STACK_MAX lose their middle; a frame "[N frames cut]" takes its place.
 * Speedscope recurses once per frame, so a deep stack can overflow the stack of the viewer ("Something went wrong").
 * Version 1.25 in Chromium always fails at 4,000 frames and never at 3,000.
 *
 * exporter: name and version of the program.  Returns 0 or -ENOMEM.  For write errors, check the stream.
 */
int vg_speedscope_write(const struct vg_profile *profile, enum vg_weight weight, enum vg_frames_kind kind,
			const char *exporter, FILE *file);

#endif
