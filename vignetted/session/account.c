/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/account.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "vignetted/session/pacing.h"

/* Most stacks fit this; a thread that outruns it gets more. */
enum { SNAPSHOT_FIRST_BYTES = 16 * 1024 };

/* Threads get their names when they begin; later the name is looked at once a second. */
enum { SAMPLES_YOUNG = 4 };

/* Of what samples by timers of CPUs fall short of a thread's CPU time, each makes up one part, and is worth so many
 * periods at most: fewer parts, and the single sample would weigh what chance says; more, and the sum would be off
 * at the end. */
enum { DRIFT_PARTS = 4, DRIFT_MOST = 4 };

/* When the thread began, in session time: proc(5) has it in clock ticks since boot, which places it
 * between the last look and this one. */
static uint64_t thread_begin_ns(const struct vg_session *session,
				const struct vg_task_status *status, uint64_t now_ns)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec since_boot;
	uint64_t begin_ns, boot_ns;

	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	boot_ns = (uint64_t)since_boot.tv_sec * 1000000000 + (uint64_t)since_boot.tv_nsec;
	begin_ns = status->start_ticks * tick_ns + now_ns;
	begin_ns = begin_ns > boot_ns ? begin_ns - boot_ns : 0;
	if (begin_ns > now_ns)
		return now_ns;
	return begin_ns < session->scan_ns ? session->scan_ns : begin_ns;
}

static void name_set(struct vg_task *task, const struct vg_task_status *status)
{
	if (strcmp(task->name, status->name) == 0)
		return;
	memcpy(task->name, status->name, sizeof task->name);
	task->name_number++;
}

/* For one profile. */
static void account_begin(struct vg_recording *recording, struct vg_task *task,
			  struct vg_thread thread, uint64_t begin_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	bool newborn = recording->tick_count != 0;

	/* What a thread used before the recording is not of it; one that began later has used nothing
	 * before. */
	*account = (struct vg_account){
		.counters = account->counters, .id = recording->recorder.threads++, .has_cpu = newborn,
		.last_ns = newborn ? begin_ns : recording->since_ns,
		.name_number = task->name_number, .queued_ns = task->look.queued_ns,
	};
	task->begun |= 1u << recording->index;
	vg_counting_thread(recording, task);
	thread.id = account->id;
	thread.begin_ns = vg_recording_time_ns(recording, account->last_ns);
	vg_writer_thread(&recording->recorder.writer, &thread,
			 recording->options.thread_names ? task->name : "");
}

void vg_account_begin(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status = { .name = "?" };
	struct vg_thread thread = { .tid = task->tid };
	uint64_t begin_ns;
	bool gone;

	/* Of thousands. */
	vg_priority_lower(&session->tracer.priority);
	if (session->interrupts.wide)
		task->interrupts_of = VG_INTERRUPTS_CPUS;
	/* At once, though it costs as much as a short thread lives: a poller of io_uring's can be seized
	 * for all that ptrace(2) says, and then does not stop; nor does a thread that has begun to exit. */
	gone = vg_task_status(&session->tasks, task->tid, &status) == -ESRCH;
	task->exiting = (gone || status.exiting) && task->tid != session->target.pid;
	task->found_ready_ns = status.state == 'R' ? vg_now_ns() : 0;
	/* What the program's own logs call it. */
	if (session->target.nested)
		thread.tid = vg_task_own_tid(&session->tasks, task->tid);
	begin_ns = thread_begin_ns(session, &status, now_ns);
	if (task->snapshot_bytes == 0)
		task->snapshot_bytes = SNAPSHOT_FIRST_BYTES;
	task->untraceable = status.of_kernel;
	task->young = SAMPLES_YOUNG;
	name_set(task, &status);
	VG_EACH_RECORDING(i, session->live & ~task->begun)
		account_begin(&session->recordings[i], task, thread, begin_ns);
}

void vg_account_name(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	struct vg_task_status status;
	vg_recording_set wanted = 0;

	VG_EACH_RECORDING(i, session->live & task->begun)
		wanted |= (uint32_t)session->recordings[i].options.thread_names << i;
	if (wanted == 0 || task->named || vg_task_status(&session->tasks, task->tid, &status) != 0)
		return;
	name_set(task, &status);
	VG_EACH_RECORDING(i, wanted) {
		struct vg_recording *recording = &session->recordings[i];
		struct vg_account *account = &task->accounts[i];

		if (account->name_number == task->name_number)
			continue;
		account->name_number = task->name_number;
		vg_writer_thread_name(&recording->recorder.writer, account->id,
				      vg_recording_time_ns(recording, now_ns), task->name);
	}
}

