/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_SAMPLES_H
#define VG_VGTOOL_CHROME_SAMPLES_H

#include "vgtool/views/chrome_trace.h"

/* Writes the samples as Profile and ProfileChunk events.  Returns 0 or -ENOMEM. */
int vg_chrome_samples_write(struct vg_chrome *chrome);

#endif
