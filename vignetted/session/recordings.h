/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDINGS_H
#define VG_VIGNETTED_RECORDINGS_H

#include "vignetted/session/session.h"

/* What concerns the live recordings of a session together. */

/* Fetches the program's events for them; the last time, if so. */
void vg_recordings_events(struct vg_session *session, bool last);

/* What the session has counted so far. */
void vg_recordings_counts(const struct vg_session *session, struct vg_session_counts *counts);

/* The recording stops for that reason, which is static text, unless it has stopped. */
void vg_recordings_stop(struct vg_session *session, struct vg_recording *recording, const char *reason);
void vg_recordings_stop_all(struct vg_session *session, const char *reason);

/* It has failed with that negative errno, and stops. */
void vg_recordings_fail(struct vg_session *session, struct vg_recording *recording, int code);

/* Stops those that have reached a limit or could not write, at that CLOCK_MONOTONIC. */
void vg_recordings_limits(struct vg_session *session, uint64_t now_ns);

/* Brings every sample so far into the file, or into the flight recorder's memory. */
void vg_recordings_checkpoint(struct vg_session *session, struct vg_recording *recording, bool last);

/* Writes which modules are gone, if the maps were read since the latest call. */
void vg_recordings_unloads(struct vg_session *session, uint64_t now_ns);

/* Writes an instant of that label, from outside of the program, into each.  How many had room for it. */
uint32_t vg_recordings_mark(struct vg_session *session, const char *label);

/* Counts a loss for each recording of the set. */
void vg_recordings_lost(struct vg_session *session, vg_recording_set set, enum vg_loss loss);

#endif
