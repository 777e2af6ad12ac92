/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TRACER_H
#define VG_VIGNETTED_TRACER_H

#include <stdbool.h>

#include "vignetted/capture/priority.h"
#include "vignetted/unwind/snapshot.h"

/* After an attempt failed, the next attempts are skipped: about twice as many after each further failure. */
struct vg_backoff {
	uint32_t skips;              /* attempts to skip after the latest failure */
	uint32_t skips_left;         /* how many of them are still to be skipped */
};

/*
 * Stops threads with ptrace(2), one at a time: attaches, stops, copies, releases.
 *
 * A tracer never has more than one tracee: two could cause a deadlock with an execve(2) (doc/design/capture.md).
 *
 * ptrace(2) binds a tracee to the tracing thread, so all calls must come from one thread.  SIGCHLD must be blocked and
 * not ignored.
 *
 *     struct vg_tracer tracer = { .leader = pid };
 *     vg_tracer_open(&tracer);
 *     if (vg_tracer_capture(&tracer, tid, stack_bytes, &snapshot) == VG_CAPTURE_TAKEN) ...
 *     while (!vg_tracer_pending_release(&tracer)) ...    every millisecond
 *     vg_tracer_close(&tracer);
 */
struct vg_tracer {
	struct vg_priority priority; /* raised while a thread is stopped */
	int schedstat;               /* the file of the helper's own thread; 0 or -1: not open */
	pid_t leader;                /* the process's first thread */
	pid_t pending;               /* a thread that was asked to stop and has not stopped yet, or that was killed and
					is not reaped yet; 0: none */
	pid_t zombie;                /* the leader, if it exited before it stopped; it can be reaped only when all other
					threads have exited, and these can still be stopped; 0: none */
	bool is_patient;             /* a stop may take one second, and not 20 ms */
	uint64_t got_cpu_ns;         /* CLOCK_MONOTONIC when the helper got its CPU after its latest wait, here or in
					serve/loop.c */
	uint64_t stopped_ns;         /* CLOCK_MONOTONIC of the latest stop */
	uint64_t pause_ns;           /* of the latest stop: from the request to the release */
	uint64_t repaired;           /* system calls that were kept from returning EINTR */
	struct vg_backoff poll_backoff; /* for polling for a stop instead of sleeping */
	struct vg_backoff early_copy_backoff; /* for the early copy, which is made before a stop */
	int command_status;          /* wait status of `command`, once it has ended */
	pid_t command;               /* our own child, if we launched the program; else 0 */
	bool command_ended;
};

enum vg_capture {
	VG_CAPTURE_TAKEN,            /* the snapshot is good; the thread runs again */
	VG_CAPTURE_EXITED,           /* the thread has exited, or its memory is gone */
	VG_CAPTURE_PENDING,          /* the thread, or the thread before it, did not stop in time; nothing was copied */
	VG_CAPTURE_FORBIDDEN,        /* ptrace: EPERM */
	VG_CAPTURE_FAILED,           /* the thread was stopped, but registers or stack could not be read */
};

/* Opens the file `schedstat`.  Without this call, the file is not used. */
void vg_tracer_open(struct vg_tracer *tracer);
void vg_tracer_close(struct vg_tracer *tracer);

/* Stops the thread, copies its registers and up to stack_bytes of its stack, and releases it.  The caller has set
 * these members of the snapshot, or left them 0: expected_sp, thread_block, token_address and other.sp.  This function
 * sets the other members that a walk needs, except moment. */
enum vg_capture vg_tracer_capture(struct vg_tracer *tracer, pid_t tid, size_t stack_bytes,
				  struct vg_snapshot *snapshot);

/* Releases a pending thread if it has stopped by now, or reaps it if it has exited.  Returns true if no thread is
 * pending any more.  Otherwise call it again, about every millisecond: the thread may stop at any time, and the process
 * may wait for its release. */
bool vg_tracer_pending_release(struct vg_tracer *tracer);

/* Calls vg_tracer_pending_release() until it returns true, for one second at most. */
void vg_tracer_pending_wait(struct vg_tracer *tracer);

#endif
