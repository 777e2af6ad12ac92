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

static int pending_write(struct vg_recording *recording, struct vg_task *task)
{
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_writer_sample sample = {
		.thread = account->id, .stack = account->pending.stack, .count = account->pending.count,
		.time_ns = vg_recording_time_ns(recording, account->pending.time_ns),
		.wall_ns = account->pending.weight.wall_ns, .cpu_ns = account->pending.weight.cpu_ns,
		.interval = account->pending.interval,
	};

	if (account->pending.count == 0)
		return 0;
	account->pending.count = 0;
	return vg_writer_sample(&recording->recorder.writer, &sample);
}

int vg_account_settle(struct vg_recording *recording, struct vg_task *task)
{
	vg_weights_written(&task->accounts[recording->index].weights);
	return pending_write(recording, task);
}

static void pending_add(struct vg_recording *recording, struct vg_account *account, struct vg_weight weight)
{
	account->pending.weight.wall_ns += weight.wall_ns;
	account->pending.weight.cpu_ns += weight.cpu_ns;
	recording->recorder.cpu_ns += weight.cpu_ns;
}

static void pending_set(struct vg_recording *recording, struct vg_account *account, uint32_t stack, uint32_t count,
			struct vg_weight weight)
{
	account->pending.stack = stack;
	account->pending.count = count;
	account->pending.weight = (struct vg_weight){ 0 };
	pending_add(recording, account, weight);
}

void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count, uint64_t time_ns,
		       const struct vg_weight_pair *weights)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	bool known = account->has_stack && account->stacks_generation == recorder->stacks_generation;
	uint32_t stack = known ? account->stack : VG_WALK_UNREAD;

	pending_add(recording, account, weights->before);
	account->last_ns = time_ns;
	if (recording->options.cpu_mode)
		return;
	/* A sample that has CPU time saw the thread run; repeats see it wait. */
	if (account->pending.count > 0 && (account->pending.stack != stack || account->pending.weight.cpu_ns > 0))
		pending_write(recording, task);
	if (account->pending.count == 0) {
		pending_set(recording, account, stack, count, weights->own);
		account->pending.interval = account->told;
	} else {
		account->pending.count += count;
		pending_add(recording, account, weights->own);
	}
	account->pending.time_ns = time_ns;
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
		       const struct vg_taken *taken, const struct vg_weight_pair *weights)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t time_ns = vg_recording_time_ns(recording, taken->time_ns);
	struct vg_walk walk = walk_cut(taken->walk, recording->options.max_frames);
	int rc;

	pending_add(recording, account, weights->before);
	rc = pending_write(recording, task);
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
	recorder->samples++;
	recorder->stacks_complete += account->stack_complete;
	account->uncounted = true;
	pending_set(recording, account, account->stack, 1, weights->own);
	account->pending.time_ns = taken->time_ns;
	account->pending.interval = account->told;
}

/* On demand there are the samples that were asked for, and no others. */
static void rest_give(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_weight_pair rest = { .own = vg_weights_end(&account->weights, end_ns) };

	if (recording->options.period_ns == 0)
		return;
	if (account->pending.count > 0)
		pending_add(recording, account, rest.own);
	else if (account->has_stack && rest.own.wall_ns > 0)
		vg_account_repeat(recording, task, 1, end_ns, &rest);
}

void vg_account_rest(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns)
{
	rest_give(recording, task, now_ns);
	vg_account_settle(recording, task);
}

void vg_account_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns)
{
	struct vg_account *account = &task->accounts[recording->index];

	if (end_ns < account->last_ns)
		end_ns = account->last_ns;
	/* It lived when it was observed. */
	if (end_ns < account->weights.time_ns)
		end_ns = account->weights.time_ns;
	rest_give(recording, task, end_ns);
	vg_account_settle(recording, task);
	vg_counting_thread_end(recording, task, vg_recording_time_ns(recording, end_ns));
	vg_writer_thread_end(&recording->recorder.writer, account->id, vg_recording_time_ns(recording, end_ns));
}
