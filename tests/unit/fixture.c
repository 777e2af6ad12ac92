/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "tests/unit/fixture.h"

#include <check.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profile/chunk.h"
#include "profile/reader.h"

enum { MS = 1000000 };

void fixture_open(struct fixture *fixture)
{
	struct vg_writer_header header = {
		.period_ns = MS, .start_unix_s = 1700000000, .max_frames = 256, .mode = "wall",
		.writer = "test 1", .arch = "x86_64", .program = "demo",
	};

	memset(fixture, 0, sizeof *fixture);
	fixture->fd = memfd_create("profile", MFD_CLOEXEC);
	ck_assert_int_ge(fixture->fd, 0);
	vg_writer_open(&fixture->writer, fixture->fd, 0);
	ck_assert_int_eq(vg_writer_header(&fixture->writer, &header), 0);
}

void fixture_module(struct fixture *fixture, uint32_t id, const char *name)
{
	struct vg_module module = { .id = id, .build_id = { 1, 2, 3, (uint8_t)(4 + id) }, .build_id_bytes = 4,
				    .base = 0x400000 + 0x100000 * (uint64_t)id, .size_bytes = 4096 };

	ck_assert_int_eq(vg_writer_module(&fixture->writer, &module, name), 0);
}

void fixture_thread(struct fixture *fixture, uint32_t id, int32_t tid, const char *name)
{
	struct vg_thread thread = { .id = id, .tid = tid };

	ck_assert_int_eq(vg_writer_thread(&fixture->writer, &thread, name), 0);
}

unsigned char *fixture_bytes(struct fixture *fixture, size_t *length)
{
	unsigned char *bytes;

	ck_assert_int_eq(vg_writer_flush(&fixture->writer), 0);
	*length = (size_t)lseek(fixture->fd, 0, SEEK_END);
	bytes = malloc(*length + 1);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(pread(fixture->fd, bytes, *length, 0), *length);
	return bytes;
}

int fixture_read_bytes(struct fixture *fixture, const unsigned char *bytes, size_t length)
{
	struct vg_err err;

	vg_profile_free(&fixture->profile);
	fixture->file = (struct vg_infile){ .path = "test", .bytes = bytes, .length = length };
	return vg_profile_read(&fixture->profile, &fixture->file, &err);
}

void fixture_sample(struct fixture *fixture, uint32_t thread, uint32_t stack, uint64_t time_ns,
		    uint64_t wall_ns, uint64_t cpu_ns)
{
	struct vg_writer_sample sample = { .thread = thread, .stack = stack, .count = 1,
					   .time_ns = time_ns, .wall_ns = wall_ns, .cpu_ns = cpu_ns };

	ck_assert_int_eq(vg_writer_sample(&fixture->writer, &sample), 0);
}

void fixture_read(struct fixture *fixture, bool truncated)
{
	struct vg_named_value totals[] = { { "samples", 5 } };
	unsigned char *bytes;
	size_t length;

	if (!truncated)
		ck_assert_int_eq(vg_writer_end(&fixture->writer, "done", 5 * MS, totals, 1), 0);
	bytes = fixture_bytes(fixture, &length);
	ck_assert_int_eq(fixture_read_bytes(fixture, bytes, length), 0);
}

void fixture_each_change(struct fixture *fixture, void (*use)(const struct vg_profile *profile))
{
	static const unsigned char values[] = { 0x00, 0x10, 0x7f, 0x80, 0x91, 0xa0, 0xc0, 0xcf, 0xff };
	size_t length;
	unsigned char *bytes = fixture_bytes(fixture, &length);

	for (size_t at = VG_CHUNK_HEADER_BYTES; at < length; at++) {
		for (size_t i = 0; i < sizeof values; i++) {
			unsigned char was = bytes[at];

			bytes[at] = values[i];
			vg_chunk_header(bytes, 0, bytes + VG_CHUNK_HEADER_BYTES, length - VG_CHUNK_HEADER_BYTES);
			if (fixture_read_bytes(fixture, bytes, length) == 0)
				use(&fixture->profile);
			bytes[at] = was;
		}
	}
}

void fixture_close(struct fixture *fixture)
{
	vg_profile_free(&fixture->profile);
	free((void *)fixture->file.bytes);
	vg_writer_close(&fixture->writer);
	close(fixture->fd);
}

