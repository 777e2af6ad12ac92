/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The module at an address and a time. It is found from reads of /proc/PID/maps, which show the present, and from
 * records of mappings, which arrive later but in order. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model.h"
#include "tests/unit/suites.h"
#include "vignetted/target/ranges.h"

enum { PAGE = 4096 };

static struct vg_ranges ranges;

static void setup(void)
{
	memset(&ranges, 0, sizeof ranges);
}

static void teardown(void)
{
	vg_ranges_free(&ranges);
}

/* Returns the module at that address and time, or -1 if it is unknown. */
static int64_t module_at(uint64_t address, uint64_t time_ns)
{
	const struct vg_code_range *range = vg_ranges_now(&ranges, address);

	if (range == NULL || range->since_ns > time_ns)
		range = vg_ranges_past(&ranges, address, time_ns);
	return range != NULL ? (int64_t)range->module : -1;
}

static void read_one(uint64_t start, uint64_t end, uint32_t module, uint64_t time_ns)
{
	vg_ranges_begin(&ranges);
	ck_assert_int_eq(vg_ranges_add(&ranges, start, end, module), 0);
	vg_ranges_end(&ranges, time_ns);
}

START_TEST(reads_without_records)
{
	read_one(PAGE, 3 * PAGE, 7, 0);
	ck_assert_int_eq(module_at(PAGE, 1), 7);
	ck_assert_int_eq(module_at(3 * PAGE, 1), -1);
	/* The module's range has grown. */
	read_one(PAGE, 4 * PAGE, 7, 100);
	ck_assert_int_eq(module_at(PAGE, 1), 7);
	ck_assert_uint_eq(ranges.past_total, 0);
	/* Another module replaced it before this read. */
	read_one(PAGE, 4 * PAGE, 8, 200);
	ck_assert_int_eq(module_at(PAGE, 200), 8);
	ck_assert_int_eq(module_at(PAGE, 199), 7);
	ck_assert(vg_ranges_now(&ranges, PAGE)->reused);
}
END_TEST

/* Where another module was before, a module stays in doubt, however often the maps are read. */
START_TEST(range_stays_reused)
{
	read_one(PAGE, 3 * PAGE, 7, 0);
	read_one(PAGE, 3 * PAGE, 8, 100);
	for (uint64_t i = 2; i < 5; i++) {
		read_one(PAGE, 3 * PAGE, 8, 100 * i);
		ck_assert(vg_ranges_now(&ranges, PAGE)->reused);
		ck_assert_uint_eq(vg_ranges_now(&ranges, PAGE)->since_ns, 100);
	}
	/* A module that has always been there is in no doubt. */
	teardown();
	setup();
	for (uint64_t i = 0; i < 3; i++)
		read_one(PAGE, 3 * PAGE, 7, 100 * i);
	ck_assert(!vg_ranges_now(&ranges, PAGE)->reused);
}
END_TEST

/* The kernel recorded that another module was there before the reading.  JIT code is never reused: frames in it name no
 * module.  Nor is a module where memory without a file was. */
START_TEST(record_before_a_read_marks_reused)
{
	static const struct { uint32_t recorded, read; bool reused; } cases[] = {
		{ 7, 8, true }, { 7, 7, false }, { 7, VG_NONE, false }, { VG_NONE, 8, false },
	};

	vg_ranges_begin(&ranges);
	vg_ranges_end(&ranges, 0);
	read_one(PAGE, 3 * PAGE, cases[_i].read, 125);
	vg_ranges_map(&ranges, PAGE, 3 * PAGE, cases[_i].recorded, 60);
	ck_assert_int_eq(vg_ranges_now(&ranges, PAGE)->reused, cases[_i].reused);
	ck_assert_int_eq(vg_ranges_now(&ranges, PAGE)->module, cases[_i].read);
}
END_TEST

START_TEST(records_after_a_read)
{
	read_one(PAGE, 3 * PAGE, 7, 0);
	read_one(PAGE, 3 * PAGE, 7, 125);
	/* Between the two reads another module was there. */
	ck_assert(vg_ranges_map(&ranges, PAGE, 3 * PAGE, 8, 60));
	ck_assert_int_eq(module_at(PAGE, 59), 7);
	ck_assert_int_eq(module_at(PAGE, 60), 8);
	ck_assert(vg_ranges_map(&ranges, PAGE, 3 * PAGE, 7, 110));
	ck_assert_int_eq(module_at(PAGE, 109), 8);
	ck_assert_int_eq(module_at(PAGE, 110), 7);
	/* The same code was made executable again. */
	ck_assert(!vg_ranges_map(&ranges, PAGE, 2 * PAGE, 7, 120));
}
END_TEST

