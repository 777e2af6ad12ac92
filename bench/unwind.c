/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Measures how long unwinding takes per frame, with rows and with libunwind.
 *
 *     unwind PID SNAPSHOTS
 *
 * Takes snapshots of the first thread every 5 ms.  Then stops the process, so that its JIT code does not change,
 * unwinds the snapshots many times with rows and with libunwind, and continues the process.  Prints one line of `key
 * value` pairs.  The lines after it say where rows and libunwind find different frames.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "vignetted/capture/tracer.h"
#include "vignetted/unwind/fallback.h"
#include "vignetted/unwind/unwind.h"

enum { INTERVAL_NS = 5000000, MAX_FRAMES = 16384, WARM_ROUNDS = 50, LIBUNWIND_ROUNDS = 5,
       DIFFERENCES_SHOWN = 5 };

/* Which caches are emptied before a walk. */
enum cold {
	WARM,                        /* none */
	COLD_ROWS,                   /* rows */
	COLD_ALL,                    /* rows, and the pages that they are decoded from */
};

struct bench {
	struct vg_memory memory;
	struct vg_modules modules;
	struct vg_unwinder *unwinder;
	struct vg_fallback *libunwind;
	struct vg_snapshot *snapshots;
	size_t count;
	struct vg_walk walk, other;
};

struct cost {
	uint64_t ns, frames, rows;
};

static void walk_rows(struct bench *bench, const struct vg_snapshot *snapshot, struct vg_walk *walk)
{
	if (vg_unwind(bench->unwinder, snapshot, MAX_FRAMES, walk) != 0)
		abort();
}

static void walk_libunwind(struct bench *bench, const struct vg_snapshot *snapshot,
			   struct vg_walk *walk)
{
	struct vg_frame_state state;
	bool goes_on;

	if (vg_fallback_unwind(bench->libunwind, snapshot, MAX_FRAMES, walk, &state, &goes_on) != 0)
		abort();
}

/* libunwind's cache is off, so there is nothing to clear. */
static void caches_clear(struct bench *bench, enum cold cold)
{
	if (cold == WARM)
		return;
	vg_unwinder_clear(bench->unwinder);
	if (cold == COLD_ALL)
		vg_memory_cache_drop(&bench->memory);
}

static struct cost cost_measure(struct bench *bench, enum cold cold, int rounds,
				void (*walk)(struct bench *, const struct vg_snapshot *,
					     struct vg_walk *))
{
	const struct vg_unwind_counts *counts = vg_unwinder_counts(bench->unwinder);
	struct cost cost = { 0 };

	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < bench->count; i++) {
			uint64_t begin_ns, rows;

			caches_clear(bench, cold);
			rows = counts->rows_decoded;
			begin_ns = vg_now_ns();
			walk(bench, &bench->snapshots[i], &bench->walk);
			cost.ns += vg_now_ns() - begin_ns;
			cost.frames += bench->walk.count;
			cost.rows += counts->rows_decoded - rows;
		}
	}
	return cost;
}

/* ---- taking snapshots ---- */

/* Copies more of the stack until the walk does not end at the end of the copy. */
static enum vg_capture snapshot_take(struct bench *bench, struct vg_tracer *tracer, pid_t pid,
				     struct vg_snapshot *snapshot)
{
	for (size_t bytes = 16384; ; bytes *= 4) {
		enum vg_capture got = vg_tracer_capture(tracer, pid, bytes, snapshot);

		/* With this time, the snapshot also uses modules that only a later reading of the maps finds. */
		snapshot->moment.time_ns = UINT64_MAX;
		if (got != VG_CAPTURE_TAKEN)
			return got;
		walk_rows(bench, snapshot, &bench->walk);
		if (bench->walk.range_unknown && bench->walk.count > 0) {
			vg_modules_refresh(&bench->modules);
			walk_rows(bench, snapshot, &bench->walk);
		}
		if (bench->walk.end != VG_WALK_TRUNCATED || bytes >= VG_SNAPSHOT_MAX_BYTES)
			return got;
	}
}

static int snapshots_take(struct bench *bench, pid_t pid, size_t count)
{
	struct timespec interval = { 0, INTERVAL_NS };
	struct vg_tracer tracer = { 0 };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	bench->snapshots = calloc(count, sizeof *bench->snapshots);
	while (bench->snapshots != NULL && bench->count < count) {
		switch (snapshot_take(bench, &tracer, pid, &bench->snapshots[bench->count])) {
		case VG_CAPTURE_TAKEN:
			bench->count++;
			break;
		case VG_CAPTURE_PENDING:
			break;
		case VG_CAPTURE_EXITED: case VG_CAPTURE_FORBIDDEN: case VG_CAPTURE_FAILED:
			return -ESRCH;
		}
		nanosleep(&interval, NULL);
	}
	return bench->count == count ? 0 : -ENOMEM;
}

/* ---- comparing ---- */

static bool same_frames(const struct vg_walk *a, const struct vg_walk *b, uint32_t *at)
{
	for (*at = 0; *at < a->count && *at < b->count; ++*at) {
		if (a->frames[*at].address != b->frames[*at].address)
			return false;
	}
	return a->count == b->count;
}

/* Whether that frame or one before it was found without unwind information.  Rows and libunwind guess the frames after
 * such a frame differently. */
