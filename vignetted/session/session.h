/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SESSION_H
#define VG_VIGNETTED_SESSION_H

#include "vignetted/session/session_state.h"

/*
 * The process that is sampled, and its recordings.
 *
 * The session has one stream of ticks, at the rate of its fastest recording.  A slower recording takes the first tick
 * at or after its own due time, and the timer sample that is nearest to that time.  So one reading of a thread, one
 * stop or one timer sample serves all recordings.
 *
 * The files of this folder have seven layers.  From the top: session and dumps; round; timer_samples; threads;
 * recording; account; ticks.  No file calls a higher layer.
 *
 *     rc = vg_session_open(&session, &options, pid, false, &err);
 *     ...                                      confines the helper
 *     rc = vg_session_start(&session, &options, &err);
 *     rc = vg_session_begin(&session, &options, fd, &recording, &err);
 *     ...                                      vg_session_tick() when session.ticks is due
 *     rc = vg_session_end(&session, recording, "reason");
 *     vg_session_close(&session);
 */

/*
 * Opens process `pid`.  The options give the session's bounds.  `command`: the process is our own child; it is stopped
 * until the session's first recording begins, so that none of its work is missed.  Reads nothing that the process could
 * have written, so that the caller can confine the helper before vg_session_start().  The session must not be moved
 * afterwards.  Returns 0, -ESRCH or another negative errno; call vg_session_close() in all cases.
 */
int vg_session_open(struct vg_session *session, const struct vg_session_options *options,
		    pid_t pid, bool command, struct vg_err *err);

/*
 * Reads the process for the first time: checks that it may be traced, opens the event ring if the options have one, and
 * reads the modules.  Returns 0, -EPERM with a message about what forbids tracing, or another negative errno.
 */
int vg_session_start(struct vg_session *session, const struct vg_session_options *options,
		     struct vg_err *err);

/*
 * Starts a recording into fd, which stays the caller's, and takes a first sample of every thread.  Returns 0 and
 * *recording, which is the session's; -EUSERS if the session has VG_RECORDINGS_MAX recordings; -ESRCH if the process
 * has no thread with the id options->thread; or another negative errno.
 */
int vg_session_begin(struct vg_session *session, const struct vg_session_options *options, int fd,
		     struct vg_recording **recording, struct vg_err *err);

/* Takes one sample of every thread for the recordings that are due.  Writes checkpoints and adapts the rate, if that is
 * due.  Stops recordings that reach a limit or cannot write.  If the process has ended, stops all recordings. */
void vg_session_tick(struct vg_session *session);

/* For use between two ticks: fetches and records timer samples, fetches events, and finds created and exited threads.
 * Returns 0, -ESRCH if the process has ended, or another negative errno. */
int vg_session_scan(struct vg_session *session);

/* Takes one sample of this thread for this recording now; of every thread if tid is 0.  With a tid, other threads are
 * not read.  Returns 0, -ESRCH if there is no such thread, -ENOSPC if it is one of the threads beyond max_threads, or
 * -EINVAL if the recording is of another thread. */
int vg_session_sample(struct vg_session *session, struct vg_recording *recording, pid_t tid);

/* Stops the recording if it is live; `reason` is static text.  Completes its file if that is not complete.  Returns 0,
 * or the negative errno with which the recording failed. */
int vg_session_end(struct vg_session *session, struct vg_recording *recording, const char *reason);

/* Ends all recordings. */
void vg_session_end_all(struct vg_session *session, const char *reason);

/* Completes the files of the recordings that have stopped by themselves. */
void vg_session_end_stopped(struct vg_session *session);

void vg_session_close(struct vg_session *session);

#endif