/* Processor time since the latest sample.  As of the scheduler's last tick: sums come right. */
static uint64_t cpu_take_ns(struct vg_account *account, uint64_t cpu_ns)
{
	uint64_t used_ns = cpu_ns > account->cpu_ns ? cpu_ns - account->cpu_ns : 0;

	account->cpu_ns += used_ns;
	if (!account->has_cpu)
		used_ns = 0;
	account->has_cpu = true;
	return used_ns;
}

static uint64_t wall_take_ns(struct vg_account *account, uint64_t now_ns)
{
	uint64_t since_ns = now_ns > account->last_ns ? now_ns - account->last_ns : 0;

	account->last_ns += since_ns;
	return since_ns;
}

/*
 * The wall time since the latest sample, or that part of it which is due to this one.  Where the
 * thread's waits are looked at less often than interrupts come, these would take nearly all of its
 * waiting: they take the processor time that they stand for and what the thread spent in the queue
 * for a CPU, and leave the rest to the next wait that is found.
 */
static uint64_t wall_share_ns(const struct vg_session *session, const struct vg_recording *recording,
			      struct vg_task *task, const struct vg_account_sample *taken)
{
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t since_ns = taken->time_ns > account->last_ns ? taken->time_ns - account->last_ns : 0;
	uint64_t queued_ns = task->look.queued_ns - account->queued_ns, used_ns = taken->interrupt_ns;

	if (!vg_pacing_is_wide(session, recording)) {
		account->queued_ns = task->look.queued_ns;
		return wall_take_ns(account, taken->time_ns);
	}
	if (used_ns > since_ns)
		used_ns = since_ns;
	if (queued_ns > since_ns - used_ns)
		queued_ns = since_ns - used_ns;
	if (taken->interrupt_ns == 0)
		return wall_take_ns(account, taken->time_ns - queued_ns);
	account->queued_ns += queued_ns;
	return wall_take_ns(account, account->last_ns + used_ns + queued_ns);
}

int vg_account_settle(struct vg_recording *recording, struct vg_task *task)
{
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_writer_sample sample = {
		.thread = account->id, .stack = account->repeated.stack,
		.count = account->repeated.count,
		.time_ns = vg_recording_time_ns(recording, account->last_ns),
		.wall_ns = account->repeated.wall_ns, .cpu_ns = account->repeated.cpu_ns,
		.interval = account->told,
	};

	if (account->repeated.count == 0)
		return 0;
	account->repeated.count = 0;
	account->repeated.wall_ns = account->repeated.cpu_ns = 0;
	return vg_writer_sample(&recording->recorder.writer, &sample);
}

void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count,
		       uint64_t now_ns, uint64_t cpu_ns)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	bool known = account->has_stack && account->stacks_generation == recorder->stacks_generation;
	uint32_t stack = known ? account->stack : VG_WALK_UNREAD;

	if (recording->options.cpu_mode) {
		account->last_ns = now_ns;  /* time asleep is no one's */
		return;
	}
	if (account->repeated.stack != stack)
		vg_account_settle(recording, task);
	account->repeated.stack = stack;
	account->repeated.count += count;
	account->repeated.wall_ns += wall_take_ns(account, now_ns);
	account->repeated.cpu_ns += cpu_take_ns(account, cpu_ns);
	recorder->samples += count;
	recorder->samples_repeated += count;
	recorder->stacks_complete += known && account->stack_complete ? count : 0;
}

/* The walk as this recording wants it: one that wants more may have had it made. */
static struct vg_walk walk_cut(const struct vg_walk *walk, uint32_t max_frames)
{
	struct vg_walk cut = *walk;

	if (cut.count > max_frames) {
		cut.count = max_frames;
		cut.end = VG_WALK_DEPTH;
	}
	return cut;
}

