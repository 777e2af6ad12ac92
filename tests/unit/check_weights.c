/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The laws of weights, over schedules made at random: see policy/weights.h. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/unit/suites.h"
#include "vignetted/policy/weights.h"

enum { SCHEDULES = 10000, TICK_NS = 4000000 };

/* A thread that exists only here.  Its time goes by in steps: it waits, queues for a CPU, and runs. */
struct simulated {
	enum { WAITS, QUEUES, RUNS } state;
	uint64_t now_ns, until_ns;   /* of the state */
	uint64_t cpu_ns, queued_ns, waited_ns;
	uint64_t seen_cpu_ns;        /* as the scheduler reports it: at its ticks, and when the thread leaves its CPU */
	uint64_t most_ns[3];         /* the longest that a state lasts */
};

/* What its samples stand for. */
struct sums {
	uint64_t wall_ns, cpu_ns, waiting_wall_ns, waiting_cpu_ns;
	bool latest_waits;
};

static uint64_t random_ns(uint64_t most_ns)
{
	return ((uint64_t)rand() << 16 ^ (uint64_t)rand()) % most_ns + 1;
}

static void state_next(struct simulated *thread)
{
	thread->state = (thread->state + 1) % 3;
	if (thread->state == WAITS)
		thread->seen_cpu_ns = thread->cpu_ns;
	thread->until_ns = thread->now_ns + random_ns(thread->most_ns[thread->state]);
}

/* Lets time go by until the thread's state changes, the scheduler ticks, or that time. */
static void step(struct simulated *thread, uint64_t to_ns)
{
	uint64_t next_ns = (thread->now_ns / TICK_NS + 1) * TICK_NS, passed_ns;

	next_ns = thread->until_ns < next_ns ? thread->until_ns : next_ns;
	next_ns = to_ns < next_ns ? to_ns : next_ns;
	passed_ns = next_ns - thread->now_ns;
	thread->now_ns = next_ns;
	*(thread->state == WAITS ? &thread->waited_ns : thread->state == QUEUES ? &thread->queued_ns : &thread->cpu_ns) +=
		passed_ns;
	if (next_ns % TICK_NS == 0)
		thread->seen_cpu_ns = thread->cpu_ns;
	if (next_ns == thread->until_ns)
		state_next(thread);
}

static struct simulated thread_begin(uint64_t begin_ns)
{
	struct simulated thread = { .now_ns = begin_ns };

	for (int i = 0; i < 3; i++)
		thread.most_ns[i] = random_ns(rand() % 2 == 0 ? 1000000 : 30000000);
	thread.until_ns = begin_ns + random_ns(thread.most_ns[WAITS]);
	return thread;
}

static struct vg_clocks clocks_of(const struct simulated *thread)
{
	return (struct vg_clocks){ thread->now_ns, thread->seen_cpu_ns, thread->queued_ns };
}

static void observe(struct vg_weights *weights, const struct simulated *thread)
{
	struct vg_clocks clocks = clocks_of(thread);

	vg_weights_observe(weights, &clocks);
}

static void add(struct sums *sums, struct vg_weight weight, bool waits)
{
	sums->wall_ns += weight.wall_ns;
	sums->cpu_ns += weight.cpu_ns;
	sums->waiting_wall_ns += waits ? weight.wall_ns : 0;
	sums->waiting_cpu_ns += waits ? weight.cpu_ns : 0;
}

static void add_pair(struct sums *sums, struct vg_weight_pair pair, bool waits)
{
	add(sums, pair.before, sums->latest_waits);
	add(sums, pair.own, waits);
	sums->latest_waits = waits;
}

static void take(struct sums *sums, struct vg_weights *weights, const struct simulated *thread, bool waits)
{
	struct vg_clocks clocks = clocks_of(thread);

	add_pair(sums, vg_weights_take(weights, &clocks, waits ? VG_SEEN_WAITING : VG_SEEN_RUNNING), waits);
}

