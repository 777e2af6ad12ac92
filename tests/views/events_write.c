/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Writes profiles with events, for tests of the views.
 *
 *     events_write story OUT [PERCENT [SEED]]    a server of two threads, with known times
 *     events_write even OUT [PERCENT [SEED]]     about 4,000 samples in each of f0, f1, f2, f4, 40 * PERCENT in f3
 *     events_write stops OUT                     like even OUT, with all samples taken by stops
 *     events_write timers OUT                    like even OUT, with all samples taken by timers
 *     events_write slow OUT                      like even OUT, with a header of 200 Hz
 *     events_write KIND OUT [N]                  profiles that the helper would not write: orphans, crossed, open,
 *                                                backwards, many, fat
 *
 * The story: the thread "main" (tid 100) serves ten requests of 10 ms.  2 ms of each are in "parse" (times PERCENT /
 * 100), and 3 ms in "reply".  Each request begins a detached "job", which the thread "worker" (tid 101) ends 5 ms after
 * the begin of the request.  Each request has an instant and a counter.  At the end "shutdown" stays open.  Samples are
 * 1 ms apart, in main -> parse, main -> reply or main.  With a SEED the times of parse and reply vary by up to 2 %.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/writer.h"

enum { MS = 1000000, REQUESTS = 10 };
enum { KIND, REQUEST, PARSE, REPLY, JOB, TICK, QUEUE, SHUTDOWN, LABELS };
static const char *const labels[] = { "server", "request", "parse", "reply", "job", "tick;\"<&",
				      "queue", "shutdown" };

static struct vg_writer writer;
static uint64_t now_ns, token;
static unsigned long seed;

static void event(enum vg_event_type what, uint32_t thread, uint32_t label, uint64_t value,
		  uint64_t of, uint64_t parent)
{
	vg_writer_event(&writer, &(struct vg_writer_event){
		.type = what, .thread = thread, .time_ns = now_ns, .token = of, .value = value,
		.parent = parent, .label = label, .kind = label == VG_NONE ? VG_NONE : KIND });
}

static void sample(uint32_t stack, uint64_t time_ns, uint64_t interval)
{
	vg_writer_sample(&writer, &(struct vg_writer_sample){
		.thread = 0, .stack = stack, .count = 1, .time_ns = time_ns, .wall_ns = MS,
		.cpu_ns = MS, .interval = interval });
}

static uint64_t vary(uint64_t ns)
{
	if (seed == 0)
		return ns;
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ns - ns / 50 + (seed >> 33) % (ns / 25);
}

/* Writes an interval of length_ns, with a sample every millisecond. */
static void inner(uint32_t label, uint32_t stack, uint64_t length_ns, uint64_t parent)
{
	uint64_t of = ++token;

	event(VG_EVENT_BEGIN, 0, label, 0, of, parent);
	for (uint64_t at = MS; at <= length_ns; at += MS)
		sample(stack, now_ns + at, of);
	now_ns += length_ns;
	event(VG_EVENT_END, 0, VG_NONE, 0, of, 0);
}

static void request(unsigned percent, unsigned i)
{
	uint64_t of = ++token, job, begin_ns = now_ns;

	event(VG_EVENT_BEGIN, 0, REQUEST, i, of, 0);
	event(VG_EVENT_COUNTER, 0, QUEUE, (uint64_t)-(int64_t)i, 0, 0);
	job = ++token;
	event(VG_EVENT_DETACHED_BEGIN, 0, JOB, 0, job, of);
	inner(PARSE, 17, vary(2 * MS) * percent / 100, of);
	event(VG_EVENT_INSTANT, 0, TICK, i, 0, 0);
	inner(REPLY, 18, vary(3 * MS), of);
	begin_ns += 5 * MS;
	if (now_ns < begin_ns)
		now_ns = begin_ns;
	event(VG_EVENT_DETACHED_END, 1, VG_NONE, 0, job, 0);
	for (int ms = 1; ms <= 5; ms++)
		sample(16, now_ns + (uint64_t)ms * MS, of);
	now_ns += 5 * MS;
	event(VG_EVENT_END, 0, VG_NONE, 0, of, 0);
}

static void story(unsigned percent)
{
	static const char *const functions[] = { "main", "parse_it", "reply_it" };
	struct vg_module module = { .build_id = { 1, 2, 3, 4 }, .build_id_bytes = 4, .base = 0x400000,
				    .size_bytes = 4096 };

	vg_writer_module(&writer, &module, "server");
	for (uint32_t i = 0; i < 3; i++) {
		struct vg_symbol_line line = { i, 1 };

		vg_writer_function(&writer, i, functions[i], "server.c", 0);
		vg_writer_symbol(&writer, 0, 0x10 * (i + 1), &line, 1);
		vg_writer_stack(&writer, 16 + i, i == 0 ? VG_WALK_ROOT : 16, 0, 0x10 * (i + 1), 0);
	}
	for (unsigned i = 0; i < REQUESTS; i++)
		request(percent, i);
	event(VG_EVENT_BEGIN, 0, SHUTDOWN, 0, ++token, 0);
	now_ns += 10 * MS;
}

