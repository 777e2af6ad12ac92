/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_GUESS_H
#define VG_VIGNETTED_GUESS_H

#include "vignetted/unwind/unwind.h"

/*
 * For a snapshot without registers, after a walk that ended for want of the frame pointer: walks
 * again with what looks like one on the stack, from the frame that wants it upwards.  Stale words
 * may look so too, so a guess must come from a call that may be one of the frame's function, and lead to the
 * root, or as far as the snapshot and max_frames reach; the first that does is taken.  Without one the walk is
 * as it was; where the stack goes on above the snapshot (stack_cut), it ends with VG_WALK_SNAPSHOT.  0, or -ENOMEM.
 */
int vg_guess_walk(struct vg_unwinder *unwinder, const struct vg_modules *modules,
		  struct vg_snapshot *snapshot, bool stack_cut, uint32_t max_frames, struct vg_walk *walk);

#endif
