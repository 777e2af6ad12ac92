/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PPROF_H
#define VG_VGTOOL_PPROF_H

#include <stdio.h>

#include "profile/model.h"

/*
 * Writes a profile in pprof's format: a message of protobuf.  Samples have three values: a count, wall time and CPU
 * time.  Samples with the same stack and the same labels (pprof_labels.h) are one.
 *
 * A function has its name and its source file.  system_name is not set: if it equals the name, pprof shortens the
 * name.  A frame without a symbol has the name that other views show ("libx.so+0x30"), and pprof replaces this name if
 * it finds the module's file.
 *
 *	vg_pprof_write(&profile, 0, "vignette 1.0", stdout);
 */

/* base_processes: the first processes of the profile, which are the base of a comparison: their values are negative.
 * exporter: a comment in the file.  Returns 0 or -ENOMEM.  For write errors, check the stream.  The caller bounds and
 * compresses the stream: the format repeats the locations of a stack in each of its samples. */
int vg_pprof_write(const struct vg_profile *profile, uint32_t base_processes, const char *exporter, FILE *file);

#endif
