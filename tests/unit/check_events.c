/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The application's events, from its calls to the profile, with a real helper and a real event ring.
 *
 * The machine may give the helper no CPU for a second. No test relies on the time that something takes: vgctl_sample()
 * makes the helper fetch all events, list all threads and read them before it returns. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libvgctl/ring.h"
#include "libvgctl/vgctl.h"
#include "tests/spin.h"
#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "tests/unit/recorded.h"
#include "vgtool/analysis/intervals.h"

static char path[64], other[80];
static struct vgctl_session *session;
static struct recorded recorded;
static struct vgctl_summary summary;

/* set when the threads of a test must end */
static atomic_bool stopping;

static void setup(void)
{
	stopping = false;
	snprintf(path, sizeof path, "check_events.%d.vgp", getpid());
	snprintf(other, sizeof other, "%s.other", path);
}

static void teardown(void)
{
	recorded_free(&recorded);
	unlink(path);
	unlink(other);
}

static int stop_always;

static void begin(unsigned int rate_hz)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;

	options.rate_hz = rate_hz;
	options.budget_percent = 0;
	options.stop_always = stop_always;
	ck_assert_msg(vgctl_begin(path, &options, &session) == 0, "%s",
		      vgctl_strerror(-ECONNRESET));
}

/* Ends the session and reads its profile back. The profile and the summary must have the same number of events. */
static void end_into(const char *profile)
{
	summary = (struct vgctl_summary)VGCTL_SUMMARY_INIT;
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	recorded_free(&recorded);
	recorded_read(&recorded, profile);
	ck_assert_uint_eq(recorded.profile.damage.count, 0);
	ck_assert_uint_eq(recorded.profile.events.count, summary.events);
}

static void end(void)
{
	end_into(path);
}

static const struct vg_event *event(size_t index)
{
	ck_assert_uint_lt(index, recorded.profile.events.count);
	return &recorded.profile.events.items[index];
}

/* The time of the latest event, 0 without events. The caller needs one assertion for all events. libcheck keeps
 * each assertion, and one for each event would take longer than the rest of the test. So the loops of this file call
 * ck_assert() only for what is wrong. */
static uint64_t latest_event_ns(void)
{
	uint64_t latest_ns = 0;

	for (size_t i = 0; i < recorded.profile.events.count; i++) {
		if (recorded.profile.events.items[i].time_ns > latest_ns)
			latest_ns = recorded.profile.events.items[i].time_ns;
	}
	return latest_ns;
}

/* Makes the helper fetch the events. */
static void fetch(struct vgctl_session *of_session)
{
	ck_assert_int_eq(vgctl_sample(of_session), 0);
}

static const char *text(uint32_t string)
{
	return string == VG_NONE ? "-" : vg_profile_text(&recorded.profile, string);
}

START_TEST(labels_outlive_sessions)
{
	char longest[2000];
	uint32_t kind = vgctl_intern("kind"), first = vgctl_intern("first"), second, truncated;

	ck_assert_uint_eq(vgctl_intern("kind"), kind);
	ck_assert_uint_eq(vgctl_intern(NULL), 0);
	ck_assert_uint_eq(vgctl_intern(""), 0);
	begin(VGCTL_ON_DEMAND);
	vgctl_instant(kind, first, UINT64_MAX);
	end();
	ck_assert_uint_eq(summary.events, 1);
	ck_assert_str_eq(text(event(0)->label), "first");

	second = vgctl_intern("second \xc3\xa4");
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	begin(VGCTL_ON_DEMAND);
	truncated = vgctl_intern(longest);
	vgctl_instant(kind, first, 1);
	vgctl_instant(0, second, 2);
	vgctl_instant(kind, truncated, 3);
	vgctl_counter(first, INT64_MIN);
	end();
	ck_assert_uint_eq(summary.events, 4);
	ck_assert_str_eq(text(event(0)->kind), "kind");
	ck_assert_str_eq(text(event(0)->label), "first");
	ck_assert_str_eq(text(event(1)->kind), "-");
	ck_assert_str_eq(text(event(1)->label), "second \xc3\xa4");
	ck_assert_uint_eq(strlen(text(event(2)->label)), 1024);
	ck_assert_uint_eq(event(2)->value, 3);
	ck_assert_uint_eq(event(3)->type, VG_EVENT_COUNTER);
	ck_assert_int_eq((int64_t)event(3)->value, INT64_MIN);
}
END_TEST

