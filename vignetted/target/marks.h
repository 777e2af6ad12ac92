/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_MARKS_H
#define VG_VIGNETTED_MARKS_H

#include <stdbool.h>

#include "vignetted/target/image.h"

/* The most marks that one process_vm_readv(2) reads.  The kernel allows 1024 (IOV_MAX). */
enum { VG_MARKS_MAX = 256 };

/* Images whose marks are checked together. */
struct vg_marks {
	const struct vg_image *images[VG_MARKS_MAX];
	size_t count;
};

/* Whether the process's memory still has all these marks.  Takes one process_vm_readv(2). */
bool vg_marks_check(pid_t pid, const struct vg_marks *marks);

/* Sets hold[i] to whether the memory still has the mark of images[i].  Takes only one process_vm_readv(2) if no mark
 * has changed. */
void vg_marks_check_each(pid_t pid, const struct vg_marks *marks, bool *hold);

/* Adds an image.  If `marks` is full, checks and empties it first.  Returns false if a mark in the full
 * list has changed or cannot be read. */
bool vg_marks_add(pid_t pid, struct vg_marks *marks, const struct vg_image *image);

#endif
