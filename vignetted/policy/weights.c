/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/policy/weights.h"

/* A timer sample makes up for 1 / MISSED_PARTS of what timers have missed.  It weighs at least half and at most
 * TIMER_WEIGHT_MAX times what its timer measured.  Larger parts would make single weights random.  Smaller parts would
 * leave more CPU time in no sample at the end of a recording. */
enum { MISSED_PARTS = 4, TIMER_WEIGHT_MAX = 4 };

/* A running thread's CPU time may be late by one scheduler tick.  On a CPU without a periodic tick (nohz_full), the
 * CPU time may be late by 1 s. */
static const uint64_t CPU_LATE_MAX_NS = 1000 * 1000 * 1000;

/* A thread with timers is stopped if too much of its queue time is in no sample: more than 1 / QUEUE_AGE_SHARE of the
 * thread's age.  The limit is QUEUE_STOP_NS at most, which is 2 % of a recording of 5 s. */
enum { QUEUE_STOP_NS = 100 * 1000 * 1000, QUEUE_AGE_SHARE = 16 };

/* Time in the kernel that user-only timers may miss (vg_weights_kernel_limit_ns()).  1/64 of a thread's time is below
 * the error of a share in a profile of 2,000 samples.  The least limit allows for two effects.  A thread has one timer
 * for each CPU, and each timer is on average in the middle of its period.  CPU time grows in scheduler ticks.  A limit
 * of L costs one stop per L plus one period, however much of its time the thread spends in the kernel. */
enum {
	KERNEL_AGE_SHARE = 64, KERNEL_STOP_NS = 100 * 1000 * 1000, KERNEL_MIN_PERIODS = 2,
	KERNEL_MIN_NS = 4 * 1000 * 1000, KERNEL_LIMITS_MAX = 4,
};

