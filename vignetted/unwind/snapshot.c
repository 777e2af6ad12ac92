/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

enum { PAGE_BYTES = 4096, PIECES_MAX = 512 };

/* vg_snapshot_read_early() copies from this far below the expected stack pointer. */
enum { EARLY_BELOW_BYTES = 1024 };

/* The largest part of a frame that is taken for unused if the stack pointer is at an address that is not mapped. */
enum { UNUSED_MAX_BYTES = 64 * 1024 };

/* Up to so many bytes below the end of the main stack, the kernel places no other mappings (MIN_GAP in
 * arch/x86/mm/mmap.c). */
enum { MAIN_STACK_BYTES = 128 * 1024 * 1024 };

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

static bool is_in_main_stack(const struct vg_modules *modules, uint64_t address)
{
	return modules != NULL && address < modules->stack_end && modules->stack_end - address <= MAIN_STACK_BYTES;
}

/* Copies stack from the red zone below `sp` upwards.  *address: of the first byte.  Returns the number of bytes, or a
 * negative errno.  0: `sp` is invalid.  The registers still give the leaf frame then. */
static ssize_t stack_copy(struct vg_snapshot *snapshot, pid_t tid, uint64_t sp, size_t want_bytes,
			  unsigned char *stack, uint64_t *address)
{
	uint64_t from = sp;
	size_t unused;
	ssize_t got;

	*address = sp - vg_regs_red_zone_bytes;
	got = stack_pages_read(snapshot, tid, *address, want_bytes, stack);
	if (got != -EFAULT)
		return got;
	/* The red zone may reach into an unmapped page below the stack: read again without it. */
	*address = sp;
	got = stack_pages_read(snapshot, tid, sp, want_bytes, stack);
	/* The kernel maps a page of the main stack when the page is first used.  A function may have a frame whose lower
	 * end it has not used, so the stack pointer may be below the first mapped page.  Unused bytes are 0. */
	while (got == -EFAULT && is_in_main_stack(snapshot->modules, from)) {
		from = (from / PAGE_BYTES + 1) * PAGE_BYTES;
		unused = from - sp;
		if (unused > UNUSED_MAX_BYTES || unused >= want_bytes)
			break;
		got = stack_pages_read(snapshot, tid, from, want_bytes - unused, stack + unused);
		if (got > 0) {
			memset(stack, 0, unused);
			got += (ssize_t)unused;
		}
	}
	return got == -EFAULT ? 0 : got;
}

int vg_snapshot_read_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	int rc = vg_snapshot_reserve(snapshot, want_bytes);
	ssize_t got;

	if (rc != 0)
		return rc;
	got = stack_copy(snapshot, tid, vg_regs_sp(&snapshot->regs), want_bytes, snapshot->stack,
			 &snapshot->stack_address);
	snapshot->stack_bytes = got > 0 ? (size_t)got : 0;
	snapshot->stack_end_copied = got > 0 && (size_t)got < want_bytes;
	return got < 0 ? (int)got : 0;
}

void vg_snapshot_read_other_stack(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	struct vg_snapshot_other *other = &snapshot->other;
	ssize_t got;

	other->bytes = 0;
	if (other->sp == 0 || buffer_reserve(&other->stack, &other->capacity_bytes, want_bytes) != 0)
		return;
	got = stack_copy(snapshot, tid, other->sp, want_bytes, other->stack, &other->address);
	other->bytes = got > 0 ? (size_t)got : 0;
	other->ended = got > 0 && (size_t)got < want_bytes;
}

void vg_snapshot_read_early(struct vg_snapshot *snapshot, pid_t tid, size_t want_bytes)
{
	ssize_t got = 0;

	want_bytes += EARLY_BELOW_BYTES;
	snapshot->stack_address = snapshot->expected_sp - EARLY_BELOW_BYTES;
	if (snapshot->expected_sp > EARLY_BELOW_BYTES && vg_snapshot_reserve(snapshot, want_bytes) == 0)
		got = stack_pages_read(snapshot, tid, snapshot->stack_address, want_bytes, snapshot->stack);
	snapshot->stack_bytes = got > 0 ? (size_t)got : 0;
	snapshot->stack_end_copied = got > 0 && (size_t)got < want_bytes;
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
