/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STEP_CODE_H
#define VG_VIGNETTED_STEP_CODE_H

#include "vignetted/unwind/frame_state.h"
#include "vignetted/unwind/rows.h"
#include "vignetted/unwind/snapshot.h"
#include "vignetted/unwind/walk.h"

/* Steps of a walk by instructions. */

/* Goes to the caller by rows from the instructions of the function, searched in the ways from `how` to `last`.
 * Checks the caller that a row gives.  Sets *ends to true if the walk ends here, and to false otherwise.  In code of
 * modules it ends if the return address was not copied, or if the function has switched stacks. */
bool vg_step_by_code(struct vg_rows *rows, uint32_t module, enum vg_code_search how, enum vg_code_search last,
		     const struct vg_snapshot *snapshot, struct vg_frame_state *state, struct vg_walk *walk,
		     bool *ends);

/* Goes to the caller of the interpreter in whose frame JIT code runs.  LuaJIT's machine code has no frame and no
 * return.  It continues in the frame of the interpreter, lowers the stack pointer by a multiple of 16 bytes, and
 * jumps back into the interpreter.  The interpreter's caller has called the interpreter directly, so the lowest
 * return address of such a call is searched. */
bool vg_step_by_interpreter(struct vg_rows *rows, const struct vg_snapshot *snapshot, struct vg_frame_state *state,
			    struct vg_walk *walk);

#endif
