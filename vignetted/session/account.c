/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/account.h"

#include <errno.h>

/* Of what samples by timers of CPUs fall short of a thread's CPU time, each makes up one part, and is worth so many
 * periods at most: fewer parts, and the single sample would weigh what chance says; more, and the sum would be off
 * at the end. */
enum { DRIFT_PARTS = 4, DRIFT_MOST = 4 };

void vg_account_begin(struct vg_recording *recording, struct vg_task *task, struct vg_thread thread,
		      uint64_t begin_ns)
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

void vg_account_name(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns)
{
	struct vg_account *account = &task->accounts[recording->index];

	if (!recording->options.thread_names || account->name_number == task->name_number)
		return;
	account->name_number = task->name_number;
	vg_writer_thread_name(&recording->recorder.writer, account->id, vg_recording_time_ns(recording, now_ns),
			      task->name);
}

void vg_account_renew(struct vg_task *task)
{
	if (!task->renewed)
		return;
	task->renewed = false;
	VG_EACH_RECORDING(i, task->begun)
		task->accounts[i].cpu_ns = task->accounts[i].queued_ns = 0;
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
static uint64_t wall_share_ns(const struct vg_recording *recording, struct vg_task *task,
			      const struct vg_taken *taken)
{
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t since_ns = taken->time_ns > account->last_ns ? taken->time_ns - account->last_ns : 0;
	uint64_t queued_ns = task->look.queued_ns - account->queued_ns, used_ns = taken->timer_ns;

	if (!taken->waits_rarely_read || recording->options.cpu_mode) {
		account->queued_ns = task->look.queued_ns;
		return wall_take_ns(account, taken->time_ns);
	}
	if (used_ns > since_ns)
		used_ns = since_ns;
	if (queued_ns > since_ns - used_ns)
		queued_ns = since_ns - used_ns;
	if (taken->timer_ns == 0)
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

void vg_account_sample(struct vg_recording *recording, struct vg_task *task, const struct vg_events *events,
		       const struct vg_taken *taken)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t time_ns = vg_recording_time_ns(recording, taken->time_ns);
	struct vg_writer_sample sample = { .thread = account->id, .count = 1, .time_ns = time_ns };
	struct vg_walk walk = walk_cut(taken->walk, recording->options.max_frames);
	int rc = vg_account_settle(recording, task);

	account->slices = taken->slices;
	if (rc == 0)
		rc = vg_recorder_stack(recorder, &walk, taken->call, time_ns, &account->stack);
	if (rc == -ENOMEM && recorder->writer.failed == 0)
		recorder->lost[VG_LOSS_NO_MEMORY]++;
	if (rc != 0)
		return;
	account->has_stack = true;
	account->interval = taken->interval;
	account->told = vg_events_token_in(events, task, recording->index, taken->interval);
	account->stack_complete = walk.end == VG_WALK_ROOT;
	account->stacks_generation = recorder->stacks_generation;
	sample.interval = account->told;
	sample.stack = account->stack;
	sample.wall_ns = wall_share_ns(recording, task, taken);
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

void vg_account_timer_sample(struct vg_recording *recording, struct vg_task *task, const struct vg_events *events,
			     struct vg_taken taken, bool random)
{
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t cpu_ns = random ? drift_take_ns(account, account->interrupts_ns) : account->interrupts_ns;

	taken.cpu_ns = account->cpu_ns + cpu_ns;
	taken.timer_ns = cpu_ns;
	taken.slices = VG_SLICES_UNKNOWN;
	/* It may have been sampled as it waits since. */
	if (taken.time_ns < account->last_ns)
		taken.time_ns = account->last_ns;
	if (recording->options.cpu_mode)
		account->last_ns = taken.time_ns > cpu_ns ? taken.time_ns - cpu_ns : 0;
	vg_account_sample(recording, task, events, &taken);
}

void vg_account_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns)
{
	struct vg_account *account = &task->accounts[recording->index];

	if (end_ns < account->last_ns)
		end_ns = account->last_ns;
	/* On demand there are the samples that were asked for, and no others. */
	if (account->has_stack && end_ns > account->last_ns && recording->options.period_ns != 0)
		vg_account_repeat(recording, task, 1, end_ns, account->cpu_ns);
	vg_account_settle(recording, task);
	vg_counting_thread_end(recording, task, vg_recording_time_ns(recording, end_ns));
	vg_writer_thread_end(&recording->recorder.writer, account->id, vg_recording_time_ns(recording, end_ns));
}