static uint64_t positive(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

void vg_weights_begin(struct vg_weights *weights, uint64_t begin_ns, uint64_t found_ns, uint64_t *unsampled_ns)
{
	*weights = (struct vg_weights){
		.begin_ns = begin_ns, .time_ns = begin_ns, .found_ns = found_ns, .observed = found_ns != 0,
		.latest = VG_LATEST_NONE,
	};
	if (found_ns == 0)
		return;
	weights->first_extra_max_ns = found_ns - begin_ns < *unsampled_ns ? found_ns - begin_ns : *unsampled_ns;
	*unsampled_ns -= weights->first_extra_max_ns;
}

void vg_weights_observe(struct vg_weights *weights, const struct vg_clocks *clocks)
{
	uint64_t elapsed_ns = clocks->time_ns > weights->time_ns ? clocks->time_ns - weights->time_ns : 0;
	uint64_t used_ns = clocks->cpu_ns - weights->cpu_ns, queued_ns = clocks->queued_ns - weights->queued_ns;
	bool is_other_thread = clocks->cpu_ns < weights->cpu_ns || clocks->queued_ns < weights->queued_ns ||
			used_ns > elapsed_ns + CPU_LATE_MAX_NS;

	if (!weights->observed || is_other_thread)
		used_ns = queued_ns = 0;
	if (is_other_thread)
		weights->found_ns = 0;
	weights->observed = true;
	weights->was_running = false;
	weights->time_ns += elapsed_ns;
	weights->cpu_ns = clocks->cpu_ns;
	weights->queued_ns = clocks->queued_ns;
	weights->cpu_balance_ns += (int64_t)used_ns;
	weights->balance_ns[VG_THREAD_RUNNING] += (int64_t)used_ns;
	weights->balance_ns[VG_THREAD_QUEUED] += (int64_t)queued_ns;
	weights->balance_ns[VG_THREAD_WAITING] += (int64_t)elapsed_ns - (int64_t)used_ns - (int64_t)queued_ns;
	weights->timer_missed_ns = weights->cpu_balance_ns;
}

/* Wall time that is in no sample yet, at the latest observation. */
static int64_t wall_balance_ns(const struct vg_weights *weights)
{
	return weights->balance_ns[VG_THREAD_WAITING] + weights->balance_ns[VG_THREAD_RUNNING] +
	       weights->balance_ns[VG_THREAD_QUEUED];
}

/* Takes the smaller of want_ns and most_ns from the balance of a state.  most_ns is all wall time that is in no sample
 * yet.  One balance can be larger than most_ns, while another balance is negative.  What is not taken stays in the
 * balance. */
static uint64_t wall_take(struct vg_weights *weights, uint8_t state, int64_t want_ns, int64_t most_ns)
{
	uint64_t taken_ns = positive(want_ns < most_ns ? want_ns : most_ns);

	weights->balance_ns[state] -= (int64_t)taken_ns;
	return taken_ns;
}

static struct vg_weight balance_take(struct vg_weights *weights, uint8_t state)
{
	struct vg_weight weight = {
		.wall_ns = wall_take(weights, state, weights->balance_ns[state], wall_balance_ns(weights)),
	};

	if (state == VG_THREAD_RUNNING) {
		weight.cpu_ns = positive(weights->cpu_balance_ns);
		weights->cpu_balance_ns -= (int64_t)weight.cpu_ns;
	}
	return weight;
}

static struct vg_weight_pair halve(struct vg_weight all)
{
	struct vg_weight half = { .wall_ns = all.wall_ns / 2, .cpu_ns = all.cpu_ns / 2 };

	return (struct vg_weight_pair){
		.before = half, .own = { .wall_ns = all.wall_ns - half.wall_ns, .cpu_ns = all.cpu_ns - half.cpu_ns },
	};
}

/*
 * The first sample of a thread that was created since the latest scan gets half of the time between two scans, no
 * matter how much CPU time the thread has used.  The chance that a scan finds a short thread is proportional to the
 * thread's lifetime.  So each short thread that is found gets the same weight, and also stands for threads that were
 * not found.  If the weight were the used CPU time, the profile would show too little of what short threads do first.
 */
static void first_sample_balance(struct vg_weights *weights, enum vg_thread_state state)
{
	int64_t life_ns = (int64_t)(weights->time_ns - weights->begin_ns);
	int64_t most_ns = (int64_t)(weights->cpu_ns + weights->first_extra_max_ns);

	/* Keep the balances of a thread that is not new: found_ns is 0, or an earlier round found the thread and failed
	 * to sample it. */
	if (weights->found_ns == 0 || weights->time_ns - weights->found_ns >= weights->found_ns - weights->begin_ns)
		return;
	for (int i = 0; i < VG_THREAD_STATES; i++)
		weights->balance_ns[i] = 0;
	/* vg_weights_first_running() must add nothing.  vg_weights_end() adds the other half of the time between two
	 * scans. */
	weights->has_run = true;
	weights->balance_ns[state] = life_ns;
	weights->cpu_balance_ns = state != VG_THREAD_RUNNING ? 0 : life_ns < most_ns ? life_ns : most_ns;
}

/* A young thread's running samples also take its queue time.  The thread may exit before a sample finds it in the run
 * queue, and its last sample would then take all queue time. */
static void young_balance(struct vg_weights *weights)
{
	if (weights->time_ns - weights->begin_ns >= QUEUE_STOP_NS)
		return;
	weights->balance_ns[VG_THREAD_RUNNING] += weights->balance_ns[VG_THREAD_QUEUED];
	weights->balance_ns[VG_THREAD_QUEUED] = 0;
}

struct vg_weight_pair vg_weights_sample(struct vg_weights *weights, const struct vg_clocks *clocks,
					enum vg_thread_state state)
{
	uint8_t before = weights->latest;
	struct vg_weight_pair pair = { 0 };

	vg_weights_observe(weights, clocks);
	weights->was_running = state != VG_THREAD_WAITING;
	weights->latest = (uint8_t)state;
	if (state != VG_THREAD_WAITING && before == VG_LATEST_NONE)
		first_sample_balance(weights, state);
	weights->found_ns = 0;
	if (state == VG_THREAD_RUNNING) {
		young_balance(weights);
		weights->timer_missed_ns = 0;
		weights->timer_ns = 0;
	}
	if (before == state)
		return halve(balance_take(weights, before));
	if (before < VG_LATEST_TIMER)
		pair.before = balance_take(weights, before);
	pair.own = balance_take(weights, (uint8_t)state);
	return pair;
}

uint64_t vg_weights_first_running(struct vg_weights *weights, uint64_t cpu_ns, uint64_t period_ns,
				  uint64_t unsampled_ns)
{
	uint64_t more_ns = cpu_ns < period_ns ? period_ns - cpu_ns : 0;

	if (weights->has_run || weights->latest != VG_THREAD_RUNNING)
		return 0;
	weights->has_run = true;
	if (more_ns > unsampled_ns)
		more_ns = unsampled_ns;
	weights->cpu_balance_ns -= (int64_t)more_ns;
	return more_ns;
}

void vg_weights_running(struct vg_weights *weights)
{
	weights->was_running = true;
}

void vg_weights_latest_written(struct vg_weights *weights)
{
	weights->latest = VG_LATEST_NONE;
}

bool vg_weights_queue_due(const struct vg_weights *weights, uint64_t period_ns)
{
	uint64_t due_ns = (weights->time_ns - weights->begin_ns) / QUEUE_AGE_SHARE;

	if (due_ns < period_ns)
		due_ns = period_ns;
	return weights->balance_ns[VG_THREAD_QUEUED] > (int64_t)(due_ns < QUEUE_STOP_NS ? due_ns : QUEUE_STOP_NS);
}

bool vg_weights_timer_expired(struct vg_weights *weights, uint64_t period_ns, uint64_t sample_period_ns)
{
	weights->timer_ns += period_ns;
	return weights->timer_ns + period_ns / 2 >= sample_period_ns;
}

struct vg_weight_pair vg_weights_timer_sample(struct vg_weights *weights, uint64_t time_ns, bool user_only)
{
	int64_t own_ns = (int64_t)weights->timer_ns;
	/* On average, the timer was in the middle of its period at the latest observation.  The half period that it had
	 * measured by then is not missed. */
	int64_t part_ns = (weights->timer_missed_ns - own_ns / 2) / MISSED_PARTS;
	int64_t most_ns = wall_balance_ns(weights) + (int64_t)(time_ns - weights->time_ns);
	bool had_run = weights->latest == VG_THREAD_RUNNING || weights->latest == VG_LATEST_TIMER;
	struct vg_weight ran;

	if (part_ns > (TIMER_WEIGHT_MAX - 1) * own_ns)
		part_ns = (TIMER_WEIGHT_MAX - 1) * own_ns;
	if (part_ns < -own_ns / 2)
		part_ns = -own_ns / 2;
	if (user_only && part_ns > 0)
		part_ns = 0;
	weights->timer_missed_ns -= part_ns;
	weights->timer_ns = 0;
	weights->latest = VG_LATEST_TIMER;
	weights->has_run = true;
	weights->found_ns = 0;
	young_balance(weights);
	ran.cpu_ns = (uint64_t)(own_ns + part_ns);
	/* Timers may be ahead of the CPU time that the scheduler reports.  Then this sample gets less wall time than
	 * it stands for, and a later sample gets the rest. */
	ran.wall_ns = wall_take(weights, VG_THREAD_RUNNING,
				(int64_t)ran.cpu_ns + weights->balance_ns[VG_THREAD_RUNNING] - weights->cpu_balance_ns,
				most_ns);
	weights->cpu_balance_ns -= (int64_t)ran.cpu_ns;
	return had_run ? halve(ran) : (struct vg_weight_pair){ .own = ran };
}

uint64_t vg_weights_kernel_limit_ns(const struct vg_weights *weights, uint64_t period_ns)
{
	uint64_t limit_ns = (weights->time_ns - weights->begin_ns) / KERNEL_AGE_SHARE;
	uint64_t min_ns = KERNEL_MIN_PERIODS * period_ns + KERNEL_MIN_NS;

	if (limit_ns > KERNEL_STOP_NS)
		limit_ns = KERNEL_STOP_NS;
	return limit_ns > min_ns ? limit_ns : min_ns;
}

bool vg_weights_kernel_takes(const struct vg_weights *weights, uint64_t period_ns, bool in_call)
{
	return in_call || weights->cpu_balance_ns >
			  (int64_t)(KERNEL_LIMITS_MAX * vg_weights_kernel_limit_ns(weights, period_ns));
}

struct vg_weight vg_weights_end(struct vg_weights *weights, uint64_t time_ns, uint64_t *unsampled_ns)
{
	uint64_t since_latest_ns = time_ns > weights->time_ns ? time_ns - weights->time_ns : 0, used_ns = 0;
	struct vg_weight rest = { .wall_ns = positive(wall_balance_ns(weights) + (int64_t)since_latest_ns) };
	bool ran = weights->latest == VG_THREAD_RUNNING || weights->latest == VG_LATEST_TIMER ||
		   (weights->was_running && weights->latest == VG_LATEST_NONE);

	if (ran && weights->was_running)
		used_ns = since_latest_ns;
	if (used_ns > *unsampled_ns)
		used_ns = *unsampled_ns;
	*unsampled_ns -= used_ns;
	if (ran) {
		rest.cpu_ns = positive(weights->cpu_balance_ns + (int64_t)used_ns);
		weights->cpu_balance_ns = 0;
	}
	weights->time_ns += since_latest_ns;
	for (int i = 0; i < VG_THREAD_STATES; i++)
		weights->balance_ns[i] = 0;
	weights->timer_missed_ns = 0;
	return rest;
}
