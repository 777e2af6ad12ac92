/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How many perf counters a recording may open, and what their readings add up to. */
#include "tests/unit/suites.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vignetted/session/session_state.h"

static struct vg_recording recording;

/* The limit is on the perf counters that are open at one time. Any number of threads may have them one after another. */
START_TEST(threads_one_after_another)
{
	const uint16_t codes[VG_COUNTERS_MAX] = { VG_COUNTER_TASK_CLOCK };
	const struct vg_thread thread = { .tid = 1 };
	struct vg_task task = { .tid = gettid(), .files = { -1, -1 } }, second = task;
	struct vg_tasks tasks = { .open_files_max = 100 };
	int fd = memfd_create("profile", MFD_CLOEXEC);

	vg_writer_open(&recording.recorder.writer, fd, 0);
	ck_assert_int_eq(vg_writer_thread(&recording.recorder.writer, &thread, "main"), 0);
	vg_counter_set_open(&recording.counter_set, codes);
	ck_assert_uint_eq(recording.counter_set.count, 1);
	vg_counter_set_begin(&recording.counter_set, &tasks, 0);
	recording.counter_set.open_max = 1;
	for (uint64_t i = 0; i < 3; i++) {
		vg_counter_set_thread_open(&recording.counter_set, &task, &task.accounts[0]);
		/* The machine may forbid perf counters. */
		if (i == 0 && recording.counter_set.refused != 0 && recording.counter_set.refused != -EMFILE)
			break;
		ck_assert_ptr_nonnull(task.accounts[0].counters);
		ck_assert_uint_eq(recording.counter_set.open, 1);
		/* There is no room for another thread at the same time. */
		vg_counter_set_thread_open(&recording.counter_set, &second, &second.accounts[0]);
		ck_assert_ptr_null(second.accounts[0].counters);
		ck_assert_uint_eq(recording.counter_set.threads_without, i + 1);
		ck_assert_int_eq(recording.counter_set.refused, -EMFILE);
		vg_counter_set_thread_end(&recording.counter_set, &recording.recorder.writer, &task, &task.accounts[0],
					  (i + 1) * 1000 * 1000);
		ck_assert_ptr_null(task.accounts[0].counters);
		ck_assert_uint_eq(recording.counter_set.open, 0);
	}
	vg_writer_close(&recording.recorder.writer);
	close(fd);
}
END_TEST

/* A counter of the CPU that counted for a part of the time is scaled up.  The scaled value can fall.  The readings add
 * up to the largest value so far. */
START_TEST(scaled_values_add_up)
{
	/* {enabled time, running time, value, growth} */
	static const uint64_t readings[][4] = {
		{ 1000, 500, 100, 200 }, { 2000, 1600, 120, 0 }, { 3000, 3000, 300, 100 }, { 4000, 0, 300, 0 },
		{ 5000, 4000, 320, 100 },
	};
	const uint16_t codes[VG_COUNTERS_MAX] = { VG_COUNTER_CYCLES };
	struct vg_counters counters = { 0 };
	uint64_t values[VG_COUNTERS_MAX];
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	for (int i = 0; i < VG_COUNTERS_MAX; i++)
		counters.fds[i] = i == 0 ? ends[0] : -1;
	for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
		/* as the kernel writes a group of one */
		const uint64_t words[] = { 1, readings[i][0], readings[i][1], readings[i][2] };

		ck_assert_int_eq(write(ends[1], words, sizeof words), sizeof words);
		ck_assert_int_eq(vg_counters_read(&counters, codes, values), 0);
		ck_assert_uint_eq(values[0], readings[i][3]);
	}
	vg_counters_close(&counters);
	close(ends[1]);
}
END_TEST

Suite *counter_set_suite(void)
{
	Suite *suite = suite_create("counter_set");
	TCase *tests = tcase_create("counter_set");

	tcase_add_test(tests, threads_one_after_another);
	tcase_add_test(tests, scaled_values_add_up);
	suite_add_tcase(suite, tests);
	return suite;
}
