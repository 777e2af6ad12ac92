/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

enum { PAGE_BYTES = 4096, PIECES_MAX = 512 };

/* A copy made ahead begins so far below the stack pointer that is likely. */
enum { AHEAD_BYTES = 1024 };

int vg_snapshot_reserve(struct vg_snapshot *snapshot, size_t bytes)
{
	unsigned char *grown;

	if (bytes <= snapshot->capacity_bytes)
		return 0;
	grown = realloc(snapshot->stack, bytes);
	if (grown == NULL)
		return -ENOMEM;
	snapshot->stack = grown;
	snapshot->capacity_bytes = bytes;
	return 0;
}

/* Reads from start on, up to what is not mapped.  0 or a negative errno. */
static int stack_read(struct vg_snapshot *snapshot, pid_t tid, uint64_t start, size_t want_bytes)
{
	uint64_t at = start, end = start + want_bytes;
	struct iovec pieces[PIECES_MAX], local;
	size_t count = 0;
	ssize_t got;

	snapshot->stack_address = start;
	snapshot->stack_bytes = 0;
	if (end < start)
		return -EFAULT;
	/* What is mapped behind the stack is not touched: pages would come into being there, or, with userfaultfd(2), the
	 * thread that has to provide them may be the one that stands still. */
	if (snapshot->thread_block > start && snapshot->thread_block < end)
		end = snapshot->thread_block;
	/* process_vm_readv(2) promises to stop short only between elements: one a page, so that
	 * the end of the stack costs only what lies behind it.  The first ones small and the
	 * rest large would do too, but where the stack ends is not known here. */
	while (at < end && count < PIECES_MAX) {
		uint64_t next = (at / PAGE_BYTES + 1) * PAGE_BYTES;

		if (count + 1 == PIECES_MAX || next > end)
			next = end;
		pieces[count++] = (struct iovec){ (void *)at, next - at };
		at = next;
	}
	local = (struct iovec){ snapshot->stack, end - start };
	got = process_vm_readv(tid, &local, 1, pieces, count, 0);
	if (got < 0)
		return -errno;
	snapshot->stack_bytes = (size_t)got;
	return 0;
}

int vg_snapshot_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	uint64_t sp = vg_regs_sp(&snapshot->regs);
	int rc = vg_snapshot_reserve(snapshot, want_bytes);

	if (rc == 0)
		rc = stack_read(snapshot, tid, sp - vg_regs_red_zone_bytes, want_bytes);
	/* The red zone may reach into the page below a stack's last.  And a stack pointer may point
	 * nowhere: without a stack, the registers still say where the thread is. */
	if (rc == -EFAULT)
		rc = stack_read(snapshot, tid, sp, want_bytes);
	return rc == -EFAULT ? 0 : rc;
}

void vg_snapshot_ahead(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	snapshot->stack_bytes = 0;
	if (snapshot->likely_sp > AHEAD_BYTES &&
	    vg_snapshot_reserve(snapshot, want_bytes + AHEAD_BYTES) == 0)
		stack_read(snapshot, tid, snapshot->likely_sp - AHEAD_BYTES, want_bytes + AHEAD_BYTES);
}

/* What is wanted is twice what was needed so far: half of it is enough to begin with, for a walk
 * that outruns the copy takes another.  A copy that ends early has reached the stack's end. */
bool vg_snapshot_covers(const struct vg_snapshot *snapshot, size_t want_bytes)
{
	uint64_t below = vg_regs_sp(&snapshot->regs) - vg_regs_red_zone_bytes -
			 snapshot->stack_address;

	return snapshot->stack_bytes > 0 && below < snapshot->stack_bytes &&
	       (snapshot->stack_bytes - below >= want_bytes / 2 + vg_regs_red_zone_bytes ||
		snapshot->stack_bytes < want_bytes + AHEAD_BYTES);
}

void vg_snapshot_free(struct vg_snapshot *snapshot)
{
	free(snapshot->stack);
	memset(snapshot, 0, sizeof *snapshot);
}
