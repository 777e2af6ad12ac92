/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The laws of policy/weights.h, tested with random schedules, and its rules one by one. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/unit/suites.h"
#include "vignetted/policy/weights.h"

enum { SCHEDULES = 10000, TICK_NS = 4000000, YOUNG_MAX_NS = 100000000 };

/* A simulated thread. It waits, is queued, and runs, each for a random time. */
struct simulated {
	enum { WAITING, QUEUED, RUNNING } state;
	uint64_t now_ns, until_ns;   /* the end of the current state */
	uint64_t cpu_ns, queued_ns, waited_ns;
	uint64_t seen_cpu_ns;        /* as the scheduler reports it: at its ticks, and when the thread leaves its CPU */
	uint64_t state_max_ns[3];    /* the longest time in each state */
};

/* the sums of the weights of the thread's samples */
struct sums {
	uint64_t wall_ns, cpu_ns, wall_ns_of[VG_THREAD_STATES], idle_cpu_ns;
	enum vg_thread_state latest;
};

static uint64_t random_ns(uint64_t state_max_ns)
{
	return ((uint64_t)rand() << 16 ^ (uint64_t)rand()) % state_max_ns + 1;
}

static void state_next(struct simulated *thread)
{
	thread->state = (thread->state + 1) % 3;
	if (thread->state == WAITING)
		thread->seen_cpu_ns = thread->cpu_ns;
	thread->until_ns = thread->now_ns + random_ns(thread->state_max_ns[thread->state]);
}

/* Advances the thread's time to its next change of state, the next scheduler tick, or to_ns. */
static void step(struct simulated *thread, uint64_t to_ns)
{
	uint64_t next_ns = (thread->now_ns / TICK_NS + 1) * TICK_NS, passed_ns;

	next_ns = thread->until_ns < next_ns ? thread->until_ns : next_ns;
	next_ns = to_ns < next_ns ? to_ns : next_ns;
	passed_ns = next_ns - thread->now_ns;
	thread->now_ns = next_ns;
	*(thread->state == WAITING ? &thread->waited_ns :
	  thread->state == QUEUED ? &thread->queued_ns : &thread->cpu_ns) += passed_ns;
	if (next_ns % TICK_NS == 0)
		thread->seen_cpu_ns = thread->cpu_ns;
	if (next_ns == thread->until_ns)
		state_next(thread);
}

static struct simulated thread_begin(uint64_t begin_ns)
{
	struct simulated thread = { .now_ns = begin_ns };

	for (int i = 0; i < 3; i++)
		thread.state_max_ns[i] = random_ns(rand() % 2 == 0 ? 1000000 : 30000000);
	thread.until_ns = begin_ns + random_ns(thread.state_max_ns[WAITING]);
	return thread;
}

#define CLOCKS(time_ns, cpu_ns, queued_ns) (&(struct vg_clocks){ time_ns, cpu_ns, queued_ns })

static struct vg_clocks clocks_of(const struct simulated *thread)
{
	return (struct vg_clocks){ thread->now_ns, thread->seen_cpu_ns, thread->queued_ns };
}

/* begin() and end() assume that the process used more CPU time than is in its samples. */
static void begin(struct vg_weights *weights, uint64_t begin_ns, uint64_t found_ns)
{
	uint64_t unsampled_ns = UINT64_MAX;

	vg_weights_begin(weights, begin_ns, found_ns, &unsampled_ns);
}

static struct vg_weight end(struct vg_weights *weights, uint64_t time_ns)
{
	uint64_t unsampled_ns = UINT64_MAX;

	return vg_weights_end(weights, time_ns, &unsampled_ns);
}

static void observe(struct vg_weights *weights, const struct simulated *thread)
{
	struct vg_clocks clocks = clocks_of(thread);

	vg_weights_observe(weights, &clocks);
}

