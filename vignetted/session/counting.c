/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/counting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "vignetted/session/recording.h"

/* This share of the descriptors that may be open is for counters.  Timers have a quarter (capture/timers.c), and the files
 * of threads have what the two leave. */
enum { DESCRIPTORS_SHARE = 4, FILES_SHARE = 2 };

void vg_counting_open(struct vg_counting *counting, const uint16_t codes[VG_COUNTERS_MAX])
{
	char name[VG_COUNTER_NAME_BYTES];

	*counting = (struct vg_counting){ .count = vg_counters_count(codes) };
	for (uint32_t i = 0; i < counting->count; i++) {
		counting->codes[i] = codes[i];
		if (i > 0)
			strcat(counting->names, ",");
		strcat(counting->names, vg_counter_name(codes[i], name));
	}
}

static void refuse(struct vg_counting *counting, int rc, uint32_t at)
{
	if (counting->refused == 0) {
		counting->refused = rc;
		counting->refused_at = at;
	}
	counting->threads_without++;
}

void vg_counting_thread(struct vg_recording *recording, struct vg_task *task)
{
	struct vg_counting *counting = &recording->counting;
	struct vg_counters **counters = &task->accounts[recording->index].counters;
	uint32_t at = 0;
	int rc;

	if (counting->count == 0 || *counters != NULL || task->untraceable)
		return;
	if (counting->open + counting->count > counting->open_max) {
		refuse(counting, -EMFILE, 0);
		return;
	}
	*counters = malloc(sizeof **counters);
	rc = *counters != NULL ? vg_counters_open(*counters, counting->codes, task->tid, &at) : -ENOMEM;
	if (rc == 0) {
		counting->open += counting->count;
		return;
	}
	free(*counters);
	*counters = NULL;
	if (rc != -ESRCH)                /* it has ended */
		refuse(counting, rc, at);
}

static void thread_close(struct vg_recording *recording, struct vg_task *task)
{
	struct vg_counters **counters = &task->accounts[recording->index].counters;

	if (*counters == NULL)
		return;
	vg_counters_close(*counters);
	recording->counting.open -= recording->counting.count;
	free(*counters);
	*counters = NULL;
}

/* All recordings have the same share: one does not know how many will come. */
void vg_counting_begin(struct vg_counting *counting, struct vg_tasks *tasks, size_t others_open)
{
	struct rlimit limit;
	size_t most = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		most = (size_t)limit.rlim_cur;
	counting->running = true;
	counting->open_max = most / DESCRIPTORS_SHARE;
	counting->open_max -= others_open < counting->open_max ? others_open : counting->open_max;
	if (tasks->kept_open_max > most / FILES_SHARE)
		tasks->kept_open_max = most / FILES_SHARE;
}

int vg_counting_check(const struct vg_counting *counting, const struct vg_tasks *tasks, struct vg_err *err)
{
	size_t threads = tasks->live.count;

	if (counting->refused == -EMFILE)
		return vg_err_set(err, -EMFILE, "%s cannot be counted in %zu thread%s: that takes %zu "
				  "descriptors, and the helper has %zu for it", counting->names,
				  threads, threads == 1 ? "" : "s", threads * counting->count, counting->open_max);
	return counting->refused == 0 ? 0 :
	       vg_counters_refused(err, counting->codes[counting->refused_at], counting->refused);
}

/* A thread that is stopped loses its CPU, once. */
static void own_leave_out(struct vg_counters *counters, const uint16_t codes[VG_COUNTERS_MAX],
			  uint64_t values[VG_COUNTERS_MAX])
{
	for (uint32_t i = 0; i < vg_counters_count(codes); i++) {
		if ((codes[i] & VG_COUNTER_NUMBER) == VG_COUNTER_CONTEXT_SWITCHES)
			values[i] -= values[i] < counters->stops ? values[i] : counters->stops;
	}
	counters->stops = 0;
}

static void account_write(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns)
{
	struct vg_counting *counting = &recording->counting;
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_writer_count count = {
		.thread = account->id, .count = counting->count,
		.time_ns = now_ns,
	};
	int rc;

	account->uncounted = false;
	if (account->counters == NULL)
		return;
	rc = vg_counters_take(account->counters, counting->codes, count.values);
	/* By an execve(2) in another thread this one has become that. */
	if (rc == -ESRCH) {
		thread_close(recording, task);
		vg_counting_thread(recording, task);
	}
	/* Zeros too: what comes next does not stand for the time before. */
	if (rc != 0)
		return;
	own_leave_out(account->counters, counting->codes, count.values);
	vg_writer_count(&recording->recorder.writer, &count);
}

void vg_counting_write(struct vg_recording *recording, struct vg_task *task, uint64_t stops, uint64_t now_ns)
{
	struct vg_account *account = &task->accounts[recording->index];

	if (account->counters != NULL)
		account->counters->stops += (uint32_t)stops;
	if (account->uncounted)
		account_write(recording, task, now_ns);
}

void vg_counting_thread_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns)
{
	if (!recording->counting.running)
		return;
	account_write(recording, task, end_ns);
	thread_close(recording, task);
}

void vg_counting_end(struct vg_recording *recording, struct vg_tasks *tasks, uint64_t now_ns)
{
	/* The first thread of a process that has ended is there until it is reaped, and what it counted
	 * since its latest sample can be read. */
	for (size_t i = 0; i < tasks->live.count; i++)
		vg_counting_thread_end(recording, &tasks->live.items[i], now_ns);
	recording->counting.running = false;
}
