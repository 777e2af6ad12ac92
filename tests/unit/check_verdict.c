/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <math.h>

#include "vgtool/analysis/changes.h"
#include "vgtool/analysis/student.h"

/* Published tables of Student's t distribution: the number that is exceeded with this probability. */
START_TEST(student)
{
	static const struct {
		double above, freedom, t;
	} table[] = {
		{ 0.25, 1, 1.000 }, { 0.05, 1, 6.314 }, { 0.025, 1, 12.706 }, { 0.005, 1, 63.657 },
		{ 0.10, 2, 1.886 }, { 0.025, 2, 4.303 }, { 0.005, 2, 9.925 }, { 0.0005, 2, 31.599 },
		{ 0.10, 4, 1.533 }, { 0.05, 4, 2.132 }, { 0.01, 4, 3.747 }, { 0.0005, 4, 8.610 },
		{ 0.05, 10, 1.812 }, { 0.005, 10, 3.169 }, { 0.001, 10, 4.144 }, { 0.25, 16, 0.690 },
		{ 0.025, 30, 2.042 }, { 0.01, 60, 2.390 }, { 0.005, 120, 2.617 }, { 0.05, 1000, 1.646 },
		{ 0.025, 100000, 1.960 },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		ck_assert_double_eq_tol(vg_student_above(table[i].t, table[i].freedom), table[i].above,
					0.002 * table[i].above);
		ck_assert_double_eq_tol(vg_student_above(-table[i].t, table[i].freedom), 1 - table[i].above,
					0.002 * table[i].above);
	}
	for (double freedom = 1; freedom < 200; freedom++)
		ck_assert_double_eq_tol(vg_student_above(vg_student_margin(freedom), freedom), 0.025, 0.0002);
	ck_assert_double_eq(vg_student_above(0, 7), 0.5);
	ck_assert_double_eq(vg_student_above(INFINITY, 7), 0);
	ck_assert_double_eq(vg_student_above(-1e300, 7), 1);
	/* Close to the border between the fraction and the normal distribution */
	ck_assert_double_eq_tol(vg_student_above(3, 9999), vg_student_above(3, 10001), 1e-5);
}
END_TEST

START_TEST(block_variances)
{
	float whole[VG_BLOCKS], phases[VG_BLOCKS], steady[VG_BLOCKS], turns[VG_BLOCKS], none[VG_BLOCKS] = { 0 };
	float small[VG_BLOCKS];

	for (size_t b = 0; b < VG_BLOCKS; b++) {
		whole[b] = 100;
		steady[b] = 50;
		small[b] = 1;
		phases[b] = b < VG_BLOCKS / 2 ? 100 : 0;
		turns[b] = b % 2 == 0 ? 100 : 0;
	}
	/* At least the share of one sample; for a part with few samples, also the variance of independent samples, share *
	 * (1 - share) / samples */
	ck_assert_double_eq_tol(vg_blocks_variance(steady, whole, 1000), 1e-6, 1e-12);
	ck_assert_double_eq_tol(vg_blocks_variance(small, whole, 1000), 0.01 * 0.99 / 1000 + 1e-6, 1e-12);
	ck_assert_double_eq_tol(vg_blocks_variance(none, whole, 1000), 1e-6, 1e-12);
	ck_assert_double_eq(vg_blocks_variance_of_none(1000), vg_blocks_variance(none, whole, 1000));
	ck_assert_double_eq_tol(vg_blocks_variance(whole, whole, 1000), 1e-6, 1e-12);
	/* The time changes by 100 from one block to the next: 19 times in `turns`, once in `phases` */
	ck_assert_double_eq_tol(vg_blocks_variance(turns, whole, 1000), 19 * 1e4 * 20 / 38 / 4e6 + 1e-6, 1e-9);
	ck_assert_double_eq_tol(vg_blocks_variance(phases, whole, 1000), 1e4 * 20 / 38 / 4e6 + 1e-6, 1e-9);
	ck_assert(isfinite(vg_blocks_variance(none, none, 1)));
}
END_TEST