void vg_account_sample(struct vg_session *session, struct vg_recording *recording,
		       struct vg_task *task, const struct vg_account_sample *taken)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t time_ns = vg_recording_time_ns(recording, taken->time_ns);
	struct vg_writer_sample sample = { .thread = account->id, .count = 1, .time_ns = time_ns };
	struct vg_walk walk = walk_cut(&session->walk, recording->options.max_frames);
	int rc = vg_account_settle(recording, task);

	account->slices = taken->slices;
	if (rc == 0)
		rc = vg_recorder_stack(recorder, &walk, taken->call, time_ns, &account->stack);
	if (rc == -ENOMEM && recorder->writer.failed == 0)
		recorder->lost[VG_LOSS_NO_MEMORY]++;
	if (rc != 0)
		return;
	account->has_stack = true;
	account->interval = session->interval;
	account->told = vg_events_token_in(&session->events, task, recording->index, session->interval);
	account->stack_complete = walk.end == VG_WALK_ROOT;
	account->stacks_generation = recorder->stacks_generation;
	sample.interval = account->told;
	sample.stack = account->stack;
	sample.wall_ns = wall_share_ns(session, recording, task, taken);
	sample.cpu_ns = cpu_take_ns(account, taken->cpu_ns);
	recorder->samples++;
	recorder->stacks_complete += account->stack_complete;
	account->uncounted = true;
	vg_writer_sample(&recorder->writer, &sample);
}

/* Timers of CPUs meet a thread by chance; and never while it hands its CPU to nobody, for the kernel has interrupts
 * off then and counts that time as the thread's, and the idle task is the one that is met.  Two that wake each other
 * 40,000 times a second are met half as often as is due.  Samples are worth that much more, or less. */
static uint64_t drift_take_ns(struct vg_account *account, uint64_t cpu_ns)
{
	int64_t own_ns = (int64_t)cpu_ns, part_ns = account->drift_ns / DRIFT_PARTS;

	if (part_ns > (DRIFT_MOST - 1) * own_ns)
		part_ns = (DRIFT_MOST - 1) * own_ns;
	if (part_ns < -own_ns / 2)
		part_ns = -own_ns / 2;
	account->drift_ns -= part_ns;
	return cpu_ns + (uint64_t)part_ns;
}

void vg_account_interrupt(struct vg_session *session, struct vg_recording *recording,
			  struct vg_task *task, int64_t call, uint64_t time_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t cpu_ns = !session->interrupts.wide ? account->interrupts_ns :
			  drift_take_ns(account, account->interrupts_ns);
	struct vg_account_sample taken = {
		.call = call, .time_ns = time_ns, .cpu_ns = account->cpu_ns + cpu_ns,
		.slices = VG_SLICES_UNKNOWN, .interrupt_ns = cpu_ns,
	};

	/* It may have been sampled as it waits since. */
	if (taken.time_ns < account->last_ns)
		taken.time_ns = account->last_ns;
	if (recording->options.cpu_mode)
		account->last_ns = taken.time_ns > cpu_ns ? taken.time_ns - cpu_ns : 0;
	vg_account_sample(session, recording, task, &taken);
}

/* It ended between two scans: nobody knows when, so in the middle.  One that was interrupted since would
 * have been again soon. */
static uint64_t thread_end_ns(const struct vg_session *session, const struct vg_recording *recording,
			      const struct vg_task *task, uint64_t now_ns)
{
	uint64_t period_ns = vg_recording_period_ns(session, recording), since_ns = session->scan_ns;
	bool interrupted = task->interrupted_ns > since_ns && task->interrupted_ns <= now_ns;
	uint64_t half_ns;

	if (interrupted)
		since_ns = task->interrupted_ns;
	half_ns = (now_ns - since_ns) / 2;
	return since_ns + (interrupted && half_ns > period_ns ? period_ns : half_ns);
}

void vg_account_end(struct vg_session *session, struct vg_task *task, uint64_t now_ns)
{
	VG_EACH_RECORDING(i, session->live & task->begun) {
		struct vg_recording *recording = &session->recordings[i];
		struct vg_account *account = &task->accounts[i];
		uint64_t end_ns = thread_end_ns(session, recording, task, now_ns);

		if (end_ns < account->last_ns)
			end_ns = account->last_ns;
		/* On demand there are the samples that were asked for, and no others. */
		if (account->has_stack && end_ns > account->last_ns && recording->options.period_ns != 0)
			vg_account_repeat(recording, task, 1, end_ns, account->cpu_ns);
		vg_account_settle(recording, task);
		vg_counting_thread_end(session, recording, task, end_ns);
		vg_writer_thread_end(&recording->recorder.writer, account->id,
				     vg_recording_time_ns(recording, end_ns));
	}
}