static void near(uint64_t is_ns, uint64_t should_ns, uint64_t by_ns, const char *what, int schedule)
{
	ck_assert_msg(is_ns <= should_ns + by_ns && should_ns <= is_ns + by_ns,
		      "schedule %d: %s: %" PRIu64 " ns, not %" PRIu64 " (+-%" PRIu64 ")", schedule, what, is_ns, should_ns, by_ns);
}

/* At each tick a running thread is stopped, a waiting one read.  A stop brings the scheduler's numbers up to date. */
START_TEST(stops_conserve)
{
	for (int i = 0; i < SCHEDULES; i++) {
		uint64_t period_ns = random_ns(20000000), begin_ns = random_ns(1000000000), end_ns, left_ns, last_ns = 0;
		struct simulated thread = thread_begin(begin_ns);
		struct vg_weights weights;
		struct sums sums = { 0 };

		vg_weights_begin(&weights, begin_ns, true);
		for (int tick = 0; tick < 40; tick++) {
			uint64_t to_ns = thread.now_ns + random_ns(period_ns);

			while (thread.now_ns < to_ns)
				step(&thread, to_ns);
			observe(&weights, &thread);
			if (thread.state == RUNS) {
				thread.seen_cpu_ns = thread.cpu_ns;
				take(&sums, &weights, &thread, false);
				ck_assert_uint_eq(sums.cpu_ns, thread.cpu_ns);
			} else if (thread.state == WAITS) {
				take(&sums, &weights, &thread, true);
				near(sums.waiting_wall_ns, thread.waited_ns, 0, "time waited", i);
			}
		}
		last_ns = thread.now_ns;
		end_ns = last_ns + random_ns(period_ns);
		left_ns = thread.cpu_ns - sums.cpu_ns;
		ck_assert_int_eq(weights.cpu_left_ns, (int64_t)left_ns);
		add(&sums, vg_weights_end(&weights, end_ns), false);
		near(sums.wall_ns, end_ns - begin_ns, 0, "lifetime", i);
		ck_assert_uint_eq(sums.waiting_cpu_ns, 0);
	}
}
END_TEST

/* Timers expire after a period of CPU time.  Some samples are dropped, and some periods are cut short. */
START_TEST(timers_conserve)
{
	for (int i = 0; i < SCHEDULES; i++) {
		uint64_t period_ns = 1000000 + random_ns(10000000), begin_ns = random_ns(1000000000);
		uint64_t expires_cpu_ns = period_ns, lost_most_ns = 0, slack_ns = 6 * period_ns + 2 * TICK_NS;
		struct simulated thread = thread_begin(begin_ns);
		struct vg_weights weights;
		struct sums sums = { 0 };
		bool drops = rand() % 2 == 0;

		vg_weights_begin(&weights, begin_ns, true);
		for (int tick = 0; tick < 200; tick++) {
			uint64_t to_ns = thread.now_ns + period_ns * 3 / 4 + random_ns(period_ns / 2);

			while (thread.now_ns < to_ns) {
				step(&thread, to_ns);
				if (thread.cpu_ns < expires_cpu_ns)
					continue;
				/* The sample is up to one step late. */
				expires_cpu_ns = thread.cpu_ns + period_ns;
				if (drops && rand() % 8 == 0)
					lost_most_ns += period_ns;
				else if (vg_weights_timer_count(&weights, period_ns, period_ns))
					add_pair(&sums, vg_weights_timer(&weights, thread.now_ns), false);
			}
			observe(&weights, &thread);
			if (thread.state == WAITS) {
				take(&sums, &weights, &thread, true);
				near(sums.waiting_wall_ns, thread.waited_ns, slack_ns, "time waited", i);
			}
		}
		near(sums.cpu_ns, thread.cpu_ns, slack_ns + thread.most_ns[RUNS], "CPU time", i);
		add(&sums, vg_weights_end(&weights, thread.now_ns), false);
		near(sums.wall_ns, thread.now_ns - begin_ns, 0, "lifetime", i);
		ck_assert_uint_eq(sums.waiting_cpu_ns, 0);
	}
}
END_TEST

