/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/threads.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "vignetted/session/account.h"
#include "vignetted/session/recordings.h"

/* Most stacks fit this; a thread that outruns it gets more. */
enum { SNAPSHOT_FIRST_BYTES = 16 * 1024 };

/* Threads get their names when they begin; later the name is read once a second. */
enum { SAMPLES_YOUNG = 4 };

/* When the thread began, in session time: between the latest scan and this one, so in the middle.  Threads that live shorter
 * than that are found by chance; those that are found stand for the others, too.  Where scans are far apart, proc(5) tells
 * more exactly, in clock ticks since boot. */
static uint64_t begin_ns_of(const struct vg_session *session, const struct vg_task_status *status, uint64_t now_ns)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK), begin_ns = session->scan_ns + (now_ns - session->scan_ns) / 2;
	uint64_t boot_ns = vg_clock_ns(CLOCK_BOOTTIME), started_ns = status->start_ticks * tick_ns + now_ns;

	if (now_ns - session->scan_ns < 2 * tick_ns || started_ns < boot_ns)
		return begin_ns;
	started_ns -= boot_ns;
	if (begin_ns < started_ns)
		begin_ns = started_ns;
	if (begin_ns > started_ns + tick_ns)
		begin_ns = started_ns + tick_ns;
	return begin_ns < session->scan_ns ? session->scan_ns : begin_ns > now_ns ? now_ns : begin_ns;
}

static void name_set(struct vg_task *task, const struct vg_task_status *status)
{
	if (strcmp(task->name, status->name) == 0)
		return;
	memcpy(task->name, status->name, sizeof task->name);
	task->name_number++;
}

/* For those live recordings that do not know the thread; makes it ready to be sampled. */
static void thread_begin(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status = { .name = "?" };
	struct vg_thread thread = { .tid = task->tid };
	uint64_t begin_ns;
	bool gone;

	/* Of thousands. */
	vg_priority_lower(&session->tracer.priority);
	/* At once, though it costs as much as a short thread lives: a poller of io_uring's can be seized
	 * for all that ptrace(2) says, and then does not stop; nor does a thread that has begun to exit. */
	gone = vg_task_status(&session->tasks, task->tid, &status) == -ESRCH;
	task->exiting = (gone || status.exiting) && task->tid != session->target.pid;
	task->found_ready_ns = status.state == 'R' ? vg_now_ns() : 0;
	/* What the program's own logs call it. */
	if (session->target.nested)
		thread.tid = vg_task_own_tid(&session->tasks, task->tid);
	begin_ns = begin_ns_of(session, &status, now_ns);
	if (task->copy.bytes == 0)
		task->copy.bytes = SNAPSHOT_FIRST_BYTES;
	task->untraceable = status.of_kernel;
	task->young = SAMPLES_YOUNG;
	name_set(task, &status);
	VG_EACH_RECORDING(i, session->live & ~task->begun)
		vg_account_begin(&session->recordings[i], task, thread, begin_ns);
}

/* The kernel records the end of a thread that has timers.  Another one ended between two scans, so in the middle. */
static uint64_t end_ns_of(const struct vg_session *session, const struct vg_task *task, uint64_t now_ns)
{
	return task->timers.ended_ns != 0 ? task->timers.ended_ns : session->scan_ns + (now_ns - session->scan_ns) / 2;
}

static void thread_end(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	/* The kernel keeps the descriptors of a thread that has ended. */
	if (task->timers.open)
		vg_timers_remove(&session->timers, task->tid);
	VG_EACH_RECORDING(i, session->live & task->begun)
		vg_account_end(&session->recordings[i], task, end_ns_of(session, task, now_ns));
}

int vg_threads_scan(struct vg_session *session)
{
	uint64_t now_ns = vg_session_now_ns(session);
	int scanned = vg_tasks_scan(&session->tasks);

	/* The kernel's list may be empty for a moment, while a thread that is not the first executes a
	 * program and takes that one's place. */
	if (scanned == -ESRCH && !vg_target_ended(&session->target, 0)) {
		session->tasks.stale = true;
		return 0;
	}
	for (size_t i = 0; scanned == 0 && i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (task->seen && (session->live & ~task->begun) != 0)
			thread_begin(session, task, now_ns);
	}
	/* While those that are gone are still known. */
	vg_recordings_events(session, false);
	/* Of a process that is gone the threads are too, and what they have not written yet is due. */
	for (size_t i = 0; i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (!task->seen)
			thread_end(session, task, now_ns);
	}
	vg_tasks_sweep(&session->tasks);
	if (session->tasks.names_read)
		session->scan_ns = now_ns;
	return scanned;
}

int vg_threads_scan_due(struct vg_session *session)
{
	if (!session->activity.rest_still)
		return vg_threads_scan(session);
	vg_recordings_events(session, false);
	/* Nobody has come or gone. */
	session->scan_ns = session->activity.round_ns;
	return 0;
}

void vg_threads_name(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status;
	vg_recording_set wanted = 0;

	VG_EACH_RECORDING(i, session->live & task->begun)
		wanted |= (uint32_t)session->recordings[i].options.thread_names << i;
	if (wanted == 0 || task->named || vg_task_status(&session->tasks, task->tid, &status) != 0)
		return;
	name_set(task, &status);
	VG_EACH_RECORDING(i, wanted)
		vg_account_name(&session->recordings[i], task, now_ns);
}

void vg_threads_names(struct vg_session *session)
{
	uint64_t now_ns = vg_session_now_ns(session);

	for (size_t i = 0; i < session->tasks.live.count; i++) {
		struct vg_task *task = &session->tasks.live.items[i];

		if (task->ran)
			vg_threads_name(session, task, now_ns);
		task->ran = false;
	}
}

void vg_threads_gone(struct vg_session *session, struct vg_task *task)
{
	task->exiting = task->tid != session->target.pid;
	session->tasks.stale = true;
}
