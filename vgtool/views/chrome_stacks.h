/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_STACKS_H
#define VG_VGTOOL_CHROME_STACKS_H

#include "vgtool/views/chrome_trace.h"

/* Writes the samples for chrome://tracing: the keys stackFrames and samples, outside the events. */
void vg_chrome_stacks_write(struct vg_chrome *chrome);

#endif