START_TEST(estimates)
{
	struct vg_spread none = { 0 }, one = { 0 }, three = { 0 };
	struct vg_estimate of_one, of_three, above, unknown;

	vg_spread_add(&one, 100);
	vg_spread_add(&three, 100);
	vg_spread_add(&three, 102);
	vg_spread_add(&three, 104);
	unknown = vg_estimate_make(&one, -1, true);
	ck_assert_double_eq(unknown.freedom, 0);
	of_one = vg_estimate_make(&one, 9, false);
	ck_assert_double_eq(of_one.variance, 9);
	ck_assert_double_eq(of_one.freedom, VG_EXPECTED_FREEDOM);
	of_three = vg_estimate_make(&three, -1, true);
	ck_assert_double_eq(of_three.variance, 4);
	ck_assert_double_eq(of_three.freedom, 2);
	of_three = vg_estimate_make(&three, 12, true);
	ck_assert_double_eq_tol(of_three.variance, (6 * 12 + 2 * 4) / 8.0, 1e-12);
	ck_assert_double_eq(of_three.freedom, 8);
	above = vg_estimate_make(&three, 0.9, false);
	ck_assert_double_eq(above.variance, 4);
	ck_assert_double_eq(above.freedom, 2);

	ck_assert(!vg_estimate_compare(&unknown, &unknown).has_margin);
	ck_assert(isnan(vg_estimate_exceeds(&unknown, &unknown, 5)));
	/* If the variance of one side is unknown, the margin uses that of the other side: 10 for one run, 10 / 3 for
	 * three. */
	ck_assert(vg_estimate_compare(&unknown, &of_three).has_margin);
	ck_assert_double_eq_tol(vg_estimate_compare(&unknown, &of_three).margin, 2.306 * sqrt(10 + 10 / 3.0), 1e-9);
	ck_assert(isnan(vg_estimate_exceeds(&unknown, &of_three, 5)));
	ck_assert(isnan(vg_estimate_exceeds(&of_three, &unknown, 5)));
	/* Growth of 2 against a limit of 2 is as probable as not. */
	ck_assert_double_eq_tol(vg_estimate_exceeds(&of_one, &of_three, 2), 0.5, 1e-9);
	of_three = vg_estimate_make(&none, 1, true);
	ck_assert(!vg_estimate_compare(&of_one, &of_three).has_margin);
}
END_TEST

static struct vg_judged judged(double a, double b, double deviation)
{
	struct vg_judged row = { .whole = 1000 };

	row.a = (struct vg_estimate){ .mean = a, .variance = deviation * deviation, .freedom = 20, .runs = 2 };
	row.b = row.a;
	row.b.mean = b;
	return row;
}

/* One row, whose difference of two means has `deviation` as its standard deviation.  Limit: 5 %. */
START_TEST(one_row)
{
	static const struct {
		double a, b, deviation;
		enum vg_verdict verdict;
	} table[] = {
		{ 1000, 1000, 10, VG_VERDICT_NO_CHANGE },
		{ 1000, 1000, 60, VG_VERDICT_UNCLEAR },    /* 10 % more is possible */
		{ 1000, 1045, 10, VG_VERDICT_NO_CHANGE },
		{ 1000, 1060, 10, VG_VERDICT_UNCLEAR },    /* above the limit, but perhaps by chance */
		{ 1000, 1060, 3, VG_VERDICT_SLOWER },
		{ 1000, 1200, 30, VG_VERDICT_SLOWER },
		{ 1000, 1200, 150, VG_VERDICT_UNCLEAR },
		{ 1000, 800, 150, VG_VERDICT_UNCLEAR },
		{ 1000, 500, 100, VG_VERDICT_NO_CHANGE },
		{ 20, 20, 5, VG_VERDICT_NO_CHANGE },           /* a small row: growth by 25 matters */
		{ 20, 40, 30, VG_VERDICT_UNCLEAR },
		{ 20, 27, 4, VG_VERDICT_UNCLEAR },             /* p is 8 %: VG_VERDICT_DOUBT is 10 % */
		{ 20, 25, 4, VG_VERDICT_NO_CHANGE },
		{ 20, 40, 5, VG_VERDICT_SLOWER },
		{ 0, 20, 4, VG_VERDICT_SLOWER },
		{ 20, 0, 4, VG_VERDICT_NO_CHANGE },
		{ 1000, 1000, 0, VG_VERDICT_NO_CHANGE },
		{ 1000, 1051, 0, VG_VERDICT_SLOWER },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct vg_judged row = judged(table[i].a, table[i].b, table[i].deviation);

		ck_assert_msg(vg_verdict_judge(&row, 1, 5) == table[i].verdict, "line %zu", i);
	}
}
END_TEST

