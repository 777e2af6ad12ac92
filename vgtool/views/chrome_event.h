/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_EVENT_H
#define VG_VGTOOL_CHROME_EVENT_H

#include "vgtool/views/chrome_trace.h"

/* Begins an event and writes its fixed fields.  The caller may add fields, and then ends the object. */
void vg_chrome_event_begin(struct vg_chrome *chrome, const char *phase, const char *name,
			   uint32_t thread, uint64_t time_ns);

#endif
