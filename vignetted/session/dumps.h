/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_DUMPS_H
#define VG_VIGNETTED_DUMPS_H

#include "vignetted/session/session_state.h"

/*
 * The dumps of a session's flight recorders.  The host or a peer requests a dump, or the watchdog begins one.  A
 * recording has one dump at a time, which is written in slices between ticks.
 */

/*
 * Begins a dump into fd.  `reason` is static text.  done(peer, ...) is called when the dump is written.  If a stall is
 * being dumped, that dump ends now.  Returns 0, and takes ownership of fd; -ENOTSUP if the recording is not a flight
 * recorder; or -EBUSY if another requested dump is in progress.
 */
int vg_dumps_request(struct vg_session *session, struct vg_recording *recording, int fd, const char *reason,
		     vg_dump_done *done, int peer);

/* The peer has left: its dump continues, and done() is not called. */
void vg_dumps_peer_left(struct vg_session *session, int peer);

/* Whether a dump that the peer requested is in progress. */
bool vg_dumps_peer_waits(const struct vg_session *session, int peer);

/* Writes one slice of each dump, and checks the heartbeats.  Call it at each turn of the loop. */
void vg_dumps_turn(struct vg_session *session);

/* Whether vg_dumps_turn() has something to write at once. */
bool vg_dumps_busy(const struct vg_session *session);

#endif
