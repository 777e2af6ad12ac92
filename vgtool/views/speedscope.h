/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SPEEDSCOPE_H
#define VG_VGTOOL_SPEEDSCOPE_H

#include <stdio.h>

#include "vgtool/analysis/frames.h"
#include "vgtool/analysis/threads.h"

/*
 * Writes a profile as Speedscope opens it (its file-format-schema.json): one profile of type
 * "sampled" per thread, functions shared, samples root first, weights in nanoseconds.
 *
 * Neighbours that show the same functions are merged: a file over 134 MB takes Speedscope's slow
 * path.  Samples without weight are left out, as Speedscope itself would.  An empty sample is
 * idle time; the frame "[stack incomplete: REASON]" stands where callers are unknown.  Speedscope
 * recurses over depth and runs out of stack ("Something went wrong"): version 1.25 in Chromium
 * always at 4,000 frames, never at 3,000.  Stacks deeper than VG_SHOWN_MAX lose their middle, with
 * a frame "[N frames cut]" in its place.
 *
 * A thread with intervals of the program's own has a second profile, of type "evented", behind it.
 *
 * 0 or -ENOMEM; failures to write stay in the stream.
 */
int vg_speedscope_write(const struct vg_profile *profile, enum vg_weight weight,
			const char *exporter, FILE *file);

#endif
