/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Writes a resolved profile with many samples and stacks, for bench/exporters.sh and tests.
 *
 *     large_profile OUT [SAMPLES [STACKS]]       default: 1,000,000 samples with 100,000 distinct stacks
 *
 * Eight threads run for SAMPLES / 8 ms each, in 5,000 functions of four modules.  Half of the addresses are in an
 * inlined function.  Each thread has an interval of 50 ms every 100 ms.  The same arguments make the same profile.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/writer.h"

enum { MS = 1000000, THREADS = 8, MODULES = 4, FUNCTIONS = 5000, FILES = 200, LABELS = 20, DEPTH_MAX = 60,
       INTERVAL_MS = 100, ADDRESSES = 8 * FUNCTIONS };

static struct vg_writer writer;
static uint64_t seed = 1;

static uint64_t below(uint64_t limit)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % limit;
}

static void symbols_write(void)
{
	static const char *const modules[MODULES] = { "large", "libc.so.6", "libstdc++.so.6", "libcrypto.so.3" };
	char name[64], file[64];

	for (uint32_t m = 0; m < MODULES; m++) {
		struct vg_module module = { .id = m, .build_id = { 1, 2, 3, (unsigned char)m }, .build_id_bytes = 4,
					    .base = 0x400000 + m * 0x1000000, .size_bytes = 0x1000000 };

		vg_writer_module(&writer, &module, modules[m]);
	}
	for (uint32_t f = 0; f < FUNCTIONS; f++) {
		snprintf(name, sizeof name, "component_%" PRIu32 "::function_%" PRIu32 "(int, char const*)", f % 40, f);
		snprintf(file, sizeof file, "/build/large/src/component_%" PRIu32 "/file_%" PRIu32 ".cc", f % 40,
			 f % FILES);
		vg_writer_function(&writer, f, name, file, f % MODULES);
	}
	for (uint32_t a = 0; a < ADDRESSES; a++) {
		uint32_t function = a % FUNCTIONS;
		struct vg_symbol_line lines[] = { { (function + MODULES * 7) % FUNCTIONS, 10 + a % 50 },
						   { function, 100 + a % 90 } };
		bool has_inlined = a % 2 == 0;

		vg_writer_symbol(&writer, function % MODULES, a * 16, has_inlined ? lines : lines + 1,
				 has_inlined ? 2 : 1);
	}
	for (uint32_t l = 0; l < LABELS; l++)
		vg_writer_label(&writer, l, name, (size_t)snprintf(name, sizeof name, "phase %" PRIu32, l));
}

/* A node's caller is one of the 200 nodes before it, so that stacks share their outer frames and are about 30 deep. */
static void stacks_write(uint32_t stacks)
{
	uint32_t *depths = calloc(stacks, sizeof *depths);

	for (uint32_t i = 0; i < stacks && depths != NULL; i++) {
		uint32_t back = 1 + (uint32_t)below(200), address = (uint32_t)below(ADDRESSES);
		uint32_t parent = back <= i && depths[i - back] < DEPTH_MAX && below(300) != 0 ? i - back : VG_NONE;

		depths[i] = parent != VG_NONE ? depths[parent] + 1 : 1;
		vg_writer_stack(&writer, VG_STACK_ROOTS + i, parent != VG_NONE ? VG_STACK_ROOTS + parent : VG_WALK_ROOT,
				address % FUNCTIONS % MODULES, address * 16, VG_FOUND_BY_CFI);
	}
	free(depths);
}

/* The first samples have each stack once.  Of the later ones, three of four have one of the first 5,000 stacks. */
static void samples_write(uint64_t samples, uint32_t stacks)
{
	uint64_t token = 0, open[THREADS] = { 0 };

	for (uint64_t i = 0; i < samples; i++) {
		uint32_t thread = (uint32_t)(i % THREADS);
		uint64_t ms = i / THREADS, time_ns = (ms + 1) * MS + thread * 1000;
		uint32_t stack = i < stacks ? (uint32_t)i :
				 (uint32_t)below(below(4) == 0 || stacks < 5000 ? stacks : 5000);

		if (ms % INTERVAL_MS == 0 || ms % INTERVAL_MS == INTERVAL_MS / 2) {
			bool begins = ms % INTERVAL_MS == 0;

			if (begins)
				open[thread] = ++token;
			vg_writer_event(&writer, &(struct vg_writer_event){
				.type = begins ? VG_EVENT_BEGIN : VG_EVENT_END, .thread = thread,
				.time_ns = time_ns - MS, .token = open[thread], .kind = begins ? 0 : VG_NONE,
				.label = begins ? 1 + (uint32_t)(token % (LABELS - 1)) : VG_NONE });
			if (!begins)
				open[thread] = 0;
		}
		vg_writer_sample(&writer, &(struct vg_writer_sample){
			.thread = thread, .stack = VG_STACK_ROOTS + stack, .count = 1, .time_ns = time_ns,
			.wall_ns = MS, .cpu_ns = i % 5 == 0 ? 0 : MS, .interval = open[thread] });
	}
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint32_t stacks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 100000;
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	char name[16];

	if (fd < 0) {
		fprintf(stderr, "usage: large_profile OUT [SAMPLES [STACKS]]\n");
		return 2;
	}
	vg_writer_open(&writer, fd, 0);
	vg_writer_header(&writer, &(struct vg_writer_header){ .period_ns = MS, .start_unix_s = 1700000000,
		.max_frames = 1024, .mode = "wall", .writer = "large_profile", .arch = "x86_64", .program = "large" });
	for (uint32_t t = 0; t < THREADS; t++) {
		snprintf(name, sizeof name, t == 0 ? "main" : "worker-%" PRIu32, t);
		vg_writer_thread(&writer, &(struct vg_thread){ .id = t, .tid = 1000 + (int32_t)t }, name);
	}
	symbols_write();
	stacks_write(stacks);
	samples_write(samples, stacks);
	if (vg_writer_end(&writer, "done", (samples / THREADS + 1) * MS, NULL, 0) != 0 || close(fd) != 0) {
		fprintf(stderr, "large_profile: cannot write %s\n", argv[1]);
		return 1;
	}
	vg_writer_close(&writer);
	return 0;
}
