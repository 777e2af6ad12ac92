/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/sampling.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Most stacks fit the first; a thread that outruns its snapshot gets four times as much. */
enum { SNAPSHOT_FIRST_BYTES = 16 * 1024 };

/* A stop takes a sleeping thread off its wait and back: it is put on a CPU twice. */
enum { SLICES_OF_A_STOP = 2 };

static uint64_t session_now_ns(const struct vg_session *session)
{
	return vg_now_ns() - session->begin_ns;
}

void vg_sampling_modules_refresh(struct vg_session *session, uint64_t now_ns)
{
	if (session->maps_fresh)
		return;
	session->maps_fresh = true;
	if (vg_modules_refresh(&session->modules) == 0)
		vg_recorder_unloads(&session->recorder, now_ns);
}

/* When the thread began, in session time: proc(5) has it in clock ticks since boot, which
 * places it between the last look and this one. */
static uint64_t thread_begin_ns(const struct vg_session *session,
				const struct vg_task_status *status, uint64_t now_ns)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec since_boot;
	uint64_t age_ns, boot_ns;

	if (session->tick_count == 0)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	boot_ns = (uint64_t)since_boot.tv_sec * 1000000000 + (uint64_t)since_boot.tv_nsec;
	age_ns = boot_ns > status->start_ticks * tick_ns ? boot_ns - status->start_ticks * tick_ns : 0;
	if (age_ns > now_ns)
		age_ns = now_ns;
	if (session->options.period_ns != 0 && age_ns > session->options.period_ns)
		age_ns = session->options.period_ns;
	return now_ns - age_ns;
}

int vg_sampling_thread_new(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status = { .name = "?" };
	struct vg_thread thread = { .id = session->recorder.threads, .tid = task->tid };

	vg_task_status(&session->tasks, task->tid, &status);
	thread.begin_ns = thread_begin_ns(session, &status, now_ns);
	session->recorder.threads++;
	task->id = thread.id;
	task->snapshot_bytes = SNAPSHOT_FIRST_BYTES;
	task->last_ns = thread.begin_ns;
	/* What a thread used before the session is not of the session; one that began later has
	 * used nothing before. */
	task->has_cpu = session->tick_count != 0;
	memcpy(task->name, status.name, sizeof task->name);
	return vg_writer_thread(&session->recorder.writer, &thread, task->name);
}

static void sample_record(struct vg_session *session, struct vg_task *task, uint32_t stack,
			  uint64_t now_ns, const struct vg_task_look *look)
{
	uint64_t cpu_ns = task->has_cpu && look->cpu_ns > task->cpu_ns ? look->cpu_ns - task->cpu_ns : 0;
	uint64_t wall_ns = now_ns > task->last_ns ? now_ns - task->last_ns : 0;

	if (vg_writer_sample(&session->recorder.writer, task->id, stack, now_ns, wall_ns, cpu_ns) != 0)
		return;
	task->has_cpu = true;
	task->cpu_ns = look->cpu_ns > task->cpu_ns ? look->cpu_ns : task->cpu_ns;
	task->last_ns = now_ns;
	session->recorder.samples++;
}

/* The thread is where it was, or cannot be looked at now: its latest stack stands for it. */
static void sample_repeat(struct vg_session *session, struct vg_task *task, uint64_t now_ns,
			  const struct vg_task_look *look)
{
	bool known = task->has_stack &&
		     task->stacks_generation == session->recorder.stacks_generation;

	if (session->options.cpu_mode) {
		task->last_ns = now_ns;  /* time asleep is no one's */
		return;
	}
	sample_record(session, task, known ? task->stack : VG_WALK_UNREAD, now_ns, look);
	session->recorder.samples_repeated++;
	session->recorder.stacks_complete += known && task->stack_complete;
}

int vg_sampling_thread_gone(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	/* It ended between two scans: nobody knows when, so in the middle. */
	uint64_t end_ns = session->scan_ns + (now_ns - session->scan_ns) / 2;
	struct vg_task_look nothing_new = { .cpu_ns = task->cpu_ns };

	if (end_ns < task->last_ns)
		end_ns = task->last_ns;
	if (task->has_stack && end_ns > task->last_ns)
		sample_repeat(session, task, end_ns, &nothing_new);
	return vg_writer_thread_end(&session->recorder.writer, task->id, end_ns);
}