static void add(struct sums *sums, struct vg_weight weight, enum vg_thread_state seen)
{
	sums->wall_ns += weight.wall_ns;
	sums->cpu_ns += weight.cpu_ns;
	sums->wall_ns_of[seen] += weight.wall_ns;
	sums->idle_cpu_ns += seen != VG_THREAD_RUNNING ? weight.cpu_ns : 0;
}

static void add_pair(struct sums *sums, struct vg_weight_pair pair, enum vg_thread_state seen)
{
	add(sums, pair.before, sums->latest);
	add(sums, pair.own, seen);
	sums->latest = seen;
}

static void sample_take(struct sums *sums, struct vg_weights *weights, const struct simulated *thread,
			enum vg_thread_state seen)
{
	struct vg_clocks clocks = clocks_of(thread);

	add_pair(sums, vg_weights_sample(weights, &clocks, seen), seen);
}

static uint64_t ready_sum(const struct sums *sums)
{
	return sums->wall_ns_of[VG_THREAD_RUNNING] + sums->wall_ns_of[VG_THREAD_QUEUED];
}

static void near_to(uint64_t value_ns, uint64_t expected_ns, uint64_t tolerance_ns, const char *name, int schedule)
{
	if (value_ns > expected_ns + tolerance_ns || expected_ns > value_ns + tolerance_ns)
		ck_abort_msg("schedule %d: %s: %" PRIu64 " ns, not %" PRIu64 " (+-%" PRIu64 ")", schedule, name, value_ns,
		      expected_ns, tolerance_ns);
}

/* At each tick a running or queued thread is stopped, and a waiting thread is read. A stop updates the scheduler's CPU
 * time. */
START_TEST(laws_of_stops)
{
	for (int i = 0; i < SCHEDULES; i++) {
		uint64_t period_ns = random_ns(20000000), begin_ns = random_ns(1000000000), end_ns, balance_ns;
		uint64_t last_ns = 0, queued_young_ns = 0;
		struct simulated thread = thread_begin(begin_ns);
		struct vg_weights weights;
		struct sums sums = { .latest = VG_THREAD_RUNNING };

		begin(&weights, begin_ns, begin_ns);
		for (int tick = 0; tick < 40; tick++) {
			uint64_t to_ns = thread.now_ns + random_ns(period_ns);

			while (thread.now_ns < to_ns)
				step(&thread, to_ns);
			observe(&weights, &thread);
			if (thread.state == RUNNING) {
				thread.seen_cpu_ns = thread.cpu_ns;
				sample_take(&sums, &weights, &thread, VG_THREAD_RUNNING);
				often_assert_eq(sums.cpu_ns, thread.cpu_ns);
				if (thread.now_ns - begin_ns < YOUNG_MAX_NS)
					queued_young_ns = sums.wall_ns_of[VG_THREAD_RUNNING] - sums.cpu_ns;
				near_to(sums.wall_ns_of[VG_THREAD_RUNNING], sums.cpu_ns + queued_young_ns, 0,
					"wall time of running", i);
			} else if (thread.state == WAITING) {
				sample_take(&sums, &weights, &thread, VG_THREAD_WAITING);
				near_to(sums.wall_ns_of[VG_THREAD_WAITING], thread.waited_ns, 0, "time waited", i);
			} else {
				sample_take(&sums, &weights, &thread, VG_THREAD_QUEUED);
				near_to(ready_sum(&sums), sums.cpu_ns + thread.queued_ns, 0, "time queued", i);
			}
		}
		last_ns = thread.now_ns;
		end_ns = last_ns + random_ns(period_ns);
		balance_ns = thread.cpu_ns - sums.cpu_ns;
		often_assert_eq(weights.cpu_balance_ns, balance_ns);
		add(&sums, end(&weights, end_ns), sums.latest);
		near_to(sums.wall_ns, end_ns - begin_ns, 0, "lifetime", i);
		often_assert_eq(sums.idle_cpu_ns, 0);
	}
}
END_TEST

