/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SNAPSHOT_H
#define VG_VIGNETTED_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vignetted/target/modules.h"
#include "vignetted/unwind/regs.h"

/* The largest copy of a stack.  The walk of a deeper stack ends with VG_WALK_TRUNCATED. */
enum { VG_SNAPSHOT_MAX_BYTES = 1024 * 1024 };

/* A copy of a second stack.  If a signal handler runs on a stack of its own (sigaltstack(2)), the second stack is the
 * one that the signal interrupted.  The second stack does not change while the handler runs. */
struct vg_snapshot_other {
	uint64_t sp;                 /* set by the caller: the stack pointer at the signal; 0: no copy is wanted */
	uint64_t address;            /* of the first copied byte */
	size_t bytes;                /* copied */
	bool ended;                  /* the copy reaches the stack's end */
	unsigned char *stack;        /* owned */
	size_t capacity_bytes;
};

/* Registers and stack bytes of a thread, copied so that the stack can be unwound while the thread runs on.  The buffers
 * are reused for the next sample.  An all-zero struct is a snapshot without buffers. */
struct vg_snapshot {
	struct vg_regs regs;
	struct vg_moment moment;     /* set by the caller: when the copy was made */
	bool regs_complete;          /* true: all registers are known; false: only those of in_syscall */
	bool in_syscall;             /* true: pc, sp and the system call's arguments are known; false: pc and sp */
	uint64_t fp_guess;           /* without regs_complete: a guessed frame pointer, or 0 */
	uint64_t expected_sp;        /* set by the caller for vg_snapshot_read_early(): about where the stack
					pointer will be, or 0 */
	uint64_t thread_block;       /* set by the caller; vg_tracer_capture() sets it again from the registers.  The
					copy ends at this address at the latest (see vg_regs_thread_block()); 0: no
					bound */
	const _Atomic uint64_t *token_address; /* set by the caller: where the thread's interval token is, or NULL */
	uint64_t token_value;        /* the token that was read, or 0 */
	uint64_t stack_address;      /* of the first copied byte, which may be below the stack pointer */
	size_t stack_bytes;          /* copied */
	bool stack_end_copied;       /* the copy reaches the stack's end */
	bool is_fenced;              /* a copy ended at a fence of `modules` (vg_modules_fence()) */
	struct vg_modules *modules;  /* set by the caller: for vg_modules_fence() and vg_modules_copied(); NULL: none */
	unsigned char *stack;        /* owned */
	size_t capacity_bytes;
	struct vg_snapshot_other other;
};

/* Makes room for this many bytes of stack.  0 or -ENOMEM. */
int vg_snapshot_reserve(struct vg_snapshot *snapshot, size_t bytes);

/* Copies up to want_bytes of the thread's stack, from its stack pointer upwards.  The red zone below it is copied as
 * well, if it is mapped, and counts in want_bytes.  Bytes at the lower end of the main stack that the thread has not
 * used yet, and that are not mapped, are 0 in the copy.  The first page above that is not mapped, the thread block or a
 * fence ends the copy.  If the stack pointer is invalid, stack_bytes is 0.  0 or a negative errno. */
int vg_snapshot_read_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes);

/* Copies the second stack from other.sp upwards.  If other.sp is 0 or the stack cannot be read, other.bytes is 0. */
void vg_snapshot_read_other_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes);

/* Reads the word at the address from one of the copies.  0, or -1: the word was not copied. */
static inline int vg_snapshot_word(const struct vg_snapshot *snapshot, uint64_t address,
				   uint64_t *word)
{
	const struct vg_snapshot_other *other = &snapshot->other;
	uint64_t offset = address - snapshot->stack_address;

	if (offset < snapshot->stack_bytes && snapshot->stack_bytes - offset >= sizeof *word) {
		memcpy(word, snapshot->stack + offset, sizeof *word);
		return 0;
	}
	offset = address - other->address;
	if (offset >= other->bytes || other->bytes - offset < sizeof *word)
		return -1;
	memcpy(word, other->stack + offset, sizeof *word);
	return 0;
}

/* Copies stack around expected_sp before the registers are known.  This saves time: the stack can be copied while the
 * stopped thread leaves its CPU, but its registers can be read only after that.  When the registers are
 * read, call vg_snapshot_covers(), which returns whether the copy suffices. */
void vg_snapshot_read_early(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes);
bool vg_snapshot_covers(const struct vg_snapshot *snapshot, size_t want_bytes);

static inline void vg_snapshot_read_token(struct vg_snapshot *snapshot)
{
	snapshot->token_value = snapshot->token_address != NULL ?
			       __atomic_load_n((const uint64_t *)snapshot->token_address, __ATOMIC_RELAXED) : 0;
}

void vg_snapshot_free(struct vg_snapshot *snapshot);

#endif