size_t fixture_parts(const char *text, const char *part)
{
	size_t count = 0, at;

	for (; *text != '\0'; text++) {
		for (at = 0; part[at] != '\0' && text[at] == part[at];)
			at++;
		count += part[at] == '\0';
	}
	return count;
}

void fixture_demo(struct fixture *fixture)
{
	static const struct { uint32_t id, parent, module; uint64_t address; } stacks[] = {
		{ 16, VG_WALK_ROOT, 0, 0x10 }, { 17, 16, 0, 0x20 }, { 18, 17, 1, 0x30 },
		{ 19, 17, 0, 0x20 }, { 20, VG_WALK_NO_INFO, VG_NONE, 0x7f00 },
	};
	static const struct { uint32_t thread, stack, time_ms, wall_ms; } samples[] = {
		{ 0, 18, 1, 1 }, { 0, 18, 2, 1 }, { 1, 20, 2, 2 }, { 0, 19, 3, 1 }, { 1, 16, 4, 2 },
	};
	struct vg_writer *writer = &fixture->writer;

	fixture_open(fixture);
	fixture_module(fixture, 0, "demo");
	fixture_module(fixture, 1, "libx.so");
	fixture_thread(fixture, 0, 100, "main");
	fixture_thread(fixture, 1, 101, "worker");
	for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
		ck_assert_int_eq(vg_writer_stack(writer, stacks[i].id, stacks[i].parent,
						 stacks[i].module, stacks[i].address, 0), 0);
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		fixture_sample(fixture, samples[i].thread, samples[i].stack,
			       samples[i].time_ms * (uint64_t)MS, samples[i].wall_ms * (uint64_t)MS,
			       samples[i].wall_ms * (uint64_t)MS / 2);
}

void fixture_demo_names(struct fixture *fixture)
{
	struct vg_symbol_line at_main = { 0, 7 };
	struct vg_symbol_line at_work[] = { { 2, 3 }, { 1, 12 } };
	struct vg_writer *writer = &fixture->writer;

	fixture_demo(fixture);
	ck_assert_int_eq(vg_writer_function(writer, 0, "main", "m.c", 0), 0);
	ck_assert_int_eq(vg_writer_function(writer, 1, "work", "w.c", 0), 0);
	ck_assert_int_eq(vg_writer_function(writer, 2, "inner", NULL, 0), 0);
	ck_assert_int_eq(vg_writer_symbol(writer, 0, 0x10, &at_main, 1), 0);
	ck_assert_int_eq(vg_writer_symbol(writer, 0, 0x20, at_work, 2), 0);
	ck_assert_int_eq(vg_writer_unresolved(writer, 1), 0);
}

static struct {
	void *pages;
	size_t bytes;
	void (*note)(void);
} watched;

static void on_write(int number, siginfo_t *info, void *context)
{
	(void)context;
	if ((uintptr_t)info->si_addr - (uintptr_t)watched.pages >= watched.bytes)
		signal(number, SIG_DFL);
	else if (mprotect(watched.pages, watched.bytes, PROT_READ | PROT_WRITE) == 0)
		watched.note();
}

void fixture_before_write(void *pages, size_t bytes, void (*note)(void))
{
	struct sigaction action = { .sa_sigaction = on_write, .sa_flags = SA_SIGINFO };

	watched.pages = pages;
	watched.bytes = bytes;
	watched.note = note;
	ck_assert_int_eq(sigaction(SIGSEGV, &action, NULL), 0);
	ck_assert_int_eq(mprotect(pages, bytes, PROT_READ), 0);
}

void fixture_thread_file(int directory, pid_t tid, const char *name, const char *text)
{
	char file[64];
	int fd;

	snprintf(file, sizeof file, "%d/%s", tid, name);
	fd = openat(directory, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

int fixture_task_clock_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1, .exclude_hv = 1, /* so that any user may open it; it runs in the kernel, too */
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

uint64_t fixture_task_clock_ns(int clock)
{
	uint64_t ns = 0;

	if (clock >= 0)
		ck_assert_int_eq(read(clock, &ns, sizeof ns), sizeof ns);
	return ns;
}

pid_t fixture_other_user(uid_t user, bool (*prepare)(void *argument), void *argument)
{
	int ends[2];
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		/* setresuid(2) clears the signal of prctl(2). */
		if (!prepare(argument) || setresuid(user, user, user) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
		    write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}
