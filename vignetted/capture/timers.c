/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/timers.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * The kernel lets every user lock 516 KiB a CPU for rings (kernel.perf_event_mlock_kb), and beyond that as much as
 * RLIMIT_MEMLOCK says.  A ring is one page for its head and a power of two of pages for data.
 */
enum { RING_PAGES_MAX = 512, RING_PAGES_MIN = 32, RINGS_PAGES_MAX = 4096, PAGE_BYTES = 4096 };

/* Deeper stacks are left to a stop.  Faster sampling needs more room for samples in a ring; a record cannot have more
 * than 64 KiB. */
enum { STACK_BYTES = 60 * 1024, STACK_FAST_BYTES = 32 * 1024, FAST_NS = 4 * 1000 * 1000 };

/* So many descriptors at most, and of those that may be open this share. */
enum { TIMERS_MAX = 4096, DESCRIPTORS_SHARE = 4 };

/* A sample's record without registers and stack: header, pid and tid, time, abi, size, size. */
enum { SAMPLE_FIXED_BYTES = 8 * 6 };

/* A timer has a period for so long.  Ten samples at 99 Hz of one period drift over a program's own period, unless the two are
 * within a few percent.  Shorter, and the parts of periods that are lost become many: 1 in 20 at 99 Hz. */
static const uint64_t PERIOD_FOR_NS = 100 * 1000 * 1000;

/* Its rate, in thousandths of what was asked for. */
enum { RATE_LEAST = 750, RATE_MOST = 1250 };

struct vg_timer {
	int fd, cpu;
	pid_t tid;
	uint64_t period_ns, changed_ns; /* and since when */
	uint64_t before_ns;          /* the period before */
};

/* ---- opening ---- */

/* A silent one is ours and never expires: a ring is mapped from it. */
enum timer_kind { TIMER, SILENT };

static int timer_open(const struct vg_timers *timers, pid_t tid, int cpu, uint64_t period_ns, enum timer_kind kind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = period_ns, .sample_type = VG_RING_SAMPLE,
		.sample_regs_user = vg_regs_perf_mask, .sample_stack_user = timers->stack_bytes,
		.exclude_kernel = timers->user_only, .exclude_hv = 1, .exclude_guest = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC, .disabled = kind == SILENT,
		.task = kind == TIMER, .mmap = kind == TIMER, .mmap2 = kind == TIMER, .sample_id_all = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? (int)fd : -errno;
}

/* -ENOBUFS: not as many pages; -ENODEV: the CPU is off.  An event that a ring is mapped from is not closed before the ring
 * is, so that the event of a thread would not do. */
static int ring_open(struct vg_ring *ring, const struct vg_timers *timers)
{
	int fd = timer_open(timers, 0, ring->cpu, timers->asked_ns, SILENT);
	int rc = fd < 0 ? fd : vg_ring_map(ring, fd, timers->ring_pages);

	if (fd >= 0 && rc != 0)
		close(fd);
	return rc;
}

/* One for each CPU that one of the threads may run on.  A thread that is allowed another CPU later is stopped there. */
static int rings_make(struct vg_timers *timers, const struct vg_task *tasks, size_t count)
{
	cpu_set_t allowed, all;

	CPU_ZERO(&all);
	for (size_t i = 0; i < count; i++) {
		if (sched_getaffinity(tasks[i].tid, sizeof allowed, &allowed) == 0)
			CPU_OR(&all, &all, &allowed);
	}
	timers->rings = calloc((size_t)CPU_COUNT(&all) + 1, sizeof *timers->rings);
	timers->items = calloc(timers->capacity, sizeof *timers->items);
	if (timers->rings == NULL || timers->items == NULL)
		return -ENOMEM;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all))
			timers->rings[timers->ring_count++].cpu = cpu;
	}
	return timers->ring_count > 0 ? 0 : -ESRCH;
}

static size_t ring_pages(const struct vg_timers *timers, size_t max_bytes)
{
	size_t most = max_bytes / PAGE_BYTES < RINGS_PAGES_MAX ? max_bytes / PAGE_BYTES : RINGS_PAGES_MAX;
	size_t pages = RING_PAGES_MAX;

	while (pages > RING_PAGES_MIN && pages * timers->ring_count > most)
		pages /= 2;
	return pages;
}

/* Rings are alike.  How much may be locked for all of them shows when the last one is mapped. */
static int rings_map(struct vg_timers *timers, size_t max_bytes)
{
	int rc = -ENOBUFS;

	for (timers->ring_pages = ring_pages(timers, max_bytes); timers->ring_pages >= RING_PAGES_MIN;
	     timers->ring_pages /= 2) {
		for (size_t i = 0; i < timers->ring_count; i++) {
			rc = ring_open(&timers->rings[i], timers);
			if (rc != 0 && rc != -ENODEV)
				break;
			rc = 0;
		}
		if (rc != -ENOBUFS)
			break;
		for (size_t i = 0; i < timers->ring_count; i++)
			vg_ring_unmap(&timers->rings[i]);
	}
	return rc;
}

