/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/timers.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* ---- rings of perf records ---- */

enum { PAGE_BYTES = 4096 };

/* Offsets in a sample, from the start of its header.  The callchain follows the time: a count, and as many words of 64
 * bits.  Then follow the ABI, the registers, and the length of the stack copy. */
enum { AT_PID = 8, AT_TID = 12, AT_TIME = 16, AT_CALLCHAIN = 24, WORD_BYTES = 8 };

/* Offsets in other records.  All have the pid, at the same offset as samples.  Exits also have the thread and the time.
 * Mappings also have the thread, at the same offset as samples, the address, the length, and the file's device and
 * inode (0: no file).  PERF_RECORD_LOST has the count of lost records. */
enum {
	AT_EXIT_TID = 16, AT_EXIT_TIME = 24, AT_MAPPED = 16, AT_MAPPED_BYTES = 24, AT_MAPPED_MAJOR = 40,
	AT_MAPPED_MINOR = 44, AT_MAPPED_INODE = 48, AT_LOST = 16,
};

/* sample_id_all adds two fields to the end of each record that is not a sample: the thread, then the time. */
enum { TIME_BEFORE_END = 8 };

/* Unmaps the ring and closes its event.  Does nothing to a ring that is not mapped. */
static void ring_unmap(struct vg_ring *ring)
{
	if (ring->head == NULL)
		return;
	munmap(ring->head, ring->data_bytes + PAGE_BYTES);
	close(ring->fd);
	ring->head = NULL;
}

/* Copies `length` bytes from position `at` of the ring.  If they reach beyond the ring's end, the copy continues at the
 * ring's beginning. */
static void ring_copy(const struct vg_ring *ring, uint64_t at, void *bytes, size_t length)
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

