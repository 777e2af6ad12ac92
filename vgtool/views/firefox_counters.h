/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_FIREFOX_COUNTERS_H
#define VG_VGTOOL_FIREFOX_COUNTERS_H

#include "vgtool/views/firefox_profile.h"

/* Writes the list of counters.  Counters of the program, and perf counters of all threads of a process together.
 * Returns 0 or -ENOMEM. */
int vg_firefox_counters_write(struct vg_firefox *firefox);

#endif