/* An event with an id that vgctl_intern() never returned is dropped. */
START_TEST(unknown_ids_are_dropped)
{
	begin(VGCTL_ON_DEMAND);
	vgctl_instant(12345, 0, 1);
	vgctl_instant(0, UINT32_MAX, 1);
	vgctl_instant(0, 0, 1);
	end();
	ck_assert_uint_eq(summary.events, 1);
	ck_assert_uint_eq(summary.events_dropped, 2);
}
END_TEST

START_TEST(events_without_a_session)
{
	struct vgctl_interval before = vgctl_interval_begin(0, 0, 1), during;

	vgctl_instant(0, 0, 1);
	ck_assert_uint_eq(before.token, 0);
	begin(VGCTL_ON_DEMAND);
	vgctl_interval_end(before);
	during = vgctl_interval_begin(0, 0, 2);
	ck_assert_uint_ne(during.token, 0);
	end();
	vgctl_instant(0, 0, 3);
	ck_assert_uint_eq(summary.events, 1);
	ck_assert_uint_eq(event(0)->type, VG_EVENT_BEGIN);
	begin(VGCTL_ON_DEMAND);
	vgctl_interval_end(during);
	/* A busy machine may lose samples, but not so many. */
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(vgctl_sample(session), 0);
	vgctl_instant(0, 0, 4);
	end();
	ck_assert_uint_eq(summary.events + summary.events_dropped, 1);
	ck_assert_uint_eq(event(0)->value, 4);
	/* A sample of this session is in no interval of the session before. */
	ck_assert_uint_ge(recorded.profile.samples.count, 1);
	for (size_t i = 0; i < recorded.profile.samples.count; i++)
		ck_assert_uint_eq(recorded.profile.samples.items[i].interval, 0);
}
END_TEST

START_TEST(intervals_nest)
{
	enum { DEEP = 100 };
	struct vgctl_interval outer, inner, deep[DEEP];

	begin(VGCTL_ON_DEMAND);
	outer = vgctl_interval_begin(0, 0, 1);
	inner = vgctl_interval_begin(0, 0, 2);
	/* Intervals may end in any order. */
	vgctl_interval_end(outer);
	for (int i = 0; i < DEEP; i++)
		deep[i] = vgctl_interval_begin(0, 0, 3);
	for (int i = DEEP; i-- > 0;)
		vgctl_interval_end(deep[i]);
	vgctl_interval_end(inner);
	{
		VGCTL_SCOPE(0, 0);
		VGCTL_SCOPE(0, 0);
	}
	end();
	ck_assert_uint_eq(summary.events, 2 * (2 + DEEP + 2));
	ck_assert_uint_eq(event(0)->parent, 0);
	ck_assert_uint_eq(event(0)->token, outer.token);
	ck_assert_uint_eq(event(1)->parent, outer.token);
	ck_assert_uint_eq(event(2)->type, VG_EVENT_END);
	ck_assert_uint_eq(event(2)->token, outer.token);
	ck_assert_uint_eq(event(3)->parent, inner.token);
	ck_assert_uint_eq(event(4)->parent, deep[0].token);
	/* The library tracks 64 open intervals: here `inner` and the first 63 of `deep`. If the parent of an interval
	 * is not tracked, the begin event names the interval's own token as the parent. */
	ck_assert_uint_eq(event(3 + 62)->parent, deep[61].token);
	ck_assert_uint_eq(event(3 + 63)->parent, deep[62].token);
	ck_assert_uint_eq(event(3 + 64)->parent, deep[64].token);
	ck_assert_uint_eq(event(3 + 99)->parent, deep[99].token);
	ck_assert_uint_eq(event(3 + 2 * DEEP)->token, inner.token);
	ck_assert_uint_eq(event(4 + 2 * DEEP)->parent, 0);
	ck_assert_uint_eq(event(5 + 2 * DEEP)->parent, event(4 + 2 * DEEP)->token);
	ck_assert_uint_eq(event(7 + 2 * DEEP)->token, event(4 + 2 * DEEP)->token);
}
END_TEST

/* ---- random intervals, up to 200 deep, in a session that drops an event ---- */

enum { DEEPEST = 200, WALKS = 4, NESTED_STEPS = 100000 };

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* an interval that began, with its expected parent and depth */
struct begun_interval {
	uint64_t token;
	uint32_t parent;             /* index of the innermost open interval, or VG_NONE */
	uint32_t depth;              /* the parent's depth + 1 */
};

struct nest {
	struct begun_interval begun[NESTED_STEPS];
	uint32_t count;
	struct open {
		struct vgctl_interval interval;
		uint32_t index;
	} open[DEEPEST];
	uint32_t depth;
};