static void timers_begin(struct vg_timers *timers, pid_t pid, uint64_t period_ns)
{
	struct rlimit limit;

	*timers = (struct vg_timers){
		.pid = pid, .taken = timers->taken, .lost = timers->lost, .asked_ns = period_ns,
		.random = vg_now_ns() | 1, .capacity = TIMERS_MAX,
		.stack_bytes = period_ns < FAST_NS ? STACK_FAST_BYTES : STACK_BYTES,
	};
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / DESCRIPTORS_SHARE < TIMERS_MAX)
		timers->capacity = (size_t)limit.rlim_cur / DESCRIPTORS_SHARE;
}

/* perf_event_paranoid 2, the kernel's default, allows user code only. */
static int kinds_try(struct vg_timers *timers, pid_t tid)
{
	int fd = timer_open(timers, tid, -1, timers->asked_ns, TIMER);

	if (fd == -EACCES || fd == -EPERM) {
		timers->user_only = true;
		fd = timer_open(timers, tid, -1, timers->asked_ns, TIMER);
	}
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int vg_timers_open(struct vg_timers *timers, pid_t pid, const struct vg_task *tasks, size_t count,
		   uint64_t period_ns, size_t max_bytes)
{
	int rc;

	vg_timers_close(timers);
	timers_begin(timers, pid, period_ns);
	if (period_ns == 0 || count == 0)
		return 0;
	/* A thread that has ended, as the first one may, can have none. */
	rc = -ESRCH;
	for (size_t i = 0; rc == -ESRCH && i < count; i++)
		rc = kinds_try(timers, tasks[i].tid);
	if (rc == 0)
		rc = rings_make(timers, tasks, count);
	if (rc == 0)
		rc = rings_map(timers, max_bytes);
	if (rc != 0)
		vg_timers_close(timers);
	return rc;
}

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t period_random(struct vg_timers *timers)
{
	timers->random ^= timers->random << 13;
	timers->random ^= timers->random >> 7;
	timers->random ^= timers->random << 17;
	return timers->asked_ns * 1000 / (RATE_LEAST + timers->random % (RATE_MOST - RATE_LEAST + 1));
}

static int timer_add(struct vg_timers *timers, const struct vg_ring *ring, pid_t tid)
{
	struct vg_timer timer = {
		.tid = tid, .cpu = ring->cpu, .period_ns = period_random(timers), .changed_ns = vg_now_ns(),
	};

	if (timers->count == timers->capacity)
		return -EMFILE;
	timer.fd = timer_open(timers, tid, ring->cpu, timer.period_ns, TIMER);
	if (timer.fd < 0)
		return timer.fd;
	if (ioctl(timer.fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) != 0) {
		int rc = -errno;

		close(timer.fd);
		return rc;
	}
	timers->items[timers->count++] = timer;
	return 0;
}

int vg_timers_add(struct vg_timers *timers, pid_t tid)
{
	size_t before = timers->count;

	if (timers->rings == NULL)
		return -EACCES;
	if (timers->capacity - timers->count < timers->ring_count)
		return -EMFILE;
	for (size_t i = 0; i < timers->ring_count; i++) {
		struct vg_ring *ring = &timers->rings[i];
		int rc = ring->head != NULL ? timer_add(timers, ring, tid) : 0;

		if (rc != 0 && rc != -ENODEV) {      /* -ENODEV: that CPU is off */
			vg_timers_remove(timers, tid);
			return rc;
		}
	}
	return timers->count > before ? 0 : -ENODEV;
}

void vg_timers_remove(struct vg_timers *timers, pid_t tid)
{
	size_t kept = 0;

	for (size_t i = 0; i < timers->count; i++) {
		if (timers->items[i].tid == tid)
			close(timers->items[i].fd);
		else
			timers->items[kept++] = timers->items[i];
	}
	timers->count = kept;
}

void vg_timers_close(struct vg_timers *timers)
{
	for (size_t i = 0; i < timers->ring_count; i++)
		vg_ring_unmap(&timers->rings[i]);
	for (size_t i = 0; i < timers->count; i++)
		close(timers->items[i].fd);
	free(timers->rings);
	free(timers->items);
	*timers = (struct vg_timers){
		.pid = timers->pid, .asked_ns = timers->asked_ns, .taken = timers->taken, .lost = timers->lost,
	};
}

/* ---- reading ---- */

uint64_t vg_timers_room_ns(const struct vg_timers *timers)
{
	size_t sample_bytes = timers->stack_bytes + SAMPLE_FIXED_BYTES +
			      8 * (unsigned int)__builtin_popcountll(vg_regs_perf_mask);

	if (timers->rings == NULL)
		return 0;
	return timers->ring_pages * PAGE_BYTES / sample_bytes * timers->asked_ns * 1000 / RATE_MOST;
}

/* NULL: it was taken away. */
static struct vg_timer *timer_find(struct vg_timers *timers, pid_t tid, int cpu)
{
	for (size_t i = 0; i < timers->count; i++) {
		if (timers->items[i].tid == tid && timers->items[i].cpu == cpu)
			return &timers->items[i];
	}
	return NULL;
}

/* The period begins anew then (kernel/events/core.c, __perf_event_period()). */
static void period_change(struct vg_timers *timers, struct vg_timer *timer)
{
	uint64_t period_ns = period_random(timers);

	if (ioctl(timer->fd, PERF_EVENT_IOC_PERIOD, &period_ns) != 0)
		return;
	timer->before_ns = timer->period_ns;
	timer->period_ns = period_ns;
	timer->changed_ns = vg_now_ns();
}

/* The CPU time that the sample's timer measured. */
static uint64_t period_of(struct vg_timers *timers, int cpu, const struct vg_timer_record *record)
{
	struct vg_timer *timer = timer_find(timers, record->tid, cpu);
	uint64_t period_ns;

	if (timer == NULL)
		return timers->asked_ns;
	period_ns = record->time_ns < timer->changed_ns ? timer->before_ns : timer->period_ns;
	if (record->time_ns > timer->changed_ns + PERIOD_FOR_NS)
		period_change(timers, timer);
	return period_ns;
}

/* Whether the thread was in code that we can read. */
static bool sample_read(const struct vg_ring *ring, struct vg_timer_record *record)
{
	uint32_t registers = (uint32_t)__builtin_popcountll(vg_regs_perf_mask);
	struct vg_ring_sample sample;
	uint64_t values[64];

	if (!vg_ring_sample(ring, registers, &sample))
		return false;
	record->kind = VG_TIMER_SAMPLE;
	record->tid = sample.tid;
	record->sample.in_kernel = sample.in_kernel;
	record->sample.stack_at = sample.stack_at;
	record->sample.stack_bytes = sample.stack_bytes;
	vg_ring_copy(ring, sample.registers_at, values, registers * sizeof *values);
	vg_regs_from_perf(&record->sample.regs, values);
	return true;
}

/* Whether the record tells anything. */
static bool record_read(const struct vg_ring *ring, struct vg_timer_record *record)
{
	*record = (struct vg_timer_record){ .time_ns = ring->time_ns };
	switch (ring->record_type) {
	case PERF_RECORD_SAMPLE:
		return sample_read(ring, record);
	case PERF_RECORD_EXIT:
		record->kind = VG_TIMER_ENDED;
		record->tid = vg_ring_exit(ring);
		return true;
	default:
		record->kind = VG_TIMER_MAPPED;
		vg_ring_mapping(ring, &record->tid, &record->mapped.address, &record->mapped.bytes);
		return true;
	}
}

bool vg_timers_next(struct vg_timers *timers, struct vg_timer_record *record)
{
	for (;;) {
		struct vg_ring *oldest = NULL;

		if (timers->current != NULL)
			vg_ring_skip(timers->current);
		for (size_t i = 0; i < timers->ring_count; i++) {
			struct vg_ring *ring = &timers->rings[i];

			if (vg_ring_peek(ring, timers->pid, &timers->lost) &&
			    (oldest == NULL || ring->time_ns < oldest->time_ns))
				oldest = ring;
		}
		timers->current = oldest;
		if (oldest == NULL)
			return false;
		timers->taken += oldest->record_type == PERF_RECORD_SAMPLE;
		if (!record_read(oldest, record))
			continue;
		if (record->kind == VG_TIMER_SAMPLE)
			record->sample.period_ns = period_of(timers, oldest->cpu, record);
		return true;
	}
}

int vg_timers_snapshot(const struct vg_timers *timers, const struct vg_timer_record *record, size_t want_bytes,
		       struct vg_snapshot *snapshot)
{
	if (want_bytes > record->sample.stack_bytes)
		want_bytes = record->sample.stack_bytes;
	if (vg_snapshot_reserve(snapshot, want_bytes) != 0)
		return -ENOMEM;
	snapshot->regs = record->sample.regs;
	snapshot->whole = true;
	snapshot->fp_guess = 0;
	snapshot->stack_address = vg_regs_sp(&record->sample.regs);
	snapshot->stack_bytes = want_bytes;
	vg_ring_copy(timers->current, record->sample.stack_at, snapshot->stack, want_bytes);
	return 0;
}
