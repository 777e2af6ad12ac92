/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_STACKS_H
#define VG_VGTOOL_CHROME_STACKS_H

#include "vgtool/views/chrome_inside.h"

/* Writes the samples once more, beside the events: the trace's keys stackFrames and samples. */
void vg_chrome_stacks_write(struct vg_chrome *chrome);

#endif
