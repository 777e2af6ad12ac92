/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <check.h>
#include "tests/unit/suites.h"
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "vgtool/analysis/frame_class.h"
#include "vgtool/analysis/tracks.h"
#include "vgtool/output/gzip.h"

static struct vg_profile profile;
static struct vg_tracks tracks;

static uint32_t text(const char *name)
{
	uint32_t id;

	ck_assert_int_ge(vg_intern_string(&profile.strings, name, &id), 0);
	return id;
}

static void process_add(const char *name, int32_t pid)
{
	struct vg_process process = { .name = text(name), .program = text(name), .pid = pid };

	ck_assert_int_eq(vg_array_push(&profile.processes, &process), 0);
}

static void thread_add(const char *name, int32_t tid)
{
	struct vg_thread thread = { .name = text(name), .tid = tid, .process = (uint32_t)profile.processes.count - 1 };

	ck_assert_int_eq(vg_array_push(&profile.threads, &thread), 0);
}

static void done(void)
{
	vg_tracks_free(&tracks);
	vg_profile_free(&profile);
}

START_TEST(threads_of_one_file)
{
	process_add("demo", 10);
	thread_add("worker", 11);
	thread_add("worker", 12);
	thread_add("worker", 11);
	ck_assert_int_eq(vg_tracks_build(&tracks, &profile, 0), 0);
	ck_assert_uint_eq(tracks.group_count, 1);
	ck_assert_uint_eq(tracks.count, 3);
	ck_assert_uint_eq(tracks.items[2].thread, 2);
	done();
}
END_TEST

START_TEST(threads_of_several_files)
{
	process_add("demo", 10);
	thread_add("worker", 11);
	thread_add("worker", 12);
	thread_add("", 13);
	thread_add("", 14);
	process_add("demo", 20);
	thread_add("worker", 21);
	process_add("demo", 10);
	thread_add("worker", 15);
	thread_add("", 13);
	thread_add("reader", 16);
	ck_assert_int_eq(vg_tracks_build(&tracks, &profile, 0), 0);
	ck_assert_uint_eq(tracks.group_count, 2);
	ck_assert_uint_eq(tracks.group_of[2], 0);
	ck_assert_uint_eq(tracks.count, 5);
	ck_assert_uint_eq(tracks.items[0].thread_count, 3);
	ck_assert_uint_eq(tracks.track_of[5], 0);
	ck_assert_uint_eq(tracks.track_of[4], 3);
	ck_assert_uint_eq(tracks.track_of[6], tracks.track_of[2]);
	ck_assert_uint_ne(tracks.track_of[3], tracks.track_of[2]);
	ck_assert_uint_eq(tracks.items[tracks.track_of[4]].group, 1);
	done();
}
END_TEST

START_TEST(base_stays_apart)
{
	process_add("demo", 10);
	thread_add("worker", 11);
	process_add("demo", 10);
	thread_add("worker", 11);
	ck_assert_int_eq(vg_tracks_build(&tracks, &profile, 1), 0);
	ck_assert_uint_eq(tracks.group_count, 2);
	ck_assert_uint_eq(tracks.count, 2);
	ck_assert(tracks.groups[0].is_base);
	ck_assert(!tracks.groups[1].is_base);
	done();
}
END_TEST

START_TEST(samples_of_tracks)
{
	static const struct vg_sample taken[] = {
		{ .thread = 0, .time_ns = 5 }, { .thread = 1, .time_ns = 1 }, { .thread = 2, .time_ns = 3 },
		{ .thread = 2, .time_ns = 7 }, { .thread = 0, .time_ns = 7 },
	};
	static const uint64_t first[] = { 0, 4, 5 };
	static const uint32_t order[] = { 2, 0, 3, 4, 1 };
	struct vg_track_samples samples;

	process_add("demo", 10);
	thread_add("worker", 11);
	thread_add("reader", 12);
	process_add("demo", 10);
	thread_add("worker", 13);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		ck_assert_int_eq(vg_array_push(&profile.samples, &taken[i]), 0);
	ck_assert_int_eq(vg_tracks_build(&tracks, &profile, 0), 0);
	ck_assert_int_eq(vg_track_samples_build(&samples, &tracks, &profile), 0);
	ck_assert_mem_eq(samples.first, first, sizeof first);
	ck_assert_mem_eq(samples.order, order, sizeof order);
	ck_assert(!vg_track_overlaps(&samples, 0, &profile));
	profile.samples.items[4].wall_ns = 4; /* while thread 2 ran from 3 to 7 */
	profile.samples.items[3].wall_ns = 4;
	ck_assert(vg_track_overlaps(&samples, 0, &profile));
	vg_track_samples_free(&samples);
	done();
}
END_TEST

static void stack_add(uint8_t found_by, uint32_t module, uint64_t address)
{
	struct vg_stack stack = { .parent = VG_NONE, .module = module, .address = address, .depth = 1,
				  .found_by = found_by };

	ck_assert_int_eq(vg_array_push(&profile.stacks, &stack), 0);
}

