/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vignetted/target/target.h"

/* The greatest kernel.perf_event_paranoid at which a user may count kernel code: PARANOID_ALL.  The greatest at which a
 * user may count user code: PARANOID_USER. */
enum { PARANOID_ALL = 1, PARANOID_USER = 2 };

/* read(2) of a group returns the number of perf counters, the enabled time, the running time, and then the values. */
enum { GROUP_HEADER_WORDS = 3 };

static bool is_hardware(uint16_t code)
{
	return (code & VG_COUNTER_NUMBER) >= VG_COUNTER_HARDWARE_FIRST;
}

static uint64_t config_of(uint16_t code)
{
	switch ((enum vg_counter)(code & VG_COUNTER_NUMBER)) {
	case VG_COUNTER_TASK_CLOCK: return PERF_COUNT_SW_TASK_CLOCK;
	case VG_COUNTER_PAGE_FAULTS: return PERF_COUNT_SW_PAGE_FAULTS;
	case VG_COUNTER_MINOR_FAULTS: return PERF_COUNT_SW_PAGE_FAULTS_MIN;
	case VG_COUNTER_MAJOR_FAULTS: return PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	case VG_COUNTER_CONTEXT_SWITCHES: return PERF_COUNT_SW_CONTEXT_SWITCHES;
	case VG_COUNTER_CPU_MIGRATIONS: return PERF_COUNT_SW_CPU_MIGRATIONS;
	case VG_COUNTER_CYCLES: return PERF_COUNT_HW_CPU_CYCLES;
	case VG_COUNTER_INSTRUCTIONS: return PERF_COUNT_HW_INSTRUCTIONS;
	case VG_COUNTER_CACHE_REFERENCES: return PERF_COUNT_HW_CACHE_REFERENCES;
	case VG_COUNTER_CACHE_MISSES: return PERF_COUNT_HW_CACHE_MISSES;
	case VG_COUNTER_BRANCHES: return PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	case VG_COUNTER_BRANCH_MISSES: return PERF_COUNT_HW_BRANCH_MISSES;
	case VG_COUNTER_BUS_CYCLES: return PERF_COUNT_HW_BUS_CYCLES;
	case VG_COUNTER_REF_CYCLES: return PERF_COUNT_HW_REF_CPU_CYCLES;
	case VG_COUNTER_STALLED_FRONTEND: return PERF_COUNT_HW_STALLED_CYCLES_FRONTEND;
	case VG_COUNTER_STALLED_BACKEND: return PERF_COUNT_HW_STALLED_CYCLES_BACKEND;
	case VG_COUNTER_NUMBER: case VG_COUNTER_USER: case VG_COUNTER_KERNEL:
		break;
	}
	return PERF_COUNT_SW_DUMMY;
}

/* exclude_kernel does not change what task-clock counts.  With exclude_kernel, perf_event_paranoid 2 allows
 * task-clock. */
static bool is_user_only(uint16_t code)
{
	return (code & VG_COUNTER_USER) != 0 || (code & VG_COUNTER_NUMBER) == VG_COUNTER_TASK_CLOCK;
}

static int event_open(uint16_t code, pid_t tid, int group)
{
	struct perf_event_attr attr = {
		.type = is_hardware(code) ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = sizeof attr, .config = config_of(code),
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = is_user_only(code), .exclude_hv = is_user_only(code),
		.exclude_user = (code & VG_COUNTER_KERNEL) != 0,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? (int)fd : -errno;
}

/* Returns the index of the first perf counter in the group of perf counter `at`.  That may be `at` itself. */
static uint32_t leader_of(const uint16_t codes[VG_COUNTERS_MAX], uint32_t at)
{
	uint32_t leader = 0;

	while (is_hardware(codes[leader]) != is_hardware(codes[at]))
		leader++;
	return leader;
}

/* If the thread has exited, adding an event to its group fails with an error other than ESRCH.  But opening an event
 * without a group fails with ESRCH. */
static bool thread_exited(uint16_t code, pid_t tid)
{
	int fd = event_open(code, tid, -1);

	if (fd >= 0)
		close(fd);
	return fd == -ESRCH;
}

/* Opens the perf counters of a thread.  Returns 0, or the error of the first perf counter that is refused, and sets *at
 * to its index.  -ESRCH: the thread has exited.  After an error nothing is open. */
static int counters_open(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX], pid_t tid, uint32_t *at)
{
	*counters = (struct vg_counters){ 0 };
	for (uint32_t i = 0; i < VG_COUNTERS_MAX; i++)
		counters->fds[i] = -1;
	for (uint32_t i = 0; i < vg_counters_count(codes); i++) {
		uint32_t leader = leader_of(codes, i);
		int fd = event_open(codes[i], tid, leader < i ? counters->fds[leader] : -1);

		if (fd < 0) {
			*at = i;
			vg_counters_close(counters);
			return leader < i && thread_exited(codes[leader], tid) ? -ESRCH : fd;
		}
		counters->fds[i] = fd;
	}
	return 0;
}

