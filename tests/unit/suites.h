/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_SUITES_H
#define VG_TESTS_SUITES_H

#include <check.h>
#include <inttypes.h>

/* Assertions for loops of thousands of rounds. libcheck keeps a message for every ck_assert() that holds, which takes
 * 1 us, and 10 us under sanitizers; these keep none. */
#define often_assert(condition) \
	do { \
		if (!(condition)) \
			ck_abort_msg("not true: %s", #condition); \
	} while (0)
#define often_assert_eq(left, right) \
	do { \
		uint64_t left_value = (uint64_t)(left), right_value = (uint64_t)(right); \
		if (left_value != right_value) \
			ck_abort_msg("%s is %" PRIu64 ", not %s, which is %" PRIu64, #left, left_value, #right, \
				     right_value); \
	} while (0)

/* One suite per file: check_NAME.c defines NAME_suite(). The runner knows the suites of this list. */
#define VG_SUITES(each) \
	each(account) \
	each(arguments) \
	each(symbolization) \
	each(breakpad) \
	each(broker) \
	each(budget) \
	each(capture) \
	each(cfi) \
	each(changes) \
	each(chrome) \
	each(chunk) \
	each(code_rows) \
	each(confine) \
	each(counter_set) \
	each(counters) \
	each(cursor) \
	each(cut) \
	each(debug_id) \
	each(descendants) \
	each(events) \
	each(finisher) \
	each(flight) \
	each(folded) \
	each(frame_size) \
	each(frames) \
	each(intern) \
	each(json) \
	each(lane) \
	each(merge) \
	each(modules) \
	each(number) \
	each(options) \
	each(outfile) \
	each(policy) \
	each(pprof) \
	each(print) \
	each(priority) \
	each(process_file) \
	each(profile) \
	each(ranges) \
	each(recorder) \
	each(report) \
	each(source_file) \
	each(disassembly) \
	each(resolve) \
	each(ring) \
	each(screen) \
	each(sections) \
	each(session) \
	each(stack) \
	each(instruction) \
	each(intervals) \
	each(firefox) \
	each(speedscope) \
	each(store) \
	each(stream) \
	each(symbols_table) \
	each(table) \
	each(tasks) \
	each(text) \
	each(ticks) \
	each(timers) \
	each(tracer) \
	each(tracks) \
	each(unwind) \
	each(verdict) \
	each(vgctl) \
	each(view) \
	each(waits) \
	each(walker) \
	each(weights) \
	each(workers)

#define VG_SUITE_DECLARE(name) Suite *name##_suite(void);
VG_SUITES(VG_SUITE_DECLARE)

#endif