/* A timer expires after a period of CPU time. Some timer samples are lost, and some periods are cut short. */
START_TEST(laws_of_timers)
{
	for (int i = 0; i < SCHEDULES; i++) {
		uint64_t period_ns = 1000000 + random_ns(10000000), begin_ns = random_ns(1000000000);
		uint64_t expires_cpu_ns = period_ns, lost_max_ns = 0, slack_ns = 6 * period_ns + 2 * TICK_NS;
		struct simulated thread = thread_begin(begin_ns);
		struct vg_weights weights;
		struct sums sums = { .latest = VG_THREAD_RUNNING };
		uint64_t queued_young_ns = 0;
		bool loses_samples = rand() % 2 == 0;

		begin(&weights, begin_ns, begin_ns);
		for (int tick = 0; tick < 200; tick++) {
			uint64_t to_ns = thread.now_ns + period_ns * 3 / 4 + random_ns(period_ns / 2);

			while (thread.now_ns < to_ns) {
				step(&thread, to_ns);
				if (thread.cpu_ns < expires_cpu_ns)
					continue;
				/* The sample is up to one step late. */
				expires_cpu_ns = thread.cpu_ns + period_ns;
				if (loses_samples && rand() % 8 == 0)
					lost_max_ns += period_ns;
				else if (vg_weights_timer_expired(&weights, period_ns, period_ns))
					add_pair(&sums, vg_weights_timer_sample(&weights, thread.now_ns, false),
						 VG_THREAD_RUNNING);
			}
			observe(&weights, &thread);
			if (thread.now_ns - begin_ns < YOUNG_MAX_NS)
				queued_young_ns = thread.queued_ns;
			if (thread.state == WAITING) {
				sample_take(&sums, &weights, &thread, VG_THREAD_WAITING);
				near_to(sums.wall_ns_of[VG_THREAD_WAITING], thread.waited_ns, slack_ns, "time waited",
					i);
				often_assert(sums.wall_ns_of[VG_THREAD_RUNNING] <=
					     sums.cpu_ns + queued_young_ns + slack_ns);
			} else if (thread.state == QUEUED) {
				sample_take(&sums, &weights, &thread, VG_THREAD_QUEUED);
				near_to(ready_sum(&sums), sums.cpu_ns + thread.queued_ns, slack_ns, "time queued", i);
			}
		}
		near_to(sums.cpu_ns, thread.cpu_ns, slack_ns + thread.state_max_ns[RUNNING], "CPU time", i);
		add(&sums, end(&weights, thread.now_ns), sums.latest);
		near_to(sums.wall_ns, thread.now_ns - begin_ns, 0, "lifetime", i);
		often_assert_eq(sums.idle_cpu_ns, 0);
	}
}
END_TEST

static void expect_pair(struct vg_weight_pair pair, uint64_t before_cpu_ns, uint64_t before_wall_ns, uint64_t cpu_ns,
			uint64_t wall_ns)
{
	ck_assert_uint_eq(pair.before.cpu_ns, before_cpu_ns);
	ck_assert_uint_eq(pair.before.wall_ns, before_wall_ns);
	ck_assert_uint_eq(pair.own.cpu_ns, cpu_ns);
	ck_assert_uint_eq(pair.own.wall_ns, wall_ns);
}

/* CPU time from before the recording is in no sample. */
START_TEST(cpu_time_before_the_recording)
{
	struct vg_weights weights;

	begin(&weights, 100, 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(300, 5000, 700), VG_THREAD_RUNNING), 0, 0, 0, 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(400, 5060, 710), VG_THREAD_RUNNING), 30, 35, 30, 35);
	expect_pair(vg_weights_sample(&weights, CLOCKS(400, 5060, 710), VG_THREAD_WAITING), 0, 0, 0, 230);
}
END_TEST