static void even(unsigned percent)
{
	struct vg_module module = { .build_id = { 1, 2, 3, 4 }, .build_id_bytes = 4, .base = 0x400000,
				    .size_bytes = 4096 };
	unsigned weight = 400 + percent;

	vg_writer_module(&writer, &module, "server");
	for (uint32_t i = 0; i < 5; i++) {
		struct vg_symbol_line line = { i, 1 };
		char name[] = "f0";

		name[1] = (char)('0' + i);
		vg_writer_function(&writer, i, name, "server.c", 0);
		vg_writer_symbol(&writer, 0, 0x10 * (i + 1), &line, 1);
		vg_writer_stack(&writer, 16 + i, VG_WALK_ROOT, 0, 0x10 * (i + 1), 0);
	}
	for (unsigned i = 0; i < 40 * weight; i++, now_ns += MS) {
		uint32_t at;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		at = (uint32_t)((seed >> 33) % weight);
		sample(16 + (at < percent ? 3 : at - percent < 300 ? (at - percent) / 100 : 4), now_ns + MS, 0);
	}
}

/* Ends without a begin, and begins of intervals that have begun already. */
static void orphans(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		event(i % 3 == 0 ? VG_EVENT_BEGIN : VG_EVENT_END, i % 2, i % 3 == 0 ? REQUEST : VG_NONE, 0,
		      i % 5 + 1, 0);
		now_ns += 1000;
	}
}

/* All intervals are open at the same time, and end in the order of their begins, or never. */
static void nested(unsigned long count, bool ends)
{
	for (unsigned long i = 1; i <= count; i++, now_ns += 10)
		event(VG_EVENT_BEGIN, 0, i % 2 ? REQUEST : PARSE, 0, i, i - 1);
	for (unsigned long i = 1; ends && i <= count; i++, now_ns += 10)
		event(VG_EVENT_END, 0, VG_NONE, 0, i, 0);
}

/* Intervals in reverse order of time, with ends before their begins or very late, and extreme counters. */
static void backwards(unsigned long count)
{
	for (unsigned long i = 1; i <= count; i++) {
		now_ns = (count - i) * 1000;
		event(VG_EVENT_BEGIN, 0, REQUEST, 0, i, 0);
		now_ns = i % 7 == 0 ? UINT64_C(9000000000000000000) : now_ns / 2;
		event(VG_EVENT_END, i % 2, VG_NONE, 0, i, 0);
		event(VG_EVENT_COUNTER, 1, QUEUE, INT64_MIN + (i % 2), 0, 0);
	}
}

/* Each interval has a label of its own. */
static void many(unsigned long count)
{
	char text[32];

	for (unsigned long i = 1; i <= count; i++) {
		uint32_t id = LABELS + (uint32_t)i;

		snprintf(text, sizeof text, "label %lu", i);
		vg_writer_label(&writer, id, text, strlen(text));
		event(VG_EVENT_BEGIN, 0, id, 0, i, 0);
		now_ns += 100;
		event(VG_EVENT_END, 0, VG_NONE, 0, i, 0);
	}
}

/* Stacks that differ only in their leaf frame.  Their other 2,000 frames are in a function with the longest possible
 * name. */
static void fat(unsigned long count)
{
	static char name[VG_NAME_MAX_BYTES + 1];
	uint32_t id = VG_STACK_ROOTS;

	memset(name, 'f', VG_NAME_MAX_BYTES);
	vg_writer_jit_code(&writer, 0x2000, 1, name);
	for (; id < VG_STACK_ROOTS + 2000; id++)
		vg_writer_stack(&writer, id, id == VG_STACK_ROOTS ? VG_WALK_ROOT : id - 1, VG_NONE, 0x2000, 0);
	for (unsigned long i = 0; i < count; i++, now_ns += MS) {
		vg_writer_stack(&writer, id + (uint32_t)i, id - 1, VG_NONE, 0x10000 + i, 0);
		sample(id + (uint32_t)i, now_ns + MS, 0);
	}
}

static bool profile_write(const char *what, unsigned long n)
{
	if (strcmp(what, "story") == 0)
		story((unsigned)(n > 0 ? n : 100));
	else if (strcmp(what, "even") == 0 || strcmp(what, "slow") == 0 || strcmp(what, "stops") == 0 ||
		 strcmp(what, "timers") == 0)
		even((unsigned)(n > 0 ? n : 100));
	else if (strcmp(what, "orphans") == 0)
		orphans(n);
	else if (strcmp(what, "crossed") == 0)
		nested(n, true);
	else if (strcmp(what, "open") == 0)
		nested(n, false);
	else if (strcmp(what, "backwards") == 0)
		backwards(n);
	else if (strcmp(what, "many") == 0)
		many(n);
	else if (strcmp(what, "fat") == 0)
		fat(n);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct vg_writer_header header = { .period_ns = MS, .max_frames = 256, .mode = "wall",
					   .writer = "test 1", .arch = "x86_64", .program = "server" };
	struct vg_named_value timers = { .name = "timer_samples" };
	unsigned long n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	int fd;

	if (argc < 3)
		return 2;
	header.period_ns = strcmp(argv[1], "slow") == 0 ? 5 * MS : MS;
	timers.value = strcmp(argv[1], "timers") == 0 ? 20000 : 0;
	seed = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return 1;
	vg_writer_open(&writer, fd, 0);
	vg_writer_header(&writer, &header);
	vg_writer_thread(&writer, &(struct vg_thread){ .id = 0, .tid = 100 }, "main");
	vg_writer_thread(&writer, &(struct vg_thread){ .id = 1, .tid = 101 }, "worker");
	for (uint32_t i = 0; i < LABELS; i++)
		vg_writer_label(&writer, i, labels[i], strlen(labels[i]));
	if (!profile_write(argv[1], n))
		return 2;
	if (strcmp(argv[1], "timers") == 0 || strcmp(argv[1], "stops") == 0)
		vg_writer_counts(&writer, VG_RECORD_STATS, &timers, 1);
	return vg_writer_end(&writer, "done", now_ns, NULL, 0) == 0 ? 0 : 1;
}
