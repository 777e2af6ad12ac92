/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/threads.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "vignetted/session/account.h"
#include "vignetted/session/recording.h"

/* Size of the first copy of a thread's stack.  Most stacks fit.  Deeper ones are copied again. */
enum { SNAPSHOT_FIRST_BYTES = 16 * 1024 };

/* A process exits in less time than this, unless another tracer has stopped one of its threads. */
enum { EXIT_TIMEOUT_NS = 400 * 1000 * 1000 };

/* If a recording's only thread has ended, the process may be about to end, although another thread seems to be alive: a
 * thread that has taken its SIGKILL and is not in the exit path yet. */
enum { PROCESS_EXIT_WAIT_MS = 20 };

/* Returns the session time of the thread's creation.  The creation is between the latest scan and this one, so the
 * middle is taken.  Some threads that this scan finds were created after the middle.  Their additional time makes up
 * for threads that were not found.  If scans are far apart, the start time in proc(5), in clock ticks since boot, is
 * more exact. */
static uint64_t begin_ns_of(const struct vg_session *session, const struct vg_task_status *status, uint64_t now_ns)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t begin_ns = session->scan_ns + (now_ns - session->scan_ns) / 2;
	/* Both clocks are read here: the scan's time may be long ago. */
	uint64_t boot_ns = vg_clock_ns(CLOCK_BOOTTIME);
	uint64_t started_ns = status->start_ticks * tick_ns + vg_session_now_ns(session);

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

/* Sets unsampled_ns[i], for each live recording, to the process's CPU time that is in no sample of the recording and in
 * no balance of a thread.  Exited threads used it: some were never found, others used it after they were last read.
 * One scheduler tick is added, because the kernel updates the process's CPU time only at scheduler ticks. */
static void unsampled_read(const struct vg_session *session, uint64_t unsampled_ns[VG_RECORDINGS_MAX])
{
	VG_EACH_RECORDING(i, session->live) {
		const struct vg_recording *recording = &session->recordings[i];
		uint64_t process_ns = vg_recording_cpu_used_ns(recording, session->activity.process_cpu_ns) +
				      session->scheduler_tick_ns;
		int64_t known_ns = (int64_t)recording->recorder.cpu_ns;

		VG_EACH_TASK(task, &session->tasks) {
			if ((task->in_profiles & 1u << i) != 0)
				known_ns += task->accounts[i].weights.cpu_balance_ns;
		}
		unsampled_ns[i] = (int64_t)process_ns > known_ns ? process_ns - (uint64_t)known_ns : 0;
	}
}

/* Returns the live recordings that want the thread and do not have it yet. */
static vg_recording_set wanted_in(const struct vg_session *session, const struct vg_task *task)
{
	vg_recording_set wanted = 0;

	VG_EACH_RECORDING(i, session->live & ~task->in_profiles) {
		pid_t only = session->recordings[i].options.thread;

		wanted |= (uint32_t)(only == 0 || only == task->tid) << i;
	}
	return wanted;
}

/* Reads a new thread's status, and begins its accounts in the recordings of `wanted`. */
static void thread_begin(struct vg_session *session, struct vg_task *task, vg_recording_set wanted, uint64_t now_ns,
			 uint64_t *unsampled_ns)
{
	struct vg_task_status status = { .name = "?" };
	struct vg_thread thread = { .tid = task->tid };
	uint32_t ids[VG_RECORDINGS_MAX];
	uint64_t begin_ns;
	bool exited;

	/* Lower the priority, because there may be thousands of new threads. */
	vg_priority_lower(&session->tracer.priority);
	/* Read the status at once, although that takes as long as a short thread lives.  io_uring's kernel threads
	 * and exiting threads must be known before a stop: PTRACE_SEIZE of them succeeds, but they never stop. */
	exited = vg_task_status(&session->tasks, task->tid, &status) == -ESRCH;
	task->exiting = (exited || status.exiting) && task->tid != session->target.pid;
	task->found_running_ns = status.state == 'R' ? vg_now_ns() : 0;
	/* Use the id in the program's own pid namespace, because the program's logs have that id. */
	if (session->target.in_inner_namespace)
		thread.tid = vg_task_namespace_tid(&session->tasks, task->tid);
	begin_ns = begin_ns_of(session, &status, now_ns);
	if (task->copy.bytes == 0)
		task->copy.bytes = SNAPSHOT_FIRST_BYTES;
	task->untraceable = status.is_kernel_worker;
	name_set(task, &status);
	vg_events_task_found(&session->events, task, ids);
	VG_EACH_RECORDING(i, wanted) {
		thread.id = ids[i];
		vg_account_begin(&session->recordings[i], task, thread, begin_ns, now_ns, &unsampled_ns[i]);
	}
}

static void threads_begin(struct vg_session *session, uint64_t now_ns)
{
	uint64_t unsampled_ns[VG_RECORDINGS_MAX];
	bool first = true;

	VG_EACH_TASK(task, &session->tasks) {
		vg_recording_set wanted = wanted_in(session, task);

		if (!task->seen || wanted == 0)
			continue;
		if (first)
			unsampled_read(session, unsampled_ns);
		first = false;
		thread_begin(session, task, wanted, now_ns, unsampled_ns);
	}
	VG_EACH_RECORDING(i, session->live)
		session->recordings[i].scanned = true;
}