START_TEST(record_of_what_was_read)
{
	read_one(PAGE, 3 * PAGE, 7, 0);
	read_one(PAGE, 3 * PAGE, 8, 125);
	ck_assert_int_eq(module_at(PAGE, 100), 7);
	ck_assert(!vg_ranges_map(&ranges, PAGE, 3 * PAGE, 8, 90));
	ck_assert_int_eq(module_at(PAGE, 100), 8);
	/* Code of no module was mapped and unmapped between the reads. */
	teardown();
	setup();
	read_one(PAGE, 3 * PAGE, 7, 0);
	vg_ranges_begin(&ranges);
	vg_ranges_end(&ranges, 125);
	vg_ranges_map(&ranges, 2 * PAGE, 3 * PAGE, VG_NONE, 60);
	ck_assert_int_eq(module_at(PAGE, 59), 7);
	ck_assert_int_eq(module_at(2 * PAGE, 61), -1);
}
END_TEST

START_TEST(larger_mapping_of_the_same_module)
{
	read_one(2 * PAGE, 3 * PAGE, 7, 0);
	ck_assert(vg_ranges_map(&ranges, PAGE, 5 * PAGE, 7, 60));
	ck_assert_int_eq(module_at(PAGE, 60), 7);
	ck_assert_int_eq(module_at(PAGE, 59), -1);
	ck_assert_int_eq(module_at(2 * PAGE, 59), 7);
	ck_assert_int_eq(module_at(4 * PAGE, 60), 7);
	ck_assert_int_eq(module_at(4 * PAGE, 59), -1);
	ck_assert_int_eq(module_at(5 * PAGE, 60), -1);
	/* The same record again changes nothing. */
	ck_assert(!vg_ranges_map(&ranges, PAGE, 5 * PAGE, 7, 61));
	ck_assert_uint_eq(ranges.past_total, 0);
	/* The read found only a part of the mapping. The record is older than the read, so the rest was unmapped before
	 * the read. */
	read_one(2 * PAGE, 3 * PAGE, 8, 125);
	ck_assert(!vg_ranges_map(&ranges, 2 * PAGE, 4 * PAGE, 8, 90));
	ck_assert_int_eq(module_at(3 * PAGE, 100), 8);
	ck_assert_int_eq(module_at(3 * PAGE, 125), -1);
}
END_TEST

/* A read shows two mappings of one module as one range. What is known of the time before the later mapping is dropped:
 * other code may have been at its addresses. */
START_TEST(read_joins_two_mappings)
{
	for (int is_first_later = 0; is_first_later < 2; is_first_later++) {
		uint64_t early = is_first_later ? 2 * PAGE : PAGE, late = is_first_later ? PAGE : 2 * PAGE;

		teardown();
		setup();
		read_one(early, early + PAGE, 7, 0);
		ck_assert(vg_ranges_map(&ranges, late, late + PAGE, 7, 60));
		read_one(PAGE, 3 * PAGE, 7, 125);
		ck_assert_uint_eq(ranges.now.count, 1);
		ck_assert_int_eq(module_at(late, 59), -1);
		ck_assert_int_eq(module_at(late, 60), 7);
		ck_assert_int_eq(module_at(early, 60), 7);
		ck_assert_uint_eq(ranges.past_total, 0);
	}
}
END_TEST

