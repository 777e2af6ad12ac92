/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_INSTRUCTION_FRAMES_H
#define VG_VGTOOL_INSTRUCTION_FRAMES_H

#include "profile/model.h"

/*
 * Instruction frames: frames that the recorder found by the instructions of their callees (VG_FOUND_BY_INSTRUCTIONS),
 * because these have no unwind information.  Both functions take time proportional to the profile, and can be called
 * while a profile is being read (profile/stream.h).
 */

/* Sets *count to the number of samples whose stacks have an instruction frame.  Returns 0 or -ENOMEM. */
int vg_instruction_frames_count(const struct vg_profile *profile, uint64_t *count);

/* Removes instruction frames and their callers from all stacks.  A stack that had one ends with VG_WALK_NO_INFO.
 * A node stays in the profile, also if no stack has it any more. */
void vg_instruction_frames_remove(struct vg_profile *profile);

#endif
