/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_FIXTURE_H
#define VG_TESTS_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/infile.h"
#include "profile/model.h"
#include "profile/writer.h"

/*
 * A small profile for a test: the writer writes it into an unnamed file, and the reader reads it back.
 * A failure in one of these functions fails the test.
 *
 *	fixture_open(&fixture);
 *	fixture_module(&fixture, 0, "demo");
 *	fixture_thread(&fixture, 0, 1, "main");
 *	... stacks, by vg_writer_stack(&fixture.writer, ...) ...
 *	fixture_sample(&fixture, 0, VG_STACK_ROOTS, MS, MS, 0);
 *	fixture_read(&fixture, false);
 *	... use fixture.profile ...
 *	fixture_close(&fixture);
 */
struct fixture {
	int fd;
	struct vg_writer writer;
	struct vg_infile file;       /* set by fixture_read() */
	struct vg_profile profile;
};

/* Opens the writer and writes a header: program "demo", mode "wall", sampling period 1 ms. */
void fixture_open(struct fixture *fixture);
void fixture_module(struct fixture *fixture, uint32_t id, const char *name);
void fixture_thread(struct fixture *fixture, uint32_t id, int32_t tid, const char *name);
void fixture_sample(struct fixture *fixture, uint32_t thread, uint32_t stack, uint64_t time_ns,
		    uint64_t wall_ns, uint64_t cpu_ns);

/* Writes the end record, unless truncated, and reads the profile back. */
void fixture_read(struct fixture *fixture, bool truncated);

/* Like fixture_read(), but reads these bytes. Returns what vg_profile_read() returns. fixture_close() frees the bytes
 * of the last call. */
int fixture_read_bytes(struct fixture *fixture, const unsigned char *bytes, size_t length);

/* Calls `use` with profiles in which one byte of the payload has another value, and the checksum is right: as a hostile
 * writer may make them. What was written so far must be one chunk. */
void fixture_each_change(struct fixture *fixture, void (*use)(const struct vg_profile *profile));

/* Returns a copy of everything that was written so far. The caller frees it. */
unsigned char *fixture_bytes(struct fixture *fixture, size_t *length);
void fixture_close(struct fixture *fixture);

/* Counts the places where the text has the part. AddressSanitizer's strstr(3) reads the whole text at each call, so a
 * loop of calls would take seconds. */
size_t fixture_parts(const char *text, const char *part);

/* Calls `note`, in a signal handler, before the first write to the mapped pages.  So a test sees what another process
 * can see at the moment at which a count there changes. */
void fixture_before_write(void *pages, size_t bytes, void (*note)(void));

/* Writes the file TID/NAME below a directory that stands for /proc/PID/task.  The directory TID exists. */
void fixture_thread_file(int directory, pid_t tid, const char *name, const char *text);

/* Opens the calling thread's task-clock.  It runs on while the machine's host takes the CPU away, as the clock of the
 * thread's CPU time does not.  Returns -1 if perf events are not allowed. */
int fixture_task_clock_open(void);

/* Reads the task-clock; 0 if it is not open. */
uint64_t fixture_task_clock_ns(int clock);

/* Starts a process that calls `prepare` with the argument, becomes this user, and waits.  Returns when it waits.  The
 * caller kills it and waits for its end; it ends with the test. */
pid_t fixture_other_user(uid_t user, bool (*prepare)(void *argument), void *argument);

/*
 * Opens the fixture and writes the profile that most tests use:
 *
 *   modules   0 "demo" (build id 01 02 03 04), 1 "libx.so" (build id 01 02 03 05)
 *   threads   0 "main" (tid 100), 1 "worker" (tid 101)
 *   stacks    16 main = demo+0x10, the root frame
 *             17 work = demo+0x20, called by 16
 *             18 leaf = libx.so+0x30, called by 17
 *             19 work = demo+0x20, called by 17
 *             20 0x7f00, in no module; its caller is unknown (no unwind information)
 *   samples   thread 0 at 1 ms (stack 18), 2 ms (18) and 3 ms (19); thread 1 at 2 ms (20) and 4 ms (16)
 *
 * The wall time of a sample is the time since the thread's previous sample. Its CPU time is half of that.
 */
void fixture_demo(struct fixture *fixture);

/* The same, with functions for module 0: main (m.c), and work (w.c) with "inner" inlined at 0x20. */
void fixture_demo_names(struct fixture *fixture);

#endif
