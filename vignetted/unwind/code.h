/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_H
#define VG_VIGNETTED_CODE_H

#include <stdbool.h>

#include "vignetted/target/memory.h"

/* What instructions stand in the process's code; code_<machine>.c implements it.  Read through
 * the cache, so only for code that does not change. */

/* Whether a system call instruction ends at that address. */
bool vg_code_after_syscall(struct vg_memory *memory, uint64_t address);

/* The number of the system call that is made just before that address, where the instruction before
 * it loads that; else -1. */
int64_t vg_code_syscall(struct vg_memory *memory, uint64_t address);

/* Whether a call instruction ends at that address: it may be a return address. */
bool vg_code_after_call(struct vg_memory *memory, uint64_t address);

/* The function that the call which ends at that address calls.  0 where the code does not say: an indirect call
 * does not, nor one through a stub. */
uint64_t vg_code_called(struct vg_memory *memory, uint64_t address);

/* Whether this code moves the stack pointer by constants only, and back by the frame pointer: wherever it calls,
 * both are as far apart each time.  May say no where it does.  Where it jumps to other code on a condition, such
 * as the part of a function that seldom runs, *elsewhere has where, but not all that are near each other. */
struct vg_code_elsewhere {
	uint64_t at[16];
	size_t count;
};

bool vg_code_keeps_frame(struct vg_memory *memory, uint64_t first, uint64_t bytes,
			 struct vg_code_elsewhere *elsewhere);

/* Whether a function begins there that sets up its frame first. */
bool vg_code_begins_frame(struct vg_memory *memory, uint64_t address);

#endif
