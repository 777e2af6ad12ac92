/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGCTL_H
#define VGCTL_H

/*
 * libvgctl: records a profile of the calling process.
 *
 *     struct vgctl_session *session;
 *     int rc = vgctl_begin("slow.vgp", NULL, &session);
 *     slow();
 *     if (rc == 0)
 *             rc = vgctl_end(session, NULL);
 *     if (rc < 0)
 *             fprintf(stderr, "%s\n", vgctl_strerror(rc));
 *
 * A helper process, vignetted, takes the samples.  The library starts no thread and installs no signal handler.  The
 * helper inherits none of the program's descriptors.  The helper is not a child of the process, so waitpid(-1) and
 * SIGCHLD do not report it.  Exception: in a process that adopts orphans (pid 1 of a container, a subreaper) the helper
 * is a child, and vgctl_end() reaps it.
 *
 * Any thread can call any function.  A process can have four sessions at a time.  A child of fork(2) begins without
 * sessions and can begin its own.
 *
 * Functions return 0 or a negative errno.  vgctl(3) lists the errors.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The library is compiled with -fvisibility=hidden. */
#pragma GCC visibility push(default)

/* One recording.  Opaque, owned by the library from vgctl_begin() to vgctl_end(). */
struct vgctl_session;

enum vgctl_mode {
	VGCTL_WALL = 0,              /* all of a thread's time, including waiting */
	VGCTL_CPU = 1                /* only the time in which a thread is running or queued */
};

/* Special values of rate_hz.  ON_DEMAND: only vgctl_sample() takes samples.  AUTO: 99 Hz, or less if 99 Hz would cost
 * more than the budget. */
#define VGCTL_ON_DEMAND 0
#define VGCTL_RATE_AUTO 0xffffffffu

/* Special value of budget_percent.  1 percent if rate_hz is VGCTL_RATE_AUTO, otherwise no limit. */
#define VGCTL_BUDGET_AUTO -1.0

/*
 * Initialize with VGCTL_OPTIONS_INIT or vgctl_options_init(), then change members.  The library uses the strings only
 * during the call and does not free them.
 *
 * Later versions of this header can add members at the end.  All their defaults are 0.  The library accepts a shorter
 * structure, and the missing members have their defaults.  It accepts a longer structure if all bytes that it does not
 * know are 0; otherwise the call fails with -E2BIG.
 */
struct vgctl_options {
	size_t struct_bytes;         /* sizeof (struct vgctl_options) */
	unsigned int rate_hz;        /* samples per second of each thread, 1 to 10,000; or VGCTL_ON_DEMAND or
	                                VGCTL_RATE_AUTO */
	enum vgctl_mode mode;
	unsigned int max_frames;     /* limit of frames in one stack, 1 to 65,536; deeper stacks lose their outermost
	                                frames */
	unsigned int max_duration_s; /* recording stops after this time; 0: no limit */
	uint64_t max_file_bytes;     /* recording stops at about this size, at least 65,536; 0: no limit */
	const char *helper_path;     /* path of vignetted; NULL: the library searches for it, see vgctl(3) */
	double budget_percent;       /* a thread may be stopped for this percentage of its time, and the helper may use
	                                this percentage of one core; up to 100.  If sampling costs more, the rate is
	                                lowered.  0: no limit; or VGCTL_BUDGET_AUTO */
	int perf_map;                /* 1: record the names of JIT code from /tmp/perf-PID.map, when the
	                                session ends or a dump is written */
	int thread_names;            /* 1: record the names of threads.  0, the default: only their ids,
	                                because a program can put anything into a name */
	uint64_t max_memory_bytes;   /* limit of the helper's address space, at least 32 MiB */
	unsigned int max_threads;    /* limit of threads that are sampled at a time; further threads are only counted */
	unsigned int unused[2];      /* of no effect; limits for earlier versions of the library, which refuse 0 */
	int stop_always;             /* 1: stop running threads for each sample, even where timer samples
	                                are possible */
	int events_overwrite;        /* 1: if there is no room for a new event, it overwrites the thread's oldest event.
	                                0, the default: the new event is dropped */
	unsigned int flight_s;       /* seconds that a flight recorder keeps in memory, up to 86,400; 0: not a flight
	                                recorder, everything is written to the file */
	uint64_t flight_memory_bytes; /* limit of the flight recorder's memory, 1 MiB to half of max_memory_bytes */
	unsigned int watchdog_ms;    /* if a heartbeat is due and none comes for longer than this, the helper writes
	                                the flight recorder's contents to a file; at least 10; 0: no watchdog */
	const char *watchdog_path;   /* the watchdog's files are watchdog_path.1, watchdog_path.2 and so on */
	unsigned int watchdog_files; /* limit of the number of these files, 1 to 16 */
	const char *counters;        /* perf counters of each thread, up to four, separated by commas, such
	                                as "page-faults,instructions:u"; NULL: none */
	uint64_t thread;             /* sample only the thread with this id, as in gettid(2), and record no events of
	                                others; recording stops when the thread ends; 0: all threads.  64 bits, so that
	                                the structure has no padding at its end */
};