static void nest_begin(struct nest *nest)
{
	struct vgctl_interval interval = vgctl_interval_begin(0, 0, 1);

	/* The event was dropped, so the interval has no end. */
	if (interval.token == 0)
		return;
	nest->begun[nest->count] = (struct begun_interval){ .token = interval.token, .parent = VG_NONE };
	if (nest->depth > 0) {
		nest->begun[nest->count].parent = nest->open[nest->depth - 1].index;
		nest->begun[nest->count].depth = nest->begun[nest->open[nest->depth - 1].index].depth + 1;
	}
	nest->open[nest->depth].interval = interval;
	nest->open[nest->depth++].index = nest->count++;
}

static void nest_end(struct nest *nest, uint32_t at)
{
	vgctl_interval_end(nest->open[at].interval);
	nest->depth--;
	memmove(&nest->open[at], &nest->open[at + 1], (nest->depth - at) * sizeof *nest->open);
}

/* Begins and ends intervals so that the depth approaches a random depth, which changes from time to time. One end in 16
 * is that of a random open interval, not of the innermost. */
static void nest_random(struct nest *nest, uint32_t state)
{
	uint32_t aim = DEEPEST;

	for (int step = 0; step < NESTED_STEPS; step++) {
		if (random_next(&state) % 64 == 0)
			aim = 1 + random_next(&state) % DEEPEST;
		if (nest->depth < aim && random_next(&state) % 8 != 0)
			nest_begin(nest);
		else if (nest->depth > 0 && random_next(&state) % 16 == 0)
			nest_end(nest, random_next(&state) % nest->depth);
		else if (nest->depth > 0)
			nest_end(nest, nest->depth - 1);
	}
	while (nest->depth > 0)
		nest_end(nest, nest->depth - 1);
}

/* The self times of a profile in which every interval has its end, by a simple algorithm. */
static void expected_self_times(const struct nest *nest, uint64_t *self_ns)
{
	uint32_t open[DEEPEST], depth = 0, begun = 0, at;
	uint64_t before_ns = 0;

	for (size_t i = 0; i < recorded.profile.events.count; i++) {
		const struct vg_event *each = &recorded.profile.events.items[i];

		if (depth > 0)
			self_ns[open[depth - 1]] += each->time_ns - before_ns;
		before_ns = each->time_ns;
		if (each->type == VG_EVENT_BEGIN) {
			if (depth >= DEEPEST)
				ck_abort_msg("event %zu: interval %u deep", i, depth);
			open[depth++] = begun++;
			continue;
		}
		for (at = depth; at > 0 && nest->begun[open[at - 1]].token != each->token;)
			at--;
		if (at == 0)
			ck_abort_msg("event %zu: an end without a begin", i);
		for (depth--; at <= depth; at++)
			open[at - 1] = open[at];
	}
}

START_TEST(intervals_nest_at_random)
{
	struct nest *nest = calloc(1, sizeof *nest);
	uint64_t *self_ns = calloc(NESTED_STEPS, sizeof *self_ns);
	uint32_t deepest = 0;
	struct vg_intervals intervals;

	begin(VGCTL_ON_DEMAND);
	/* The kind is unknown, so that at least one event is dropped. */
	vgctl_instant(12345, 0, 1);
	nest_random(nest, (uint32_t)_i + 1);
	end();
	ck_assert_uint_gt(summary.events_dropped, 0);
	ck_assert_uint_eq(summary.events, 2 * nest->count);
	ck_assert_int_eq(vg_intervals_build(&intervals, &recorded.profile), 0);
	ck_assert(intervals.events_missing);
	ck_assert_uint_eq(intervals.items.count, nest->count);
	ck_assert_uint_eq(intervals.ends_orphaned + intervals.begins_repeated + intervals.times_out_of_order, 0);
	expected_self_times(nest, self_ns);
	for (uint32_t i = 0; i < nest->count; i++) {
		const struct vg_interval *interval = &intervals.items.items[i];
		const struct begun_interval *begun = &nest->begun[i];

		deepest = interval->depth > deepest ? interval->depth : deepest;
		if (interval->token == begun->token && interval->state == VG_INTERVAL_ENDED &&
		    interval->parent == begun->parent && interval->depth == begun->depth &&
		    interval->self_ns == self_ns[i])
			continue;
		ck_assert_uint_eq(interval->token, begun->token);
		ck_assert_msg(interval->state == VG_INTERVAL_ENDED, "interval %u, %u deep: state %u, its end is %s", i,
			      begun->depth, interval->state,
			      interval->state == VG_INTERVAL_END_LOST ? "taken for lost" : "not there");
		ck_assert_uint_eq(interval->parent, begun->parent);
		ck_assert_uint_eq(interval->depth, begun->depth);
		ck_assert_uint_eq(interval->self_ns, self_ns[i]);
	}
	ck_assert_uint_ge(deepest, 150);
	vg_intervals_free(&intervals);
	free(self_ns);
	free(nest);
}
END_TEST

