/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FALLBACK_H
#define VG_VIGNETTED_FALLBACK_H

#include "vignetted/target/modules.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/* Unwinds with libunwind, for unwind information that a row cannot express.  Parameters and results are those of
 * vg_unwind().  libunwind is slower than rows. */
struct vg_fallback;

/* The frame at which libunwind stopped, because it does not know the frame's caller or takes the frame for the root
 * frame.  If `valid`, the frame is not in the walk, and vg_unwind() goes on from it with rows.  libunwind returns the
 * same value for a root frame, for a return address of 0 and for an unknown frame pointer.  So vg_unwind() finds out
 * which case it is. */
struct vg_fallback_end {
	bool valid;
	struct vg_frame frame;
	uint64_t pc, sp, fp;
	bool fp_known;
	uint64_t signal_sp;          /* if a signal interrupted the frame: the stack pointer in the signal
					trampoline; else 0 */
};

int vg_fallback_open(struct vg_fallback **fallback, struct vg_modules *modules);
void vg_fallback_free(struct vg_fallback *fallback);
int vg_fallback_unwind(struct vg_fallback *fallback, const struct vg_snapshot *snapshot,
		       uint32_t max_frames, struct vg_walk *walk, struct vg_fallback_end *end);

#endif
