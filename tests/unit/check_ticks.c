/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When ticks come, and which of them a slower recording takes; the time is ours. */
#include "tests/unit/suites.h"

#include <errno.h>

#include "vignetted/serve/outside.h"
#include "vignetted/session/recording.h"
#include "vignetted/session/session.h"

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

	vg_ticks_start(&session.ticks, fast_ns, BEGIN_NS);
	recording->options.period_ns = slow_ns;
	vg_ticks_start(&recording->ticks, slow_ns, BEGIN_NS);
	recording->ticks.follow = true;
	for (int i = 0; i < TICKS; i++) {
		ck_assert(vg_ticks_due(&session.ticks, session.ticks.due_ns));
		taken += vg_recording_due(recording, &session.ticks, 0);
	}
	ck_assert(taken >= own - 2 && taken <= own + 2);
	ck_assert_uint_eq(recording->skipped, 0);
}
END_TEST

/* What others ask for: a second is the longest period that any of ours does, and where sums of periods cannot
 * overflow. */
static const struct { uint64_t period_ns; int rc; } asked[] = {
	{ 0, 0 }, { 99999, -EINVAL }, { 100000, 0 }, { 1000000000, 0 }, { 1000000001, -EINVAL },
	{ INT64_MAX, -EINVAL }, { UINT64_C(1) << 63, -EINVAL }, { UINT64_MAX, -EINVAL },
};

START_TEST(a_period_from_outside_is_bounded)
{
	struct vg_wire_begin begin = { .period_ns = asked[_i].period_ns, .max_frames = 64 };
	struct vg_session_options options;
	struct vg_ticks ticks;

	ck_assert_int_eq(vg_outside_options(&options, &begin), asked[_i].rc);
	if (asked[_i].rc != 0 || asked[_i].period_ns == 0)
		return;
	vg_ticks_start(&ticks, options.period_ns, BEGIN_NS);
	for (int i = 0; i < 1000; i++)
		ck_assert(vg_ticks_due(&ticks, ticks.due_ns));
}
END_TEST

Suite *ticks_suite(void)
{
	Suite *suite = suite_create("ticks");
	TCase *tests = tcase_create("ticks");

	tcase_add_test(tests, every_part_of_a_period_is_met);
	tcase_add_loop_test(tests, a_slower_recording_takes_as_many_as_are_its_own, 0, sizeof beside / sizeof *beside);
	tcase_add_loop_test(tests, a_period_from_outside_is_bounded, 0, sizeof asked / sizeof *asked);
	suite_add_tcase(suite, tests);
	return suite;
}