START_TEST(mapping_over_a_part_of_a_range)
{
	const uint32_t modules[] = { 8, VG_NONE };

	for (size_t i = 0; i < 2; i++) {
		teardown();
		setup();
		read_one(PAGE, 6 * PAGE, 7, 0);
		ck_assert(vg_ranges_map(&ranges, 3 * PAGE, 4 * PAGE, modules[i], 60));
		ck_assert_int_eq(module_at(PAGE, 60), 7);
		ck_assert_int_eq(module_at(2 * PAGE, 0), 7);
		ck_assert_int_eq(module_at(3 * PAGE, 59), 7);
		ck_assert_int_eq(module_at(3 * PAGE, 60), modules[i] == VG_NONE ? -1 : 8);
		ck_assert_int_eq(module_at(4 * PAGE, 60), 7);
		ck_assert(!vg_ranges_now(&ranges, 4 * PAGE)->reused);
		ck_assert(!vg_ranges_reused(&ranges, 4 * PAGE, 6 * PAGE));
		/* This mapping covers the start of one range and the end of another. */
		ck_assert(vg_ranges_map(&ranges, 2 * PAGE, 5 * PAGE, modules[i], 70));
		ck_assert_int_eq(module_at(PAGE, 70), 7);
		ck_assert_int_eq(module_at(2 * PAGE, 69), 7);
		ck_assert_int_eq(module_at(4 * PAGE, 69), 7);
		ck_assert_int_eq(module_at(4 * PAGE, 70), modules[i] == VG_NONE ? -1 : 8);
		ck_assert_int_eq(module_at(5 * PAGE, 70), 7);
	}
}
END_TEST

/* 65,530 is the default limit of mappings per process. One record may replace all of them. */
START_TEST(one_record_replaces_many_ranges)
{
	enum { COUNT = 65530 };

	for (int round = 0; round < 2; round++) {
		int rc = 0;

		teardown();
		setup();
		vg_ranges_begin(&ranges);
		for (uint64_t i = 0; i < COUNT; i++)
			rc |= vg_ranges_add(&ranges, 2 * i * PAGE, (2 * i + 1) * PAGE, 7);
		ck_assert_int_eq(rc, 0);
		vg_ranges_end(&ranges, 0);
		ck_assert(vg_ranges_map(&ranges, 0, 2 * COUNT * PAGE, 7 + (uint32_t)round, 60));
		ck_assert_uint_eq(ranges.now.count, round == 0 ? 2 * COUNT : 1);
		ck_assert_int_eq(module_at((uint64_t)COUNT * PAGE, 60), 7 + round);
		ck_assert_int_eq(module_at((uint64_t)(COUNT + 1) * PAGE, 60), 7 + round);
	}
}
END_TEST

START_TEST(divided_ranges_are_bounded)
{
	const uint64_t pages = 2 * VG_RANGES_MAX;

	read_one(0, pages * PAGE, 7, 0);
	for (uint64_t i = 1; i < pages; i += 2)
		ck_assert(vg_ranges_map(&ranges, i * PAGE, (i + 1) * PAGE, 8, i));
	ck_assert_uint_le(ranges.now.count, VG_RANGES_MAX);
	ck_assert_int_eq(module_at(PAGE, pages), 8);
}
END_TEST

START_TEST(past_ranges_are_bounded)
{
	for (uint64_t i = 0; i < 100000; i++)
		vg_ranges_map(&ranges, PAGE, 3 * PAGE, (uint32_t)i, i + 1);
	ck_assert_uint_eq(ranges.now.count, 1);
	ck_assert_int_eq(module_at(PAGE, 100000), 99999);
	ck_assert_int_eq(module_at(PAGE, 100000 - VG_RANGES_PAST), 100000 - VG_RANGES_PAST - 1);
	ck_assert_int_eq(module_at(PAGE, 100000 - VG_RANGES_PAST - 1), -1);
	/* JIT code is mapped and unmapped all the time. Its past ranges are not kept. */
	teardown();
	setup();
	for (uint64_t i = 0; i < 100000; i++)
		vg_ranges_map(&ranges, i % 64 * PAGE, (i % 64 + 1) * PAGE, VG_NONE, i + 1);
	ck_assert_uint_eq(ranges.now.count, 0);
	ck_assert_uint_eq(ranges.past_total, 0);
}
END_TEST

/* ---- random programs ---- */

enum { SLOTS = 6, KINDS = 3, STEPS = 24, NOTHING = -1, JIT = -2 };

/* What is mapped in each slot of addresses after each step. A module is always loaded at the same address. */
static int64_t truth[STEPS + 1][SLOTS];
static struct step {
	int first, count;            /* in slots */
	int64_t mapped;              /* a module, JIT, or NOTHING, which has no record */
} steps[STEPS + 1];

