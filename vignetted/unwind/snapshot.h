/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SNAPSHOT_H
#define VG_VIGNETTED_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vignetted/unwind/regs.h"

/* Stacks deeper than this are cut, and say so. */
enum { VG_SNAPSHOT_MAX_BYTES = 1024 * 1024 };

/*
 * What is copied of a thread, by whichever method: enough to unwind its stack while it goes on.
 * The buffer is reused from one sample to the next.
 */
struct vg_snapshot {
	struct vg_regs regs;
	bool whole;                  /* all of regs is known; else only its pc and sp, */
	bool in_call;                /* and with this the arguments of a system call */
	uint64_t fp_guess;           /* where whole is false: a likely frame pointer, or 0 */
	uint64_t likely_sp;          /* the caller's: about where the stack pointer will be, or 0 */
	uint64_t thread_block;       /* see vg_regs_thread_block(): the stack is copied to there at most; the caller's
	                                until the registers are read; or 0 */
	const _Atomic uint64_t *slot; /* the caller's: read while the thread does not run, or NULL */
	uint64_t slot_value;         /* what stood there, or 0 */
	uint64_t stack_address;      /* of the first copied byte: below sp by the red zone at least */
	size_t stack_bytes;          /* copied */
	unsigned char *stack;        /* owned */
	size_t capacity_bytes;
};

/* Makes room for so many bytes of stack.  0 or -ENOMEM. */
int vg_snapshot_reserve(struct vg_snapshot *snapshot, size_t bytes);

/* Reads up to `want` bytes of the thread's stack from regs' stack pointer upwards.  What is not
 * mapped is left out.  0 or a negative errno. */
int vg_snapshot_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes);

/* The word at that address, if it was copied. */
static inline int vg_snapshot_word(const struct vg_snapshot *snapshot, uint64_t address,
				   uint64_t *word)
{
	uint64_t offset = address - snapshot->stack_address;

	if (offset >= snapshot->stack_bytes || snapshot->stack_bytes - offset < sizeof *word)
		return -1;
	memcpy(word, snapshot->stack + offset, sizeof *word);
	return 0;
}

/*
 * Like vg_snapshot_stack(), but before the registers are known, around likely_sp: reading memory and waiting until the
 * stopped thread has left its CPU, which reading registers takes, go side by side so.  Whether the
 * copy will do is for vg_snapshot_covers() to say once the registers are there.
 */
void vg_snapshot_ahead(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes);
bool vg_snapshot_covers(const struct vg_snapshot *snapshot, size_t want_bytes);

static inline void vg_snapshot_slot(struct vg_snapshot *snapshot)
{
	snapshot->slot_value = snapshot->slot != NULL ?
			       __atomic_load_n((const uint64_t *)snapshot->slot, __ATOMIC_RELAXED) : 0;
}

void vg_snapshot_free(struct vg_snapshot *snapshot);

#endif
