/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The times of ticks and of timer samples, and at which ticks a slower recording samples. The tests set the clock. */
#include "tests/unit/suites.h"

#include <errno.h>

#include "vignetted/capture/timers.h"
#include "vignetted/serve/remote.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/session.h"

enum { TICKS = 100 * 1000, PARTS = 4 };
static const uint64_t BEGIN_NS = UINT64_C(1000) * 1000 * 1000 * 1000;

static struct vg_session session;

/* A program repeats with the sampling period. Each quarter of its period has the same sum of weights. A tick's weight
 * is half of the time from the tick before to the tick after. */
START_TEST(every_part_of_a_period_is_sampled)
{
	struct vg_ticks ticks;
	uint64_t period_ns = 10 * 1000 * 1000, now_ns = BEGIN_NS, part_ns[PARTS] = { 0 }, from_previous_ns = 0, all_ns;

	vg_ticks_start(&ticks, period_ns, now_ns);
	for (int i = 0; i < TICKS; i++) {
		uint64_t to_next_ns = ticks.due_ns - now_ns;

		often_assert(i == 0 || (to_next_ns >= period_ns / 2 - 1 && to_next_ns <= period_ns * 3 / 2 + 1));
		if (i > 0)
			part_ns[now_ns % period_ns * PARTS / period_ns] += (from_previous_ns + to_next_ns) / 2;
		from_previous_ns = to_next_ns;
		now_ns = ticks.due_ns;
		often_assert(!vg_ticks_due(&ticks, now_ns - 1));
		often_assert(vg_ticks_due(&ticks, now_ns));
	}
	all_ns = now_ns - BEGIN_NS;
	ck_assert(all_ns / period_ns >= TICKS - 2 && all_ns / period_ns <= TICKS + 2);
	for (int i = 0; i < PARTS; i++)
		ck_assert(part_ns[i] > all_ns / PARTS / 100 * 90 && part_ns[i] < all_ns / PARTS / 100 * 110);
	ck_assert_uint_eq(ticks.skipped + ticks.late, 0);
}
END_TEST

/* A timer gets another random period from time to time. So it does not stay in step with a program that repeats with
 * the sampling period, or with one close to it. */
static const uint64_t programs_ns[] = { 10000000, 9950000, 10050000, 5000000, 20000000 };

START_TEST(every_part_of_a_period_is_sampled_by_timers)
{
	struct vg_timers timers = { .mean_period_ns = 10 * 1000 * 1000, .random = 1 };
	uint64_t at_ns = 0, repeat_ns = programs_ns[_i], keep_ns = 100 * 1000 * 1000;
	size_t parts[PARTS] = { 0 }, all = 0;

	while (all < TICKS) {
		uint64_t period_ns = vg_timers_random_period_ns(&timers), end_ns = at_ns + keep_ns;

		ck_assert(period_ns >= timers.mean_period_ns * 4 / 5 && period_ns <= timers.mean_period_ns * 4 / 3);
		while (at_ns <= end_ns) {
			at_ns += period_ns;
			parts[at_ns % repeat_ns * PARTS / repeat_ns]++;
			all++;
		}
	}
	/* The timers' own rate is the sampling rate. */
	ck_assert(at_ns / timers.mean_period_ns > all / 100 * 98 && at_ns / timers.mean_period_ns < all / 100 * 102);
	for (int i = 0; i < PARTS; i++)
		ck_assert_msg(parts[i] > all / PARTS / 100 * 90 && parts[i] < all / PARTS / 100 * 110,
			      "part %d has %zu of %zu samples, expected a quarter", i, parts[i], all);
}
END_TEST

static const struct { uint64_t fast_ns, slow_ns; } pairs[] = {
	{ 1000000, 1001001 }, { 10000000, 10101010 }, { 1000000, 1041667 }, { 10101010, 20408163 },
	{ 1000000, 11000000 },
};

START_TEST(slower_recording_has_its_own_rate)
{
	struct vg_recording *recording = &session.recordings[0];
	uint64_t fast_ns = pairs[_i].fast_ns, slow_ns = pairs[_i].slow_ns, samples = 0;
	uint64_t expected = TICKS * fast_ns / slow_ns;

	vg_ticks_start(&session.ticks, fast_ns, BEGIN_NS);
	recording->options.period_ns = slow_ns;
	vg_ticks_start(&recording->ticks, slow_ns, BEGIN_NS);
	recording->ticks.in_first_half = true;
	for (int i = 0; i < TICKS; i++) {
		often_assert(vg_ticks_due(&session.ticks, session.ticks.due_ns));
		samples += vg_recording_due(recording, &session.ticks, 0);
	}
	ck_assert(samples >= expected - 2 && samples <= expected + 2);
	ck_assert_uint_eq(recording->skipped, 0);
}
END_TEST

/* A peer may ask for a period of at most 1 s, as on the command line. Sums of longer periods
 * could overflow. */
static const struct { uint64_t period_ns; int rc; } requests[] = {
	{ 0, 0 }, { 99999, -EINVAL }, { 100000, 0 }, { 1000000000, 0 }, { 1000000001, -EINVAL },
	{ INT64_MAX, -EINVAL }, { UINT64_C(1) << 63, -EINVAL }, { UINT64_MAX, -EINVAL },
};

START_TEST(period_of_a_peer_is_bounded)
{
	struct vg_wire_begin begin = { .period_ns = requests[_i].period_ns, .max_frames = 64 };
	struct vg_session_options options;
	struct vg_ticks ticks;

	ck_assert_int_eq(vg_options_from_wire(&options, &begin), requests[_i].rc);
	if (requests[_i].rc != 0 || requests[_i].period_ns == 0)
		return;
	vg_ticks_start(&ticks, options.period_ns, BEGIN_NS);
	for (int i = 0; i < 1000; i++)
		ck_assert(vg_ticks_due(&ticks, ticks.due_ns));
}
END_TEST

START_TEST(thread_of_a_peer_is_an_id)
{
	/* Earlier libraries send limits that are not used any more. */
	struct vg_wire_begin begin = { .max_frames = 64, .thread = INT32_MAX, .unused = { 16384, 1024 } };
	struct vg_session_options options;

	ck_assert_int_eq(vg_options_from_wire(&options, &begin), 0);
	ck_assert_int_eq(options.thread, INT32_MAX);
	begin.thread = (uint32_t)INT32_MAX + 1;
	ck_assert_int_eq(vg_options_from_wire(&options, &begin), -EINVAL);
}
END_TEST

Suite *ticks_suite(void)
{
	Suite *suite = suite_create("ticks");
	TCase *tests = tcase_create("ticks");

	tcase_add_test(tests, every_part_of_a_period_is_sampled);
	tcase_add_loop_test(tests, every_part_of_a_period_is_sampled_by_timers, 0, sizeof programs_ns / sizeof *programs_ns);
	tcase_add_test(tests, thread_of_a_peer_is_an_id);
	tcase_add_loop_test(tests, slower_recording_has_its_own_rate, 0, sizeof pairs / sizeof *pairs);
	tcase_add_loop_test(tests, period_of_a_peer_is_bounded, 0, sizeof requests / sizeof *requests);
	suite_add_tcase(suite, tests);
	return suite;
}
