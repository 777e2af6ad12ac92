/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/account.h"

#include <errno.h>

void vg_account_begin(struct vg_recording *recording, struct vg_task *task, struct vg_thread thread,
		      uint64_t begin_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	bool is_born = recording->tick_count != 0;

	*account = (struct vg_account){
		.counters = account->counters, .id = recording->recorder.threads++,
		.last_ns = is_born ? begin_ns : recording->since_ns, .name_number = task->name_number,
	};
	vg_weights_begin(&account->weights, account->last_ns, is_born);
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

int vg_account_settle(struct vg_recording *recording, struct vg_task *task)
{
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_writer_sample sample = {
		.thread = account->id, .stack = account->repeated.stack,
		.count = account->repeated.count,
		.time_ns = vg_recording_time_ns(recording, account->last_ns),
		.wall_ns = account->repeated.wall_ns,
		.interval = account->told,
	};

	if (account->repeated.count == 0)
		return 0;
	account->repeated.count = 0;
	account->repeated.wall_ns = 0;
	return vg_writer_sample(&recording->recorder.writer, &sample);
}

void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count, uint64_t time_ns,
		       struct vg_weight weight)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	bool known = account->has_stack && account->stacks_generation == recorder->stacks_generation;
	uint32_t stack = known ? account->stack : VG_WALK_UNREAD;

	account->last_ns = time_ns;
	if (recording->options.cpu_mode)
		return;
	if (account->repeated.stack != stack)
		vg_account_settle(recording, task);
	account->repeated.stack = stack;
	account->repeated.count += count;
	account->repeated.wall_ns += weight.wall_ns;
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
		       const struct vg_taken *taken, struct vg_weight weight)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t time_ns = vg_recording_time_ns(recording, taken->time_ns);
	struct vg_writer_sample sample = {
		.thread = account->id, .count = 1, .time_ns = time_ns, .wall_ns = weight.wall_ns, .cpu_ns = weight.cpu_ns,
	};
	struct vg_walk walk = walk_cut(taken->walk, recording->options.max_frames);
	int rc = vg_account_settle(recording, task);

	if (rc == 0)
		rc = vg_recorder_stack(recorder, &walk, taken->call, time_ns, &account->stack);
	if (rc == -ENOMEM && recorder->writer.failed == 0)
		recorder->lost[VG_LOSS_NO_MEMORY]++;
	if (rc != 0)
		return;
	account->last_ns = taken->time_ns;
	account->slices = taken->slices;
	account->has_stack = true;
	account->interval = taken->interval;
	account->told = vg_events_token_in(events, task, recording->index, taken->interval);
	account->stack_complete = walk.end == VG_WALK_ROOT;
	account->stacks_generation = recorder->stacks_generation;
	sample.interval = account->told;
	sample.stack = account->stack;
	recorder->samples++;
	recorder->cpu_ns += weight.cpu_ns;
	recorder->stacks_complete += account->stack_complete;
	account->uncounted = true;
	vg_writer_sample(&recorder->writer, &sample);
}

/* Gives what is left of the wall time to the latest stack.  On demand there are the samples that were asked for, and no
 * others. */
static void rest_give(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns, uint64_t least_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_weight rest = vg_weights_end(&account->weights, end_ns);

	if (account->has_stack && recording->options.period_ns != 0 && rest.wall_ns > least_ns)
		vg_account_repeat(recording, task, 1, end_ns, rest);
}

void vg_account_rest(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns)
{
	rest_give(recording, task, now_ns, recording->period_now_ns);
}

void vg_account_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns)
{
	struct vg_account *account = &task->accounts[recording->index];

	if (end_ns < account->last_ns)
		end_ns = account->last_ns;
	/* It lived when it was observed. */
	if (end_ns < account->weights.time_ns)
		end_ns = account->weights.time_ns;
	rest_give(recording, task, end_ns, 0);
	vg_account_settle(recording, task);
	vg_counting_thread_end(recording, task, vg_recording_time_ns(recording, end_ns));
	vg_writer_thread_end(&recording->recorder.writer, account->id, vg_recording_time_ns(recording, end_ns));
}
