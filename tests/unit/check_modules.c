/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The helper compares marks in memory to confirm that modules were loaded at the time of a sample. Here the marks are
 * in this process's memory. */
#include "tests/unit/suites.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/model.h"
#include "vignetted/target/modules.h"

/* half of the frames are in no module */
enum { MODULES = 2 * VG_MARKS_MAX + 50, FRAMES = 2 * MODULES };

static unsigned char marks[MODULES];
static struct vg_memory memory;
static struct vg_modules modules;
static struct vg_frame frames[FRAMES];

static void setup(void)
{
	ck_assert_int_eq(vg_memory_open(&memory, getpid()), 0);
	memory.words_left = 1 << 20;
	modules = (struct vg_modules){ .memory = &memory, .moment = { .time_ns = 1, .evidence = VG_EVIDENCE_MARKS } };
	for (uint32_t i = 0; i < MODULES; i++) {
		struct vg_process_module module = { .loaded = true };

		marks[i] = (unsigned char)i;
		module.image = (struct vg_image){ .mark_address = (uint64_t)&marks[i], .mark = { (unsigned char)i },
						  .mark_bytes = 1 };
		ck_assert_int_eq(vg_array_push(&modules.items, &module), 0);
		frames[2 * i] = (struct vg_frame){ .module = i };
		frames[2 * i + 1] = (struct vg_frame){ .module = VG_NONE };
	}
}

static void teardown(void)
{
	vg_modules_free(&modules);
	vg_memory_free(&memory);
}

START_TEST(more_modules_than_one_batch)
{
	ck_assert_uint_eq(vg_modules_confirm(&modules, frames, FRAMES), FRAMES);
	/* After vg_modules_require_check() the modules are confirmed again. */
	for (uint32_t i = 0; i < MODULES; i++)
		vg_modules_require_check(&modules, i);
	ck_assert_uint_eq(vg_modules_confirm(&modules, frames, FRAMES), FRAMES);
	/* The sample may read no more words. One batch of marks is read nevertheless. */
	modules.moment.time_ns = UINT64_MAX - 1;
	memory.words_left = 0;
	ck_assert_uint_eq(vg_modules_confirm(&modules, frames, FRAMES), 0);
	for (uint32_t i = 0; i < MODULES; i++)
		modules.items.items[i].confirmed_ns = 0;
	modules.moment.time_ns = 1;
	ck_assert_uint_eq(vg_modules_confirm(&modules, frames, FRAMES), 2 * VG_MARKS_MAX);
}
END_TEST

/* A fence is where a file or shared memory follows another mapping. Mappings of memory are no fence, nor are two parts
 * of one file. */
START_TEST(fences)
{
	enum { PAGE = 4096, PAGES = 6 };
	struct vg_memory own_memory;
	struct vg_modules maps = { .memory = &own_memory };
	int file = memfd_create("file", MFD_CLOEXEC);
	char *low = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uint64_t)low;

	/* memory, memory that cannot be written, file, another part of the file, memory, shared memory */
	ck_assert_int_eq(ftruncate(file, 3 * PAGE), 0);
	ck_assert_int_eq(mprotect(low + PAGE, PAGE, PROT_READ), 0);
	ck_assert_ptr_ne(mmap(low + 2 * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0), MAP_FAILED);
	ck_assert_ptr_ne(mmap(low + 3 * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 2 * PAGE), MAP_FAILED);
	ck_assert_ptr_ne(mmap(low + 5 * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
	ck_assert_int_eq(vg_memory_open(&own_memory, getpid()), 0);
	ck_assert_int_eq(vg_modules_refresh(&maps), 0);
	ck_assert_uint_eq(vg_modules_fence(&maps, start), start + 2 * PAGE);
	ck_assert_uint_eq(vg_modules_fence(&maps, start + 2 * PAGE - 1), start + 2 * PAGE);
	ck_assert_uint_eq(vg_modules_fence(&maps, start + 2 * PAGE), start + 5 * PAGE);
	ck_assert_uint_eq(vg_modules_fence(&maps, UINT64_MAX - 1), UINT64_MAX);
	vg_modules_free(&maps);
	vg_memory_free(&own_memory);
	munmap(low, PAGES * PAGE);
	close(file);
}
END_TEST

/* In each batch one module was replaced. The other modules of that batch are confirmed. */
START_TEST(replaced_module)
{
	for (size_t replaced = MODULES; replaced-- > 0;) {
		if (replaced % (VG_MARKS_MAX / 2) != 3)
			continue;
		marks[replaced]++;
		for (uint32_t i = 0; i < MODULES; i++)
			modules.items.items[i].confirmed_ns = 0;
		ck_assert_uint_eq(vg_modules_confirm(&modules, frames, FRAMES), 2 * replaced);
	}
}
END_TEST

/* A mark that is seen after the copy proves nothing where another module may have been, because several modules were
 * loaded in turn, or because the module was first seen lately: the mark must have been there at the copy. */
START_TEST(mark_seen_late)
{
	const uint64_t second = 1000 * 1000 * 1000, now_ns = vg_now_ns(), seen_ns = now_ns + 100 * second;
	const struct {
		uint64_t since_ns;
		bool reused, at_copy;
		enum vg_evidence evidence;
		size_t confirmed;
	} cases[] = {
		{ 0, false, true, VG_EVIDENCE_MARKS, 2 },
		{ 0, false, false, VG_EVIDENCE_MARKS, 2 },
		{ 0, true, true, VG_EVIDENCE_MARKS, 2 },
		{ 0, true, false, VG_EVIDENCE_MARKS, 0 },
		{ 0, true, false, VG_EVIDENCE_RECORDS, 2 },
		{ now_ns, false, true, VG_EVIDENCE_MARKS, 2 },
		{ now_ns, false, false, VG_EVIDENCE_MARKS, 0 },
		{ now_ns, false, false, VG_EVIDENCE_RECORDS, 2 },
		{ now_ns - 2 * second, false, false, VG_EVIDENCE_MARKS, 2 },
	};
	struct vg_code_range range = { .start = 0x1000, .end = 0x2000, .module = 0 };

	frames[0].address = 0x1800;
	ck_assert_int_eq(vg_array_push(&modules.ranges.now, &range), 0);
	modules.items.items[0].confirmed_ns = seen_ns;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		modules.ranges.now.items[0].reused = cases[i].reused;
		modules.ranges.now.items[0].since_ns = modules.ranges.latest_ns = cases[i].since_ns;
		modules.ranges.past_total = cases[i].reused;
		marks[0] += !cases[i].at_copy;
		vg_modules_copied(&modules);
		marks[0] -= !cases[i].at_copy;
		modules.moment = (struct vg_moment){ seen_ns - 1, cases[i].evidence };
		ck_assert_uint_eq(vg_modules_confirm(&modules, frames, 2), cases[i].confirmed);
	}
}
END_TEST