void vg_counters_close(struct vg_counters *counters)
{
	/* Close a group's first perf counter last.  Otherwise the kernel first makes each of the others a group of its
	 * own. */
	for (uint32_t i = VG_COUNTERS_MAX; i-- > 0;) {
		if (counters->fds[i] >= 0)
			close(counters->fds[i]);
		counters->fds[i] = -1;
	}
}

/* If the CPU counted for only a part of the enabled time, scales the value up to the whole enabled time. */
static uint64_t scale_to_enabled(uint64_t value, uint64_t enabled_ns, uint64_t running_ns)
{
	__uint128_t scaled;

	if (running_ns == 0 || running_ns >= enabled_ns)
		return value;
	scaled = (__uint128_t)value * enabled_ns / running_ns;
	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* Whether the counted thread has exited.  Its id may still exist: execve(2) gives the first thread's id to the thread
 * that calls it. */
static bool has_ended(int fd)
{
	struct pollfd of = { .fd = fd };

	return poll(&of, 1, 0) == 1 && (of.revents & POLLHUP) != 0;
}

/* Reads the group whose first perf counter has the index `leader`. */
static int group_read(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX],
		      uint32_t leader, uint64_t values[VG_COUNTERS_MAX])
{
	uint64_t words[GROUP_HEADER_WORDS + VG_COUNTERS_MAX], now;
	ssize_t got = read(counters->fds[leader], words, sizeof words);
	uint32_t next = 0;

	if (got < 0)
		return -errno;
	if (got < (ssize_t)(GROUP_HEADER_WORDS * sizeof *words) || words[0] > VG_COUNTERS_MAX ||
	    got < (ssize_t)((GROUP_HEADER_WORDS + words[0]) * sizeof *words))
		return -EIO;
	if (leader == 0 && words[1] == counters->enabled_ns && has_ended(counters->fds[0]))
		return -ESRCH;
	if (leader == 0)
		counters->enabled_ns = words[1];
	for (uint32_t i = leader; i < vg_counters_count(codes) && next < words[0]; i++) {
		if (leader_of(codes, i) != leader)
			continue;
		now = scale_to_enabled(words[GROUP_HEADER_WORDS + next++], words[1], words[2]);
		/* A scaled value may be less than an earlier one, which was an estimate.  The growth is then 0. */
		values[i] = now > counters->reported[i] ? now - counters->reported[i] : 0;
		counters->reported[i] += values[i];
	}
	return 0;
}

int vg_counters_read(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX],
		     uint64_t values[VG_COUNTERS_MAX])
{
	int rc = 0;

	memset(values, 0, VG_COUNTERS_MAX * sizeof *values);
	for (uint32_t i = 0; rc == 0 && i < vg_counters_count(codes); i++) {
		if (leader_of(codes, i) == i)
			rc = group_read(counters, codes, i, values);
	}
	return rc;
}

/* ---- messages ---- */

int vg_counters_paranoid_level(void)
{
	return vg_proc_number("/proc/sys/kernel/perf_event_paranoid", INT32_MIN);
}

