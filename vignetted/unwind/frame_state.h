/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FRAME_STATE_H
#define VG_VIGNETTED_FRAME_STATE_H

#include "profile/model.h"

/* The registers that a walk knows at one frame. */
struct vg_frame_state {
	uint64_t pc, sp, fp;
	bool fp_known;
	bool fp_guessed;             /* vg_guess_walk() guessed it */
	bool fp_from_chain;          /* the latest step was by frame pointer, so fp was read from the stack */
	bool is_exact;               /* the frame made no call: pc is its current instruction, not a return address */
	bool is_function_begin;      /* pc is a function's first instruction, and no call led there */
	uint64_t signal_sp;          /* if a signal interrupted the frame: the stack pointer in the signal
					trampoline; else 0 */
	enum vg_found_by found;      /* how this frame was found */
};

#endif
