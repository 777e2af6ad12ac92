/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RING_H
#define VG_VIGNETTED_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vignetted/target/modules.h"

/*
 * One CPU's ring of perf records (perf_event_open(2)).  The ring is memory that we share with the kernel.  It has the
 * records in the order of their arrival.  A sample has the fields of VG_RING_SAMPLE, in the order of the manual page,
 * and those of VG_RING_CALLCHAIN if `callchains` is set.
 * All records that are not samples end with the thread and the time, which sample_id_all adds.
 *
 *     while (vg_ring_peek(&ring, pid, &lost)) {
 *             if (ring.record_type == PERF_RECORD_SAMPLE && vg_ring_sample(&ring, registers, &sample))
 *                     vg_ring_copy(&ring, sample.stack_at, bytes, sample.stack_bytes);
 *             vg_ring_skip(&ring);
 *     }
 *
 * All zero is a ring that is not mapped.
 */
struct vg_ring {
	int cpu;
	int fd;                      /* owned while mapped: the perf event from which the ring is mapped */
	bool callchains;             /* samples have the frames of kernel code; set by the caller */
	struct perf_event_mmap_page *head; /* NULL: not mapped */
	unsigned char *data;
	size_t data_bytes;
	uint64_t tail;               /* bytes that were read, and so the position of the next record */
	uint64_t time_ns;            /* time of the record at the tail; 0: vg_ring_peek() has not found one */
	uint32_t record_type;        /* type of the record at the tail: PERF_RECORD_SAMPLE, _EXIT or _MMAP2 */
	uint32_t record_bytes;       /* length of the record at the tail */
};

#define VG_RING_SAMPLE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define VG_RING_CALLCHAIN PERF_SAMPLE_CALLCHAIN

/* A sample.  Callchain, registers and stack are still in the ring. */
struct vg_ring_sample {
	pid_t tid;
	uint64_t time_ns;
	bool in_kernel;              /* the thread ran kernel code */
	uint64_t callchain_at;       /* position of the callchain: words of 64 bits, addresses of kernel code and markers
					(enum perf_callchain_context), the leaf frame first */
	uint32_t callchain_count;    /* number of these words; 0 in user code, or without callchains */
	uint64_t registers_at;       /* position of the registers, for vg_ring_copy() */
	uint64_t stack_at;           /* position of the copied stack */
	size_t stack_bytes;          /* bytes of the copy, which begins at the stack pointer */
};

/* Maps a ring with `pages` pages of data, a power of two, from the perf event `fd`.  Returns 0 and takes ownership of
 * fd, or -ENOBUFS if that many pages cannot be locked; fd then stays the caller's. */
int vg_ring_map(struct vg_ring *ring, int fd, size_t pages);

/* Unmaps the ring and closes its event.  Does nothing to a ring that is not mapped. */
void vg_ring_unmap(struct vg_ring *ring);

/* Finds the next record of process `pid`, and sets ring->time_ns and ring->record_type.  Skips other records.  Returns
 * false if there is none.  Further calls find the same record until vg_ring_skip() frees it.  The kernel drops records
 * if the ring is full: their number is added to *lost. */
bool vg_ring_peek(struct vg_ring *ring, pid_t pid, uint64_t *lost);

/* Reads the exit that vg_ring_peek() found.  Returns the thread that exited. */
pid_t vg_ring_exit(const struct vg_ring *ring);

/* Reads the mapping of code that vg_ring_peek() found, except its time.  *tid is the thread that made the mapping. */
void vg_ring_mapping(const struct vg_ring *ring, pid_t *tid, struct vg_mapping *mapping);

/* Reads the sample that vg_ring_peek() found; `registers` is the number of registers in it.  Returns false if the
 * thread was in 32-bit code or exiting: then the sample cannot be used. */
bool vg_ring_sample(const struct vg_ring *ring, uint32_t registers, struct vg_ring_sample *sample);

/* Copies `length` bytes from position `at` of the ring.  If they reach beyond the ring's end, the copy continues at the
 * ring's beginning. */
void vg_ring_copy(const struct vg_ring *ring, uint64_t at, void *bytes, size_t length);

/* Frees the record that vg_ring_peek() found. */
void vg_ring_skip(struct vg_ring *ring);

#endif