/* Holm: the smallest p of m rows is compared with 5 % / m, the next one with 5 % / (m - 1), until one is larger. */
START_TEST(many_rows)
{
	struct vg_judged rows[40], alone = judged(1000, 1073, 10);

	ck_assert_int_eq(vg_verdict_judge(&alone, 1, 5), VG_VERDICT_SLOWER);
	ck_assert_double_gt(alone.p, VG_VERDICT_ERROR / 40);
	for (size_t i = 0; i < 40; i++) {
		rows[i] = judged(1000, 1000, 10);
		rows[i].index = i;
	}
	/* The interval of one row of 40 ends below the growth that matters, but the row's own p is below 10 %. */
	alone = rows[7] = judged(20, 27, 4);
	rows[7].index = 7;
	ck_assert_int_eq(vg_verdict_judge(&alone, 1, 5), VG_VERDICT_UNCLEAR);
	ck_assert_int_eq(vg_verdict_judge(rows, 40, 5), VG_VERDICT_NO_CHANGE);
	rows[0] = judged(1000, 1073, 10);
	rows[0].index = 7;
	ck_assert_int_eq(vg_verdict_judge(rows, 40, 5), VG_VERDICT_UNCLEAR);
	ck_assert_uint_eq(rows[0].index, 7);
	ck_assert(rows[0].is_unclear && !rows[0].is_slower && !rows[1].is_unclear);
	rows[9].b.mean = 1200;
	ck_assert_int_eq(vg_verdict_judge(rows, 40, 5), VG_VERDICT_SLOWER);
	ck_assert(rows[0].is_slower && !rows[1].is_slower);
	ck_assert_double_gt(vg_verdict_runs_needed(&rows[1], 5), 2);
	ck_assert_int_eq(vg_verdict_judge(rows, 0, 5), VG_VERDICT_UNCLEAR);
	rows[0].a.freedom = rows[0].b.freedom = 0;
	ck_assert_int_eq(vg_verdict_judge(rows, 1, 5), VG_VERDICT_UNCLEAR);
}
END_TEST

/* The lowest limit with which the verdict is "no change" */
START_TEST(limit_needed)
{
	static const struct {
		double a, b, deviation, limit, needed;
	} table[] = {
		{ 1000, 1000, 40, 2, 5 },              /* the interval ends at 1000 + 2.02 * 40 */
		{ 1000, 1060, 3, 5, 6 },               /* 60 is half of 2 * 6 % */
		{ 100, 100, 20, 5, 9 },                /* a small row: 9 % of 500 matter */
		{ 1000, 1000, 40, 4.5, 5 },
		{ 1000, 1000, 1200, 2, 0 },
		{ 1000, 1000, 1200, 1e300, 0 },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct vg_judged row = judged(table[i].a, table[i].b, table[i].deviation);

		ck_assert_msg(vg_verdict_limit_needed(&row, 1, table[i].limit) == table[i].needed, "line %zu: %g", i,
			      vg_verdict_limit_needed(&row, 1, table[i].limit));
	}
}
END_TEST

/*
 * Simulated profiles.  A program has ten functions.  They run in one of two orders:
 *  - AT_RANDOM: from one sample to the next the program stays in its function with the probability STAY, else it goes
 *    to any function.  So samples are correlated.
 *  - IN_TURN: each function runs for VISIT sampling periods, then the next one does.  Samples come at a random moment
 *    of their period.  This is the program of bench/verdicts_work.c.
 * Runs of the same program differ by random factors: one for all functions together, and one for each function.  Both
 * deviate from 1 by the same number.  Random numbers have fixed seeds.
 */
