/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_UNWIND_H
#define VG_VIGNETTED_UNWIND_H

#include "vignetted/target/modules.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/*
 * Unwinds snapshots.  Whatever it needs beyond the copied stack (unwind tables, code) it reads
 * from the modules' memory, so the thread may run meanwhile.
 */
struct vg_unwinder;

struct vg_unwind_counts {
	uint64_t walks, frames;
	uint64_t rows_decoded;       /* frames whose row was not in the cache */
	uint64_t fallbacks;          /* walks that libunwind had to do */
};

const struct vg_unwind_counts *vg_unwinder_counts(const struct vg_unwinder *unwinder);

int vg_unwinder_open(struct vg_unwinder **unwinder, struct vg_modules *modules);
void vg_unwinder_free(struct vg_unwinder *unwinder);

/*
 * Walks up to max_frames frames.  Every walk has at least its leaf and ends with a reason: a
 * short stack is no error.  0, or -ENOMEM.
 */
int vg_unwind(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
	      uint32_t max_frames, struct vg_walk *walk);

#endif
