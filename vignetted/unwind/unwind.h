/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_UNWIND_H
#define VG_VIGNETTED_UNWIND_H

#include "vignetted/target/modules.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/*
 * Finds the frames in a snapshot of one thread (registers and copied stack, snapshot.h), from the leaf frame to the
 * root frame.  The result is a walk (walk.h): the frames, and the reason why there are no more.
 *
 * The thread may run meanwhile.  The stack is read from the snapshot.  The modules' unwind information and code are
 * read from the target's memory, through a cache of pages (target/memory.h).  None of these bytes is trusted.
 *
 * The code that calls vg_unwind() must:
 * - set the snapshot's regs, stack and moment.  Modules are looked up as they were at that moment;
 * - keep the modules up to date: if walk->range_unknown is set, call vg_modules_refresh() and unwind again;
 * - call vg_modules_confirm() for the walk's frames.  If it confirms only some frames, shorten the walk to these, and
 *   call vg_unwinder_walk_discard().
 *
 * The unwinder is not for the stack of its own process, and not for 32-bit code.  It does not symbolize.
 *
 * A walk that ends early is no error: walk->end has the reason.  The only error is -ENOMEM.
 *
 * 	vg_unwinder_open(&unwinder, &modules);          // modules outlive the unwinder
 * 	vg_unwind(unwinder, &snapshot, 1024, &walk);
 * 	for (uint32_t i = 0; i < walk.count; i++)
 * 		printf("%" PRIx64 "\n", walk.frames[i].address);
 *
 * Only one thread of the helper may use an unwinder at a time.
 */
struct vg_unwinder;

/* Statistics since vg_unwinder_open(). */
struct vg_unwind_counts {
	uint64_t walks;
	uint64_t rows_decoded;       /* rows that were not in the cache */
	uint64_t fallbacks;          /* walks that needed libunwind */
};

const struct vg_unwind_counts *vg_unwinder_counts(const struct vg_unwinder *unwinder);

int vg_unwinder_open(struct vg_unwinder **unwinder, struct vg_modules *modules);
void vg_unwinder_free(struct vg_unwinder *unwinder);

/* Walks up to max_frames frames.  The walk has at least the leaf frame.  0 or -ENOMEM. */
int vg_unwind(struct vg_unwinder *unwinder, const struct vg_snapshot *snapshot,
	      uint32_t max_frames, struct vg_walk *walk);

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
int vg_unwind_guess(struct vg_unwinder *unwinder, struct vg_snapshot *snapshot, bool stack_truncated,
		    uint32_t max_frames, struct vg_walk *walk);

/* Clears the cache of rows.  For measurements. */
void vg_unwinder_clear(struct vg_unwinder *unwinder);

/* Drops the rows that the latest walk decoded.  Call it if vg_modules_confirm() did not confirm all frames: the bytes
 * that were read may belong to a module that was loaded after the snapshot. */
void vg_unwinder_walk_discard(struct vg_unwinder *unwinder);

#endif
