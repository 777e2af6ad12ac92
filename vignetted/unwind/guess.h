/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_GUESS_H
#define VG_VIGNETTED_GUESS_H

#include "vignetted/unwind/unwind.h"

/*
 * Guesses the frame pointer of a waiting thread.  Call it after a walk that ended because the snapshot has no frame
 * pointer (walk->fp_missing_sp); after any other walk it does nothing.
 *
 * Each guess is the address of a stack word that looks like a saved frame pointer.  Old frames leave such words behind.
 * So the stack is walked again with each guess, and a guess counts only if
 * - the word above it may be the return address of a call to the function of the walk's last frame, and
 * - the walk reaches the root frame, the end of the snapshot or max_frames.
 *
 * Takes the first guess that counts, after 16 tries at most.  If no guess counts, the result is the walk without a
 * guess.  Its walk->end is VG_WALK_TRUNCATED if two conditions hold: the snapshot has no further word that looks like a
 * saved frame pointer, and the stack continues above the snapshot (stack_truncated).  Returns 0 or -ENOMEM.
 */
int vg_guess_walk(struct vg_unwinder *unwinder, const struct vg_modules *modules,
		  struct vg_snapshot *snapshot, bool stack_truncated, uint32_t max_frames, struct vg_walk *walk);

#endif