/* execve(2) gives a thread the first thread's id. The totals are then those of another thread. */
START_TEST(totals_of_another_thread)
{
	static const uint64_t second_ns = 1000000000;
	struct vg_weights weights;

	begin(&weights, 0, 1);
	expect_pair(vg_weights_sample(&weights, CLOCKS(1000, 900, 50), VG_THREAD_RUNNING), 0, 0, 900, 950);
	expect_pair(vg_weights_sample(&weights, CLOCKS(2000, 300, 20), VG_THREAD_RUNNING), 0, 0, 0, 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(2100, 380, 20), VG_THREAD_RUNNING), 40, 40, 40, 40);
	expect_pair(vg_weights_sample(&weights, CLOCKS(2200, 40 * second_ns, 20), VG_THREAD_RUNNING), 0, 0, 0, 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(2300, 40 * second_ns + 90, 20), VG_THREAD_RUNNING), 45, 45, 45,
		    45);
	/* The time between these samples is waiting time. */
	ck_assert_uint_eq(end(&weights, 2300).wall_ns, 2300 - 950 - 80 - 90);
}
END_TEST

/* Which of two samples gets the time between them. Each row: the state at the first and at the second sample; the CPU
 * time and the waiting time between them; what the first sample gets in addition; what the second sample gets. */
static const struct shared_times {
	bool first_waits, second_waits;
	uint64_t ran_ns, waited_ns, before_cpu_ns, before_wall_ns, cpu_ns, wall_ns;
} shared_times[] = {
	{ false, false, 100, 0, 50, 50, 50, 50 },
	{ false, false, 100, 60, 50, 50, 50, 50 },    /* the waiting time is carried to a later sample */
	{ false, true, 100, 60, 100, 100, 0, 60 },
	{ true, false, 100, 60, 0, 60, 100, 100 },
	{ true, true, 0, 60, 0, 30, 0, 30 },
	{ true, true, 100, 60, 0, 30, 0, 30 },        /* the CPU time is carried to a later sample */
};

START_TEST(time_between_two_samples_is_shared)
{
	const struct shared_times *row = &shared_times[_i];
	struct vg_clocks first = { 1000, 700, 0 }, second = first;
	struct vg_weights weights;

	second.time_ns += row->ran_ns + row->waited_ns;
	second.cpu_ns += row->ran_ns;
	begin(&weights, 0, 1);
	expect_pair(vg_weights_sample(&weights, &first, row->first_waits ? VG_THREAD_WAITING : VG_THREAD_RUNNING), 0, 0,
		    row->first_waits ? 0 : 700, row->first_waits ? 300 : 700);
	if (row->first_waits)
		weights.cpu_balance_ns = weights.balance_ns[VG_THREAD_RUNNING] = 0;
	else
		weights.balance_ns[VG_THREAD_WAITING] = 0;
	expect_pair(vg_weights_sample(&weights, &second, row->second_waits ? VG_THREAD_WAITING : VG_THREAD_RUNNING),
		    row->before_cpu_ns, row->before_wall_ns, row->cpu_ns, row->wall_ns);
}
END_TEST

/* Timers do not expire in the run queue. A stop is due when the queue time exceeds both 1/16 of the thread's age
 * and one sampling period. More than 100 ms are always enough. */
