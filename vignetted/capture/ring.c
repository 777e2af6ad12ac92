/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

/* Offsets in a sample, from the start of its header.  The callchain follows the time: a count, and as many words of 64
 * bits.  Then follow the ABI, the registers, and the length of the stack copy. */
enum { AT_TID = 8, AT_TIME = 16, AT_CALLCHAIN = 24, WORD_BYTES = 8 };

/* Offsets in other records.  All have the pid, at the same offset as samples.  Exits also have the thread and the time.
 * Mappings also have the thread, the address, the length, and the file's device and inode (0: no file). */
enum {
	AT_PID = 8, AT_EXIT_TID = 16, AT_EXIT_TIME = 24, AT_MAPPED_TID = 12, AT_MAPPED = 16, AT_MAPPED_BYTES = 24,
	AT_MAPPED_MAJOR = 40, AT_MAPPED_MINOR = 44, AT_MAPPED_INODE = 48,
};

/* Offset of the count in PERF_RECORD_LOST. */
enum { AT_LOST = 16 };

/* sample_id_all adds two fields to the end of each record that is not a sample: the thread, then the time. */
enum { TIME_BEFORE_END = 8 };

int vg_ring_map(struct vg_ring *ring, int fd, size_t pages)
{
	void *at = mmap(NULL, (pages + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -ENOBUFS;
	ring->head = at;
	ring->data = (unsigned char *)at + ring->head->data_offset;
	ring->data_bytes = ring->head->data_size;
	ring->fd = fd;
	return 0;
}

void vg_ring_unmap(struct vg_ring *ring)
{
	if (ring->head == NULL)
		return;
	munmap(ring->head, ring->data_bytes + PAGE_BYTES);
	close(ring->fd);
	ring->head = NULL;
}

void vg_ring_copy(const struct vg_ring *ring, uint64_t at, void *bytes, size_t length)
{
	size_t offset = at % ring->data_bytes, first = ring->data_bytes - offset;

	/* memcpy(3) must not get NULL, which a snapshot without a stack has. */
	if (length == 0)
		return;
	if (first > length)
		first = length;
	memcpy(bytes, ring->data + offset, first);
	memcpy((unsigned char *)bytes + first, ring->data, length - first);
}

static uint64_t ring_u64(const struct vg_ring *ring, uint64_t at)
{
	uint64_t word;

	memcpy(&word, ring->data + at % ring->data_bytes, sizeof word); /* records are aligned */
	return word;
}

void vg_ring_skip(struct vg_ring *ring)
{
	ring->tail += ring->record_bytes;
	ring->time_ns = 0;
	__atomic_store_n(&ring->head->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static uint32_t ring_u32(const struct vg_ring *ring, uint64_t at)
{
	uint32_t half;

	vg_ring_copy(ring, at, &half, sizeof half);
	return half;
}

/* Returns the position of the time of the record at the tail; 0 for a record that we do not use. */
static uint64_t time_at(const struct vg_ring *ring)
{
	switch (ring->record_type) {
	case PERF_RECORD_SAMPLE:
		return ring->tail + AT_TIME;
	case PERF_RECORD_EXIT:
		return ring->tail + AT_EXIT_TIME;
	case PERF_RECORD_MMAP2:
		return ring->tail + ring->record_bytes - TIME_BEFORE_END;
	default:
		return 0;
	}
}

bool vg_ring_peek(struct vg_ring *ring, pid_t pid, uint64_t *lost)
{
	struct perf_event_header header;
	uint64_t at;

	if (ring->head == NULL || ring->time_ns != 0)
		return ring->time_ns != 0;
	while (ring->tail != __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE)) {
		vg_ring_copy(ring, ring->tail, &header, sizeof header);
		ring->record_type = header.type;
		ring->record_bytes = header.size;
		at = time_at(ring);
		if (at != 0 && ring_u32(ring, ring->tail + AT_PID) == (uint32_t)pid) {
			ring->time_ns = ring_u64(ring, at) | 1; /* 0 would mean that no record was found */
			return true;
		}
		if (header.type == PERF_RECORD_LOST)
			*lost += ring_u64(ring, ring->tail + AT_LOST);
		vg_ring_skip(ring);
	}
	return false;
}

pid_t vg_ring_exit(const struct vg_ring *ring)
{
	return (pid_t)ring_u32(ring, ring->tail + AT_EXIT_TID);
}

void vg_ring_mapping(const struct vg_ring *ring, pid_t *tid, struct vg_mapping *mapping)
{
	*tid = (pid_t)ring_u32(ring, ring->tail + AT_MAPPED_TID);
	mapping->address = ring_u64(ring, ring->tail + AT_MAPPED);
	mapping->bytes = ring_u64(ring, ring->tail + AT_MAPPED_BYTES);
	mapping->device = makedev(ring_u32(ring, ring->tail + AT_MAPPED_MAJOR),
				  ring_u32(ring, ring->tail + AT_MAPPED_MINOR));
	mapping->inode = ring_u64(ring, ring->tail + AT_MAPPED_INODE);
}

bool vg_ring_sample(const struct vg_ring *ring, uint32_t registers, struct vg_ring_sample *sample)
{
	uint64_t at = ring->tail, abi_at = at + AT_CALLCHAIN, words = 0, reserved_at, reserved;
	struct perf_event_header header;
	uint32_t ids[2];

	vg_ring_copy(ring, at, &header, sizeof header);
	vg_ring_copy(ring, at + AT_TID, ids, sizeof ids);
	*sample = (struct vg_ring_sample){
		.tid = (pid_t)ids[1],
		.time_ns = ring->time_ns,
		.in_kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
	if (ring->callchains) {
		words = ring_u64(ring, abi_at);
		if (words > ring->record_bytes / WORD_BYTES)
			return false;
		sample->callchain_at = abi_at + WORD_BYTES;
		sample->callchain_count = (uint32_t)words;
		abi_at = sample->callchain_at + words * WORD_BYTES;
	}
	sample->registers_at = abi_at + WORD_BYTES;
	reserved_at = sample->registers_at + registers * WORD_BYTES;
	sample->stack_at = reserved_at + WORD_BYTES;
	if (ring_u64(ring, abi_at) != PERF_SAMPLE_REGS_ABI_64)
		return false;
	reserved = ring_u64(ring, reserved_at);
	/* The kernel reserves `reserved` bytes for the stack.  Behind them it writes how many bytes it has copied. */
	if (reserved != 0)
		sample->stack_bytes = (size_t)ring_u64(ring, sample->stack_at + reserved);
	return sample->stack_bytes <= reserved;
}
