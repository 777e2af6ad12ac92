/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DUMPS_H
#define VG_VIGNETTED_DUMPS_H

#include "vignetted/session/session.h"

/*
 * The dumps of a session's flight recorders: those that are asked for, and the watchdog's.  One at a time of a
 * recording, a slice between two ticks.
 */

/* Begins a dump into fd, which is then owned; `done` is called when it is written.  `reason` is static
 * text.  One of a stall that is in progress ends there.  0; -ENOTSUP: there is no flight recorder;
 * -EBUSY: another that was asked for is in progress. */
int vg_dumps_ask(struct vg_session *session, struct vg_recording *recording, int fd, const char *reason,
		 vg_dumping_done *done, int asker);

/* Who asked is gone: a dump of theirs goes on, and its end is reported to nobody. */
void vg_dumps_forget(struct vg_session *session, int asker);

/* Whether a dump that was asked for so is in progress. */
bool vg_dumps_awaited(const struct vg_session *session, int asker);

/* One turn of the loop: writes a slice, and checks the heartbeat. */
void vg_dumps_turn(struct vg_session *session);

/* Whether there is something to write at once. */
bool vg_dumps_busy(const struct vg_session *session);

#endif