#define VGCTL_OPTIONS_INIT \
	{ sizeof(struct vgctl_options), VGCTL_RATE_AUTO, VGCTL_WALL, 16384, 24 * 60 * 60, \
	  UINT64_C(256) << 20, NULL, VGCTL_BUDGET_AUTO, 0, 0, \
	  UINT64_C(1) << 30, 16384, { 16384, 1024 }, 0, 0, \
	  0, UINT64_C(64) << 20, 0, NULL, 4, NULL, 0 }

/* Does what VGCTL_OPTIONS_INIT does, for languages without it.  `size` is the size of the caller's structure in bytes.
 * Sets struct_bytes to it, and writes no byte beyond it.  Writes nothing if struct_bytes itself does not fit. */
void vgctl_options_init(struct vgctl_options *options, size_t size);

struct vgctl_summary {
	size_t struct_bytes;         /* sizeof (struct vgctl_summary); set before the call */
	uint64_t samples;
	uint64_t lost;               /* samples that were due and not taken */
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint32_t threads;            /* in the profile */
	uint32_t limited;            /* 1: a limit of the options stopped the recording early */
	uint64_t events;             /* in the profile */
	uint64_t events_dropped;
};

#define VGCTL_SUMMARY_INIT { sizeof(struct vgctl_summary), 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Begins a session.  Returns when sampling has begun.
 *
 * The profile is written as PATH.part, which only its owner can read.  vgctl_end() renames it to PATH.
 * options may be NULL: 99 Hz within a budget of 1 %, wall time, at most 24 hours and 256 MiB.
 * *session is set on success only.
 *
 * All sessions of a process share one helper, whose limits are in the options of the first session.  -EUSERS: the
 * process has four recordings already.
 */
int vgctl_begin(const char *path, const struct vgctl_options *options,
		struct vgctl_session **session);

/* Takes one sample of every thread and returns when all samples are taken.  With VGCTL_CPU, samples only running and
 * queued threads.  The calling thread waits in this call, so with VGCTL_CPU it is not sampled. */
int vgctl_sample(struct vgctl_session *session);

/* Does the same for one thread of the process: `tid` as in gettid(2), or 0 for the calling thread.  Other threads are
 * neither stopped nor read.  -ESRCH: the process has no such thread.  -ENOTSUP: the helper is of an earlier release. */
int vgctl_sample_thread(struct vgctl_session *session, int tid);

/*
 * Writes the contents of a flight recorder, the last flight_s seconds, to a profile.  Returns when the
 * file is complete.  Recording continues.  A failed call leaves no file, and can be repeated.
 * -ENOTSUP: the session was begun without flight_s.
 */
int vgctl_dump(struct vgctl_session *session, const char *path);

/*
 * Stops recording, waits until the file is complete and renames it.  Frees the session, even if the call fails.
 * summary may be NULL.  After a failure *summary is undefined.  -ECONNRESET: the helper died; PATH is a readable
 * profile with everything that the helper had written.  No other call for this session may be in progress.
 */
int vgctl_end(struct vgctl_session *session, struct vgctl_summary *summary);

/*
 * Starts a helper that keeps running and listens on the socket DIRECTORY/PID.sock.  vgctl(1) of the same user can then
 * begin remote recordings, which have the program's events too.  directory may be NULL: $XDG_RUNTIME_DIR/vignette.
 * Without vgctl_listen(), only the program itself can send requests to its helper.  Until a recording begins, nothing
 * is sampled and the helper sleeps.
 *
 * Uses these options only: helper_path, max_memory_bytes, max_threads, stop_always and
 * events_overwrite.  options may be NULL as for vgctl_begin().  -EALREADY: the process has a session, or its helper
 * listens already.
 */
int vgctl_listen(const char *directory, const struct vgctl_options *options);

/* Ends the remote recordings and closes the socket.  Without sessions of the program, waits until the recordings' files
 * are complete; after 5 s kills the helper.  The program's own sessions continue. */
void vgctl_unlisten(void);

/*
 * Returns a sentence for an error that one of these functions returned.  If this thread's latest failed call returned
 * the error, the sentence has details, such as a path or a security policy.  The result is never NULL.  It is valid
 * until the thread's next call of the library.  Do not free it.
 */
const char *vgctl_strerror(int error);