START_TEST(queue_time_of_threads_with_timers)
{
	enum { MS = 1000000 };
	struct vg_weights weights;

	begin(&weights, 0, 1);
	vg_weights_observe(&weights, CLOCKS(160 * MS, 40 * MS, 9 * MS));
	ck_assert(!vg_weights_queue_due(&weights, MS));
	vg_weights_observe(&weights, CLOCKS(160 * MS, 40 * MS, 11 * MS));
	ck_assert(!vg_weights_queue_due(&weights, 20 * MS));
	ck_assert(vg_weights_queue_due(&weights, MS));
	/* The CPU time stays in the balance, because no timer sample has taken it yet. */
	expect_pair(vg_weights_sample(&weights, CLOCKS(160 * MS, 40 * MS, 11 * MS), VG_THREAD_QUEUED), 0, 0, 0,
		    11 * MS);
	ck_assert_int_eq(weights.cpu_balance_ns, 40 * MS);
	ck_assert(!vg_weights_queue_due(&weights, MS));
	expect_pair(vg_weights_sample(&weights, CLOCKS(170 * MS, 45 * MS, 13 * MS), VG_THREAD_RUNNING), 0, 2 * MS,
		    45 * MS, 45 * MS);
	expect_pair(vg_weights_sample(&weights, CLOCKS(180 * MS, 49 * MS, 14 * MS), VG_THREAD_RUNNING), 2 * MS, 2 * MS,
		    2 * MS, 2 * MS);
	expect_pair(vg_weights_sample(&weights, CLOCKS(190 * MS, 52 * MS, 15 * MS), VG_THREAD_QUEUED), 3 * MS, 3 * MS,
		    0, 2 * MS);
	vg_weights_observe(&weights, CLOCKS(3600 * (uint64_t)MS, 52 * MS, 114 * MS));
	ck_assert(!vg_weights_queue_due(&weights, MS));
	vg_weights_observe(&weights, CLOCKS(3600 * (uint64_t)MS, 52 * MS, 116 * MS));
	ck_assert(vg_weights_queue_due(&weights, MS));
}
END_TEST

/* In a thread's first 100 ms its running samples take the queue time. Otherwise, if no sample found the thread queued,
 * its last sample would get all of the queue time. */
START_TEST(queue_time_of_young_threads)
{
	struct vg_weights weights;

	begin(&weights, 0, 1);
	expect_pair(vg_weights_sample(&weights, CLOCKS(1000, 400, 300), VG_THREAD_RUNNING), 0, 0, 400, 700);
	expect_pair(vg_weights_sample(&weights, CLOCKS(1000, 400, 300), VG_THREAD_WAITING), 0, 0, 0, 300);
	vg_weights_observe(&weights, CLOCKS(2000, 800, 900));
	ck_assert(vg_weights_timer_expired(&weights, 400, 400));
	expect_pair(vg_weights_timer_sample(&weights, 2000, false), 0, 0, 450, 1000);
}
END_TEST

/* No weight can be added to a sample that is in the file. */
START_TEST(written_samples_get_nothing)
{
	struct vg_weights weights;

	begin(&weights, 0, 1);
	expect_pair(vg_weights_sample(&weights, CLOCKS(1000, 1000, 0), VG_THREAD_RUNNING), 0, 0, 1000, 1000);
	vg_weights_latest_written(&weights);
	expect_pair(vg_weights_sample(&weights, CLOCKS(2000, 2000, 0), VG_THREAD_RUNNING), 0, 0, 1000, 1000);
}
END_TEST

/* Threads do one thing for 2/3 of their life, and then another. Ticks are at fixed periods. A thread is assumed to be
 * created and to exit in the middle between two ticks. */
static const double lives_in_periods[] = { 0.15, 0.5, 0.9, 1.3, 1.8, 2.5, 4.5, 12.1 };

START_TEST(shares_of_short_threads)
{
	enum { PERIOD_NS = 10000000 };
	bool running = _i % 2 == 0;
	uint64_t life_ns = (uint64_t)(lives_in_periods[_i / 2] * PERIOD_NS), first_ns = life_ns * 2 / 3;
	uint64_t sums_ns[2] = { 0 }, sum_ns;

	for (int i = 0; i < SCHEDULES; i++) {
		/* The thread is created after one period. */
		uint64_t at_ns = PERIOD_NS + random_ns(PERIOD_NS), end_ns = PERIOD_NS + life_ns;
		struct vg_weights weights;
		struct vg_weight rest;
		int latest = 0;

		if (at_ns >= end_ns)
			continue;
		begin(&weights, at_ns - PERIOD_NS / 2, at_ns);
		for (; at_ns < end_ns; at_ns += PERIOD_NS) {
			struct vg_clocks clocks = { at_ns, running ? at_ns - PERIOD_NS : 0, 0 };
			enum vg_thread_state state = running ? VG_THREAD_RUNNING : VG_THREAD_WAITING;
			struct vg_weight_pair pair = vg_weights_sample(&weights, &clocks, state);

			sums_ns[latest] += running ? pair.before.cpu_ns : pair.before.wall_ns;
			latest = at_ns - PERIOD_NS >= first_ns;
			sums_ns[latest] += running ? pair.own.cpu_ns : pair.own.wall_ns;
		}
		rest = end(&weights, at_ns - PERIOD_NS / 2);
		sums_ns[latest] += running ? rest.cpu_ns : rest.wall_ns;
	}
	sum_ns = sums_ns[0] + sums_ns[1];
	near_to(sum_ns / SCHEDULES, life_ns, life_ns / 20, "sum", _i);
	near_to(sums_ns[0] * 1000 / sum_ns, 667, 15, "per mille of the first thing", _i);
}
END_TEST

