/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_H
#define VG_VGTOOL_CHROME_H

#include <stdio.h>

#include "profile/model.h"

struct vg_chrome_options {
	bool collapse_threads;       /* threads share tracks: chrome_tracks.h */
	uint64_t minimum_ns;         /* shorter intervals are left out */
};

/*
 * Writes a profile as Chrome's trace events (the JSON object format of the "Trace Event Format"), for
 * Perfetto, chrome://tracing and the Firefox Profiler.
 *
 * Intervals are "X" events.  Detached intervals, and intervals that are not nested on their thread, are pairs of "b"
 * and "e" events.  Instants are "i" events, counters are "C" events.  An interval that is still open when the
 * recording ends has this time as its end, and a note in its args.
 *
 * Samples are written twice: as Profile and ProfileChunk events for Perfetto, the Firefox Profiler and Chrome's
 * DevTools, and as stackFrames and samples for chrome://tracing.  If a record stands for many samples, it is written
 * once for each of them, within the limit of repeats.h.
 * Functions of a stack beyond a depth of 2000 are one node, "[deeper frames cut]".
 *
 * A node has its function's file and hottest line (analysis/function_lines.h), counted from 0 as in V8's traces.  As in
 * these, "lines" of a ProfileChunk has the source lines of the samples' leaf frames, counted from 1.
 *
 * exporter: name and version of the program.  Returns 0 or -ENOMEM.  For write errors, check the stream.
 */
int vg_chrome_write(const struct vg_profile *profile, const struct vg_chrome_options *options, const char *exporter,
		    FILE *file);

#endif