START_TEST(classes_of_frames)
{
	struct vg_module program = { .name = text("demo") }, library = { .name = text("libx.so") };
	const int call = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, "futex");
	unsigned char *classes;

	process_add("demo", 10);
	profile.header.program = text("demo");
	profile.header.arch = text("x86_64");
	ck_assert_int_eq(vg_array_push(&profile.modules, &program), 0);
	ck_assert_int_eq(vg_array_push(&profile.modules, &library), 0);
	stack_add(VG_FOUND_BY_CFI, 0, 16);
	stack_add(VG_FOUND_BY_CFI, 1, 16);
	stack_add(VG_FOUND_BY_CFI, VG_NONE, 0x7f00);
	stack_add(VG_FOUND_IN_KERNEL, 1, 1);
	stack_add(VG_FOUND_BY_SYSTEM_CALL, VG_NONE, (uint64_t)call);
	stack_add(VG_FOUND_BY_SYSTEM_CALL, VG_NONE, 1023);
	stack_add(VG_FOUND_BY_SYSTEM_CALL, VG_NONE, UINT64_MAX);
	ck_assert_int_eq(vg_frame_classes_build(&classes, &profile), 0);
	ck_assert_mem_eq(classes, ((const unsigned char []){ VG_CLASS_PROGRAM, VG_CLASS_LIBRARY, VG_CLASS_UNKNOWN,
		VG_CLASS_KERNEL, VG_CLASS_WAIT_LOCK, VG_CLASS_WAIT_OTHER, VG_CLASS_WAIT_OTHER }), 7);
	free(classes);
	done();
}
END_TEST

/* The first process was started through a symbolic link; the second one has only libraries in its stacks. */
START_TEST(programs_by_base)
{
	const struct { const char *name; uint64_t base; } files[] = {
		{ "plugin", 0x7f2000 }, { "libc.so.6", 0x3000 }, { "[vdso]", 0x2000 }, { "python3.11", 0x55000 },
	};
	unsigned char *classes;

	process_add("python3", 10);
	for (uint32_t i = 0; i < 4; i++) {
		struct vg_module module = { .name = text(files[i].name), .base = files[i].base };

		ck_assert_int_eq(vg_array_push(&profile.modules, &module), 0);
		stack_add(VG_FOUND_BY_CFI, i, 16);
	}
	process_add("other", 11);
	profile.processes.items[1].first_stack = 4;
	stack_add(VG_FOUND_BY_CFI, 1, 32);
	ck_assert_uint_eq(vg_program_module(&profile, 0), 3);
	ck_assert_uint_eq(vg_program_module(&profile, 1), VG_NONE);
	ck_assert_int_eq(vg_frame_classes_build(&classes, &profile), 0);
	ck_assert_mem_eq(classes, ((const unsigned char []){ VG_CLASS_LIBRARY, VG_CLASS_LIBRARY, VG_CLASS_LIBRARY,
		VG_CLASS_PROGRAM, VG_CLASS_LIBRARY }), 5);
	free(classes);
	/* The name decides, if a module has it. */
	profile.processes.items[0].program = text("plugin");
	ck_assert_uint_eq(vg_program_module(&profile, 0), 0);
	done();
}
END_TEST

START_TEST(classes_of_calls)
{
	ck_assert_int_eq(vg_frame_class_of_call("epoll_wait"), VG_CLASS_WAIT_EVENT);
	ck_assert_int_eq(vg_frame_class_of_call("read"), VG_CLASS_WAIT_IO);
	ck_assert_int_eq(vg_frame_class_of_call("clock_nanosleep"), VG_CLASS_WAIT_TIME);
	ck_assert_int_eq(vg_frame_class_of_call("wait4"), VG_CLASS_WAIT_PROCESS);
	ck_assert_int_eq(vg_frame_class_of_call("getpid"), VG_CLASS_WAIT_OTHER);
	for (int class = 0; class < VG_CLASS_COUNT; class++)
		ck_assert_ptr_nonnull(vg_frame_class_name((enum vg_frame_class)class));
}
END_TEST

/* 3 MB are more than the stream writes at a time. */
START_TEST(gzip_streams)
{
	enum { BYTES = 3000000 };
	char *in = malloc(BYTES), *out = malloc(BYTES + 1);
	char path[] = "/tmp/check_gzip.XXXXXX";
	struct vg_gzip gzip;
	FILE *to, *file;
	gzFile back;

	for (size_t i = 0; i < BYTES; i++)
		in[i] = (char)(i * i / 251 + i / 100000);
	to = fdopen(mkstemp(path), "w");
	ck_assert_ptr_nonnull(to);
	file = vg_gzip_open(&gzip, to);
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(in, 1, 17, file), 17);
	ck_assert_uint_eq(fwrite(in + 17, 1, BYTES - 17, file), BYTES - 17);
	ck_assert_int_eq(vg_gzip_close(&gzip, file), 0);
	ck_assert_int_eq(fclose(to), 0);
	back = gzopen(path, "r");
	ck_assert_int_eq(gzread(back, out, BYTES + 1), BYTES);
	ck_assert_mem_eq(in, out, BYTES);
	gzclose(back);
	remove(path);
	free(in);
	free(out);
}
END_TEST

START_TEST(gzip_without_space)
{
	struct vg_gzip gzip;
	FILE *to = fopen("/dev/full", "w"), *file = vg_gzip_open(&gzip, to);

	setvbuf(to, NULL, _IONBF, 0);
	for (int i = 0; i < 100000; i++)
		fprintf(file, "%d\n", i * 7919);
	ck_assert_int_lt(vg_gzip_close(&gzip, file), 0);
	fclose(to);
}
END_TEST

Suite *tracks_suite(void)
{
	Suite *suite = suite_create("tracks");
	TCase *tcase = tcase_create("tracks");

	tcase_add_test(tcase, threads_of_one_file);
	tcase_add_test(tcase, threads_of_several_files);
	tcase_add_test(tcase, base_stays_apart);
	tcase_add_test(tcase, samples_of_tracks);
	tcase_add_test(tcase, classes_of_frames);
	tcase_add_test(tcase, programs_by_base);
	tcase_add_test(tcase, classes_of_calls);
	tcase_add_test(tcase, gzip_streams);
	tcase_add_test(tcase, gzip_without_space);
	suite_add_tcase(suite, tcase);
	return suite;
}