static int snapshot_walk(struct vg_session *session, uint64_t now_ns)
{
	int rc = vg_unwind(session->unwinder, &session->snapshot, session->options.max_frames,
			   &session->walk);

	/* Something was loaded since the maps were read. */
	if (rc == 0 && session->walk.left_the_map && !session->maps_fresh) {
		vg_sampling_modules_refresh(session, now_ns);
		rc = vg_unwind(session->unwinder, &session->snapshot, session->options.max_frames,
			       &session->walk);
	}
	return rc;
}

static void stack_record(struct vg_session *session, struct vg_task *task, uint64_t now_ns,
			 const struct vg_task_look *look)
{
	struct vg_recorder *recorder = &session->recorder;
	int rc = vg_recorder_stack(recorder, &session->walk, now_ns, &task->stack);

	if (rc == -ENOMEM && recorder->writer.failed == 0) {
		recorder->lost[VG_LOSS_NO_MEMORY]++;
		return;
	}
	task->has_stack = true;
	task->stack_complete = session->walk.end == VG_WALK_ROOT;
	task->stacks_generation = recorder->stacks_generation;
	sample_record(session, task, task->stack, now_ns, look);
	recorder->stacks_complete += task->stack_complete;
}

/* Stops the thread and walks its stack; again with a larger snapshot if that was too small. */
static enum vg_capture capture_walk(struct vg_session *session, struct vg_task *task,
				    uint64_t now_ns)
{
	for (;;) {
		enum vg_capture capture = vg_tracer_capture(&session->tracer, task->tid,
							    task->snapshot_bytes, &session->snapshot);

		if (capture != VG_CAPTURE_TAKEN)
			return capture;
		if (snapshot_walk(session, now_ns) != 0)
			return VG_CAPTURE_FAILED;
		if (session->walk.end != VG_WALK_SNAPSHOT ||
		    task->snapshot_bytes >= VG_SNAPSHOT_MAX_BYTES ||
		    session->snapshot.stack_bytes < task->snapshot_bytes)
			return capture;
		task->snapshot_bytes *= 4;
	}
}

bool vg_sampling_is_alive(const struct vg_session *session, pid_t tid)
{
	struct vg_task_status status;

	return vg_task_status(&session->tasks, tid, &status) == 0 && status.state != 'Z' &&
	       status.state != 'X';
}

static void thread_stop(struct vg_session *session, struct vg_task *task, bool asleep,
			const struct vg_task_look *look)
{
	uint64_t now_ns = session_now_ns(session);
	struct vg_recorder *recorder = &session->recorder;

	switch (capture_walk(session, task, now_ns)) {
	case VG_CAPTURE_TAKEN:
		task->slices = look->slices;
		if (asleep && vg_regs_in_call(&session->snapshot.regs))
			task->slices += SLICES_OF_A_STOP;
		stack_record(session, task, now_ns, look);
		return;
	case VG_CAPTURE_GONE:
		return;
	case VG_CAPTURE_PENDING:
		recorder->lost[VG_LOSS_NOT_STOPPED]++;
		return;
	case VG_CAPTURE_FORBIDDEN:
		if (vg_sampling_is_alive(session, task->tid))
			recorder->lost[VG_LOSS_FORBIDDEN]++;
		return;
	case VG_CAPTURE_FAILED:
		recorder->lost[VG_LOSS_UNREADABLE]++;
		return;
	}
}

static void name_update(struct vg_session *session, struct vg_task *task,
			const struct vg_task_status *status)
{
	if (strcmp(task->name, status->name) == 0)
		return;
	memcpy(task->name, status->name, sizeof task->name);
	vg_writer_thread_name(&session->recorder.writer, task->id, session_now_ns(session),
			      task->name);
}

void vg_sampling_thread(struct vg_session *session, struct vg_task *task)
{
	struct vg_task_status status;
	struct vg_task_look look;

	if (vg_task_look(&session->tasks, task, &look) != 0)
		return;                  /* gone: the next scan says so */
	if (!task->has_cpu)
		task->cpu_ns = look.cpu_ns;
	if (task->has_stack && look.slices == task->slices) {
		sample_repeat(session, task, session_now_ns(session), &look);
		return;
	}
	if (vg_task_status(&session->tasks, task->tid, &status) != 0)
		return;
	name_update(session, task, &status);
	switch (status.state) {
	case 'Z': case 'X':
		return;
	case 'T': case 'D':
		/* Stopped by job control: attaching would start it for a moment.  In an
		 * uninterruptible wait (vfork's, a disk's): it would not stop. */
		sample_repeat(session, task, session_now_ns(session), &look);
		return;
	case 'S':
		if (session->options.cpu_mode) {
			sample_repeat(session, task, session_now_ns(session), &look);
			return;
		}
		break;
	}
	thread_stop(session, task, status.state == 'S', &look);
}