/* Frees the record that ring_peek() found. */
static void ring_skip(struct vg_ring *ring)
{
	ring->tail += ring->record_bytes;
	ring->time_ns = 0;
	__atomic_store_n(&ring->head->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static uint32_t ring_u32(const struct vg_ring *ring, uint64_t at)
{
	uint32_t half;

	ring_copy(ring, at, &half, sizeof half);
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

/* Finds the next record of process `pid`, and sets ring->time_ns and ring->record_type.  Skips other records.  Returns
 * false if there is none.  Further calls find the same record until ring_skip() frees it.  The kernel drops records if
 * the ring is full: their number is added to *lost. */
static bool ring_peek(struct vg_ring *ring, pid_t pid, uint64_t *lost)
{
	struct perf_event_header header;
	uint64_t at;

	if (ring->head == NULL || ring->time_ns != 0)
		return ring->time_ns != 0;
	while (ring->tail != __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE)) {
		ring_copy(ring, ring->tail, &header, sizeof header);
		ring->record_type = header.type;
		ring->record_bytes = header.size;
		at = time_at(ring);
		if (at != 0 && ring_u32(ring, ring->tail + AT_PID) == (uint32_t)pid) {
			ring->time_ns = ring_u64(ring, at) | 1; /* 0 would mean that no record was found */
			return true;
		}
		if (header.type == PERF_RECORD_LOST)
			*lost += ring_u64(ring, ring->tail + AT_LOST);
		ring_skip(ring);
	}
	return false;
}

/* ---- the clock of perf records ----
 * Their times are CLOCK_MONOTONIC of the initial time namespace (time_namespaces(7)).  The helper reads CLOCK_MONOTONIC
 * of its own namespace.  The helper's clock is ahead of the records' clock by a constant, which may be negative. */

/* Returns 0 if our time namespace is also our children's, -EXDEV if it is not, or another negative errno.  The kernel
 * shows only the offsets of the children's namespace.  Before Linux 6.1 the two namespaces differ in a program that was
 * executed after unshare(2) and vfork(2). */
static int own_namespace_check(void)
{
	struct stat own, childrens;

	if (stat("/proc/self/ns/time", &own) != 0 || stat("/proc/self/ns/time_for_children", &childrens) != 0)
		return -errno;
	return own.st_dev == childrens.st_dev && own.st_ino == childrens.st_ino ? 0 : -EXDEV;
}

/* Sets *offset_ns to how far the helper's clock is ahead of the records' clock.  Returns 0, -EXDEV if that cannot be
 * found out, or another negative errno.  One reading suffices: the offset cannot change once the namespace has a
 * process. */
static int clock_offset(int64_t *offset_ns)
{
	FILE *offsets = fopen("/proc/self/timens_offsets", "re");
	int64_t seconds, rest_ns;
	int rc;

	*offset_ns = 0;
	/* ENOENT: the kernel has no time namespaces. */
	if (offsets == NULL)
		return errno == ENOENT ? 0 : -errno;
	rc = own_namespace_check();
	/* The file has one line for each clock: its name, seconds, and nanoseconds. */
	if (rc == 0 && fscanf(offsets, "monotonic %" SCNd64 " %" SCNd64, &seconds, &rest_ns) != 2)
		rc = -EPROTO;
	fclose(offsets);
	/* No overflow: the kernel allows 146 years, and 64 bits of nanoseconds hold 292 years. */
	if (rc == 0)
		*offset_ns = seconds * 1000000000 + rest_ns;
	return rc;
}

/* ---- timers ---- */

/*
 * The kernel lets each user lock 516 KiB for each CPU (kernel.perf_event_mlock_kb), plus RLIMIT_MEMLOCK.  A ring is one
 * page for its head and 2^n pages for data.
 */
enum { RING_PAGES_MAX = 512, RING_PAGES_MIN = 32, RINGS_PAGES_MAX = 4096 };

/* Bytes of stack that a timer copies.  A thread with a deeper stack is stopped instead.  A record cannot exceed 64 KiB.
 * If the sampling period is shorter than FAST_NS (more than 250 Hz), copies are shorter, so that more samples fit into
 * a ring. */
enum { STACK_BYTES = 60 * 1024, STACK_FAST_BYTES = 32 * 1024, FAST_NS = 4 * 1000 * 1000 };

/* The most timers: TIMERS_MAX, but not more than RLIMIT_NOFILE / DESCRIPTORS_SHARE. */
enum { TIMERS_MAX = 4096, DESCRIPTORS_SHARE = 4 };

/* A sample's record without registers and stack: header, pid and tid, time, abi, reserved size, copied size. */
enum { SAMPLE_FIXED_BYTES = 8 * 6 };

/* How long a timer keeps its period.  At 99 Hz that is ten samples.  They are taken at different points of a program's
 * own period, unless the program's period and the timer's differ by only a few percent.  Each change of the period
 * loses a part of a period: at 99 Hz, 1 of 20 periods is lost.  If a timer kept its period for a shorter time, more
 * would be lost. */
static const uint64_t PERIOD_KEEP_NS = 100 * 1000 * 1000;

/* Bounds of a timer's rate, in permille of the mean rate. */
enum { RATE_MIN_PERMILLE = 750, RATE_MAX_PERMILLE = 1250 };

struct vg_timer {
	int fd, cpu;
	pid_t tid;
	uint64_t period_ns;
	uint64_t changed_ns;         /* CLOCK_MONOTONIC when it got this period */
	uint64_t previous_period_ns; /* its period before this one; 0: none */
};

/* ---- opening ---- */

/* Whether samples have callchains.  Callchains of user code would need frame pointers. */
static bool has_callchains(const struct vg_timers *timers)
{
	return timers->kernel_frames && !timers->user_only;
}

/* Opens a timer.  A sample has the fields of sample_type, in the order of the manual page.  If tid is 0, opens an event
 * of our own thread that never expires: rings are mapped from such events. */
static int timer_open(const struct vg_timers *timers, pid_t tid, int cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
			       (has_callchains(timers) ? PERF_SAMPLE_CALLCHAIN : 0),
		.exclude_callchain_user = has_callchains(timers),
		.sample_regs_user = vg_regs_perf_mask, .sample_stack_user = timers->stack_bytes,
		.exclude_kernel = timers->user_only, .exclude_hv = 1, .exclude_guest = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC, .disabled = tid == 0,
		.task = tid != 0, .mmap = tid != 0, .mmap2 = tid != 0, .sample_id_all = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? (int)fd : -errno;
}

/* Maps a ring from an event of our own thread.  This event must stay open as long as the ring is mapped.  An event of a
 * sampled thread would not do, because it may be closed earlier.  An offline CPU gets no ring.  -ENOBUFS: the ring's
 * pages cannot be locked. */
static int ring_open(struct vg_ring *ring, const struct vg_timers *timers)
{
	int fd = timer_open(timers, 0, ring->cpu, timers->mean_period_ns);
	void *at;

	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;
	at = mmap(NULL, (timers->ring_pages + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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

/* Allocates one ring for each CPU that one of the threads may run on.  A thread that later runs on another CPU is
 * stopped there. */
static int rings_alloc(struct vg_timers *timers, const struct vg_task *tasks, size_t count)
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

/* All rings have the same size.  If the pages of one ring cannot be locked, all rings are mapped again with half the
 * size. */
static int rings_map(struct vg_timers *timers, size_t max_bytes)
{
	int rc = -ENOBUFS;

	for (timers->ring_pages = ring_pages(timers, max_bytes); timers->ring_pages >= RING_PAGES_MIN;
	     timers->ring_pages /= 2) {
		rc = 0;
		for (size_t i = 0; rc == 0 && i < timers->ring_count; i++)
			rc = ring_open(&timers->rings[i], timers);
		if (rc != -ENOBUFS)
			break;
		for (size_t i = 0; i < timers->ring_count; i++)
			ring_unmap(&timers->rings[i]);
	}
	return rc;
}

static void timers_begin(struct vg_timers *timers, pid_t pid, uint64_t period_ns)
{
	struct rlimit limit;

	timers->pid = pid;
	timers->mean_period_ns = period_ns;
	timers->random = vg_now_ns() | 1;
	timers->capacity = TIMERS_MAX;
	timers->stack_bytes = period_ns < FAST_NS ? STACK_FAST_BYTES : STACK_BYTES;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / DESCRIPTORS_SHARE < TIMERS_MAX)
		timers->capacity = (size_t)limit.rlim_cur / DESCRIPTORS_SHARE;
}

/* Tries to open a timer of the thread.  perf_event_paranoid 2, the kernel's default, allows user code only. */
static int timer_try(struct vg_timers *timers, pid_t tid)
{
	int fd = timer_open(timers, tid, -1, timers->mean_period_ns);

	if (fd == -EACCES || fd == -EPERM) {
		timers->user_only = true;
		fd = timer_open(timers, tid, -1, timers->mean_period_ns);
	}
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int vg_timers_try(pid_t tid, bool *user_only)
{
	struct vg_timers timers = { .mean_period_ns = 10 * 1000 * 1000, .stack_bytes = STACK_BYTES };
	int rc = timer_try(&timers, tid);

	*user_only = timers.user_only;
	return rc;
}

int vg_timers_open(struct vg_timers *timers, pid_t pid, const struct vg_task *tasks, size_t count,
		   uint64_t period_ns, size_t max_bytes)
{
	int rc;

	vg_timers_close(timers);
	timers_begin(timers, pid, period_ns);
	if (period_ns == 0 || count == 0)
		return 0;
	rc = clock_offset(&timers->clock_offset_ns);
	/* If a thread has exited, try the next one.  Even the process's first thread may have exited. */
	if (rc == 0)
		rc = -ESRCH;
	for (size_t i = 0; rc == -ESRCH && i < count; i++)
		rc = timer_try(timers, tasks[i].tid);
	if (rc == 0)
		rc = rings_alloc(timers, tasks, count);
	if (rc == 0)
		rc = rings_map(timers, max_bytes);
	if (rc != 0)
		vg_timers_close(timers);
	return rc;
}

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
uint64_t vg_timers_random_period_ns(struct vg_timers *timers)
{
	timers->random ^= timers->random << 13;
	timers->random ^= timers->random >> 7;
	timers->random ^= timers->random << 17;
	return timers->mean_period_ns * 1000 /
	       (RATE_MIN_PERMILLE + timers->random % (RATE_MAX_PERMILLE - RATE_MIN_PERMILLE + 1));
}

/* `items` has room for the timer. */
static int timer_add(struct vg_timers *timers, const struct vg_ring *ring, pid_t tid)
{
	struct vg_timer timer = {
		.tid = tid, .cpu = ring->cpu, .period_ns = vg_timers_random_period_ns(timers),
		.changed_ns = vg_now_ns(),
	};

	timer.fd = timer_open(timers, tid, ring->cpu, timer.period_ns);
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

		if (rc != 0 && rc != -ENODEV) {      /* -ENODEV: that CPU is offline */
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
		ring_unmap(&timers->rings[i]);
	for (size_t i = 0; i < timers->count; i++)
		close(timers->items[i].fd);
	free(timers->rings);
	free(timers->items);
	*timers = (struct vg_timers){
		.pid = timers->pid, .mean_period_ns = timers->mean_period_ns, .samples = timers->samples,
		.lost = timers->lost, .kernel_frames = timers->kernel_frames,
	};
}

/* ---- reading ---- */

uint64_t vg_timers_capacity_ns(const struct vg_timers *timers)
{
	size_t sample_bytes = timers->stack_bytes + SAMPLE_FIXED_BYTES +
			      8 * (unsigned int)__builtin_popcountll(vg_regs_perf_mask) +
			      (has_callchains(timers) ? 8 * VG_KERNEL_FRAMES_MAX : 0);

	if (timers->rings == NULL)
		return 0;
	return timers->ring_pages * PAGE_BYTES / sample_bytes * timers->mean_period_ns * 1000 / RATE_MAX_PERMILLE;
}

/* NULL: the timer was removed. */
static struct vg_timer *timer_find(struct vg_timers *timers, pid_t tid, int cpu)
{
	for (size_t i = 0; i < timers->count; i++) {
		if (timers->items[i].tid == tid && timers->items[i].cpu == cpu)
			return &timers->items[i];
	}
	return NULL;
}

/* Setting a period also restarts it (kernel/events/core.c, __perf_event_period()). */
static void period_change(struct vg_timers *timers, struct vg_timer *timer)
{
	uint64_t period_ns = vg_timers_random_period_ns(timers);

	if (ioctl(timer->fd, PERF_EVENT_IOC_PERIOD, &period_ns) != 0)
		return;
	timer->previous_period_ns = timer->period_ns;
	timer->period_ns = period_ns;
	timer->changed_ns = vg_now_ns();
}

/* Returns the CPU time that the timer had measured when it took a sample at time_ns.  `timer` may be NULL. */
static uint64_t period_of(const struct vg_timers *timers, const struct vg_timer *timer, uint64_t time_ns)
{
	if (timer == NULL)
		return timers->mean_period_ns;
	return time_ns < timer->changed_ns ? timer->previous_period_ns : timer->period_ns;
}

/* Reads the sample at the ring's tail. */
static void sample_read(const struct vg_timers *timers, const struct vg_ring *ring, struct vg_timer_record *record)
{
	uint32_t registers = (uint32_t)__builtin_popcountll(vg_regs_perf_mask);
	uint64_t abi_at = ring->tail + AT_CALLCHAIN, registers_at, reserved_at, reserved, words, values[64];
	struct perf_event_header header;

	record->kind = VG_TIMER_SAMPLE;
	record->tid = (pid_t)ring_u32(ring, ring->tail + AT_TID);
	ring_copy(ring, ring->tail, &header, sizeof header);
	record->sample.in_kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (has_callchains(timers)) {
		words = ring_u64(ring, abi_at);
		if (words > ring->record_bytes / WORD_BYTES)
			return;
		record->sample.callchain_at = abi_at + WORD_BYTES;
		record->sample.callchain_count = (uint32_t)words;
		abi_at = record->sample.callchain_at + words * WORD_BYTES;
	}
	registers_at = abi_at + WORD_BYTES;
	reserved_at = registers_at + registers * WORD_BYTES;
	record->sample.stack_at = reserved_at + WORD_BYTES;
	if (ring_u64(ring, abi_at) != PERF_SAMPLE_REGS_ABI_64)
		return;
	reserved = ring_u64(ring, reserved_at);
	/* The kernel reserves `reserved` bytes for the stack.  Behind them it writes how many bytes it has copied. */
	if (reserved != 0)
		record->sample.stack_bytes = (size_t)ring_u64(ring, record->sample.stack_at + reserved);
	if (record->sample.stack_bytes > reserved)
		return;
	ring_copy(ring, registers_at, values, registers * sizeof *values);
	vg_regs_from_perf(&record->sample.regs, values);
	record->sample.readable = true;
}

/* Reads the record at the ring's tail. */
static void record_read(const struct vg_timers *timers, const struct vg_ring *ring, struct vg_timer_record *record)
{
	uint64_t at = ring->tail;

	*record = (struct vg_timer_record){ .time_ns = ring->time_ns + (uint64_t)timers->clock_offset_ns };
	switch (ring->record_type) {
	case PERF_RECORD_SAMPLE:
		sample_read(timers, ring, record);
		break;
	case PERF_RECORD_EXIT:
		record->kind = VG_TIMER_EXITED;
		record->tid = (pid_t)ring_u32(ring, at + AT_EXIT_TID);
		break;
	default:
		record->kind = VG_TIMER_MAPPED;
		record->tid = (pid_t)ring_u32(ring, at + AT_TID);
		record->mapped = (struct vg_mapping){
			.time_ns = record->time_ns,
			.address = ring_u64(ring, at + AT_MAPPED), .bytes = ring_u64(ring, at + AT_MAPPED_BYTES),
			.device = makedev(ring_u32(ring, at + AT_MAPPED_MAJOR), ring_u32(ring, at + AT_MAPPED_MINOR)),
			.inode = ring_u64(ring, at + AT_MAPPED_INODE),
		};
	}
}

bool vg_timers_next(struct vg_timers *timers, struct vg_timer_record *record)
{
	struct vg_ring *oldest = NULL;

	if (timers->current != NULL)
		ring_skip(timers->current);
	for (size_t i = 0; i < timers->ring_count; i++) {
		struct vg_ring *ring = &timers->rings[i];

		if (ring_peek(ring, timers->pid, &timers->lost) &&
		    (oldest == NULL || ring->time_ns < oldest->time_ns))
			oldest = ring;
	}
	timers->current = oldest;
	if (oldest == NULL)
		return false;
	timers->samples += oldest->record_type == PERF_RECORD_SAMPLE;
	record_read(timers, oldest, record);
	if (record->kind == VG_TIMER_SAMPLE) {
		struct vg_timer *timer = timer_find(timers, record->tid, oldest->cpu);

		record->sample.period_ns = period_of(timers, timer, record->time_ns);
		if (timer != NULL && record->time_ns > timer->changed_ns + PERIOD_KEEP_NS)
			period_change(timers, timer);
	}
	return true;
}

int vg_timers_snapshot(const struct vg_timers *timers, const struct vg_timer_record *record, size_t want_bytes,
		       struct vg_snapshot *snapshot)
{
	snapshot->stack_end_copied = record->sample.stack_bytes < timers->stack_bytes &&
				want_bytes >= record->sample.stack_bytes;
	if (want_bytes > record->sample.stack_bytes)
		want_bytes = record->sample.stack_bytes;
	if (vg_snapshot_reserve(snapshot, want_bytes) != 0)
		return -ENOMEM;
	snapshot->regs = record->sample.regs;
	snapshot->moment.time_ns = record->time_ns;
	snapshot->regs_complete = true;
	snapshot->fp_guess = 0;
	snapshot->other.bytes = 0;
	snapshot->stack_address = vg_regs_sp(&record->sample.regs);
	snapshot->stack_bytes = want_bytes;
	ring_copy(timers->current, record->sample.stack_at, snapshot->stack, want_bytes);
	return 0;
}

size_t vg_timers_kernel_frames(const struct vg_timers *timers, const struct vg_timer_record *record,
			       uint64_t addresses[VG_KERNEL_FRAMES_MAX])
{
	size_t count = 0;

	for (uint32_t i = 0; i < record->sample.callchain_count && count < VG_KERNEL_FRAMES_MAX; i++) {
		uint64_t word = ring_u64(timers->current, record->sample.callchain_at + i * WORD_BYTES);

		/* Markers are the highest numbers of 64 bits. */
		if (word >= (uint64_t)PERF_CONTEXT_MAX || word == 0)
			continue;
		addresses[count] = count == 0 ? word : word - 1;
		count++;
	}
	return count;
}
