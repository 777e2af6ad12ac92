/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

enum { PAGE_BYTES = 4096, PIECES_MAX = 512 };

/* vg_snapshot_read_early() copies from this far below the expected stack pointer. */
enum { EARLY_BELOW_BYTES = 1024 };

static int buffer_reserve(unsigned char **buffer, size_t *capacity_bytes, size_t bytes)
{
	unsigned char *grown;

	if (bytes <= *capacity_bytes)
		return 0;
	grown = realloc(*buffer, bytes);
	if (grown == NULL)
		return -ENOMEM;
	*buffer = grown;
	*capacity_bytes = bytes;
	return 0;
}

int vg_snapshot_reserve(struct vg_snapshot *snapshot, size_t bytes)
{
	return buffer_reserve(&snapshot->stack, &snapshot->capacity_bytes, bytes);
}

/* Copies stack from `start` up to the first page that is not mapped.  Returns the number of bytes, or a negative
 * errno. */
static ssize_t stack_pages_read(struct vg_snapshot *snapshot, pid_t tid, uint64_t start, size_t want_bytes,
				unsigned char *stack)
{
	uint64_t at = start, end = start + want_bytes, fence = UINT64_MAX;
	struct iovec pieces[PIECES_MAX], local;
	size_t count = 0;
	ssize_t got;

	if (end < start)
		return -EFAULT;
	/* Do not read mappings above the stack.  Reading would allocate pages there.  With userfaultfd(2) it could also
	 * wait for the very thread that is stopped.  The thread block is the end of the stack that the thread was
	 * created with.  The fence is for other stacks, and for a thread whose thread block is not known. */
	if (snapshot->thread_block > start && snapshot->thread_block < end)
		end = snapshot->thread_block;
	if (snapshot->modules != NULL)
		fence = vg_modules_fence(snapshot->modules, start);
	if (fence < end) {
		end = fence;
		snapshot->is_fenced = true;
	}
	/* process_vm_readv(2) transfers partially only at iovec boundaries.  So with one iovec per page, the copy ends
	 * exactly at the last mapped page.  A few small iovecs and then a large one would be cheaper, but we do not
	 * know where the stack ends. */
	while (at < end && count < PIECES_MAX) {
		uint64_t next = (at / PAGE_BYTES + 1) * PAGE_BYTES;

		if (count + 1 == PIECES_MAX || next > end)
			next = end;
		pieces[count++] = (struct iovec){ (void *)at, next - at };
		at = next;
	}
	local = (struct iovec){ stack, end - start };
	got = process_vm_readv(tid, &local, 1, pieces, count, 0);
	return got < 0 ? -errno : got;
}

/* Copies stack into the snapshot with stack_pages_read().  0 or a negative errno. */
static int stack_read(struct vg_snapshot *snapshot, pid_t tid, uint64_t start, size_t want_bytes)
{
	ssize_t got = stack_pages_read(snapshot, tid, start, want_bytes, snapshot->stack);

	snapshot->stack_address = start;
	snapshot->stack_bytes = got > 0 ? (size_t)got : 0;
	snapshot->stack_end_copied = got >= 0 && (size_t)got < want_bytes;
	return got < 0 ? (int)got : 0;
}

int vg_snapshot_read_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	uint64_t sp = vg_regs_sp(&snapshot->regs);
	int rc = vg_snapshot_reserve(snapshot, want_bytes);

	if (rc == 0)
		rc = stack_read(snapshot, tid, sp - vg_regs_red_zone_bytes, want_bytes);
	/* The red zone may reach into an unmapped page below the stack: read again without it.  If the stack pointer
	 * itself is invalid, there is no copy, but the registers still give the leaf. */
	if (rc == -EFAULT)
		rc = stack_read(snapshot, tid, sp, want_bytes);
	return rc == -EFAULT ? 0 : rc;
}

void vg_snapshot_read_other_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	struct vg_snapshot_other *other = &snapshot->other;
	ssize_t got;

	other->bytes = 0;
	if (other->sp == 0 || buffer_reserve(&other->stack, &other->capacity_bytes, want_bytes) != 0)
		return;
	other->address = other->sp - vg_regs_red_zone_bytes;
	got = stack_pages_read(snapshot, tid, other->address, want_bytes, other->stack);
	if (got == -EFAULT) {
		other->address = other->sp;
		got = stack_pages_read(snapshot, tid, other->address, want_bytes, other->stack);
	}
	other->bytes = got > 0 ? (size_t)got : 0;
	other->ended = got >= 0 && (size_t)got < want_bytes;
}

void vg_snapshot_read_early(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	snapshot->stack_bytes = 0;
	snapshot->stack_end_copied = false;
	if (snapshot->expected_sp > EARLY_BELOW_BYTES &&
	    vg_snapshot_reserve(snapshot, want_bytes + EARLY_BELOW_BYTES) == 0)
		stack_read(snapshot, tid, snapshot->expected_sp - EARLY_BELOW_BYTES, want_bytes + EARLY_BELOW_BYTES);
}

/* want_bytes is twice what earlier walks of the thread needed.  Half of it suffices here: if a walk needs more, the
 * stack is copied again.  A copy that is shorter than requested has reached the stack's end. */
bool vg_snapshot_covers(const struct vg_snapshot *snapshot, size_t want_bytes)
{
	uint64_t below = vg_regs_sp(&snapshot->regs) - vg_regs_red_zone_bytes -
			 snapshot->stack_address;

	return snapshot->stack_bytes > 0 && below < snapshot->stack_bytes &&
	       (snapshot->stack_bytes - below >= want_bytes / 2 + vg_regs_red_zone_bytes ||
		snapshot->stack_bytes < want_bytes + EARLY_BELOW_BYTES);
}

void vg_snapshot_free(struct vg_snapshot *snapshot)
{
	free(snapshot->stack);
	free(snapshot->other.stack);
	memset(snapshot, 0, sizeof *snapshot);
}
