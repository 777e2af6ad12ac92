/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_THREADS_H
#define VG_VGTOOL_FIREFOX_THREADS_H

#include "vgtool/views/firefox_markers.h"
#include "vgtool/views/firefox_profile.h"

/* Writes the list of threads: one for each track, and the difference.  Returns 0 or -ENOMEM. */
int vg_firefox_threads_write(struct vg_firefox *firefox, struct vg_firefox_markers *markers);

#endif