/* The first and the last sample of a thread get additional CPU time: at most the CPU time that the process used and
 * that no sample has. */
START_TEST(additional_time_is_bounded)
{
	uint64_t unsampled_ns = 400;
	struct vg_weights weights;
	struct vg_weight rest;

	vg_weights_begin(&weights, 9000, 10000, &unsampled_ns);
	ck_assert_uint_eq(unsampled_ns, 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(10000, 300, 0), VG_THREAD_RUNNING), 0, 0, 700, 1000);
	unsampled_ns = 200;
	rest = vg_weights_end(&weights, 11000, &unsampled_ns);
	ck_assert_uint_eq(rest.cpu_ns, 200);
	ck_assert_uint_eq(rest.wall_ns, 1000);
	ck_assert_uint_eq(unsampled_ns, 0);
}
END_TEST

/* A thread begins only once, even if its first sample is in the file. */
START_TEST(threads_begin_once)
{
	enum { MS = 1000000 };
	struct vg_weights weights;

	begin(&weights, 10 * MS, 20 * MS);
	expect_pair(vg_weights_sample(&weights, CLOCKS(20 * MS, MS, 0), VG_THREAD_RUNNING), 0, 0, 10 * MS, 10 * MS);
	vg_weights_latest_written(&weights);
	expect_pair(vg_weights_sample(&weights, CLOCKS(25 * MS, 2 * MS, 0), VG_THREAD_RUNNING), 0, 0, MS, MS);
	ck_assert_uint_eq(end(&weights, 26 * MS).wall_ns, 5 * MS);
}
END_TEST

/* The first sample that finds a thread running stands for a whole period of CPU time, if the process has used that
 * much. The thread's later samples have that much less. */
START_TEST(first_running_sample_has_a_period)
{
	struct vg_weights weights;

	begin(&weights, 0, 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(1000, 5000, 0), VG_THREAD_WAITING), 0, 0, 0, 1000);
	ck_assert_uint_eq(vg_weights_first_running(&weights, 0, 1000, 600), 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(1000, 5000, 0), VG_THREAD_QUEUED), 0, 0, 0, 0);
	ck_assert_uint_eq(vg_weights_first_running(&weights, 0, 1000, 600), 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(2000, 5100, 0), VG_THREAD_RUNNING), 0, 0, 100, 100);
	ck_assert_uint_eq(vg_weights_first_running(&weights, 100, 1000, 600), 600);
	ck_assert_uint_eq(vg_weights_first_running(&weights, 100, 1000, 600), 0);
	expect_pair(vg_weights_sample(&weights, CLOCKS(3000, 5600, 0), VG_THREAD_RUNNING), 0, 250, 0, 250);
	expect_pair(vg_weights_sample(&weights, CLOCKS(4000, 6000, 0), VG_THREAD_RUNNING), 150, 200, 150, 200);
	begin(&weights, 0, 0);
	vg_weights_sample(&weights, CLOCKS(1000, 1000, 0), VG_THREAD_RUNNING);
	ck_assert_uint_eq(vg_weights_first_running(&weights, 1000, 1000, 600), 0);
}
END_TEST

