/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/session/account.h"

#include <errno.h>

static void thread_write(struct vg_recording *recording, const struct vg_task *task)
{
	const struct vg_account *account = &task->accounts[recording->index];
	struct vg_thread thread = { .id = account->id, .tid = account->tid, .begin_ns = account->begin_ns };

	vg_writer_thread(&recording->recorder.writer, &thread, recording->options.thread_names ? task->name : "");
}

void vg_account_begin(struct vg_recording *recording, struct vg_task *task, struct vg_thread thread,
		      uint64_t begin_ns, uint64_t found_ns, uint64_t *unsampled_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	bool is_new = recording->scanned, is_written = thread.id != VG_NONE;

	/* The given begin is between two scans, and the first of them may be older than the recording. */
	if (!is_new || begin_ns < recording->begin_session_ns)
		begin_ns = recording->begin_session_ns;
	*account = (struct vg_account){
		.id = is_written ? thread.id : vg_writer_thread_id(&recording->recorder.writer), .tid = thread.tid,
		.begin_ns = vg_recording_time_ns(recording, begin_ns), .last_ns = begin_ns,
		.name_number = task->name_number,
	};
	vg_weights_begin(&account->weights, begin_ns, is_new ? found_ns : 0, unsampled_ns);
	task->in_profiles |= 1u << recording->index;
	vg_counter_set_thread_open(&recording->counter_set, task, account);
	if (is_written)
		return;
	recording->recorder.threads++;
	thread_write(recording, task);
}

/* A sleeping thread need not be walked again. */
void vg_account_restart(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_recorder *recorder = &recording->recorder;

	thread_write(recording, task);
	if (account->stack_number != 0 && account->stacks_generation + 1 == recorder->stacks_generation &&
	    vg_recorder_stack_again(recorder, now_ns, &account->stack) == 0)
		account->stacks_generation = recorder->stacks_generation;
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
	recording->recorder.merged_ns += (int64_t)sample.wall_ns - (int64_t)(sample.count * recording->period_now_ns);
	account->pending.count = 0;
	return vg_writer_sample(&recording->recorder.writer, &sample);
}

int vg_account_flush(struct vg_recording *recording, struct vg_task *task)
{
	vg_weights_latest_written(&task->accounts[recording->index].weights);
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
	account->pending.interval = account->interval;
	account->pending.weight = (struct vg_weight){ 0 };
	pending_add(recording, account, weight);
}

void vg_account_repeat(struct vg_recording *recording, struct vg_task *task, uint32_t count, uint64_t time_ns,
		       const struct vg_weight_pair *weights)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	bool known = account->stack_number != 0 && account->stacks_generation == recorder->stacks_generation;
	uint32_t stack = known ? account->stack : VG_WALK_UNREADABLE;

	pending_add(recording, account, weights->before);
	account->last_ns = time_ns;
	if (recording->options.cpu_mode)
		return;
	/* A sample with CPU time found the thread running, and repeats find it waiting: they get separate records. */
	if (account->pending.count > 0 && (account->pending.stack != stack || account->pending.weight.cpu_ns > 0))
		pending_write(recording, task);
	if (account->pending.count == 0) {
		pending_set(recording, account, stack, count, weights->own);
	} else {
		account->pending.count += count;
		pending_add(recording, account, weights->own);
	}
	account->pending.time_ns = time_ns;
	recorder->samples += count;
	recorder->samples_repeated += count;
	recorder->stacks_complete += known && account->stack_complete ? count : 0;
}

bool vg_account_has_latest(const struct vg_recording *recording, const struct vg_task *task)
{
	const struct vg_account *account = &task->accounts[recording->index];

	return account->stack_number == task->latest.number && account->stack_number != 0 &&
	       account->stacks_generation == recording->recorder.stacks_generation;
}

void vg_account_sample(struct vg_recording *recording, struct vg_task *task, const struct vg_events *events,
		       const struct vg_new_sample *sample, const struct vg_weight_pair *weights)
{
	struct vg_recorder *recorder = &recording->recorder;
	struct vg_account *account = &task->accounts[recording->index];
	uint64_t time_ns = vg_recording_time_ns(recording, sample->time_ns);
	struct vg_walk walk = *sample->walk;
	int rc;

	/* The walk was made for the recording that wants the most frames. */
	if (walk.count > recording->options.max_frames) {
		walk.count = recording->options.max_frames;
		walk.end = VG_WALK_FRAME_LIMIT;
	}
	pending_add(recording, account, weights->before);
	rc = pending_write(recording, task);
	if (rc == 0)
		rc = vg_recorder_stack(recorder, &walk, sample->call, time_ns, &account->stack);
	if (rc == -ENOMEM && recorder->writer.failed == 0) {
		/* Only the stack is lost.  The sample keeps its weights, which are in no balance any more. */
		walk.end = VG_WALK_UNREADABLE;
		account->stack = VG_WALK_UNREADABLE;
		rc = 0;
	}
	if (rc != 0)
		return;
	account->last_ns = sample->time_ns;
	account->stack_number = sample->number;
	account->interval = vg_events_token_for(events, task, recording->index, sample->interval);
	account->stack_complete = walk.end == VG_WALK_ROOT;
	account->stacks_generation = recorder->stacks_generation;
	recorder->samples++;
	recorder->stacks_complete += account->stack_complete;
	account->counters_due = true;
	pending_set(recording, account, account->stack, 1, weights->own);
	account->pending.time_ns = sample->time_ns;
}

/* Adds to the thread's latest stack the time that is in no sample.  Adds nothing in a recording on demand, which has
 * only the samples that were requested. */
static void remaining_time_add(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns,
			       uint64_t *unsampled_ns)
{
	struct vg_account *account = &task->accounts[recording->index];
	struct vg_weight_pair rest = { .own = vg_weights_end(&account->weights, end_ns, unsampled_ns) };

	if (recording->options.period_ns == 0)
		return;
	if (account->pending.count > 0) {
		pending_add(recording, account, rest.own);
	} else if (account->stack_number != 0 && rest.own.wall_ns > 0) {
		vg_account_repeat(recording, task, 1, end_ns, &rest);
		/* The interval of the latest sample may have ended since. */
		account->pending.interval = 0;
	}
}

void vg_account_finish(struct vg_recording *recording, struct vg_task *task, uint64_t now_ns)
{
	uint64_t unsampled_ns = UINT64_MAX;

	remaining_time_add(recording, task, now_ns, &unsampled_ns);
	vg_account_flush(recording, task);
}

void vg_account_thread_end(struct vg_recording *recording, struct vg_task *task, uint64_t end_ns,
			   uint64_t *unsampled_ns)
{
	struct vg_account *account = &task->accounts[recording->index];

	if (end_ns < account->last_ns)
		end_ns = account->last_ns;
	/* The thread was alive at its latest observation, so it exited later. */
	if (end_ns < account->weights.time_ns)
		end_ns = account->weights.time_ns;
	remaining_time_add(recording, task, end_ns, unsampled_ns);
	vg_account_flush(recording, task);
	vg_counter_set_thread_end(&recording->counter_set, &recording->recorder.writer, task, account,
				  vg_recording_time_ns(recording, end_ns));
	vg_writer_thread_end(&recording->recorder.writer, account->id, vg_recording_time_ns(recording, end_ns));
}