static void program_make(void)
{
	for (int i = 0; i < SLOTS; i++)
		truth[0][i] = NOTHING;
	for (int number = 1; number <= STEPS; number++) {
		struct step *step = &steps[number];
		int kind = rand() % (KINDS + 2);

		step->first = rand() % SLOTS;
		step->count = step->first + 1 < SLOTS ? 1 + rand() % 2 : 1;
		step->mapped = kind == KINDS ? NOTHING : kind > KINDS ? JIT :
			       (step->first * 2 + step->count - 1) * KINDS + kind;
		memcpy(truth[number], truth[number - 1], sizeof truth[number]);
		for (int i = 0; i < step->count; i++)
			truth[number][step->first + i] = step->mapped;
	}
}

static uint32_t module_of(int64_t mapped)
{
	return mapped == JIT ? VG_NONE : (uint32_t)mapped;
}

/* Reads the maps after that step. */
static void maps_read(int number)
{
	vg_ranges_begin(&ranges);
	for (int i = 0; i < SLOTS; i++) {
		if (truth[number][i] != NOTHING)
			vg_ranges_add(&ranges, (uint64_t)i * PAGE, (uint64_t)(i + 1) * PAGE,
				      module_of(truth[number][i]));
	}
	vg_ranges_end(&ranges, (uint64_t)number * 10 + 5);
}

/* Checks the answers for the time of that step, and for 9 ns later, which is right before the next step. */
static void answers_check(int number, uint64_t *known)
{
	for (int i = 0; i < SLOTS; i++) {
		for (uint64_t time_ns = (uint64_t)number * 10; time_ns < (uint64_t)number * 10 + 10; time_ns += 9) {
			int64_t module = module_at((uint64_t)i * PAGE, time_ns);

			/* No thread runs in unmapped memory. */
			if (truth[number][i] == NOTHING || module == -1)
				continue;
			often_assert_eq(module, module_of(truth[number][i]));
			*known += module != VG_NONE;
		}
	}
}

/* Steps happen in batches. The records of a batch arrive one by one when all of its steps have happened. The maps are
 * read while one of these records is handled, or not at all. */
START_TEST(answers_about_random_programs)
{
	uint64_t known = 0;

	srand(1);
	for (int round = 0; round < 20000; round++) {
		int batch, read_at, number = 1;

		teardown();
		setup();
		program_make();
		maps_read(0);
		while (number <= STEPS) {
			batch = number + rand() % 6 < STEPS ? number + rand() % 6 : STEPS;
			if (batch > STEPS)
				batch = STEPS;
			read_at = number + rand() % 8;
			for (; number <= batch; number++) {
				const struct step *step = &steps[number];

				if (number == read_at)
					maps_read(batch);
				if (step->mapped != NOTHING)
					vg_ranges_map(&ranges, (uint64_t)step->first * PAGE,
						      (uint64_t)(step->first + step->count) * PAGE,
						      module_of(step->mapped), (uint64_t)number * 10);
				answers_check(number, &known);
			}
		}
		for (size_t i = 1; i < ranges.now.count; i++)
			often_assert(ranges.now.items[i - 1].end <= ranges.now.items[i].start);
	}
	/* On average more than two answers per step name a module. */
	ck_assert_uint_gt(known, 20000 * STEPS * 2);
}
END_TEST

Suite *ranges_suite(void)
{
	Suite *suite = suite_create("ranges");
	TCase *tests = tcase_create("ranges");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, reads_without_records);
	tcase_add_test(tests, range_stays_reused);
	tcase_add_loop_test(tests, record_before_a_read_marks_reused, 0, 4);
	tcase_add_test(tests, records_after_a_read);
	tcase_add_test(tests, record_of_what_was_read);
	tcase_add_test(tests, larger_mapping_of_the_same_module);
	tcase_add_test(tests, read_joins_two_mappings);
	tcase_add_test(tests, mapping_over_a_part_of_a_range);
	tcase_add_test(tests, one_record_replaces_many_ranges);
	tcase_add_test(tests, divided_ranges_are_bounded);
	tcase_add_test(tests, past_ranges_are_bounded);
	tcase_add_test(tests, answers_about_random_programs);
	suite_add_tcase(suite, tests);
	return suite;
}