static bool after_guess(const struct vg_walk *walk, uint32_t at)
{
	for (uint32_t i = 0; i <= at && i < walk->count; i++) {
		if (walk->frames[i].found != VG_FOUND_BY_CFI)
			return true;
	}
	return false;
}

static const char *frame_text(const struct bench *bench, const struct vg_walk *walk, uint32_t at,
			      char *text, size_t bytes)
{
	const struct vg_frame *frame = &walk->frames[at];
	const struct vg_process_module *module;

	if (at >= walk->count)
		snprintf(text, bytes, "ended (%s)", vg_walk_end_name(walk->end));
	else if (frame->module == VG_NONE)
		snprintf(text, bytes, "code in no module");
	else {
		module = &bench->modules.items.items[frame->module];
		snprintf(text, bytes, "%s+0x%llx", module->name,
			 (unsigned long long)(frame->address - module->image.bias));
	}
	return text;
}

static void differences_print(struct bench *bench, bool show)
{
	uint32_t same = 0, guessed = 0, shallower = 0, shown = 0, at;
	char mine[300], theirs[300];

	for (size_t i = 0; i < bench->count; i++) {
		walk_rows(bench, &bench->snapshots[i], &bench->walk);
		walk_libunwind(bench, &bench->snapshots[i], &bench->other);
		if (same_frames(&bench->walk, &bench->other, &at)) {
			same++;
			continue;
		}
		if (after_guess(&bench->walk, at)) {
			guessed++;
			continue;
		}
		shallower += at == bench->walk.count;
		if (show && shown++ < DIFFERENCES_SHOWN)
			printf("  snapshot %zu differs at frame %u of %u: rows %s, libunwind %s\n", i, at,
			       bench->walk.count,
			       frame_text(bench, &bench->walk, at, mine, sizeof mine),
			       frame_text(bench, &bench->other, at, theirs, sizeof theirs));
	}
	if (!show)
		printf(" same %u guessed %u shallower %u of %zu", same, guessed, shallower, bench->count);
}

/* The share of frames that were found by the instructions of their callees. */
static double share_by_instructions(struct bench *bench)
{
	uint64_t frames = 0, found = 0;

	for (size_t i = 0; i < bench->count; i++) {
		walk_rows(bench, &bench->snapshots[i], &bench->walk);
		/* A leaf frame is not found by a callee. */
		for (uint32_t frame = 1; frame < bench->walk.count; frame++, frames++)
			found += bench->walk.frames[frame].found == VG_FOUND_BY_INSTRUCTIONS;
	}
	return frames > 0 ? (double)found / (double)frames : 0;
}

static void measure_print(struct bench *bench)
{
	struct cost warm, rows, all, theirs, theirs_cold;

	cost_measure(bench, WARM, 1, walk_rows);
	warm = cost_measure(bench, WARM, WARM_ROUNDS, walk_rows);
	rows = cost_measure(bench, COLD_ROWS, 1, walk_rows);
	all = cost_measure(bench, COLD_ALL, 1, walk_rows);
	cost_measure(bench, WARM, 1, walk_libunwind);
	theirs = cost_measure(bench, WARM, LIBUNWIND_ROUNDS, walk_libunwind);
	theirs_cold = cost_measure(bench, COLD_ROWS, 1, walk_libunwind);
	printf("frames %.1f instructions %.3f warm_ns %.1f cold_ns %.0f all_cold_ns %.0f row_ns %.0f fallbacks %.3f "
	       "libunwind_ns %.0f libunwind_cold_ns %.0f",
	       (double)warm.frames / (double)bench->count / WARM_ROUNDS, share_by_instructions(bench),
	       (double)warm.ns / (double)warm.frames, (double)rows.ns / (double)rows.frames,
	       (double)all.ns / (double)all.frames, (double)rows.ns / (double)rows.rows,
	       (double)vg_unwinder_counts(bench->unwinder)->fallbacks /
	       (double)vg_unwinder_counts(bench->unwinder)->walks,
	       (double)theirs.ns / (double)theirs.frames,
	       (double)theirs_cold.ns / (double)theirs_cold.frames);
	differences_print(bench, false);
	printf("\n");
	differences_print(bench, true);
}

int main(int argc, char **argv)
{
	struct bench bench = { .modules.memory = &bench.memory };
	pid_t pid = argc == 3 ? atoi(argv[1]) : 0;

	if (pid <= 0 || atoi(argv[2]) <= 0) {
		fprintf(stderr, "usage: unwind PID SNAPSHOTS\n");
		return 2;
	}
	if (vg_memory_open(&bench.memory, pid) != 0 || vg_modules_refresh(&bench.modules) != 0 ||
	    vg_unwinder_open(&bench.unwinder, &bench.modules) != 0 ||
	    vg_fallback_open(&bench.libunwind, &bench.modules) != 0 ||
	    snapshots_take(&bench, pid, (size_t)atoi(argv[2])) != 0) {
		fprintf(stderr, "unwind: process %d: no snapshots\n", pid);
		return 1;
	}
	kill(pid, SIGSTOP);
	vg_modules_refresh(&bench.modules);
	measure_print(&bench);
	kill(pid, SIGCONT);
	return 0;
}
