/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When ticks come, and which of them a slower recording takes; the time is ours. */
#include "tests/suites.h"
#include "vignetted/recording.h"
#include "vignetted/session.h"

enum { TICKS = 100 * 1000, PARTS = 4 };
static const uint64_t BEGIN_NS = UINT64_C(1000) * 1000 * 1000 * 1000;

static struct vg_session session;

/* What is done exactly as often is met everywhere, and what counts for each part is the time between ticks. */
START_TEST(every_part_of_a_period_is_met)
{
	struct vg_ticks ticks;
	uint64_t period_ns = 10 * 1000 * 1000, now_ns = BEGIN_NS, part_ns[PARTS] = { 0 }, all_ns;

	vg_ticks_start(&ticks, period_ns, now_ns);
	for (int i = 0; i < TICKS; i++) {
		uint64_t apart_ns = ticks.due_ns - now_ns;

		ck_assert(i == 0 || (apart_ns >= period_ns * 3 / 4 - 1 && apart_ns <= period_ns * 5 / 4 + 1));
		now_ns = ticks.due_ns;
		part_ns[now_ns % period_ns * PARTS / period_ns] += apart_ns;
		ck_assert(!vg_ticks_due(&ticks, now_ns - 1));
		ck_assert(vg_ticks_due(&ticks, now_ns));
	}
	all_ns = now_ns - BEGIN_NS;
	ck_assert(all_ns / period_ns >= TICKS - 2 && all_ns / period_ns <= TICKS + 2);
	for (int i = 0; i < PARTS; i++)
		ck_assert(part_ns[i] > all_ns / PARTS / 100 * 90 && part_ns[i] < all_ns / PARTS / 100 * 110);
	ck_assert_uint_eq(ticks.skipped + ticks.late, 0);
}
END_TEST

static const struct { uint64_t fast_ns, slow_ns; } beside[] = {
	{ 1000000, 1001001 }, { 10000000, 10101010 }, { 1000000, 1041667 }, { 10101010, 20408163 }, { 1000000, 11000000 },
};

START_TEST(a_slower_recording_takes_as_many_as_are_its_own)
{
	struct vg_recording *recording = &session.recordings[0];
	uint64_t fast_ns = beside[_i].fast_ns, slow_ns = beside[_i].slow_ns, taken = 0, own = TICKS * fast_ns / slow_ns;

	session.fetch_periods = 1;
	vg_ticks_start(&session.ticks, fast_ns, BEGIN_NS);
	recording->options.period_ns = slow_ns;
	vg_ticks_start(&recording->ticks, slow_ns, BEGIN_NS);
	recording->ticks.follow = true;
	for (int i = 0; i < TICKS; i++) {
		ck_assert(vg_ticks_due(&session.ticks, session.ticks.due_ns));
		taken += vg_recording_due(&session, recording);
	}
	ck_assert(taken >= own - 2 && taken <= own + 2);
	ck_assert_uint_eq(recording->skipped, 0);
}
END_TEST

Suite *ticks_suite(void)
{
	Suite *suite = suite_create("ticks");
	TCase *tests = tcase_create("ticks");

	tcase_add_test(tests, every_part_of_a_period_is_met);
	tcase_add_loop_test(tests, a_slower_recording_takes_as_many_as_are_its_own, 0, sizeof beside / sizeof *beside);
	suite_add_tcase(suite, tests);
	return suite;
}