/* A recording with a period three times as long gets every third timer sample, with the weight of three. */
START_TEST(slower_recording_gets_fewer_timer_samples)
{
	uint64_t due = 0, sum_ns = 0;
	struct vg_weights weights;

	begin(&weights, 0, 1);
	for (uint64_t i = 1; i <= 300; i++) {
		struct vg_weight_pair pair;

		vg_weights_observe(&weights, CLOCKS(i * 1000, i * 1000, 0));
		if (!vg_weights_timer_expired(&weights, 1000, 3000))
			continue;
		due++;
		pair = vg_weights_timer_sample(&weights, i * 1000, false);
		sum_ns += pair.before.cpu_ns + pair.own.cpu_ns;
	}
	ck_assert_uint_eq(due, 100);
	near_to(sum_ns, 300000, 3000, "CPU time", 0);
}
END_TEST

/* A stop takes the CPU time up to then.  What timers had measured before it makes no later timer sample due. */
START_TEST(stop_takes_what_timers_measured)
{
	struct vg_weights weights;

	begin(&weights, 0, 1);
	vg_weights_sample(&weights, CLOCKS(1000, 1000, 0), VG_THREAD_RUNNING);
	ck_assert(!vg_weights_timer_expired(&weights, 1000, 3000));
	ck_assert(!vg_weights_timer_expired(&weights, 1000, 3000));
	expect_pair(vg_weights_sample(&weights, CLOCKS(3000, 3000, 0), VG_THREAD_RUNNING), 1000, 1000, 1000, 1000);
	ck_assert(!vg_weights_timer_expired(&weights, 1000, 3000));
	ck_assert(!vg_weights_timer_expired(&weights, 1000, 3000));
	ck_assert(vg_weights_timer_expired(&weights, 1000, 3000));
}
END_TEST

/* A timer sample stands for at most four of its periods, even if timers missed more. */
START_TEST(missed_time_is_added_in_parts)
{
	struct vg_weights weights;
	struct vg_weight_pair pair;

	begin(&weights, 0, 1);
	vg_weights_observe(&weights, CLOCKS(1000000, 1000000, 0));
	ck_assert(vg_weights_timer_expired(&weights, 1000, 1000));
	pair = vg_weights_timer_sample(&weights, 1000000, false);
	ck_assert_uint_eq(pair.before.cpu_ns + pair.own.cpu_ns, 4000);
}
END_TEST

/* One fetch brings many timer samples after one observation. Together they get what timers had missed at that
 * observation, and no more. (The first sample's timer had measured half of its period by then.) */
START_TEST(missed_time_is_added_once)
{
	enum { MISSED_NS = 8000, PERIOD_NS = 1000, SAMPLES = 40 };
	uint64_t sum_ns = 0, latest_ns = UINT64_MAX;
	struct vg_weights weights;

	begin(&weights, 0, 1);
	vg_weights_observe(&weights, CLOCKS(1000000, MISSED_NS, 0));
	for (uint64_t i = 0; i < SAMPLES; i++) {
		struct vg_weight_pair pair;
		uint64_t cpu_ns;

		ck_assert(vg_weights_timer_expired(&weights, PERIOD_NS, PERIOD_NS));
		pair = vg_weights_timer_sample(&weights, 1000000 + (i + 1) * PERIOD_NS, false);
		cpu_ns = pair.before.cpu_ns + pair.own.cpu_ns;
		/* Each sample adds a part of what is left. */
		ck_assert_uint_le(cpu_ns, latest_ns);
		latest_ns = cpu_ns;
		sum_ns += cpu_ns;
	}
	near_to(sum_ns, SAMPLES * PERIOD_NS + MISSED_NS - PERIOD_NS / 2, SAMPLES, "CPU time", 0);
}
END_TEST

/* Timers of user code miss the time in the kernel. Their samples get none of this time. A stop in a system call takes
 * it. A stop in user code takes it only if there is very much of it. */