/* A stack that was copied earlier: what is known of its addresses, with each kind of evidence. */
START_TEST(address_of_an_earlier_copy)
{
	const uint64_t second = 1000 * 1000 * 1000, moment_ns = 100 * second;
	const struct {
		uint64_t since_ns;
		bool reused;
		enum vg_evidence evidence;
		bool is_known;
	} cases[] = {
		{ 0, false, VG_EVIDENCE_MARKS_LATE, true },
		{ moment_ns - 2 * second, false, VG_EVIDENCE_MARKS_LATE, true },
		{ moment_ns - 2 * second, true, VG_EVIDENCE_MARKS_LATE, false },
		{ moment_ns - second / 2, false, VG_EVIDENCE_MARKS_LATE, false },
		{ moment_ns - second / 2, true, VG_EVIDENCE_RECORDS, true },
		{ moment_ns - second / 2, true, VG_EVIDENCE_MARKS, true },
		{ moment_ns + 1, false, VG_EVIDENCE_RECORDS, false },
	};
	struct vg_code_range range = { .start = 0x1000, .end = 0x2000, .module = 0 };

	ck_assert_int_eq(vg_array_push(&modules.ranges.now, &range), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		modules.ranges.now.items[0].since_ns = cases[i].since_ns;
		modules.ranges.now.items[0].reused = cases[i].reused;
		modules.moment = (struct vg_moment){ moment_ns, cases[i].evidence };
		ck_assert_msg((vg_modules_find(&modules, 0x1800) != NULL) == cases[i].is_known, "case %zu", i);
	}
}
END_TEST

/* The marks of many young modules would make a pause long. They are not read then. */
START_TEST(many_young_modules)
{
	enum { YOUNG = 17 };
	uint64_t now_ns = vg_now_ns();

	for (uint32_t i = 0; i < YOUNG; i++) {
		struct vg_code_range range = { .start = 0x1000 * (i + 1), .end = 0x1000 * (i + 2), .module = i,
					       .since_ns = now_ns };

		frames[2 * i].address = range.start;
		ck_assert_int_eq(vg_array_push(&modules.ranges.now, &range), 0);
		modules.items.items[i].confirmed_ns = UINT64_MAX;
		marks[i]++;
	}
	modules.ranges.latest_ns = now_ns;
	modules.moment = (struct vg_moment){ now_ns, VG_EVIDENCE_MARKS };
	vg_modules_copied(&modules);
	ck_assert_uint_eq(vg_modules_confirm(&modules, frames, 2 * YOUNG), 2 * YOUNG);
	modules.ranges.now.count--;
	vg_modules_copied(&modules);
	ck_assert_uint_eq(vg_modules_confirm(&modules, frames, 2 * YOUNG), 0);
}
END_TEST

/* Modules beyond the limit are counted. Their code is known, without a module. */
START_TEST(more_modules_than_the_limit)
{
	struct vg_modules limited = { .memory = &memory, .max = 1 };
	const struct vg_code_range *range;
	size_t excess;

	ck_assert_int_eq(vg_modules_refresh(&limited), 0);
	ck_assert_uint_eq(limited.items.count, 1);
	ck_assert_uint_ge(limited.excess_max, 1);
	/* Another reading counts the same modules. */
	excess = limited.excess_max;
	ck_assert_int_eq(vg_modules_refresh(&limited), 0);
	ck_assert_uint_eq(limited.excess, excess);
	ck_assert_uint_eq(limited.excess_max, excess);
	limited.moment = (struct vg_moment){ .time_ns = UINT64_MAX, .evidence = VG_EVIDENCE_MARKS };
	/* The first module is this program.  malloc() is in another one, or in a sanitizer's. */
	range = vg_modules_find(&limited, (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc"));
	ck_assert_ptr_nonnull(range);
	ck_assert_uint_eq(range->module, VG_NONE);
	vg_modules_free(&limited);
}
END_TEST

Suite *modules_suite(void)
{
	Suite *suite = suite_create("modules");
	TCase *tests = tcase_create("modules");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, more_modules_than_one_batch);
	tcase_add_test(tests, fences);
	tcase_add_test(tests, replaced_module);
	tcase_add_test(tests, mark_seen_late);
	tcase_add_test(tests, address_of_an_earlier_copy);
	tcase_add_test(tests, many_young_modules);
	tcase_add_test(tests, more_modules_than_the_limit);
	suite_add_tcase(suite, tests);
	return suite;
}
