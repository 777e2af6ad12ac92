/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TRACER_H
#define VG_VIGNETTED_TRACER_H

#include <stdbool.h>

#include "vignetted/capture/priority.h"
#include "vignetted/unwind/snapshot.h"

struct vg_backoff {
	uint32_t run, left;          /* times to pass over: in a row, and still */
};

/*
 * One thread at a time: attached, stopped, copied, let go.  A tracer holds no more than one
 * tracee, because an execve(2) in the process waits until all its traced threads are reaped,
 * while the next PTRACE_SEIZE waits for the execve.
 *
 * ptrace(2) binds a tracee to the tracing thread: everything here runs on one thread.  SIGCHLD
 * must be blocked and not ignored.
 */
struct vg_tracer {
	struct vg_priority priority; /* raised while a thread stands still */
	pid_t leader;                /* the process's first thread */
	pid_t pending;               /* a thread that was asked to stop and has not, or that died
	                                and is not reaped; 0: none */
	pid_t zombie;                /* the leader, if it died before it stopped while others go on: it
	                                can be reaped when they are gone, and hinders nobody; or 0 */
	uint64_t pause_ns;           /* of the latest stop: from the request to the release */
	uint64_t repaired;           /* system calls that would have returned EINTR */
	struct vg_backoff polls;     /* stops for which we sleep instead of polling */
	struct vg_backoff aheads;    /* stops before which no early copy is made */
	int command_status;          /* wait status of `command`, once it has ended */
	pid_t command;               /* our own child, if we launched the program; else 0 */
	bool command_ended;
};

enum vg_capture {
	VG_CAPTURE_TAKEN,            /* the snapshot is good; the thread runs again */
	VG_CAPTURE_GONE,             /* the thread or its memory is no more */
	VG_CAPTURE_PENDING,          /* it did not stop in time; nothing was taken */
	VG_CAPTURE_FORBIDDEN,        /* ptrace: EPERM */
	VG_CAPTURE_FAILED,           /* stopped, but registers or stack could not be read */
};

enum vg_capture vg_tracer_capture(struct vg_tracer *tracer, pid_t tid, size_t stack_bytes,
				  struct vg_snapshot *snapshot);

/* Lets a pending thread go if it has stopped by now, reaps it if it has died.  Whether none is
 * pending any more; until then call it every millisecond or so, for the thread may be standing
 * still and the process waiting for its end. */
bool vg_tracer_settle(struct vg_tracer *tracer);

/* The same, again and again, for a second at most. */
void vg_tracer_finish(struct vg_tracer *tracer);

#endif