static void is(struct vg_weight_pair pair, uint64_t before_cpu_ns, uint64_t before_wall_ns, uint64_t cpu_ns, uint64_t wall_ns)
{
	ck_assert_uint_eq(pair.before.cpu_ns, before_cpu_ns);
	ck_assert_uint_eq(pair.before.wall_ns, before_wall_ns);
	ck_assert_uint_eq(pair.own.cpu_ns, cpu_ns);
	ck_assert_uint_eq(pair.own.wall_ns, wall_ns);
}

/* What a thread used before the recording belongs to no sample. */
START_TEST(older_threads_begin_at_nothing)
{
	struct vg_weights weights;

	vg_weights_begin(&weights, 100, false);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 300, 5000, 700 }, VG_SEEN_RUNNING), 0, 0, 0, 0);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 400, 5060, 710 }, VG_SEEN_RUNNING), 30, 35, 30, 35);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 400, 5060, 710 }, VG_SEEN_WAITING), 0, 0, 0, 230);
}
END_TEST

/* A thread that executes a program takes the first thread's number: the totals are another thread's. */
START_TEST(totals_of_another_thread)
{
	static const uint64_t second_ns = 1000000000;
	struct vg_weights weights;

	vg_weights_begin(&weights, 0, true);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 1000, 900, 50 }, VG_SEEN_RUNNING), 0, 0, 900, 950);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 2000, 300, 20 }, VG_SEEN_RUNNING), 0, 0, 0, 0);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 2100, 380, 20 }, VG_SEEN_RUNNING), 40, 40, 40, 40);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 2200, 40 * second_ns, 20 }, VG_SEEN_RUNNING), 0, 0, 0, 0);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 2300, 40 * second_ns + 90, 20 }, VG_SEEN_RUNNING), 45, 45, 45, 45);
	/* The time between is waiting. */
	ck_assert_uint_eq(vg_weights_end(&weights, 2300).wall_ns, 2300 - 900 - 50 - 80 - 90);
}
END_TEST

/* Which of two samples has the time between them.  Each row: what the first and the second saw, the CPU time and the waiting
 * between them; what the first is given besides, and what the second is given. */
static const struct shared {
	bool first_waits, second_waits;
	uint64_t ran_ns, waited_ns, before_cpu_ns, before_wall_ns, cpu_ns, wall_ns;
} shared[] = {
	{ false, false, 100, 0, 50, 50, 50, 50 },
	{ false, false, 100, 60, 50, 50, 50, 50 },    /* the waiting is carried */
	{ false, true, 100, 60, 100, 100, 0, 60 },
	{ true, false, 100, 60, 0, 60, 100, 100 },
	{ true, true, 0, 60, 0, 30, 0, 30 },
	{ true, true, 100, 60, 0, 30, 0, 30 },        /* the CPU time is carried */
};

START_TEST(time_between_two_samples_is_shared)
{
	const struct shared *row = &shared[_i];
	struct vg_clocks first = { 1000, 700, 0 }, second = first;
	struct vg_weights weights;

	second.time_ns += row->ran_ns + row->waited_ns;
	second.cpu_ns += row->ran_ns;
	vg_weights_begin(&weights, 0, true);
	is(vg_weights_take(&weights, &first, row->first_waits ? VG_SEEN_WAITING : VG_SEEN_RUNNING), 0, 0, row->first_waits ? 0 : 700, row->first_waits ? 300 : 700);
	if (row->first_waits)
		weights.cpu_left_ns = 0;
	else
		weights.waited_left_ns = 0;
	is(vg_weights_take(&weights, &second, row->second_waits ? VG_SEEN_WAITING : VG_SEEN_RUNNING), row->before_cpu_ns, row->before_wall_ns, row->cpu_ns,
	   row->wall_ns);
}
END_TEST