static void *end_interval(void *interval)
{
	vgctl_interval_end(*(struct vgctl_interval *)interval);
	return NULL;
}

START_TEST(detached_interval_ends_in_another_thread)
{
	struct vgctl_interval inner, detached;
	pthread_t thread;

	begin(VGCTL_ON_DEMAND);
	inner = vgctl_interval_begin(0, 0, 1);
	detached = vgctl_interval_begin_detached(0, 0, 2);
	vgctl_instant(0, 0, 3);
	ck_assert_int_eq(pthread_create(&thread, NULL, end_interval, &detached), 0);
	pthread_join(thread, NULL);
	vgctl_interval_end(inner);
	end();
	ck_assert_uint_eq(summary.events, 5);
	for (size_t i = 0; i < 5; i++) {
		if (event(i)->type == VG_EVENT_DETACHED_BEGIN)
			ck_assert_uint_eq(event(i)->parent, inner.token);
		if (event(i)->type != VG_EVENT_DETACHED_END)
			continue;
		ck_assert_uint_eq(event(i)->token, detached.token);
		ck_assert_uint_ne(event(i)->thread, event(0)->thread);
	}
}
END_TEST

static void child_records_nothing(pid_t child)
{
	int status;

	if (child == 0) {
		struct vgctl_interval interval = vgctl_interval_begin(0, 0, 1);

		for (int i = 0; i < 1000; i++)
			vgctl_instant(0, 0, 1);
		_exit(interval.token == 0 ? 0 : 1);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

static _Noreturn void child_session(uint32_t label, struct vgctl_interval open)
{
	struct vgctl_session *own_session;
	int rc = vgctl_begin(other, NULL, &own_session);

	vgctl_interval_end(open);
	vgctl_instant(0, label, 5);
	_exit(rc == 0 && vgctl_end(own_session, NULL) == 0 ? 0 : 1);
}

START_TEST(children_have_their_own_sessions)
{
	uint32_t label = vgctl_intern("of the parent");
	struct vgctl_interval open;
	int status;
	pid_t child;

	begin(VGCTL_ON_DEMAND);
	open = vgctl_interval_begin(0, label, 1);
	child_records_nothing(fork());
	/* The C library does not know of this child. */
	child_records_nothing((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	child = fork();
	if (child == 0)
		child_session(label, open);
	vgctl_instant(0, 0, 2);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	vgctl_interval_end(open);
	end();
	ck_assert_uint_eq(summary.events, 3);
	ck_assert_uint_eq(summary.events_dropped, 0);
	ck_assert_uint_eq(event(2)->token, open.token);
	recorded_free(&recorded);
	recorded_read(&recorded, other);
	ck_assert_uint_eq(recorded.profile.events.count, 1);
	ck_assert_str_eq(text(event(0)->label), "of the parent");
}
END_TEST

static volatile sig_atomic_t handled;

static void on_alarm(int number)
{
	(void)number;
	vgctl_instant(0, 0, 1000000);
	handled = handled + 1;
}

START_TEST(signal_handlers_may_record)
{
	enum { COUNT = 100000 };
	struct itimerval timer = { { 0, 200 }, { 0, 200 } };
	uint64_t before = 0, from_handlers = 0;

	begin(VGCTL_ON_DEMAND);
	vgctl_instant(0, 0, 0);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (uint64_t i = 1; i <= COUNT; i++) {
		vgctl_instant(0, 0, i);
		if (i % 500 == 0)
			usleep(1000);
	}
	while (handled <= 10)
		usleep(1000);
	memset(&timer, 0, sizeof timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	end();
	ck_assert_int_gt(handled, 10);
	ck_assert_uint_eq(summary.events + summary.events_dropped, 1 + COUNT + (uint64_t)handled);
	for (size_t i = 1; i < recorded.profile.events.count; i++) {
		uint64_t value = recorded.profile.events.items[i].value;

		if (value == 1000000) {
			from_handlers++;
			continue;
		}
		if (value <= before)
			ck_abort_msg("value %" PRIu64 " follows %" PRIu64, value, before);
		before = value;
	}
	ck_assert_uint_gt(from_handlers, 0);
}
END_TEST

static const char published[] = "a label that the helper may read";
static const struct vg_lanes *lanes;
static bool whole;

static void label_compare(void)
{
	const unsigned char *at = lanes->labels + lanes->labels_bytes;

	whole = at[0] == strlen(published) && at[1] == 0 && memcmp(at + 2, published, strlen(published)) == 0;
}

/* Returns the head of this process's ring, where libvgctl has mapped it. */
static void *ring_head(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 128];
	void *head = NULL;

	ck_assert_ptr_nonnull(maps);
	while (head == NULL && fgets(line, sizeof line, maps) != NULL) {
		if (strstr(line, " 00000000 ") != NULL && strstr(line, " /memfd:vgctl") != NULL)
			sscanf(line, "%p", &head);
	}
	fclose(maps);
	ck_assert_ptr_nonnull(head);
	return head;
}

/* The helper reads the labels up to labels_bytes. */
START_TEST(label_is_whole_when_its_size_is_published)
{
	void *head;

	begin(VGCTL_ON_DEMAND);
	vgctl_intern("the first label");
	head = ring_head();
	lanes = mremap(head, 0, sizeof *lanes, MREMAP_MAYMOVE); /* from size 0: a second mapping of the same pages */
	ck_assert_ptr_ne(lanes, MAP_FAILED);
	fixture_before_write(head, offsetof(struct vg_lanes, labels), label_compare);
	vgctl_intern(published);
	ck_assert(whole);
	munmap((void *)lanes, sizeof *lanes);
	end();
}
END_TEST

static uint32_t short_label;

static void *short_thread(void *tid)
{
	*(pid_t *)tid = gettid();
	vgctl_thread_name("short");
	vgctl_instant(short_label, 0, 1);
	vgctl_instant(short_label, 0, 2);
	return NULL;
}

/* Returns when the threads, which have been joined, are not in /proc any more. */
static void exits_await(const pid_t *tids, int count)
{
	for (int i = 0; i < count; i++) {
		while (syscall(SYS_tgkill, getpid(), tids[i], 0) == 0)
			usleep(1000);
	}
}

/* There are more threads than lanes, so lanes are reused. The helper knows many of the threads by their events only. A
 * scan that finds one of them later adds no other thread. */
START_TEST(lanes_are_reused)
{
	enum { ROUNDS = 40, AT_ONCE = 20 };
	size_t named = 0, events[ROUNDS * AT_ONCE + 1 + ROUNDS] = { 0 };

	short_label = vgctl_intern("kind");
	begin(VGCTL_ON_DEMAND);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t threads[AT_ONCE];
		pid_t tids[AT_ONCE];

		for (int j = 0; j < AT_ONCE; j++)
			ck_assert_int_eq(pthread_create(&threads[j], NULL, short_thread, &tids[j]), 0);
		for (int j = 0; j < AT_ONCE; j++)
			pthread_join(threads[j], NULL);
		exits_await(tids, AT_ONCE);
		fetch(session);
	}
	end();
	ck_assert_uint_eq(summary.events, 2 * ROUNDS * AT_ONCE);
	ck_assert_uint_eq(summary.events_dropped, 0);
	/* A thread that exits just now is two threads, if another one has taken its place in the event ring. */
	ck_assert_uint_le(recorded.profile.threads.count, ROUNDS * AT_ONCE + 1 + ROUNDS);
	for (size_t i = 0; i < recorded.profile.events.count; i++)
		events[recorded.profile.events.items[i].thread]++;
	for (size_t i = 0; i < recorded.profile.threads.count; i++) {
		ck_assert(events[i] <= 2);
		named += strcmp(text(recorded.profile.threads.items[i].name), "short") == 0;
	}
	ck_assert_uint_ge(named, summary.events / 2);
}
END_TEST

/* Sleeps after every `at_once` intervals. If more events come than a sanitized helper can fetch, the test takes
 * long. */
static void *record_events(void *at_once)
{
	for (uint64_t i = 1; !stopping; i++) {
		VGCTL_SCOPE(0, 0);
		vgctl_instant(0, 0, i);
		if (i % (uintptr_t)at_once == 0)
			usleep(100);
	}
	return NULL;
}

/* Sessions begin and end while threads record events all the time. No event of one session is in another. */
START_TEST(sessions_during_events)
{
	enum { ROUNDS = 20, THREADS = 3 };
	pthread_t threads[THREADS];
	uint64_t last[THREADS + 1], sum = 0;

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, record_events, (void *)20), 0);
	for (int i = 0; i < ROUNDS || sum <= 1000; i++) {
		begin(i % 2 == 0 ? VGCTL_ON_DEMAND : 500);
		usleep(20000);
		end();
		sum += summary.events;
		memset(last, 0, sizeof last);
		ck_assert_uint_le(recorded.profile.threads.count, THREADS + 1);
		for (size_t j = 0; j < recorded.profile.events.count; j++) {
			const struct vg_event *each = &recorded.profile.events.items[j];

			if (each->type != VG_EVENT_INSTANT)
				continue;
			if (each->value <= last[each->thread])
				ck_abort_msg("value %" PRIu64 " follows %" PRIu64, each->value, last[each->thread]);
			last[each->thread] = each->value;
		}
		ck_assert_uint_le(latest_event_ns(), summary.duration_ns);
	}
	stopping = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

/* A session begins while intervals are open. Its profile has neither the begins and ends of these intervals nor their
 * tokens in other events. */
START_TEST(intervals_before_another_session)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_interval outer, detached, inner;
	struct vgctl_session *first;
	struct vg_intervals intervals;
	pthread_t thread;

	begin(_i / 2 == 0 ? VGCTL_ON_DEMAND : 10);
	outer = vgctl_interval_begin(0, 0, 1);
	detached = vgctl_interval_begin_detached(0, 0, 2);
	/* In half of the cases the helper has fetched these events by now. */
	if (_i / 2 == 1)
		fetch(session);
	first = session;
	options.rate_hz = _i % 2 == 0 ? VGCTL_ON_DEMAND : 99;
	ck_assert_int_eq(vgctl_begin(other, &options, &session), 0);
	inner = vgctl_interval_begin(0, 0, 3);
	ck_assert_int_eq(pthread_create(&thread, NULL, end_interval, &detached), 0);
	pthread_join(thread, NULL);
	/* The helper has fetched these events before the session ends. */
	fetch(session);
	vgctl_interval_end(inner);
	vgctl_interval_end(outer);
	end_into(other);
	ck_assert_uint_eq(summary.events, 2);
	ck_assert_uint_eq(summary.events_dropped, 0);
	ck_assert_uint_eq(event(0)->token, inner.token);
	ck_assert_uint_eq(event(0)->parent, 0);
	ck_assert_uint_eq(event(1)->token, inner.token);
	ck_assert_int_eq(vg_intervals_build(&intervals, &recorded.profile), 0);
	ck_assert_uint_eq(intervals.ends_orphaned, 0);
	vg_intervals_free(&intervals);
	session = first;
	end();
	ck_assert_uint_eq(summary.events, 6);
}
END_TEST

/* Records so slowly that no event is dropped, unless the helper gets no CPU for seconds. */
static void *record_intervals(void *argument)
{
	while (!stopping) {
		VGCTL_SCOPE(0, 0);
		usleep(100);
	}
	return argument;
}

/* The second session may begin at any moment: each end event in its profile has its begin event there, too. */
START_TEST(overlapping_sessions_during_events)
{
	enum { ROUNDS = 20, THREADS = 3 };
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *first;
	pthread_t threads[THREADS];
	size_t interval_count = 0;

	begin(_i == 0 ? VGCTL_ON_DEMAND : 10);
	first = session;
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, record_intervals, NULL), 0);
	for (int i = 0; i < ROUNDS || interval_count == 0; i++) {
		struct vg_intervals intervals;

		options.rate_hz = i % 2 == 0 ? VGCTL_ON_DEMAND : 99;
		ck_assert_int_eq(vgctl_begin(other, &options, &session), 0);
		usleep(20000);
		end_into(other);
		ck_assert_int_eq(vg_intervals_build(&intervals, &recorded.profile), 0);
		ck_assert_msg(intervals.ends_orphaned == 0 || summary.events_dropped != 0,
			      "round %d: %lu ends without a beginning", i, intervals.ends_orphaned);
		interval_count += intervals.items.count;
		vg_intervals_free(&intervals);
	}
	stopping = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	session = first;
	end();
}
END_TEST

