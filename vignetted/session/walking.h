/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WALKING_H
#define VG_VIGNETTED_WALKING_H

#include "vignetted/session/session.h"

/* Walks of the stacks that a session copies, with the modules that the process has then. */

/* Reads the maps again, once a round, and tells the profiles what is gone. */
void vg_walk_modules(struct vg_session *session, uint64_t now_ns);

/* Begins a sample: all its walks together may read so much of unwind information and code, and no more.  What these
 * hold is the process's choice, and an expression in them may be a loop. */
void vg_walk_allow(struct vg_session *session);

/* Walks what the session's snapshot holds; reads the maps again if that leaves them.  0 or
 * -ENOMEM. */
int vg_walk_snapshot(struct vg_session *session, uint64_t now_ns);

/* Whether that walk ran out of the copy, and a larger one can be had: the thread's next is. */
bool vg_walk_grow(struct vg_session *session, struct vg_task *task);

/* Lets later snapshots of the thread be as long as its walks need, of which this is one. */
void vg_walk_fit(struct vg_session *session, struct vg_task *task);

#endif
