/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/interrupts.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * The kernel lets every user lock 516 KiB a CPU for rings (kernel.perf_event_mlock_kb), beyond that
 * what RLIMIT_MEMLOCK says: one page for a ring's head, and a power of two for data.
 */
enum { RING_PAGES_MAX = 512, RING_PAGES_MIN = 32, RINGS_PAGES_MAX = 4096, PAGE_BYTES = 4096 };

/* Deeper stacks are left to a stop.  Faster sampling needs more room for samples in a ring; a
 * record cannot have more than 64 KiB. */
enum { STACK_BYTES = 60 * 1024, STACK_FAST_BYTES = 32 * 1024, FAST_NS = 4 * 1000 * 1000 };

/* So many descriptors at most, and of those that may be open this share. */
enum { EVENTS_MAX = 4096, DESCRIPTORS_SHARE = 4 };

/* Threads that go on having timers when new ones have none any more: those that have been there longest make
 * the others, in most cases. */
enum { OWN_THREADS = 4 };

/* A sample's record without registers and stack: header, id, pid and tid, time, abi, size, size. */
enum { SAMPLE_FIXED_BYTES = 8 * 7 };

struct vg_ring {
	int cpu, fd;                 /* fd: an event of our own that tells nothing and lives as long as the
	                                ring: one that a ring is mapped from is not closed before */
	struct perf_event_mmap_page *head;
	unsigned char *data;
	size_t data_bytes;
	uint64_t tail;               /* read so far */
	uint64_t time_ns;            /* of the record at the tail; 0: not looked at yet */
	uint32_t record_bytes;       /* its length */
};

struct vg_event {
	uint64_t id;
	int fd;
	pid_t tid;
};

/* ---- opening ---- */

enum event_kind { INHERITED, OWN, SILENT };

static int event_open(const struct vg_interrupts *interrupts, pid_t tid, int cpu, enum event_kind kind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = interrupts->period_ns,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = vg_regs_perf_mask, .sample_stack_user = interrupts->stack_bytes,
		.inherit = kind == INHERITED, .inherit_thread = kind == INHERITED,
		.exclude_kernel = interrupts->user_only, .exclude_hv = 1, .exclude_guest = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.task = kind == INHERITED, .disabled = kind == SILENT,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	/* Before Linux 5.13 there is no inherit_thread: a child's samples are passed over then. */
	if (fd < 0 && errno == EINVAL) {
		attr.inherit_thread = 0;
		fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd >= 0 ? (int)fd : -errno;
}

/* -ENOBUFS: not as many pages; -ENODEV: the CPU is off. */
static int ring_map(struct vg_ring *ring, const struct vg_interrupts *interrupts)
{
	int fd = event_open(interrupts, 0, ring->cpu, SILENT);
	void *at;

	if (fd < 0)
		return fd;
	at = mmap(NULL, (interrupts->ring_pages + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		close(fd);
		return -ENOBUFS;
	}
	ring->head = at;
	ring->data = (unsigned char *)at + ring->head->data_offset;
	ring->data_bytes = ring->head->data_size;
	ring->fd = fd;
	return 0;
}

static int event_add(struct vg_interrupts *interrupts, const struct vg_ring *ring, pid_t tid,
		     enum event_kind kind)
{
	struct vg_event event = { .tid = tid };
	int rc;

	if (interrupts->event_count == interrupts->event_capacity)
		return -EMFILE;
	event.fd = event_open(interrupts, tid, ring->cpu, kind);
	if (event.fd < 0)
		return event.fd;
	rc = ioctl(event.fd, PERF_EVENT_IOC_ID, &event.id) != 0 ? -errno : 0;
	if (rc == 0 && ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0)
		rc = -errno;
	if (rc != 0) {
		close(event.fd);
		return rc;
	}
	/* The kernel numbers events upwards, so that the array is in order. */
	interrupts->events[interrupts->event_count++] = event;
	return 0;
}

static int thread_add(struct vg_interrupts *interrupts, pid_t tid, enum event_kind kind)
{
	for (size_t i = 0; i < interrupts->ring_count; i++) {
		struct vg_ring *ring = &interrupts->rings[i];
		int rc = ring->head != NULL ? event_add(interrupts, ring, tid, kind) : 0;

		if (rc == -ESRCH)
			return 0;        /* it has ended */
		if (rc != 0 && rc != -ENODEV)
			return rc;       /* -ENODEV: that CPU is off */
	}
	return 0;
}

static size_t rings_pages_max(const struct vg_interrupts *interrupts)
{
	size_t pages = interrupts->max_bytes / PAGE_BYTES;

	return pages < RINGS_PAGES_MAX ? pages : RINGS_PAGES_MAX;
}

/* A ring for each CPU that one of the threads may run on.  Should it be allowed others later, it
 * tells nothing there, and is stopped instead. */
static int rings_make(struct vg_interrupts *interrupts, const struct vg_task *tasks, size_t count)
{
	cpu_set_t allowed, all;
	int rings;

	CPU_ZERO(&all);
	for (size_t i = 0; i < count; i++) {
		if (sched_getaffinity(tasks[i].tid, sizeof allowed, &allowed) == 0)
			CPU_OR(&all, &all, &allowed);
	}
	rings = CPU_COUNT(&all);
	interrupts->ring_pages = RING_PAGES_MAX;
	while (interrupts->ring_pages * (size_t)rings > rings_pages_max(interrupts))
		interrupts->ring_pages /= 2;
	if (interrupts->ring_pages < RING_PAGES_MIN)
		interrupts->ring_pages = RING_PAGES_MIN;
	interrupts->rings = calloc((size_t)rings + 1, sizeof *interrupts->rings);
	interrupts->events = calloc(interrupts->event_capacity, sizeof *interrupts->events);
	if (interrupts->rings == NULL || interrupts->events == NULL)
		return -ENOMEM;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all))
			interrupts->rings[interrupts->ring_count++].cpu = cpu;
	}
	return rings > 0 ? 0 : -ESRCH;
}

