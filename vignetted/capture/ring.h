/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RING_H
#define VG_VIGNETTED_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What the kernel writes of one CPU's events (perf_event_open(2)): records, oldest first, in memory that we
 * share with it.  Of their fields, samples have those that VG_RING_SAMPLE names, in the manual's order.  Other records
 * end with those of them that sample_id_all gives: thread and time.
 */
struct vg_ring {
	int cpu, fd;                 /* fd: owned; what the ring is mapped from */
	struct perf_event_mmap_page *head; /* NULL: not mapped */
	unsigned char *data;
	size_t data_bytes;
	uint64_t tail;               /* read so far */
	uint64_t time_ns;            /* of the record at the tail; 0: not looked at yet */
	uint32_t record_type;        /* PERF_RECORD_SAMPLE, _EXIT or _MMAP2 */
	uint32_t record_bytes;       /* its length */
};

#define VG_RING_SAMPLE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* One sample's, but for its registers, which are `registers` words at `registers_at`. */
struct vg_ring_sample {
	pid_t tid;
	uint64_t time_ns;
	bool in_kernel;
	uint64_t registers_at;
	uint64_t stack_at;
	size_t stack_bytes;          /* copied, from the stack pointer upwards */
};

/* Maps pages of data, a power of two, from the event fd, which is the ring's then.  0; -ENOBUFS: not as many. */
int vg_ring_map(struct vg_ring *ring, int fd, size_t pages);

/* Closing what is not mapped is allowed, if it is all zero. */
void vg_ring_unmap(struct vg_ring *ring);

/* Goes on to the next record of process pid, if there is one, which ring->time_ns and record_type are of then.  Adds to
 * *lost the records for which the kernel found no room. */
bool vg_ring_peek(struct vg_ring *ring, pid_t pid, uint64_t *lost);

/* Of the exit that peek found: the thread that ended.  Of a new mapping of code: the thread that made it, and where it is. */
pid_t vg_ring_exit(const struct vg_ring *ring);
void vg_ring_mapping(const struct vg_ring *ring, pid_t *tid, uint64_t *address, uint64_t *bytes);

/* Of the sample that peek found.  False: the thread was in code that we cannot read. */
bool vg_ring_sample(const struct vg_ring *ring, uint32_t registers, struct vg_ring_sample *sample);

/* Copies out of the ring, whose end is followed by its beginning. */
void vg_ring_copy(const struct vg_ring *ring, uint64_t at, void *bytes, size_t length);

/* Gives the room of what peek found back. */
void vg_ring_skip(struct vg_ring *ring);

#endif
