/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_CODE_H
#define VG_VIGNETTED_CODE_H

#include <errno.h>
#include <stdbool.h>

#include "vignetted/target/memory.h"

/* Reads code.  JIT code changes, so it is read without the cache of pages.  0 or -EFAULT. */
static inline int vg_code_read(struct vg_memory *memory, uint64_t address, bool is_jit, void *bytes, size_t length)
{
	if (!is_jit)
		return vg_memory_read_cached(memory, address, bytes, length);
	if (!vg_memory_words_use(memory, (length + sizeof(uint64_t) - 1) / sizeof(uint64_t)))
		return -EFAULT;
	return vg_memory_read(memory, address, bytes, length);
}

/* Recognises instructions in the target's code.  code_<machine>.c implements these functions.  They read through the
 * cache of pages, so they are for code that does not change, where no other kind is named. */

/* Whether a system call instruction ends at the address. */
bool vg_code_after_syscall(struct vg_memory *memory, uint64_t address);

/* The number of the system call that the instruction before the address makes.  -1: the instruction before the
 * address is no system call instruction, or the instruction before that one does not load a constant number. */
int64_t vg_code_syscall_number(struct vg_memory *memory, uint64_t address);

/* Whether a call instruction ends at the address, perhaps in JIT code.  If so, the address may be a return address. */
bool vg_code_after_call(struct vg_memory *memory, uint64_t address, bool is_jit);

/* Whether the code that returns from a signal handler begins or ends at the address.  The kernel pushes the address of
 * that code as the handler's return address, so no call instruction is before it. */
bool vg_code_is_sigreturn(struct vg_memory *memory, uint64_t address);

/* Whether the address is behind the nop of `nop; call`.  Go's runtime puts such an address (goexit + 1) at the bottom
 * of a goroutine's stack.  The nop is there so that address - 1 is in the same function. */
bool vg_code_is_stack_bottom(struct vg_memory *memory, uint64_t address);

/* The address of the function that the call instruction before the address calls, which may be JIT code.  0: no call
 * instruction, or the code does not show the function, because the call is indirect or goes through a PLT stub. */
uint64_t vg_code_call_target(struct vg_memory *memory, uint64_t address, bool is_jit);

/*
 * vg_code_frame_is_constant(): whether all calls in the code (`bytes` bytes, beginning at `first`) are made with the
 * same distance between stack pointer and frame pointer.  True if the code only adds constants to the stack pointer or
 * sets it from the frame pointer.  May wrongly return false.
 *
 * Conditional jumps can lead out of the code, for example into the function's cold part.  Sets *targets to the
 * addresses to which they lead.  Of several such addresses within 4 KiB of each other, *targets has only one.
 */
struct vg_code_jump_targets {
	uint64_t at[16];
	size_t count;
};

bool vg_code_frame_is_constant(struct vg_memory *memory, uint64_t first, uint64_t bytes,
			       struct vg_code_jump_targets *targets);

/* Whether the function at the address sets up a frame with its first instruction. */
bool vg_code_begins_frame(struct vg_memory *memory, uint64_t address);

#endif