static int rings_map(struct vg_interrupts *interrupts)
{
	for (size_t i = 0; i < interrupts->ring_count; i++) {
		int rc = ring_map(&interrupts->rings[i], interrupts);

		if (rc != 0 && rc != -ENODEV)
			return rc;
	}
	return 0;
}

static int first_open(struct vg_interrupts *interrupts, const struct vg_task *tasks, size_t count,
		      uint64_t period_ns)
{
	struct rlimit limit;
	int fd;

	*interrupts = (struct vg_interrupts){
		.taken = interrupts->taken, .lost = interrupts->lost, .made = interrupts->made,
		.max_bytes = interrupts->max_bytes, .period_ns = period_ns, .event_capacity = EVENTS_MAX,
		.stack_bytes = period_ns < FAST_NS ? STACK_FAST_BYTES : STACK_BYTES,
	};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / DESCRIPTORS_SHARE < EVENTS_MAX)
		interrupts->event_capacity = (size_t)limit.rlim_cur / DESCRIPTORS_SHARE;
	/* perf_event_paranoid 2, the kernel's default, allows user code only. */
	fd = event_open(interrupts, tasks[0].tid, -1, INHERITED);
	if (fd == -EACCES || fd == -EPERM) {
		interrupts->user_only = true;
		fd = event_open(interrupts, tasks[0].tid, -1, INHERITED);
	}
	if (fd < 0)
		return fd;
	close(fd);
	return rings_make(interrupts, tasks, count);
}

static int threads_add(struct vg_interrupts *interrupts, const struct vg_task *tasks, size_t count,
		       uint64_t period_ns)
{
	int rc = 0;

	if (interrupts->rings == NULL) {
		rc = first_open(interrupts, tasks, count, period_ns);
		if (rc == 0)
			rc = rings_map(interrupts);
	}
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = thread_add(interrupts, tasks[i].tid, INHERITED);
	return rc;
}

