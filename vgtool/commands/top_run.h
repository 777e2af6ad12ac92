/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TOP_RUN_H
#define VG_VGTOOL_TOP_RUN_H

#include <signal.h>

#include "vgtool/commands/top_reader.h"
#include "vgtool/run/mappings.h"
#include "vgtool/run/vignetted_run.h"

/*
 * The two child processes of vgtool top: vignetted, which writes the profile into a pipe, and the reader
 * (top_reader.h), which reads it from there.  So no profile is on a disk.
 *
 * Each child has a process group of its own.  The signals of the terminal go to this process only: Ctrl-Z must not stop
 * vignetted while it holds a thread of the recorded process.
 *
 *	struct vg_top_run run = { .pid = pid, .arguments = arguments, .reader = reader };
 *	vg_top_run_start(&run, &err);
 *	vg_top_run_request(&run, &request);
 *	... run.reply_fd, run.message_fd, run.helper.status_fd ...
 *	vg_top_run_stop(&run);
 */
struct vg_top_run {
	/* Set by the caller. */
	pid_t pid;                   /* of the recorded process */
	char **arguments;            /* of vignetted, for vg_vignetted_start() */
	sigset_t mask;               /* the signals that are blocked in the children */
	int caller_fds[2];           /* descriptors that the reader must not have */
	struct vg_top_reader reader; /* without `profile` */
	/* Set by vg_top_run_start(). */
	struct vg_vignetted helper;
	pid_t reader_pid;
	int request_fd, reply_fd;    /* see top_reader.h */
	int message_fd;              /* what both children print on standard error */
	/* Set by vg_top_run_stop(). */
	int reader_status;           /* exit status; 128 + signal if a signal ended the reader */
	/* Private: */
	int standard[3];             /* in a child: what becomes its standard input, output and error */
	int profile_fd;
	struct vg_mappings mappings;
};

/* Starts both processes.  Returns 0, or a negative errno with a message in err. */
int vg_top_run_start(struct vg_top_run *run, struct vg_err *err);

/* Sends a request to the reader.  Does nothing if the reader has ended. */
void vg_top_run_request(const struct vg_top_run *run, const struct vg_top_request *request);

/* Ends what still runs, waits for both processes and closes the descriptors, except message_fd.  Returns what
 * vg_vignetted_wait() returns. */
int vg_top_run_stop(struct vg_top_run *run, struct vg_err *err);

#endif
