/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/interrupts.h"

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

#include "vignetted/capture/ring.h"

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

/* What a program does exactly as often would be met in one place all the time: timers are slow by so many
 * thousandths.  Not fast, for rates such as 99 Hz are asked for to miss the round ones; and by 7, which makes a round
 * one of few that are asked for. */
enum { SLOW_PERMILLE = 7 };

struct vg_event {
	uint64_t id;
	int fd;
	pid_t tid;
};

/* ---- opening ---- */

enum event_kind { INHERITED, OWN, SILENT, OF_CPU };

static int event_open(const struct vg_interrupts *interrupts, pid_t tid, int cpu, enum event_kind kind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr,
		.config = kind == OF_CPU ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = interrupts->period_ns, .sample_type = VG_RING_SAMPLE,
		.sample_regs_user = vg_regs_perf_mask, .sample_stack_user = interrupts->stack_bytes,
		.inherit = kind == INHERITED, .inherit_thread = kind == INHERITED,
		.exclude_kernel = interrupts->user_only, .exclude_hv = 1, .exclude_guest = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.task = kind == INHERITED || kind == OF_CPU, .disabled = kind == SILENT || kind == OF_CPU,
		.exclude_idle = kind == OF_CPU,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	/* Before Linux 5.13 there is no inherit_thread: a child's samples are passed over then. */
	if (fd < 0 && errno == EINVAL) {
		attr.inherit_thread = 0;
		fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd >= 0 ? (int)fd : -errno;
}

/* -ENOBUFS: not as many pages; -ENODEV: the CPU is off.  Mapped from an event of our own that tells nothing and
 * lives as long as the ring: one that a ring is mapped from is not closed before. */
static int ring_open(struct vg_ring *ring, const struct vg_interrupts *interrupts)
{
	int fd = event_open(interrupts, 0, ring->cpu, SILENT);
	int rc = fd < 0 ? fd : vg_ring_map(ring, fd, interrupts->ring_pages);

	if (fd >= 0 && rc != 0)
		close(fd);
	return rc;
}

static int event_add(struct vg_interrupts *interrupts, const struct vg_ring *ring, pid_t tid,
		     enum event_kind kind)
{
	struct vg_event event = { .tid = tid };
	int rc;

	/* Those of CPUs are opened before those of threads are closed. */
	if (interrupts->event_count + (kind != OF_CPU) * interrupts->ring_count >= interrupts->event_capacity)
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
	interrupts->event_capacity += (size_t)rings;
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
		int rc = ring_open(&interrupts->rings[i], interrupts);

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
		.pid = interrupts->pid, .max_bytes = interrupts->max_bytes,
		.taken = interrupts->taken, .told = interrupts->told,
		.period_ns = period_ns + period_ns * SLOW_PERMILLE / 1000, .event_capacity = EVENTS_MAX,
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

/* The first so many. */
static void events_drop(struct vg_interrupts *interrupts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(interrupts->events[i].fd);
	interrupts->event_count -= count;
	if (interrupts->event_count > 0)
		memmove(interrupts->events, interrupts->events + count,
			interrupts->event_count * sizeof *interrupts->events);
}

void vg_interrupts_close(struct vg_interrupts *interrupts)
{
	for (size_t i = 0; i < interrupts->ring_count; i++)
		vg_ring_unmap(&interrupts->rings[i]);
	events_drop(interrupts, interrupts->event_count);
	free(interrupts->rings);
	free(interrupts->events);
	*interrupts = (struct vg_interrupts){
		.pid = interrupts->pid, .max_bytes = interrupts->max_bytes,
		.taken = interrupts->taken, .told = interrupts->told,
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

	events_drop(interrupts, interrupts->event_count);
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

static int cpus_add(struct vg_interrupts *interrupts)
{
	for (size_t i = 0; i < interrupts->ring_count; i++) {
		struct vg_ring *ring = &interrupts->rings[i];
		int rc = ring->head != NULL ? event_add(interrupts, ring, VG_INTERRUPTS_CPUS, OF_CPU) : 0;

		if (rc != 0 && rc != -ENODEV)
			return rc;
	}
	return 0;
}

int vg_interrupts_widen(struct vg_interrupts *interrupts)
{
	size_t threads = interrupts->event_count;
	int rc = interrupts->user_only ? -EACCES : cpus_add(interrupts);

	if (rc != 0) {
		while (interrupts->event_count > threads)
			close(interrupts->events[--interrupts->event_count].fd);
		return rc;
	}
	events_drop(interrupts, threads);
	interrupts->wide = true;
	vg_interrupts_enable(interrupts, true);
	return 0;
}

void vg_interrupts_vary(struct vg_interrupts *interrupts, uint32_t permille)
{
	uint64_t period_ns = interrupts->period_ns / 1000 * permille;

	for (size_t i = 0; i < interrupts->event_count; i++)
		ioctl(interrupts->events[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
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

static int id_compare(const void *key, const void *event)
{
	uint64_t id = *(const uint64_t *)key, other = ((const struct vg_event *)event)->id;

	return id < other ? -1 : id > other;
}

/* Whether the thread was in code that we can read. */
static bool sample_take(const struct vg_interrupts *interrupts, const struct vg_ring *ring,
			struct vg_interrupt *interrupt)
{
	uint32_t registers = (uint32_t)__builtin_popcountll(vg_regs_perf_mask);
	const struct vg_event *event;
	struct vg_ring_sample sample;
	uint64_t values[64];

	if (!vg_ring_sample(ring, registers, &sample))
		return false;
	event = bsearch(&sample.id, interrupts->events, interrupts->event_count, sizeof *event, id_compare);
	*interrupt = (struct vg_interrupt){
		.tid = sample.tid, .owner = event != NULL ? event->tid : 0, .time_ns = sample.time_ns,
		.in_kernel = sample.in_kernel, .stack_at = sample.stack_at, .stack_bytes = sample.stack_bytes,
	};
	vg_ring_copy(ring, sample.registers_at, values, registers * sizeof *values);
	vg_regs_from_perf(&interrupt->regs, values);
	return true;
}

bool vg_interrupts_next(struct vg_interrupts *interrupts, struct vg_interrupt *interrupt)
{
	for (;;) {
		struct vg_ring *oldest = NULL;

		if (interrupts->current != NULL)
			vg_ring_skip(interrupts->current);
		for (size_t i = 0; i < interrupts->ring_count; i++) {
			struct vg_ring *ring = &interrupts->rings[i];

			if (vg_ring_peek(ring, interrupts->pid, &interrupts->told) &&
			    (oldest == NULL || ring->time_ns < oldest->time_ns))
				oldest = ring;
		}
		interrupts->current = oldest;
		if (oldest == NULL)
			return false;
		interrupts->taken++;
		if (sample_take(interrupts, oldest, interrupt))
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
	vg_ring_copy(interrupts->current, interrupt->stack_at, snapshot->stack, want_bytes);
	return 0;
}