static int forbidden(struct vg_err *err, uint16_t code, const char *name, int rc)
{
	char user[VG_COUNTER_NAME_BYTES];
	int level = vg_counters_paranoid_level();
	bool has_user_part = (code & VG_COUNTER_KERNEL) == 0 &&
			     (code & VG_COUNTER_NUMBER) != VG_COUNTER_CONTEXT_SWITCHES &&
			     (code & VG_COUNTER_NUMBER) != VG_COUNTER_CPU_MIGRATIONS;

	if (level > PARANOID_USER)
		return vg_err_set(err, rc, "%s cannot be counted: kernel.perf_event_paranoid is %d, which allows no "
				  "perf counters without CAP_PERFMON", name, level);
	if (level > PARANOID_ALL && !is_user_only(code))
		return vg_err_set(err, rc, "%s cannot be counted: kernel.perf_event_paranoid is %d, which allows no "
				  "counting in the kernel without CAP_PERFMON%s%s", name, level,
				  has_user_part ? "; use " : "", has_user_part ?
				  vg_counter_name((uint16_t)(code | VG_COUNTER_USER), user) : "");
	return vg_err_set(err, rc, "%s cannot be counted: perf_event_open(2) is forbidden, by a container's "
			  "seccomp filter or another policy", name);
}

/* Sets a message that explains why the perf counter is not available.  Returns rc. */
static int counter_error(struct vg_err *err, uint16_t code, int rc)
{
	char name[VG_COUNTER_NAME_BYTES];

	vg_counter_name(code, name);
	switch (rc) {
	case -EACCES: case -EPERM:
		return forbidden(err, code, name, rc);
	case -ENOENT: case -EOPNOTSUPP: case -ENODEV:
		return vg_err_set(err, rc, "%s cannot be counted: %s", name, is_hardware(code) ?
				  "the CPU or the virtual machine has no such perf counter" :
				  "this kernel has no such perf counter");
	case -EINVAL:
		return vg_err_set(err, rc, "%s cannot be counted%s", name, is_hardware(code) ?
				  " together with the others: the CPU has too few perf counters" :
				  ": this kernel does not support it");
	case -EMFILE: case -ENFILE:
		return vg_err_set(err, rc, "%s cannot be counted: it needs one descriptor for each thread, and the "
				  "limit of open files is reached", name);
	case -ENOSYS:
		return vg_err_set(err, rc, "%s cannot be counted: this kernel has no perf_event_open(2)", name);
	}
	return vg_err_sys(err, rc, "%s cannot be counted", name);
}

/* ---- the perf counters of a recording ---- */

/* Shares of RLIMIT_NOFILE: a quarter is for perf counters, and half for the files of threads in /proc.  The last
 * quarter is for timers (capture/timers.c). */
enum { DESCRIPTORS_SHARE = 4, FILES_SHARE = 2 };

void vg_counter_set_open(struct vg_counter_set *counter_set, const uint16_t codes[VG_COUNTERS_MAX])
{
	char name[VG_COUNTER_NAME_BYTES];

	*counter_set = (struct vg_counter_set){ .count = vg_counters_count(codes) };
	for (uint32_t i = 0; i < counter_set->count; i++) {
		counter_set->codes[i] = codes[i];
		if (i > 0)
			strcat(counter_set->names, ",");
		strcat(counter_set->names, vg_counter_name(codes[i], name));
	}
}

static void thread_refused(struct vg_counter_set *counter_set, int rc, uint32_t at)
{
	if (counter_set->refused == 0) {
		counter_set->refused = rc;
		counter_set->refused_at = at;
	}
	counter_set->threads_without++;
}

void vg_counter_set_thread_open(struct vg_counter_set *counter_set, const struct vg_task *task,
				struct vg_account *account)
{
	struct vg_counters *counters;
	uint32_t at = 0;
	int rc;

	if (counter_set->count == 0 || account->counters != NULL || task->untraceable)
		return;
	if (counter_set->open + counter_set->count > counter_set->open_max) {
		thread_refused(counter_set, -EMFILE, 0);
		return;
	}
	counters = malloc(sizeof *counters);
	rc = counters != NULL ? counters_open(counters, counter_set->codes, task->tid, &at) : -ENOMEM;
	if (rc == 0) {
		account->counters = counters;
		counter_set->open += counter_set->count;
		return;
	}
	free(counters);
	if (rc != -ESRCH)                /* -ESRCH: the thread has exited */
		thread_refused(counter_set, rc, at);
}

