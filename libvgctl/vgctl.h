/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGCTL_H
#define VGCTL_H

/*
 * vgctl: lets a program record where its own time goes.
 *
 *     struct vgctl_session *session;
 *     int rc = vgctl_begin("slow.vgp", NULL, &session);
 *     ... what is slow ...
 *     if (rc == 0)
 *             rc = vgctl_end(session, NULL);
 *     if (rc < 0)
 *             fprintf(stderr, "%s\n", vgctl_strerror(rc));
 *
 * A helper process, vignetted, samples the threads from outside.  The library starts no thread
 * and installs no signal handler; the helper is no child that waitpid(-1) or SIGCHLD could tell
 * of (save in a process that adopts orphans: pid 1 of a container, a subreaper; vgctl_end()
 * reaps it there), and inherits no descriptor.  Any thread may call any function.  Up to four sessions at
 * a time in a process; a child made by fork(2) has none, and may begin its own.
 *
 * Functions return 0 or a negative errno; vgctl(3) lists them.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The library is compiled with -fvisibility=hidden. */
#pragma GCC visibility push(default)

/* Opaque.  Owned by the library from vgctl_begin() to vgctl_end(). */
struct vgctl_session;

enum vgctl_mode {
	VGCTL_WALL = 0,              /* all of a thread's time, waiting included */
	VGCTL_CPU = 1                /* only the time that a thread runs */
};

/* rate_hz for a session that samples only when vgctl_sample() asks; and for 99 Hz, or less where
 * that would cost more than the budget. */
#define VGCTL_ON_DEMAND 0
#define VGCTL_RATE_AUTO 0xffffffffu

/* budget_percent: 1 with VGCTL_RATE_AUTO, no limit with a rate of your own. */
#define VGCTL_BUDGET_AUTO -1.0

struct vgctl_options {
	size_t struct_bytes;         /* sizeof (struct vgctl_options) */
	unsigned int rate_hz;        /* samples a second of each thread, 1 to 10,000; or as above */
	enum vgctl_mode mode;
	unsigned int max_frames;     /* of one stack, 1 to 65,536; deeper ones are cut */
	unsigned int max_duration_s; /* the session stops recording then; 0: no limit */
	uint64_t max_file_bytes;     /* likewise; at least 65,536, or 0: no limit */
	const char *helper_path;     /* of vignetted; NULL: see vgctl(3) for where it is looked for */
	double budget_percent;       /* how much of a thread's time it may be stopped, and of one
	                                core the helper may use, before samples become rarer: up to
	                                100; 0: no limit; or as above */
	int perf_map;                /* 1: names of code made at run time are read from
	                                /tmp/perf-PID.map when the session ends, or a dump is written */
	int thread_names;            /* 1: threads' names go into the profile; a program may put
	                                anything there, so that by default their ids do */
	uint64_t max_memory_bytes;   /* of the helper; at least 32 MiB */
	unsigned int max_threads;    /* sampled at a time; more are counted */
	unsigned int max_modules;    /* recorded in all; more are counted */
	unsigned int max_name_bytes; /* 16 to 16,384; longer names are cut */
	int stop_always;             /* 1: running threads are stopped for each sample, even where the
	                                kernel would sample them in its timer's interrupt */
	int events_overwrite;        /* 1: where events come faster than they are fetched, the oldest
	                                make room; by default the newest are dropped */
	unsigned int flight_s;       /* a flight recorder: only the last so many seconds are kept, in
	                                memory, up to 86,400; 0: everything, in the file */
	uint64_t flight_memory_bytes; /* for that; at least 1 MiB */
	unsigned int watchdog_ms;    /* a heartbeat that is later by more makes the flight recorder
	                                write itself down; at least 10, or 0: nobody looks */
	const char *watchdog_path;   /* into this path with .1, .2 and so on appended */
	unsigned int watchdog_files; /* up to that number, 1 to 16 */
	const char *counters;        /* what else is counted of each thread, up to four with a comma
	                                between, "page-faults,instructions:u"; see vgctl(3); NULL:
	                                nothing */
};