enum { FUNCTIONS = 10, PERIOD_NS = 1000000, VISIT = 3 };
enum order { AT_RANDOM, IN_TURN };
enum planted { EQUAL, ALL, ONE };
static const double STAY = 1 / 3.0;

static uint64_t random_state;

static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

struct plan {
	enum order order;
	enum planted planted;        /* the functions that take more time in B */
	double percent;              /* how much more */
	uint32_t runs;               /* on each side */
	size_t samples;              /* of a run of A */
	double limit_percent;
	double deviation;            /* between runs, of each factor */
	int trials;
	int slower_min, slower_max;  /* percent of the trials */
	int unclear_max;
};

/* Adds one run to the measures.  Row 0 is that of all samples; functions follow. */
static void run_simulate(struct vg_measures *measures, const struct plan *plan, uint32_t run, bool is_b)
{
	double weights[FUNCTIONS], sum = 0, speed = 1 + plan->deviation * normal(), start = uniform();
	size_t function = 0, samples, first = measures->blocks.count;
	struct vg_measure_run info = { .blocks = first + 1 };

	for (size_t f = 0; f < FUNCTIONS; f++) {
		bool more = is_b && (plan->planted == ALL || (plan->planted == ONE && f == 3));

		weights[f] = speed * (1 + plan->deviation * normal()) * (more ? 1 + plan->percent / 100 : 1) / FUNCTIONS;
		sum += weights[f];
	}
	samples = (size_t)(sum * (double)plan->samples);
	for (size_t row = 0; row <= FUNCTIONS; row++) {
		struct vg_measure *value = &measures->values.items[row * measures->runs + run];

		*value = (struct vg_measure){ .row = (uint32_t)row, .run = run, .blocks = first + row + 1 };
		ck_assert_int_eq(vg_array_push(&measures->blocks, &(struct vg_measure_blocks){ 0 }), 0);
	}
	for (size_t i = 0; i < samples; i++) {
		size_t block = i * VG_BLOCKS / samples;
		double at = i > 0 && uniform() < STAY ? -1 : uniform() * sum;

		if (plan->order == IN_TURN)
			at = fmod(start + ((double)i + uniform()) / (VISIT * FUNCTIONS), sum);
		if (at >= 0) {
			for (function = 0; function < FUNCTIONS - 1 && at >= weights[function]; function++)
				at -= weights[function];
		}
		measures->blocks.items[first].self[block] += PERIOD_NS;
		measures->blocks.items[first + 1 + function].self[block] += PERIOD_NS;
		measures->values.items[run].self_ns += PERIOD_NS;
		measures->values.items[(1 + function) * measures->runs + run].self_ns += PERIOD_NS;
	}
	for (size_t row = 0; row <= FUNCTIONS; row++) {
		struct vg_measure *value = &measures->values.items[row * measures->runs + run];

		value->total_ns = value->self_ns;
	}
	info.all_ns = (double)measures->values.items[run].self_ns;
	info.samples = (double)samples;
	ck_assert_int_eq(vg_array_push(&measures->by_run, &info), 0);
}

static enum vg_verdict pair_judge(const struct plan *plan)
{
	struct vg_measures measures = { .for_diff = true, .runs = 2 * plan->runs };
	struct vg_changes changes = { .runs_a = plan->runs, .runs_b = plan->runs, .min_share_percent = 1,
				      .limit_percent = plan->limit_percent };
	enum vg_verdict verdict;

