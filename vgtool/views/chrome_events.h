/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_EVENTS_H
#define VG_VGTOOL_CHROME_EVENTS_H

#include "vgtool/views/chrome_trace.h"

/* Writes the intervals, instants, counters and perf counters as events. */
void vg_chrome_events_write(struct vg_chrome *chrome);

#endif