#define VGCTL_OPTIONS_INIT \
	{ sizeof(struct vgctl_options), VGCTL_RATE_AUTO, VGCTL_WALL, 16384, 24 * 60 * 60, \
	  UINT64_C(256) << 20, NULL, VGCTL_BUDGET_AUTO, 0, 0, \
	  UINT64_C(1) << 30, 16384, 16384, 1024, 0, 0, \
	  0, UINT64_C(64) << 20, 0, NULL, 4, NULL }

struct vgctl_summary {
	size_t struct_bytes;         /* sizeof (struct vgctl_summary); set it before the call */
	uint64_t samples;
	uint64_t lost;               /* samples that were due and could not be taken */
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint32_t threads;            /* seen in all */
	uint32_t limited;            /* 1: a limit of the options stopped the recording early */
	uint64_t events;             /* recorded */
	uint64_t events_dropped;
};

#define VGCTL_SUMMARY_INIT { sizeof(struct vgctl_summary), 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Starts recording this process into a profile.  Returns when sampling has begun.
 *
 * The profile is written as PATH.part, which only its owner may read, and appears as PATH when
 * vgctl_end() returns.  options may be NULL: 99 Hz within a budget of 1%, wall time, 24 hours or 256 MiB at most.
 * *session is set on success only.  A session beside others has the helper of the first, and its bounds;
 * -EUSERS: the process has as many as can be.
 */
int vgctl_begin(const char *path, const struct vgctl_options *options,
		struct vgctl_session **session);

/* Takes one sample of every thread, now; returns when all are taken.  With VGCTL_CPU, of every
 * thread that runs: not of the caller, which waits. */
int vgctl_sample(struct vgctl_session *session);

/*
 * Writes what a flight recorder has, the last flight_s seconds, as a profile; recording goes on.
 * Returns when it is under its name.  After a failure there is no such file, and another call may
 * succeed; -ENOTSUP: the session was begun without flight_s.
 */
int vgctl_dump(struct vgctl_session *session, const char *path);

/*
 * Stops recording, waits until the file is complete and under its name, and frees the session,
 * whatever is returned.  summary may be NULL; after a failure it is all zero.  -ECONNRESET says
 * that the helper died: what it had written is under PATH and readable.  No other call with that
 * session may be in progress.
 */
int vgctl_end(struct vgctl_session *session, struct vgctl_summary *summary);

/*
 * Has a helper stay, and take others' questions too: vgctl(1) of the same user may begin sessions of
 * its own, beside the program's, end them and mark moments in them.  It listens on the socket
 * DIRECTORY/PID.sock; NULL: $XDG_RUNTIME_DIR/vignette.  Without this nobody but the program can have
 * it recorded by its own helper.  Until a session begins, nothing is sampled and nothing is woken.
 *
 * Of options (NULL: as for vgctl_begin()) those that bound the helper and helper_path count; sessions
 * have their own for the rest.  To be called while there is no session.
 */
int vgctl_listen(const char *directory, const struct vgctl_options *options);

/* No longer.  Sessions that others began end; the program's own go on. */
void vgctl_unlisten(void);

/*
 * A sentence for a value that one of these functions returned.  If it was returned by this
 * thread's latest failing call, the sentence has the particulars (which path, which policy).
 * Valid until the thread's next call of the library.
 */
const char *vgctl_strerror(int error);

/*
 * ---- Events: what the program itself tells of its doings ----
 *
 *     static uint32_t loading, file;
 *     loading = vgctl_intern("load");
 *     file = vgctl_intern("a file");
 *     {
 *             VGCTL_SCOPE(loading, file);
 *             ...
 *     }
 *
 * Any thread may tell at any time.  While no session records that costs a load and a branch;
 * otherwise some tens of nanoseconds and no system call.  Where events come faster than the helper
 * fetches them they are dropped and counted; a beginning that is recorded has its end recorded.
 *
 * A kind says what sort of thing an event is, a label which one it is; either may be 0, none.
 */