/* The helper fetches events for the last time after the session's end. Events that are recorded between the end and
 * this fetch do not belong to the session. */
START_TEST(no_event_after_the_end)
{
	enum { ROUNDS = 5, THREADS = 3 };
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *first;
	pthread_t threads[THREADS];

	begin(VGCTL_ON_DEMAND);
	first = session;
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, record_events, (void *)5), 0);
	options.rate_hz = VGCTL_ON_DEMAND;
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(vgctl_begin(other, &options, &session), 0);
		usleep(10000);
		end_into(other);
		ck_assert_uint_le(latest_event_ns(), summary.duration_ns);
	}
	stopping = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	session = first;
	end();
}
END_TEST

static size_t begins_between(uint64_t from_ns, uint64_t to_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < recorded.profile.events.count; i++) {
		const struct vg_event *each = &recorded.profile.events.items[i];

		count += each->type == VG_EVENT_BEGIN && each->time_ns >= from_ns && each->time_ns <= to_ns;
	}
	return count;
}

static size_t first_begin(void)
{
	size_t i = 0;

	while (event(i)->type != VG_EVENT_BEGIN)
		i++;
	return i;
}

/* Returns how many intervals began in the second half of a session that ended at a limit. Another session's profile
 * must have as many in this time. */
static size_t limited_count(void)
{
	enum { ROUNDING_NS = 2000 };
	const uint64_t from_ns = 500000000;
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *first;
	uint64_t to_ns, at_ns = 0, token = 0;
	pthread_t thread;
	size_t count, i;
	int rc;

	stopping = false;
	begin(99);
	first = session;
	ck_assert_int_eq(pthread_create(&thread, NULL, record_intervals, NULL), 0);
	options.rate_hz = 99;
	options.max_duration_s = 1;
	ck_assert_int_eq(vgctl_begin(other, &options, &session), 0);
	/* The session reaches its limit after 1 s. From then on vgctl_sample() returns -EFBIG. */
	usleep(1000000);
	while ((rc = vgctl_sample(session)) == 0)
		usleep(10000);
	ck_assert_int_eq(rc, -EFBIG);
	end_into(other);
	ck_assert_uint_eq(summary.limited, 1);
	to_ns = recorded.profile.duration_ns;
	count = begins_between(from_ns, to_ns);
	if (count > 0) {
		i = first_begin();
		token = event(i)->token;
		at_ns = event(i)->time_ns;
	}
	stopping = true;
	pthread_join(thread, NULL);
	session = first;
	end();
	if (count == 0)
		return 0;
	i = first_begin();
	while (i + 1 < recorded.profile.events.count && recorded.profile.events.items[i].token != token)
		i++;
	ck_assert_uint_eq(event(i)->token, token);
	/* the time on the first session's clock at which the second one began; each profile has whole microseconds */
	at_ns = event(i)->time_ns - at_ns;
	/* The thread may have read the time of one more event, and not have written it when the session ended. */
	ck_assert_uint_ge(count + 1, begins_between(at_ns + from_ns + ROUNDING_NS, at_ns + to_ns - ROUNDING_NS));
	ck_assert_uint_le(count, begins_between(at_ns + from_ns - ROUNDING_NS, at_ns + to_ns + ROUNDING_NS));
	return count;
}