int vg_interrupts_open(struct vg_interrupts *interrupts, const struct vg_task *tasks, size_t count,
		       uint64_t period_ns)
{
	bool first = interrupts->rings == NULL;
	int rc;

	if (count == 0)
		return 0;
	/* What may be locked is for all rings, and they are to be alike: the last one tells. */
	while ((rc = threads_add(interrupts, tasks, count, period_ns)) == -ENOBUFS && first &&
	       interrupts->ring_pages > RING_PAGES_MIN) {
		interrupts->max_bytes = interrupts->ring_pages / 2 * interrupts->ring_count * PAGE_BYTES;
		vg_interrupts_close(interrupts);
	}
	if (rc == 0 && interrupts->event_count == 0)
		rc = -ESRCH;
	if (rc != 0)
		vg_interrupts_close(interrupts);
	interrupts->enabled = rc == 0;
	return rc;
}

void vg_interrupts_close(struct vg_interrupts *interrupts)
{
	for (size_t i = 0; i < interrupts->ring_count; i++) {
		struct vg_ring *ring = &interrupts->rings[i];

		if (ring->head == NULL)
			continue;
		munmap(ring->head, ring->data_bytes + PAGE_BYTES);
		close(ring->fd);
	}
	for (size_t i = 0; i < interrupts->event_count; i++)
		close(interrupts->events[i].fd);
	free(interrupts->rings);
	free(interrupts->events);
	*interrupts = (struct vg_interrupts){
		.taken = interrupts->taken, .lost = interrupts->lost, .made = interrupts->made,
		.max_bytes = interrupts->max_bytes,
	};
}

void vg_interrupts_enable(struct vg_interrupts *interrupts, bool enabled)
{
	/* Of the events that were inherited from this one, too. */
	for (size_t i = 0; i < interrupts->event_count; i++)
		ioctl(interrupts->events[i].fd, enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	interrupts->enabled = enabled;
}

int vg_interrupts_narrow(struct vg_interrupts *interrupts, const struct vg_task *tasks, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < interrupts->event_count; i++)
		close(interrupts->events[i].fd);
	interrupts->event_count = 0;
	/* A thread whose events can be inherited switches without them to others that have inherited them:
	 * such an event beside others takes that away, so that these are not opened before. */
	for (size_t i = 0; rc == 0 && i < count && i < OWN_THREADS; i++)
		rc = thread_add(interrupts, tasks[i].tid, OWN);
	if (rc == 0 && interrupts->event_count == 0)
		rc = -ESRCH;
	if (rc != 0)
		vg_interrupts_close(interrupts);
	interrupts->narrow = interrupts->enabled = rc == 0;
	return rc;
}

bool vg_interrupts_cover(const struct vg_interrupts *interrupts, pid_t tid)
{
	for (size_t i = 0; i < interrupts->event_count; i++) {
		if (interrupts->events[i].tid == tid)
			return true;
	}
	return false;
}

/* ---- reading ---- */

uint32_t vg_interrupts_room(const struct vg_interrupts *interrupts)
{
	return (uint32_t)(interrupts->ring_pages * PAGE_BYTES /
			  (interrupts->stack_bytes + SAMPLE_FIXED_BYTES +
			   8 * (unsigned int)__builtin_popcountll(vg_regs_perf_mask)));
}

/* Copies out of the ring, whose end is followed by its beginning. */
static void ring_copy(const struct vg_ring *ring, uint64_t at, void *bytes, size_t length)
{
	size_t offset = at % ring->data_bytes, first = ring->data_bytes - offset;

	if (first > length)
		first = length;
	memcpy(bytes, ring->data + offset, first);
	memcpy((unsigned char *)bytes + first, ring->data, length - first);
}

static uint64_t ring_word(const struct vg_ring *ring, uint64_t at)
{
	uint64_t word;

	memcpy(&word, ring->data + at % ring->data_bytes, sizeof word); /* records are aligned */
	return word;
}

static void ring_skip(struct vg_ring *ring)
{
	ring->tail += ring->record_bytes;
	ring->time_ns = 0;
	__atomic_store_n(&ring->head->data_tail, ring->tail, __ATOMIC_RELEASE);
}

/* Of what has been made: its process, and its maker's. */
static bool is_thread(const struct vg_ring *ring)
{
	uint32_t pids[2];

	ring_copy(ring, ring->tail + 8, pids, sizeof pids);
	return pids[0] == pids[1];
}