/*
 * ---- Events ----
 *
 *     static uint32_t loading, file;
 *     loading = vgctl_intern("load");
 *     file = vgctl_intern("a file");
 *     {
 *             VGCTL_SCOPE(loading, file);
 *             load_file();
 *     }
 *
 * Any thread can record events at any time.  While nothing records, a call costs a load and a branch, or a few
 * nanoseconds if the helper listens.  During a recording it costs some tens of nanoseconds and makes no system call.
 * If a thread records events faster than the helper fetches them, events are dropped and counted.  If the begin of an
 * interval was recorded, its end is recorded too.
 *
 * The kind is the type of an event, such as "load".  The label identifies the object, such as a file.  Kind and label
 * are ids from vgctl_intern(), or 0 for none.
 */

/* Returns the id of a string.  Equal strings have equal ids.  An id is valid until the process exits.  Returns 0 for
 * NULL, for "", and when the 4 MiB for all strings are used up.  Strings are truncated to 1024 bytes.  Takes a lock:
 * call it once and keep the id. */
uint32_t vgctl_intern(const char *text);

/* Sets the name of the calling thread in profiles, regardless of the option thread_names.  NULL removes the name.  The
 * limits of vgctl_intern() apply. */
void vgctl_thread_name(const char *name);

/* An open interval.  Passed by value. */
struct vgctl_interval {
	uint64_t token;              /* the interval's number in the profile; 0: not recorded */
	uint32_t session;            /* number of the session that recorded the begin */
	uint32_t detached;           /* 1: the interval may end on any thread */
};

/* For the functions below only. */
extern unsigned int vgctl_recording;
void vgctl_event_instant(uint32_t kind, uint32_t label, uint64_t argument);
void vgctl_event_counter(uint32_t label, int64_t value);
struct vgctl_interval vgctl_event_begin(uint32_t kind, uint32_t label, uint64_t argument,
					uint32_t detached);
void vgctl_event_end(struct vgctl_interval interval);
void vgctl_event_heartbeat(int due);

#define VGCTL_RECORDING_() \
	__builtin_expect(__atomic_load_n(&vgctl_recording, __ATOMIC_RELAXED) != 0, 0)

/* The functions below are inline in C and C++.  The library exports functions of the same names, for other languages.
 * The file of the library that defines the exported functions sets VGCTL_INLINE_. */
#ifndef VGCTL_INLINE_
#define VGCTL_INLINE_ static inline
#endif

/* Records that something happened. */
VGCTL_INLINE_ void vgctl_instant(uint32_t kind, uint32_t label, uint64_t argument)
{
	if (VGCTL_RECORDING_())
		vgctl_event_instant(kind, label, argument);
}

/* Records the value of a quantity. */
VGCTL_INLINE_ void vgctl_counter(uint32_t label, int64_t value)
{
	if (VGCTL_RECORDING_())
		vgctl_event_counter(label, value);
}

/* Begins an interval that ends on this thread.  Each sample of a thread names the thread's innermost open interval. */
VGCTL_INLINE_ struct vgctl_interval vgctl_interval_begin(uint32_t kind, uint32_t label, uint64_t argument)
{
	struct vgctl_interval none = { 0, 0, 0 };

	return VGCTL_RECORDING_() ? vgctl_event_begin(kind, label, argument, 0) : none;
}

/* Begins an interval that may end on any thread and overlap other intervals.  Samples do not name it. */
VGCTL_INLINE_ struct vgctl_interval vgctl_interval_begin_detached(uint32_t kind, uint32_t label,
								  uint64_t argument)
{
	struct vgctl_interval none = { 0, 0, 0 };

	return VGCTL_RECORDING_() ? vgctl_event_begin(kind, label, argument, 1) : none;
}

/* Ends an interval of either sort.  Call it once.  Does nothing if the interval began in an earlier
 * session or in a parent process. */
VGCTL_INLINE_ void vgctl_interval_end(struct vgctl_interval interval)
{
	if (__builtin_expect(interval.token != 0, 0))
		vgctl_event_end(interval);
}

/* Reports that the program's main loop is alive.  The next call is due within watchdog_ms. */
VGCTL_INLINE_ void vgctl_heartbeat(void)
{
	if (VGCTL_RECORDING_())
		vgctl_event_heartbeat(1);
}

/* Reports that the main loop is about to wait for events.  No heartbeat is due until the next vgctl_heartbeat(). */
VGCTL_INLINE_ void vgctl_heartbeat_pause(void)
{
	if (VGCTL_RECORDING_())
		vgctl_event_heartbeat(0);
}

static inline void vgctl_scope_end_(struct vgctl_interval *interval)
{
	vgctl_interval_end(*interval);
}

/* An interval from here to the end of the block.  It ends even if the block is left by return, break or goto. */
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