static void thread_close(struct vg_counter_set *counter_set, struct vg_account *account)
{
	if (account->counters == NULL)
		return;
	vg_counters_close(account->counters);
	counter_set->open -= counter_set->count;
	free(account->counters);
	account->counters = NULL;
}

/* All recordings together use one share, because it is not known how many recordings will begin. */
void vg_counter_set_begin(struct vg_counter_set *counter_set, struct vg_tasks *tasks, size_t others_open)
{
	struct rlimit limit;
	size_t most = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		most = (size_t)limit.rlim_cur;
	counter_set->running = true;
	counter_set->open_max = most / DESCRIPTORS_SHARE;
	counter_set->open_max -= others_open < counter_set->open_max ? others_open : counter_set->open_max;
	if (tasks->open_files_max > most / FILES_SHARE)
		tasks->open_files_max = most / FILES_SHARE;
}

int vg_counter_set_check(const struct vg_counter_set *counter_set, const struct vg_tasks *tasks, struct vg_err *err)
{
	size_t threads = tasks->live.count;

	if (counter_set->refused == -EMFILE)
		return vg_err_set(err, -EMFILE, "%s cannot be counted in %zu thread%s: that needs %zu "
				  "descriptors, and %zu are available (a quarter of the limit of open files)",
				  counter_set->names, threads, threads == 1 ? "" : "s", threads * counter_set->count,
				  counter_set->open_max);
	return counter_set->refused == 0 ? 0 :
	       counter_error(err, counter_set->codes[counter_set->refused_at], counter_set->refused);
}

/* Subtracts our own stops from the context switches: each stop takes the thread off its CPU once. */
static void own_stops_subtract(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX],
			       uint64_t values[VG_COUNTERS_MAX])
{
	for (uint32_t i = 0; i < vg_counters_count(codes); i++) {
		if ((codes[i] & VG_COUNTER_NUMBER) == VG_COUNTER_CONTEXT_SWITCHES)
			values[i] -= values[i] < counters->stops ? values[i] : counters->stops;
	}
	counters->stops = 0;
}

static void account_write(struct vg_counter_set *counter_set, struct vg_writer *writer, const struct vg_task *task,
			  struct vg_account *account, uint64_t now_ns)
{
	struct vg_writer_perf_counters count = {
		.thread = account->id, .count = counter_set->count, .time_ns = now_ns,
	};
	int rc;

	account->counters_due = false;
	if (account->counters == NULL)
		return;
	rc = vg_counters_read(account->counters, counter_set->codes, count.values);
	/* Another thread has called execve(2) and taken this thread's id. */
	if (rc == -ESRCH) {
		thread_close(counter_set, account);
		vg_counter_set_thread_open(counter_set, task, account);
	}
	if (rc != 0)
		return;
	own_stops_subtract(account->counters, counter_set->codes, count.values);
	/* Write a reading even if all its values are 0.  Without it, the next reading in the profile would seem to
	 * cover the time of both. */
	vg_writer_perf_counters(writer, &count);
}

void vg_counter_set_thread_write(struct vg_counter_set *counter_set, struct vg_writer *writer,
				 const struct vg_task *task, struct vg_account *account, uint64_t stops,
				 uint64_t now_ns)
{
	if (account->counters != NULL)
		account->counters->stops += (uint32_t)stops;
	if (account->counters_due)
		account_write(counter_set, writer, task, account, now_ns);
}

void vg_counter_set_thread_end(struct vg_counter_set *counter_set, struct vg_writer *writer,
			       const struct vg_task *task, struct vg_account *account, uint64_t end_ns)
{
	if (!counter_set->running)
		return;
	account_write(counter_set, writer, task, account, end_ns);
	thread_close(counter_set, account);
}

void vg_counter_set_end(struct vg_counter_set *counter_set, struct vg_writer *writer, struct vg_tasks *tasks,
			uint32_t index, uint64_t now_ns)
{
	/* The first thread of an ended process exists until it is reaped, and its counters can be read. */
	VG_EACH_TASK(task, tasks)
		vg_counter_set_thread_end(counter_set, writer, task, &task->accounts[index], now_ns);
	counter_set->running = false;
}