/* What is written cannot be given more. */
START_TEST(written_samples_take_no_more)
{
	struct vg_weights weights;

	vg_weights_begin(&weights, 0, true);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 1000, 1000, 0 }, VG_SEEN_RUNNING), 0, 0, 1000, 1000);
	vg_weights_written(&weights);
	is(vg_weights_take(&weights, &(struct vg_clocks){ 2000, 2000, 0 }, VG_SEEN_RUNNING), 0, 0, 1000, 1000);
}
END_TEST

/* Threads that do one thing for 30 ms and then another one for 15 ms, each sampled from another moment on.  A thread's end is seen
 * at the tick after it, and taken to be between the two. */
START_TEST(short_threads_have_true_shares)
{
	enum { FIRST_NS = 30000000, LIFE_NS = 45000000, PERIOD_NS = 10000000 };
	bool running = _i == 0;
	uint64_t sums_ns[2] = { 0 }, sum_ns;

	for (int i = 0; i < SCHEDULES; i++) {
		uint64_t at_ns = random_ns(PERIOD_NS);
		struct vg_weights weights;
		int latest = 0;
		struct vg_weight rest;

		vg_weights_begin(&weights, 0, true);
		for (; at_ns < LIFE_NS; at_ns += PERIOD_NS) {
			struct vg_clocks clocks = { at_ns, running ? at_ns : 0, 0 };
			struct vg_weight_pair pair = vg_weights_take(&weights, &clocks, running ? VG_SEEN_RUNNING : VG_SEEN_WAITING);

			sums_ns[latest] += running ? pair.before.cpu_ns : pair.before.wall_ns;
			latest = at_ns >= FIRST_NS;
			sums_ns[latest] += running ? pair.own.cpu_ns : pair.own.wall_ns;
		}
		rest = vg_weights_end(&weights, at_ns - PERIOD_NS / 2);
		sums_ns[latest] += running ? rest.cpu_ns : rest.wall_ns;
	}
	sum_ns = sums_ns[0] + sums_ns[1];
	near(sum_ns / SCHEDULES, LIFE_NS, LIFE_NS / 200, "sum", _i);
	near(sums_ns[0] / SCHEDULES, FIRST_NS, LIFE_NS / 200, "the first thing", _i);
}
END_TEST

/* Every third sample of a timer is due for a recording that is three times as slow, and stands for all three. */
START_TEST(slower_recordings_pass_over)
{
	struct vg_weights weights;
	struct vg_weight_pair pair;
	uint32_t due = 0;

	vg_weights_begin(&weights, 0, true);
	for (int i = 0; i < 30; i++) {
		if (!vg_weights_timer_count(&weights, 1000, 3000))
			continue;
		due++;
		pair = vg_weights_timer(&weights, (uint64_t)(i + 1) * 1000);
		ck_assert_uint_eq(pair.before.cpu_ns + pair.own.cpu_ns, 3000);
	}
	ck_assert_uint_eq(due, 10);
}
END_TEST

Suite *weights_suite(void)
{
	Suite *suite = suite_create("weights");
	TCase *tests = tcase_create("weights");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, stops_conserve);
	tcase_add_test(tests, timers_conserve);
	tcase_add_test(tests, older_threads_begin_at_nothing);
	tcase_add_test(tests, totals_of_another_thread);
	tcase_add_loop_test(tests, time_between_two_samples_is_shared, 0, sizeof shared / sizeof *shared);
	tcase_add_test(tests, written_samples_take_no_more);
	tcase_add_loop_test(tests, short_threads_have_true_shares, 0, 2);
	tcase_add_test(tests, slower_recordings_pass_over);
	suite_add_tcase(suite, tests);
	return suite;
}
