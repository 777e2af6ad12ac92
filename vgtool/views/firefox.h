/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_H
#define VG_VGTOOL_FIREFOX_H

#include <stdio.h>

#include "profile/model.h"

/*
 * Writes a profile as JSON in the Firefox Profiler's processed format, for profiler.firefox.com and profiler-cli.
 *
 * The version of the format is 50, of 2024.  Newer Profilers convert it, and older Profilers refuse it.  What later
 * versions added is written where version 50 ignores it (`display` of a counter).
 *
 * Each track (analysis/tracks.h) is a thread, each group is a process.
 *  - The weight of a sample is its wall time in milliseconds, or its CPU time if CPU time was recorded.  So self and
 *    total times of functions are those of `vgtool report --json`.
 *  - Samples of waiting threads have the category "Idle", whose subcategories say what is waited for.  The CPU time of
 *    each sample is threadCPUDelta, so that the graph of a thread's activity shows the use of the CPU.  It is left out
 *    for a track whose threads overlap in time.
 *  - If a record stands for many samples, it is written once for each of them, within the limit of repeats.h.
 *  - Intervals and instants are markers.  Counters and perf counters are counters of their process.
 *  - The outermost frame "[stack incomplete: REASON]" stands for unknown callers.
 *  - If the stacks of all threads together have more than 20,000,000 frames, functions beyond a depth of 2000
 *    are one function, "[deeper frames cut]".
 *
 * base_processes: see vg_tracks_build().  If it is not 0, there is one more thread, "difference": the samples of all
 * threads, those of the base with negative weights.  The times of the base and of the other processes then count from
 * the begin of the first recording of each.
 *
 * exporter: name and version of the program.  Returns 0 or -ENOMEM.  For write errors, check the stream.
 */
int vg_firefox_write(const struct vg_profile *profile, uint32_t base_processes, const char *exporter, FILE *file);

#endif