/* A session that ends at a limit has all events up to that time. The other session's profile shows which events
 * these are. */
START_TEST(events_up_to_a_limit)
{
	/* A thread that gets no CPU has no intervals to compare. */
	while (limited_count() < 20)
		;
}
END_TEST

/* The helper that listens decides whether new events overwrite old ones. The option of a session has no effect on
 * this. */
START_TEST(listening_helper_decides_about_overwriting)
{
	enum { EVENTS = 100000, KEPT = 16384 - 1 };
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	bool overwrites = _i % 2 != 0;
	char directory[80];
	uint64_t first;

	snprintf(directory, sizeof directory, "%s.run", path);
	options.events_overwrite = overwrites;
	ck_assert_int_eq(vgctl_listen(directory, &options), 0);
	options.events_overwrite = !overwrites;
	options.rate_hz = 1;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	for (uint64_t i = 1; i <= EVENTS; i++)
		vgctl_instant(0, 0, i);
	end();
	vgctl_unlisten();
	ck_assert_uint_ge(summary.events, KEPT);
	ck_assert_uint_eq(summary.events + summary.events_dropped, EVENTS);
	for (size_t i = 1; i < recorded.profile.events.count; i++) {
		const struct vg_event *each = &recorded.profile.events.items[i];

		if (each->value <= each[-1].value)
			ck_abort_msg("value %" PRIu64 " follows %" PRIu64, each->value, each[-1].value);
	}
	/* As many events are kept as the ring holds: the newest if new events overwrite old ones, otherwise the oldest.
	 * On a slow machine the helper fetches events meanwhile, and more events are kept. */
	first = overwrites ? summary.events - KEPT : 0;
	ck_assert_uint_eq(event(first)->value, overwrites ? EVENTS - KEPT + 1 : 1);
	ck_assert_uint_eq(event(first + KEPT - 1)->value, overwrites ? EVENTS : KEPT);
	rmdir(directory);
}
END_TEST