/* Ends the accounts of threads that have exited.  If the process has ended, that is all threads. */
static void threads_end(struct vg_session *session, uint64_t now_ns)
{
	uint64_t unsampled_ns[VG_RECORDINGS_MAX];
	bool first = true;

	VG_EACH_TASK(task, &session->tasks) {
		/* For a thread with timers, the kernel has recorded the exit.  Any other thread exited between the
		 * latest scan and this one, so the middle is taken. */
		uint64_t end_ns = task->timers.ended_ns != 0 ? task->timers.ended_ns :
				  session->scan_ns + (now_ns - session->scan_ns) / 2;

		if (task->seen)
			continue;
		if (first)
			unsampled_read(session, unsampled_ns);
		first = false;
		/* The kernel does not close the timers of an exited thread. */
		if (task->timers.open)
			vg_timers_remove(&session->timers, task->tid);
		VG_EACH_RECORDING(i, session->live & task->in_profiles)
			vg_account_thread_end(&session->recordings[i], task, end_ns, &unsampled_ns[i]);
	}
}

/* Returns whether all threads of the process have exited or are exiting.  In the second case, waits for up to 0.4 s for
 * the exit of the process. */
static bool all_exit(struct vg_session *session)
{
	/* The limit is a time and not a number of turns of this loop: a turn reads the state of every thread, and there
	 * may be thousands. */
	const uint64_t deadline_ns = vg_now_ns() + EXIT_TIMEOUT_NS;
	bool last = false;

	/* The wait is needed because a process closes its descriptors, and its threads exit, before its pidfd reports
	 * the exit.  The exit is also delayed until we reap a thread that was killed while it was our tracee. */
	for (int wait_ms = 0; !last && !vg_target_exited(&session->target, wait_ms); wait_ms = 1) {
		last = vg_now_ns() >= deadline_ns;
		if (vg_tasks_any_alive(&session->tasks))
			return false;
		vg_tracer_pending_release(&session->tracer);
	}
	return true;
}

/* If each live recording is of one thread, scans look for these threads only. */
static void threads_choose(struct vg_session *session)
{
	pid_t tids[VG_RECORDINGS_MAX];
	size_t count = 0;

	VG_EACH_RECORDING(i, session->live) {
		tids[count] = session->recordings[i].options.thread;
		if (tids[count++] == 0) {
			count = 0;
			break;
		}
	}
	vg_tasks_choose(&session->tasks, tids, count);
}

/* Stops the recordings of one thread whose thread has ended. */
static void chosen_end(struct vg_session *session)
{
	size_t hint = 0;

	VG_EACH_RECORDING(i, session->live) {
		struct vg_recording *recording = &session->recordings[i];
		pid_t tid = recording->options.thread;
		const struct vg_task *task = tid != 0 ? vg_tasks_find(&session->tasks, tid, &hint) : NULL;
		bool known = task != NULL && (task->in_profiles & 1u << i) != 0;

		/* The first thread of a process stays in the list when it has exited.  A thread that is not in the list
		 * may be beyond vg_tasks.max. */
		if (tid == 0 || ((known || session->tasks.excess > 0) && vg_task_is_alive(&session->tasks, tid)))
			continue;
		vg_recording_stop(session, recording, vg_target_exited(&session->target, PROCESS_EXIT_WAIT_MS) ||
				   all_exit(session) ? "the process ended" : "the thread ended");
	}
}

int vg_threads_scan(struct vg_session *session)
{
	uint64_t now_ns = vg_session_now_ns(session);
	int scanned;

	threads_choose(session);
	scanned = vg_tasks_scan(&session->tasks);

	/* The list in /proc may be empty for a moment, while a thread other than the first calls execve(2) and takes
	 * the first thread's id. */
	if (scanned == -ESRCH && !vg_target_exited(&session->target, 0)) {
		session->tasks.stale = true;
		return 0;
	}
	if (scanned == 0)
		threads_begin(session, now_ns);
	/* Fetch events while the exited threads are still known. */
	vg_recordings_events_fetch(session, false);
	threads_end(session, now_ns);
	vg_tasks_remove_exited(&session->tasks);
	if (session->tasks.directory_read) {
		session->scan_ns = now_ns;
		if (scanned == 0)
			chosen_end(session);
	}
	return scanned;
}

int vg_threads_scan_if_due(struct vg_session *session)
{
	/* Also check the number of threads: the process's CPU time is updated only at scheduler ticks, so a new thread
	 * may have run while that time is unchanged. */
	if (!session->activity.sleepers_idle || vg_tasks_changed(&session->tasks))
		return vg_threads_scan(session);
	vg_recordings_events_fetch(session, false);
	/* No thread was created or has exited. */
	session->scan_ns = session->activity.round_ns;
	return 0;
}

void vg_threads_name_read(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status;
	vg_recording_set wanted = 0;

	VG_EACH_RECORDING(i, session->live & task->in_profiles)
		wanted |= (uint32_t)session->recordings[i].options.thread_names << i;
	if (wanted == 0 || task->host_name != 0 || vg_task_status(&session->tasks, task->tid, &status) != 0)
		return;
	name_set(task, &status);
	VG_EACH_RECORDING(i, wanted)
		vg_account_name(&session->recordings[i], task, now_ns);
}

void vg_threads_names_read(struct vg_session *session)
{
	uint64_t now_ns = vg_session_now_ns(session);

	VG_EACH_TASK(task, &session->tasks) {
		if (task->ran)
			vg_threads_name_read(session, task, now_ns);
		task->ran = false;
	}
}

void vg_threads_exited(struct vg_session *session, struct vg_task *task)
{
	task->exiting = task->tid != session->target.pid;
	session->tasks.stale = true;
}

const char *vg_threads_end_reason(struct vg_session *session, const char *otherwise)
{
	return session->exited || all_exit(session) ? "the process ended" : otherwise;
}
