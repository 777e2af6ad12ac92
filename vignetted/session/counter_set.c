/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/counter_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>


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
	struct vg_counters **counters = &account->counters;
	uint32_t at = 0;
	int rc;

	if (counter_set->count == 0 || *counters != NULL || task->untraceable)
		return;
	if (counter_set->open + counter_set->count > counter_set->open_max) {
		thread_refused(counter_set, -EMFILE, 0);
		return;
	}
	*counters = malloc(sizeof **counters);
	rc = *counters != NULL ? vg_counters_open(*counters, counter_set->codes, task->tid, &at) : -ENOMEM;
	if (rc == 0) {
		counter_set->open += counter_set->count;
		return;
	}
	free(*counters);
	*counters = NULL;
	if (rc != -ESRCH)                /* -ESRCH: the thread has exited */
		thread_refused(counter_set, rc, at);
}

static void thread_close(struct vg_counter_set *counter_set, struct vg_account *account)
{
	struct vg_counters **counters = &account->counters;

	if (*counters == NULL)
		return;
	vg_counters_close(*counters);
	counter_set->open -= counter_set->count;
	free(*counters);
	*counters = NULL;
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
	       vg_counters_error(err, counter_set->codes[counter_set->refused_at], counter_set->refused);
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