/* The id of a string, the same for equal strings and for as long as the process lives, sessions or
 * not.  0 for NULL and "", or where there is no more room: four MiB in all.  Of a string longer
 * than 1024 bytes the rest is left out.  It takes a lock: keep the id. */
uint32_t vgctl_intern(const char *text);

/* How the calling thread is called in profiles from now on, whatever the option thread_names says;
 * NULL: as before.  As for vgctl_intern(). */
void vgctl_thread_name(const char *name);

/* By value, and to be passed on so. */
struct vgctl_interval {
	uint64_t token;              /* in the profile; 0: not recorded */
	uint32_t session;
	uint32_t detached;
};

/* Not to be used but by the functions below. */
extern unsigned int vgctl_recording;
void vgctl_event_instant(uint32_t kind, uint32_t label, uint64_t argument);
void vgctl_event_counter(uint32_t label, int64_t value);
struct vgctl_interval vgctl_event_begin(uint32_t kind, uint32_t label, uint64_t argument,
					uint32_t detached);
void vgctl_event_end(struct vgctl_interval interval);
void vgctl_event_heartbeat(int due);

#define VGCTL_RECORDING_() \
	__builtin_expect(__atomic_load_n(&vgctl_recording, __ATOMIC_RELAXED) != 0, 0)

/* Something happened. */
static inline void vgctl_instant(uint32_t kind, uint32_t label, uint64_t argument)
{
	if (VGCTL_RECORDING_())
		vgctl_event_instant(kind, label, argument);
}

/* A quantity has that value. */
static inline void vgctl_counter(uint32_t label, int64_t value)
{
	if (VGCTL_RECORDING_())
		vgctl_event_counter(label, value);
}

/* Something begins that ends on this thread.  Samples of the thread bear the innermost one. */
static inline struct vgctl_interval vgctl_interval_begin(uint32_t kind, uint32_t label,
							 uint64_t argument)
{
	struct vgctl_interval none = { 0, 0, 0 };

	return VGCTL_RECORDING_() ? vgctl_event_begin(kind, label, argument, 0) : none;
}

/* Something begins that may end on another thread, and overlap with whatever. */
static inline struct vgctl_interval vgctl_interval_begin_detached(uint32_t kind, uint32_t label,
								  uint64_t argument)
{
	struct vgctl_interval none = { 0, 0, 0 };

	return VGCTL_RECORDING_() ? vgctl_event_begin(kind, label, argument, 1) : none;
}

/* Of either, once.  One that began in an earlier session, or in a parent process, is passed over. */
static inline void vgctl_interval_end(struct vgctl_interval interval)
{
	if (__builtin_expect(interval.token != 0, 0))
		vgctl_event_end(interval);
}

/* The program's main loop is alive, and will say so again within watchdog_ms. */
static inline void vgctl_heartbeat(void)
{
	if (VGCTL_RECORDING_())
		vgctl_event_heartbeat(1);
}

/* It is about to wait for something to do: no heartbeat is due until the next. */
static inline void vgctl_heartbeat_pause(void)
{
	if (VGCTL_RECORDING_())
		vgctl_event_heartbeat(0);
}

static inline void vgctl_scope_end_(struct vgctl_interval *interval)
{
	vgctl_interval_end(*interval);
}

/* An interval from here to the end of the block, however it is left. */
#define VGCTL_SCOPE(kind, label) VGCTL_SCOPE_AT_(kind, label, __LINE__)
#define VGCTL_SCOPE_AT_(kind, label, line) VGCTL_SCOPE_NAMED_(kind, label, line)
#define VGCTL_SCOPE_NAMED_(kind, label, line) \
	struct vgctl_interval vgctl_scope_##line \
		__attribute__((__cleanup__(vgctl_scope_end_), __unused__)) = \
		vgctl_interval_begin(kind, label, 0)

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
