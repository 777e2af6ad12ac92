/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_FIXTURE_H
#define VG_TESTS_FIXTURE_H

#include <stdbool.h>

#include "base/infile.h"
#include "profile/model.h"
#include "profile/writer.h"

/*
 * Small profiles for tests: written with the writer into a file without a name, and read back.
 * What fails here ends the test.
 */
struct fixture {
	int fd;
	struct vg_writer writer;
	struct vg_infile file;       /* after fixture_read() */
	struct vg_profile profile;
};

/* Opens the writer and writes a header: program "demo", mode "wall", a period of 1 ms. */
void fixture_open(struct fixture *fixture);
void fixture_module(struct fixture *fixture, uint32_t id, const char *name);
void fixture_thread(struct fixture *fixture, uint32_t id, int32_t tid, const char *name);
void fixture_sample(struct fixture *fixture, uint32_t thread, uint32_t stack, uint64_t time_ns,
		    uint64_t wall_ns, uint64_t cpu_ns);

/* Writes the end record, unless truncated, and reads everything back. */
void fixture_read(struct fixture *fixture, bool truncated);

/* Reads these bytes into the fixture's profile instead; returns what the reader does. */
int fixture_read_bytes(struct fixture *fixture, const unsigned char *bytes, size_t length);

/* Everything that was written so far, to be freed. */
unsigned char *fixture_bytes(struct fixture *fixture, size_t *length);
void fixture_close(struct fixture *fixture);

/*
 * The profile that most tests want.  Module 0 "demo" (build id 01 02 03 04), module 1 "libx.so"
 * (01 02 03 05);
 * threads 0 "main" (tid 100) and 1 "worker" (tid 101); stacks, root first:
 *   16 main = demo+0x10    17 work = demo+0x20    18 leaf = libx.so+0x30    19 work again, from 17
 *   20 0x7f00, no module, whose caller is unknown (no unwind information)
 * Samples: main at 1, 2 and 3 ms in 18, 18 and 19; worker at 2 ms in 20 and at 4 ms in 16, each of
 * the time since the thread's last, and half as much CPU time.
 */
void fixture_demo(struct fixture *fixture);

/* The same with names for module 0: main (m.c), work (w.c) with "inner" inlined at 0x20. */
void fixture_demo_names(struct fixture *fixture);

#endif
