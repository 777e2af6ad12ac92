/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_TRACKS_H
#define VG_VGTOOL_CHROME_TRACKS_H

#include "vgtool/views/chrome_trace.h"

/*
 * Sets chrome->track_of and chrome->next_in_track.  Without `collapse` each thread has its own track.  With it, threads
 * of one process share a track if each begins after the previous one has ended.  A thread lasts from its begin to its
 * end, or longer if it has earlier or later samples, intervals or instants; detached intervals do not count, because
 * viewers do not show them on the thread.
 *
 * The threads are placed in the order of their begins.  Each gets the free track whose last thread ended first, or a
 * new track if none is free.  So there are as few tracks as possible.  Takes O(n log n) time for n threads.  Returns 0
 * or -ENOMEM.
 */
int vg_chrome_tracks_build(struct vg_chrome *chrome, bool collapse);

#endif
