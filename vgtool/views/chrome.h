/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_H
#define VG_VGTOOL_CHROME_H

#include <stdio.h>

#include "profile/model.h"

/*
 * Writes a profile as Chrome's trace events (JSON object format of the "Trace Event Format"), which
 * Perfetto, chrome://tracing and the Firefox Profiler open.
 *
 * Intervals are "X" events; where they do not lie within each other on their thread, and where they
 * are detached, pairs of "b" and "e"; instants "i", counters "C".  What is open goes on to the end
 * and says so in its args.  Samples are there twice: as Profile and ProfileChunk events for Perfetto,
 * Firefox and Chrome's DevTools, and as the stackFrames and samples of chrome://tracing.  A record
 * that stands for many samples becomes as many; fewer, where all would be more than a million and
 * twenty for each byte of the profile.  What of a stack is deeper than 2000 functions is one, "[deeper
 * frames cut]".
 *
 * 0 or -ENOMEM; failures to write stay in the stream.
 */
int vg_chrome_write(const struct vg_profile *profile, const char *exporter, FILE *file);

#endif
