/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SAMPLING_H
#define VG_VIGNETTED_SAMPLING_H

#include "vignetted/session.h"

/* One sample of one thread: look, and if it has run since, stop, copy, let go, unwind, record.
 * What cannot be sampled is counted in the recorder's losses. */
void vg_sampling_thread(struct vg_session *session, struct vg_task *task);

/* Tells the profile of a thread that the scan found, and makes it ready to be sampled. */
int vg_sampling_thread_new(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* Tells the profile of the end of a thread that the scan no longer found. */
int vg_sampling_thread_gone(struct vg_session *session, struct vg_task *task, uint64_t now_ns);

/* Whether the thread has not died.  PTRACE_SEIZE says EPERM of a dying thread too. */
bool vg_sampling_is_alive(const struct vg_session *session, pid_t tid);

/* Reads the maps again, and tells the profile what is gone. */
void vg_sampling_modules_refresh(struct vg_session *session, uint64_t now_ns);

#endif