static void spin_ms(uint64_t ms)
{
	for (struct spin spin = spin_begin(ms); spin_on(&spin);)
		;
}

static void *spin_in_intervals(void *rounds)
{
	for (uintptr_t i = 0; i < (uintptr_t)rounds; i++) {
		VGCTL_SCOPE(vgctl_intern("outer"), 0);
		spin_ms(10);
		{
			VGCTL_SCOPE(vgctl_intern("inner"), 0);
			spin_ms(10);
		}
		usleep(10000);
	}
	return NULL;
}

/* Returns the innermost interval that was open in the thread at that time, according to the events. Sets *near if an
 * event is less than slack_ns from that time. */
static uint64_t innermost_at(uint32_t thread, uint64_t time_ns, uint64_t slack_ns, bool *near)
{
	uint64_t open[3] = { 0 };
	size_t depth = 0;

	*near = false;
	for (size_t i = 0; i < recorded.profile.events.count; i++) {
		const struct vg_event *each = &recorded.profile.events.items[i];

		if (each->thread != thread)
			continue;
		*near |= each->time_ns + slack_ns > time_ns && each->time_ns < time_ns + slack_ns;
		if (each->time_ns > time_ns)
			continue;
		if (each->type == VG_EVENT_BEGIN ? depth >= 2 : depth == 0 || open[depth] != each->token)
			ck_abort_msg("event %zu does not fit, at depth %zu", i, depth);
		if (each->type == VG_EVENT_BEGIN)
			open[++depth] = each->token;
		else
			depth--;
	}
	return open[depth];
}