/* Goes on to the ring's next sample, if it has one. */
static bool ring_peek(struct vg_interrupts *interrupts, struct vg_ring *ring)
{
	struct perf_event_header header;

	if (ring->head == NULL || ring->time_ns != 0)
		return ring->time_ns != 0;
	while (ring->tail != __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE)) {
		ring_copy(ring, ring->tail, &header, sizeof header);
		ring->record_bytes = header.size;
		if (header.type == PERF_RECORD_SAMPLE) {
			ring->time_ns = ring_word(ring, ring->tail + 24) | 1;
			return true;
		}
		if (header.type == PERF_RECORD_LOST)
			interrupts->lost += ring_word(ring, ring->tail + 16);
		if (header.type == PERF_RECORD_FORK && is_thread(ring))
			interrupts->made++;
		ring_skip(ring);
	}
	return false;
}

static int id_compare(const void *key, const void *event)
{
	uint64_t id = *(const uint64_t *)key, other = ((const struct vg_event *)event)->id;

	return id < other ? -1 : id > other;
}

/* Whether the thread was in code that we can read.  The record's fields are in the order that
 * perf_event_open(2) gives. */
static bool sample_parse(const struct vg_interrupts *interrupts, const struct vg_ring *ring,
			 struct vg_interrupt *interrupt)
{
	uint32_t registers = (uint32_t)__builtin_popcountll(vg_regs_perf_mask);
	uint64_t at = ring->tail, id = ring_word(ring, at + 8), values[64], copied;
	struct perf_event_header header;
	const struct vg_event *event;
	uint32_t ids[2];

	ring_copy(ring, at, &header, sizeof header);
	ring_copy(ring, at + 16, ids, sizeof ids);
	event = bsearch(&id, interrupts->events, interrupts->event_count, sizeof *event, id_compare);
	*interrupt = (struct vg_interrupt){
		.pid = (pid_t)ids[0], .tid = (pid_t)ids[1], .owner = event != NULL ? event->tid : 0,
		.time_ns = ring->time_ns,
		.in_kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
	if (ring_word(ring, at + 32) != PERF_SAMPLE_REGS_ABI_64)
		return false;
	at += 40;
	ring_copy(ring, at, values, registers * sizeof *values);
	vg_regs_from_perf(&interrupt->regs, values);
	at += registers * sizeof *values;
	copied = ring_word(ring, at);
	interrupt->stack_at = at + 8;
	if (copied != 0)                 /* room was kept for as many, and so many were there */
		interrupt->stack_bytes = (size_t)ring_word(ring, at + 8 + copied);
	return interrupt->stack_bytes <= copied;
}

bool vg_interrupts_next(struct vg_interrupts *interrupts, struct vg_interrupt *interrupt)
{
	for (;;) {
		struct vg_ring *oldest = NULL;

		if (interrupts->current != NULL)
			ring_skip(interrupts->current);
		for (size_t i = 0; i < interrupts->ring_count; i++) {
			struct vg_ring *ring = &interrupts->rings[i];

			if (ring_peek(interrupts, ring) &&
			    (oldest == NULL || ring->time_ns < oldest->time_ns))
				oldest = ring;
		}
		interrupts->current = oldest;
		if (oldest == NULL)
			return false;
		interrupts->taken++;
		if (sample_parse(interrupts, oldest, interrupt))
			return true;
	}
}

int vg_interrupts_snapshot(const struct vg_interrupts *interrupts,
			   const struct vg_interrupt *interrupt, size_t want_bytes,
			   struct vg_snapshot *snapshot)
{
	if (want_bytes > interrupt->stack_bytes)
		want_bytes = interrupt->stack_bytes;
	if (vg_snapshot_reserve(snapshot, want_bytes) != 0)
		return -ENOMEM;
	snapshot->regs = interrupt->regs;
	snapshot->whole = true;
	snapshot->fp_guess = 0;
	snapshot->stack_address = vg_regs_sp(&interrupt->regs);
	snapshot->stack_bytes = want_bytes;
	ring_copy(interrupts->current, interrupt->stack_at, snapshot->stack, want_bytes);
	return 0;
}