START_TEST(user_only_timers_leave_time_to_stops)
{
	static const uint64_t MS = 1000000;
	struct vg_weights weights;
	struct vg_weight_pair pair;

	begin(&weights, 0, 1);
	vg_weights_observe(&weights, CLOCKS(100 * MS, 100 * MS, 0));
	ck_assert(vg_weights_timer_expired(&weights, 10 * MS, 10 * MS));
	pair = vg_weights_timer_sample(&weights, 100 * MS, true);
	ck_assert_uint_eq(pair.before.cpu_ns + pair.own.cpu_ns, 10 * MS);
	ck_assert_uint_eq(vg_weights_kernel_limit_ns(&weights, 10 * MS), 24 * MS);
	ck_assert(vg_weights_kernel_takes(&weights, 10 * MS, true));
	ck_assert(!vg_weights_kernel_takes(&weights, 10 * MS, false));
	vg_weights_observe(&weights, CLOCKS(110 * MS, 110 * MS, 0));
	ck_assert(vg_weights_kernel_takes(&weights, 10 * MS, false));
	pair = vg_weights_sample(&weights, CLOCKS(110 * MS, 110 * MS, 0), VG_THREAD_RUNNING);
	ck_assert_uint_eq(pair.before.cpu_ns + pair.own.cpu_ns, 100 * MS);
	/* The limit grows with the thread's age, up to 100 ms. */
	vg_weights_observe(&weights, CLOCKS(3200 * MS, 110 * MS, 0));
	ck_assert_uint_eq(vg_weights_kernel_limit_ns(&weights, 10 * MS), 50 * MS);
	vg_weights_observe(&weights, CLOCKS(32000 * MS, 110 * MS, 0));
	ck_assert_uint_eq(vg_weights_kernel_limit_ns(&weights, 10 * MS), 100 * MS);
}
END_TEST

/* Timers that measure all CPU time have missed nothing. Otherwise the first samples of short threads would have too
 * much weight. */
START_TEST(exact_timers_miss_nothing)
{
	struct vg_weights weights;

	begin(&weights, 0, 1);
	for (uint64_t i = 0; i < 5; i++) {
		struct vg_weight_pair pair;

		vg_weights_observe(&weights, CLOCKS(i * 1000 + 500, i * 1000 + 500, 0));
		ck_assert(vg_weights_timer_expired(&weights, 1000, 1000));
		pair = vg_weights_timer_sample(&weights, (i + 1) * 1000, false);
		ck_assert_uint_eq(pair.before.cpu_ns + pair.own.cpu_ns, 1000);
	}
}
END_TEST

Suite *weights_suite(void)
{
	Suite *suite = suite_create("weights");
	TCase *tests = tcase_create("weights");

	tcase_add_test(tests, laws_of_stops);
	tcase_add_test(tests, laws_of_timers);
	tcase_add_test(tests, cpu_time_before_the_recording);
	tcase_add_test(tests, totals_of_another_thread);
	tcase_add_loop_test(tests, time_between_two_samples_is_shared, 0, sizeof shared_times / sizeof *shared_times);
	tcase_add_test(tests, queue_time_of_threads_with_timers);
	tcase_add_test(tests, queue_time_of_young_threads);
	tcase_add_test(tests, written_samples_get_nothing);
	tcase_add_loop_test(tests, shares_of_short_threads, 0, 2 * sizeof lives_in_periods / sizeof *lives_in_periods);
	tcase_add_test(tests, additional_time_is_bounded);
	tcase_add_test(tests, threads_begin_once);
	tcase_add_test(tests, first_running_sample_has_a_period);
	tcase_add_test(tests, slower_recording_gets_fewer_timer_samples);
	tcase_add_test(tests, stop_takes_what_timers_measured);
	tcase_add_test(tests, exact_timers_miss_nothing);
	tcase_add_test(tests, user_only_timers_leave_time_to_stops);
	tcase_add_test(tests, missed_time_is_added_in_parts);
	tcase_add_test(tests, missed_time_is_added_once);
	suite_add_tcase(suite, tests);
	return suite;
}