/* Counts the samples in intervals, and those that do not name the innermost interval that was open at their time. */
static void samples_count(uint64_t slack_ns, size_t *inside_count, size_t *wrong_count)
{
	for (size_t i = 0; i < recorded.profile.samples.count; i++) {
		const struct vg_sample *sample = &recorded.profile.samples.items[i];
		uint64_t innermost;
		bool near;

		innermost = innermost_at(sample->thread, sample->time_ns, slack_ns, &near);
		*inside_count += sample->interval != 0;
		*wrong_count += !near && innermost != sample->interval;
	}
}

/* Each sample names the innermost interval that was open at its time. The thread's state is read in a third of the
 * samples. Such a sample is late if the helper loses its CPU between reading the clock and reading the thread, which is
 * less than 1 % of its time. So 5 % of 200 samples are late with a probability below 1e-9, and 10 % of 60 below 2e-9.
 * If timer samples named the interval of the time when they are fetched, more than 10 % of them would be wrong at
 * 99 Hz. */
START_TEST(samples_name_their_interval)
{
	uintptr_t rounds = _i % 2 == 0 ? 20 : 6;
	size_t enough = _i == 0 ? 200 : 60, inside_count = 0, wrong_count = 0;

	stop_always = _i / 2;
	while (inside_count < enough) {
		pthread_t thread;

		begin(_i % 2 == 0 ? 99 : 500);
		ck_assert_int_eq(pthread_create(&thread, NULL, spin_in_intervals, (void *)rounds), 0);
		pthread_join(thread, NULL);
		end();
		ck_assert_uint_eq(summary.events, 4 * rounds);
		/* The time of a sample is when the activity read began. */
		samples_count(2000000, &inside_count, &wrong_count);
	}
	ck_assert_msg(wrong_count * 100 <= inside_count * (_i == 0 ? 5 : 10), "%zu wrong of %zu", wrong_count,
		      inside_count);
}
END_TEST

Suite *events_suite(void)
{
	Suite *suite = suite_create("events");
	TCase *cases = tcase_create("events");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, labels_outlive_sessions);
	tcase_add_test(cases, label_is_whole_when_its_size_is_published);
	tcase_add_test(cases, unknown_ids_are_dropped);
	tcase_add_test(cases, events_without_a_session);
	tcase_add_test(cases, intervals_nest);
	tcase_add_loop_test(cases, intervals_nest_at_random, 0, WALKS);
	tcase_add_test(cases, detached_interval_ends_in_another_thread);
	tcase_add_test(cases, children_have_their_own_sessions);
	tcase_add_test(cases, signal_handlers_may_record);
	tcase_add_test(cases, lanes_are_reused);
	tcase_add_test(cases, sessions_during_events);
	tcase_add_loop_test(cases, intervals_before_another_session, 0, 4);
	tcase_add_loop_test(cases, overlapping_sessions_during_events, 0, 2);
	tcase_add_test(cases, no_event_after_the_end);
	tcase_add_loop_test(cases, events_up_to_a_limit, 0, 2);
	tcase_add_loop_test(cases, listening_helper_decides_about_overwriting, 0, 2);
	tcase_add_loop_test(cases, samples_name_their_interval, 0, 4);
	suite_add_tcase(suite, cases);
	return suite;
}