	for (size_t row = 0; row <= FUNCTIONS; row++) {
		struct vg_measure_row fresh = { .type = row == 0 ? VG_MEASURE_WHOLE : VG_MEASURE_FUNCTION,
						.name = "f", .first = row * measures.runs, .count = measures.runs };

		ck_assert_int_eq(vg_array_push(&measures.rows, &fresh), 0);
		for (uint32_t run = 0; run < measures.runs; run++)
			ck_assert_int_eq(vg_array_push(&measures.values, &(struct vg_measure){ 0 }), 0);
	}
	for (uint32_t run = 0; run < measures.runs; run++)
		run_simulate(&measures, plan, run, run >= plan->runs);
	ck_assert_int_eq(vg_changes_build(&changes, &measures), 0);
	verdict = changes.verdict;
	vg_changes_free(&changes);
	vg_measures_free(&measures);
	return verdict;
}

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static const struct plan plans[] = {
	/* Equal programs: at most 5 % of the pairs are slower, and at most 20 % unclear */
	{ AT_RANDOM, EQUAL, 0, 1, 30000, 10, 0.005, 200, 0, 5, 20 },
	{ AT_RANDOM, EQUAL, 0, 3, 30000, 5, 0.005, 100, 0, 5, 20 },
	{ IN_TURN, EQUAL, 0, 1, 2400, 5, 0.003, 200, 0, 5, 20 },
	{ IN_TURN, EQUAL, 0, 3, 2400, 2, 0.003, 200, 0, 5, 20 },
	/* Equal programs on a busy machine, where runs differ by more than VG_RUN_DEVIATION */
	{ AT_RANDOM, EQUAL, 0, 3, 5000, 2, 0.05, 400, 0, 5, 100 },
	{ IN_TURN, EQUAL, 0, 3, 5000, 2, 0.05, 400, 0, 5, 100 },
	/* The hardest case: all rows grew by exactly the limit.  At most 6 % are slower; 1 % more for the random error of
	 * 500 trials */
	{ AT_RANDOM, ALL, 5, 3, 3000, 5, 0.005, 500, 0, 7, 100 },
	{ IN_TURN, ALL, 5, 3, 3000, 5, 0.01, 500, 0, 7, 100 },
	{ AT_RANDOM, ALL, 5, 3, 3000, 5, 0.02, 500, 0, 7, 100 },
	{ IN_TURN, ALL, 5, 3, 3000, 5, 0.05, 500, 0, 7, 100 },
	/* Changes that must be found */
	{ AT_RANDOM, ALL, 5, 3, 30000, 2, 0.005, 50, 90, 100, 10 },
	{ IN_TURN, ALL, 5, 3, 2400, 2, 0.003, 200, 90, 100, 10 },
	{ IN_TURN, ONE, 10, 3, 2400, 2, 0.003, 200, 80, 100, 20 },
	{ AT_RANDOM, ONE, 10, 3, 60000, 3, 0.005, 50, 80, 100, 20 },
};

START_TEST(simulated)
{
	const struct plan *plan = &plans[_i];
	int verdicts[3] = { 0 };
	double slower, unclear;

	random_state = 0x9e3779b97f4a7c15;
	/* Under sanitizers a few trials show that the code accesses its own memory only. More would take a minute. */
	for (int i = 0; i < (SANITIZED ? 4 : plan->trials); i++)
		verdicts[pair_judge(plan)]++;
	if (SANITIZED)
		return;
	slower = 100.0 * verdicts[VG_VERDICT_SLOWER] / plan->trials;
	unclear = 100.0 * verdicts[VG_VERDICT_UNCLEAR] / plan->trials;
	ck_assert_msg(slower >= plan->slower_min && slower <= plan->slower_max && unclear <= plan->unclear_max,
		      "line %d: %g %% slower, %g %% unclear", _i, slower, unclear);
}
END_TEST

Suite *verdict_suite(void)
{
	Suite *suite = suite_create("verdict");
	TCase *cases = tcase_create("verdict");
	TCase *simulations = tcase_create("simulated");

	tcase_add_test(cases, student);
	tcase_add_test(cases, block_variances);
	tcase_add_test(cases, estimates);
	tcase_add_test(cases, one_row);
	tcase_add_test(cases, many_rows);
	tcase_add_test(cases, limit_needed);
	suite_add_tcase(suite, cases);
	tcase_set_timeout(simulations, 600);
	tcase_add_loop_test(simulations, simulated, 0, sizeof plans / sizeof *plans);
	suite_add_tcase(suite, simulations);
	return suite;
}
