/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_REGS_H
#define VG_VIGNETTED_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* A thread's general registers.  What differs between machines is behind this header;
 * regs_<machine>.c implements it. */
struct vg_regs {
	struct user_regs_struct raw;
};

/* Reads them from a ptrace-stopped thread.  0, -ENOTSUP if it runs code of another machine
 * (32-bit code on x86-64), or another negative errno. */
int vg_regs_read(struct vg_regs *regs, pid_t tid);

uint64_t vg_regs_pc(const struct vg_regs *regs);
uint64_t vg_regs_sp(const struct vg_regs *regs);
uint64_t vg_regs_fp(const struct vg_regs *regs);

/* Where the C library has the thread's own block: at the end of its stack, but for a process's first thread and for
 * stacks that the program switches itself.  0: not known. */
uint64_t vg_regs_thread_block(const struct vg_regs *regs);

/* Sets what is known of a thread that waits and was not stopped: the two of them, and the arguments of the
 * system call that it waits in; these are NULL if it is in none. */
void vg_regs_set(struct vg_regs *regs, uint64_t pc, uint64_t sp, const uint64_t arguments[6]);

/* Whether arguments of system calls are in the register, by DWARF's number for it. */
bool vg_regs_is_argument(int number);

/* The register by libunwind's number for it, which is DWARF's.  0, or -EINVAL: no such general register. */
int vg_regs_unwind(const struct vg_regs *regs, int number, uint64_t *value);

/* Whether the thread was stopped in a system call that it will go on with: it waits still. */
bool vg_regs_in_call(const struct vg_regs *regs);

/* The number of that call. */
int64_t vg_regs_call(const struct vg_regs *regs);

/* Whether the thread was stopped on its way out of the clone(2) that made it: it has run nothing
 * yet, and has no caller.  (C libraries give that place no unwind information on purpose.) */
bool vg_regs_newborn(const struct vg_regs *regs);

/* Which registers perf_event_open(2) is to copy (sample_regs_user), and what it made of them, lowest
 * bit first.  The number of a system call is not among them. */
extern const uint64_t vg_regs_perf_mask;
void vg_regs_from_perf(struct vg_regs *regs, const uint64_t *values);

/* DWARF's numbers of the frame pointer and the stack pointer. */
extern const uint32_t vg_dwarf_fp, vg_dwarf_sp;

/* The last number that unwind information has a rule for: of the return address. */
extern const uint32_t vg_dwarf_last;

/* Bytes below the stack pointer that a leaf function may use. */
extern const uint32_t vg_regs_red_zone_bytes;

#endif
