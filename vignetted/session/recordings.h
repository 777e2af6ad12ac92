/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDINGS_H
#define VG_VIGNETTED_RECORDINGS_H

#include "vignetted/session/session_state.h"

/* Functions for several recordings of a session, or for one recording and its session. */

/* Fetches the program's events for all recordings.  `last`: no fetch follows. */
void vg_recordings_events_fetch(struct vg_session *session, bool last);

/* Returns the session's counts so far. */
void vg_recordings_counts(const struct vg_session *session, struct vg_session_counts *counts);

/* Stops the recording for this reason, which is static text.  Does nothing if it has stopped. */
void vg_recordings_stop(struct vg_session *session, struct vg_recording *recording, const char *reason);
void vg_recordings_stop_all(struct vg_session *session, const char *reason);

/* Stops the recording because it failed with `code`, a negative errno. */
void vg_recordings_fail(struct vg_session *session, struct vg_recording *recording, int code);

/* Stops the recordings that have reached a limit at now_ns, a CLOCK_MONOTONIC, or that could not write. */
void vg_recordings_limits_check(struct vg_session *session, uint64_t now_ns);

/* Writes every sample so far to the file, or to the flight recorder's memory.  `last`: no checkpoint follows. */
void vg_recordings_checkpoint(struct vg_session *session, struct vg_recording *recording, bool last);

/* Begins a segment of a flight recorder's memory. */
void vg_recordings_segment_begin(struct vg_session *session, struct vg_recording *recording);

/* Begins a segment of each flight recorder whose latest segment is full.  Only whole segments can be dropped, and one
 * fetch of events or timer samples can have more than the memory of a flight recorder. */
void vg_recordings_segments_check(struct vg_session *session);

/* Writes the modules that were unloaded since the latest call to each live recording.  now_ns: session time. */
void vg_recordings_unloads_write(struct vg_session *session, uint64_t now_ns);

/* Writes an instant, which another process requested, to each live recording.  Returns how many wrote it. */
uint32_t vg_recordings_mark(struct vg_session *session, const char *label);

/* Counts one lost sample for each recording of the set. */
void vg_recordings_count_loss(struct vg_recording *recordings, vg_recording_set set, enum vg_loss loss);

#endif
