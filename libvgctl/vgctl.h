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
 * reaps it there), and inherits no descriptor.  Any thread may call any function.  One session at a time in
 * a process; a child made by fork(2) has none, and may begin its own.
 *
 * Functions return 0 or a negative errno; vgctl(3) lists them.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
	                                /tmp/perf-PID.map when the session ends */
	int thread_names;            /* 1: threads' names go into the profile; a program may put
	                                anything there, so that by default their ids do */
	uint64_t max_memory_bytes;   /* of the helper; at least 32 MiB */
	unsigned int max_threads;    /* sampled at a time; more are counted */
	unsigned int max_modules;    /* recorded in all; more are counted */
	unsigned int max_name_bytes; /* 16 to 16,384; longer names are cut */
	int stop_always;             /* 1: running threads are stopped for each sample, even where the
	                                kernel would sample them in its timer's interrupt */
};

#define VGCTL_OPTIONS_INIT \
	{ sizeof(struct vgctl_options), VGCTL_RATE_AUTO, VGCTL_WALL, 16384, 24 * 60 * 60, \
	  UINT64_C(256) << 20, NULL, VGCTL_BUDGET_AUTO, 0, 0, \
	  UINT64_C(1) << 30, 16384, 16384, 1024, 0 }

struct vgctl_summary {
	size_t struct_bytes;         /* sizeof (struct vgctl_summary); set it before the call */
	uint64_t samples;
	uint64_t lost;               /* samples that were due and could not be taken */
	uint64_t duration_ns;
	uint64_t file_bytes;
	uint32_t threads;            /* seen in all */
	uint32_t limited;            /* 1: a limit of the options stopped the recording early */
};

#define VGCTL_SUMMARY_INIT { sizeof(struct vgctl_summary), 0, 0, 0, 0, 0, 0 }

/*
 * Starts recording this process into a profile.  Returns when sampling has begun.
 *
 * The profile is written as PATH.part, which only its owner may read, and appears as PATH when
 * vgctl_end() returns.  options may be NULL: 99 Hz within a budget of 1%, wall time, 24 hours or 256 MiB at most.
 * *session is set on success only.
 */
int vgctl_begin(const char *path, const struct vgctl_options *options,
		struct vgctl_session **session);

/* Takes one sample of every thread, now; returns when all are taken.  With VGCTL_CPU, of every
 * thread that runs: not of the caller, which waits. */
int vgctl_sample(struct vgctl_session *session);

/*
 * Stops recording, waits until the file is complete and under its name, and frees the session,
 * whatever is returned.  summary may be NULL; after a failure it is all zero.  -ECONNRESET says
 * that the helper died: what it had written is under PATH and readable.  No other call with that
 * session may be in progress.
 */
int vgctl_end(struct vgctl_session *session, struct vgctl_summary *summary);

/*
 * A sentence for a value that one of these functions returned.  If it was returned by this
 * thread's latest failing call, the sentence has the particulars (which path, which policy).
 * Valid until the thread's next call of the library.
 */
const char *vgctl_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif
