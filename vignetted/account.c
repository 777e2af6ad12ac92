/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/account.h"

#include <errno.h>
#include <unistd.h>

/* Most stacks fit this; a thread that outruns it gets more. */
enum { SNAPSHOT_FIRST_BYTES = 16 * 1024 };

/* Threads get their names when they begin; later the name is looked at once a second. */
enum { SAMPLES_YOUNG = 4 };

/* When the thread began: proc(5) has it in clock ticks since boot, which places it between the
 * last look and this one. */
static uint64_t thread_begin_ns(const struct vg_session *session,
				const struct vg_task_status *status, uint64_t now_ns)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec since_boot;
	uint64_t begin_ns, boot_ns;

	if (session->tick_count == 0)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	boot_ns = (uint64_t)since_boot.tv_sec * 1000000000 + (uint64_t)since_boot.tv_nsec;
	begin_ns = status->start_ticks * tick_ns + now_ns;
	begin_ns = begin_ns > boot_ns ? begin_ns - boot_ns : 0;
	if (begin_ns > now_ns)
		return now_ns;
	return begin_ns < session->scan_ns ? session->scan_ns : begin_ns;
}

int vg_account_begin(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status = { .name = "?" };
	struct vg_thread thread = { .id = session->recorder.threads, .tid = task->tid };

	vg_task_status(&session->tasks, task->tid, &status);
	/* What the program's own logs call it. */
	if (session->target.nested)
		thread.tid = vg_task_own_tid(&session->tasks, task->tid);
	thread.begin_ns = thread_begin_ns(session, &status, now_ns);
	session->recorder.threads++;
	task->id = thread.id;
	task->snapshot_bytes = SNAPSHOT_FIRST_BYTES;
	task->last_ns = thread.begin_ns;
	/* What a thread used before the session is not of the session; one that began later has
	 * used nothing before. */
	task->has_cpu = session->tick_count != 0;
	task->untraceable = status.of_kernel;
	if (session->options.thread_names)
		memcpy(task->name, status.name, sizeof task->name);
	task->young = SAMPLES_YOUNG;
	return vg_writer_thread(&session->recorder.writer, &thread, task->name);
}

int vg_account_name(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status;

	if (!session->options.thread_names || task->named ||
	    vg_task_status(&session->tasks, task->tid, &status) != 0 ||
	    strcmp(task->name, status.name) == 0)
		return 0;
	memcpy(task->name, status.name, sizeof task->name);
	return vg_writer_thread_name(&session->recorder.writer, task->id, now_ns, task->name);
}

/* Processor time since the latest sample.  As of the scheduler's last tick: sums come right. */
static uint64_t cpu_take_ns(struct vg_task *task, const struct vg_task_look *look)
{
	uint64_t used_ns = look->cpu_ns > task->cpu_ns ? look->cpu_ns - task->cpu_ns : 0;

	task->cpu_ns += used_ns;
	if (!task->has_cpu)
		used_ns = 0;
	task->has_cpu = true;
	return used_ns;
}

static uint64_t wall_take_ns(struct vg_task *task, uint64_t now_ns)
{
	uint64_t since_ns = now_ns > task->last_ns ? now_ns - task->last_ns : 0;

	task->last_ns += since_ns;
	return since_ns;
}

int vg_account_settle(struct vg_session *session, struct vg_task *task)
{
	struct vg_writer_sample sample = {
		.thread = task->id, .stack = task->repeated.stack, .count = task->repeated.count,
		.time_ns = task->last_ns, .wall_ns = task->repeated.wall_ns,
		.cpu_ns = task->repeated.cpu_ns, .interval = task->interval,
	};

	if (task->repeated.count == 0)
		return 0;
	task->repeated.count = 0;
	task->repeated.wall_ns = task->repeated.cpu_ns = 0;
	return vg_writer_sample(&session->recorder.writer, &sample);
}

void vg_account_repeat(struct vg_session *session, struct vg_task *task, uint64_t now_ns,
		       const struct vg_task_look *look)
{
	struct vg_recorder *recorder = &session->recorder;
	bool known = task->has_stack && task->stacks_generation == recorder->stacks_generation;
	uint32_t stack = known ? task->stack : VG_WALK_UNREAD;

	if (session->options.cpu_mode) {
		task->last_ns = now_ns;  /* time asleep is no one's */
		return;
	}
	if (task->repeated.stack != stack)
		vg_account_settle(session, task);
	task->repeated.stack = stack;
	task->repeated.count++;
	task->repeated.wall_ns += wall_take_ns(task, now_ns);
	task->repeated.cpu_ns += cpu_take_ns(task, look);
	recorder->samples++;
	recorder->samples_repeated++;
	recorder->stacks_complete += known && task->stack_complete;
}

int vg_account_sample(struct vg_session *session, struct vg_task *task, int64_t call,
		      uint64_t now_ns, const struct vg_task_look *look)
{
	struct vg_recorder *recorder = &session->recorder;
	struct vg_writer_sample sample = { .thread = task->id, .count = 1, .time_ns = now_ns };
	int rc = vg_account_settle(session, task);

	if (rc == 0)
		rc = vg_recorder_stack(recorder, &session->walk, call, now_ns, &task->stack);
	if (rc == -ENOMEM && recorder->writer.failed == 0)
		recorder->lost[VG_LOSS_NO_MEMORY]++;
	if (rc != 0)
		return rc;
	task->has_stack = true;
	task->interval = sample.interval = session->interval;
	task->stack_complete = session->walk.end == VG_WALK_ROOT;
	task->stacks_generation = recorder->stacks_generation;
	sample.stack = task->stack;
	sample.wall_ns = wall_take_ns(task, now_ns);
	sample.cpu_ns = cpu_take_ns(task, look);
	recorder->samples++;
	recorder->stacks_complete += task->stack_complete;
	return vg_writer_sample(&recorder->writer, &sample);
}

int vg_account_interrupt(struct vg_session *session, struct vg_task *task, int64_t call,
			 uint64_t time_ns, uint64_t cpu_ns)
{
	struct vg_task_look look = { .cpu_ns = task->cpu_ns + cpu_ns };

	/* It may have been sampled as it waits since. */
	if (time_ns < task->last_ns)
		time_ns = task->last_ns;
	if (session->options.cpu_mode)
		task->last_ns = time_ns > cpu_ns ? time_ns - cpu_ns : 0;
	task->slices = VG_SLICES_UNKNOWN;
	return vg_account_sample(session, task, call, time_ns, &look);
}

int vg_account_end(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	/* It ended between two scans: nobody knows when, so in the middle. */
	uint64_t end_ns = session->scan_ns + (now_ns - session->scan_ns) / 2;
	struct vg_task_look nothing_new = { .cpu_ns = task->cpu_ns };

	if (end_ns < task->last_ns)
		end_ns = task->last_ns;
	if (task->has_stack && end_ns > task->last_ns)
		vg_account_repeat(session, task, end_ns, &nothing_new);
	vg_account_settle(session, task);
	return vg_writer_thread_end(&session->recorder.writer, task->id, end_ns);
}
