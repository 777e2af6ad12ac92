/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_REGS_H
#define VG_VIGNETTED_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* A thread's general registers.  regs_<machine>.c implements what differs between machines. */
struct vg_regs {
	struct user_regs_struct raw;
};

/* Reads the registers of a ptrace-stopped thread.  0; -ENOTSUP if it runs 32-bit code; or another negative errno. */
int vg_regs_read(struct vg_regs *regs, pid_t tid);

uint64_t vg_regs_pc(const struct vg_regs *regs);
uint64_t vg_regs_sp(const struct vg_regs *regs);
uint64_t vg_regs_fp(const struct vg_regs *regs);

/* The address of the thread's control block.  In threads that the C library created, the block is at the end of the
 * stack.  In a process's first thread, and on stacks that the program switches to itself, the block is elsewhere.
 * 0: not known. */
uint64_t vg_regs_thread_block(const struct vg_regs *regs);

/* Sets the registers that /proc shows of a waiting thread: pc, sp and the arguments of its system call.  `arguments` is
 * NULL if the thread is in no system call. */
void vg_regs_set(struct vg_regs *regs, uint64_t pc, uint64_t sp, const uint64_t arguments[6]);

/* Whether the register with this DWARF number holds an argument of a system call. */
bool vg_regs_is_argument(int number);

/* Reads a register by its DWARF number; libunwind uses the same numbers.  0, or -EINVAL: not a general register. */
int vg_regs_by_dwarf_number(const struct vg_regs *regs, int number, uint64_t *value);

/* Whether the thread was waiting when it was stopped: it was in a system call that returned EINTR or that the kernel
 * will restart. */
bool vg_regs_in_syscall(const struct vg_regs *regs);

/* The number of the system call in which the thread was stopped.  Valid if vg_regs_in_syscall() is true. */
int64_t vg_regs_syscall(const struct vg_regs *regs);

/* Whether the thread was stopped in the return from the clone(2) that created it.  Such a thread has run no code yet,
 * and its only frame has no caller.  (C libraries leave out the unwind information there on purpose.) */
bool vg_regs_in_new_thread(const struct vg_regs *regs);

/* The registers that perf_event_open(2) shall copy (sample_regs_user).  vg_regs_from_perf() takes their values in the
 * order of the mask's bits, the lowest bit first.  perf does not copy the system call number: vg_regs_syscall() then
 * returns -1. */
extern const uint64_t vg_regs_perf_mask;
void vg_regs_from_perf(struct vg_regs *regs, const uint64_t *values);

/* Where the kernel saves registers while a signal handler runs.  The offsets are in bytes, from the stack pointer after
 * the handler's return instruction. */
struct vg_signal_frame {
	int16_t fp, sp, pc, trap, fault_address;
	int16_t page_fault;          /* a page fault sets the word at `trap` to this value; only in this case is the
					word at `fault_address` valid */
};
extern const struct vg_signal_frame vg_regs_signal_frame;

/* Whether no program can have code at the address. */
bool vg_regs_is_never_code(uint64_t address);

/* DWARF numbers of frame pointer and stack pointer. */
extern const uint32_t vg_dwarf_fp, vg_dwarf_sp;

/* The highest DWARF register number that unwind information may use: the return address's. */
extern const uint32_t vg_dwarf_last;

/* Bytes below the stack pointer that a leaf function may use. */
extern const uint32_t vg_regs_red_zone_bytes;

#endif
