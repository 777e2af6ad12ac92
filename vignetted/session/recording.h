/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_RECORDING_H
#define VG_VIGNETTED_RECORDING_H

#include "vignetted/session/session_state.h"

/* Functions for one recording of a session, or for all of them. */

/* Begins the profile.  The caller has set recording->index.  fd stays the caller's.  max_memory_bytes: for this
 * recording.  Returns 0 or a negative errno; call vg_recording_close() in both cases. */
int vg_recording_open(struct vg_session *session, struct vg_recording *recording,
		      const struct vg_session_options *options, int fd, uint64_t max_memory_bytes);

/* Writes the header again, after the program's name has changed.  A reader uses the last header.  Returns 0 or a
 * negative errno. */
int vg_recording_header_write(struct vg_recording *recording);

/* Frees the recording and its place.  Does nothing if it is not open. */
void vg_recording_close(struct vg_session *session, struct vg_recording *recording);

/* Notes the total of a thread's CPU time, for vg_recording_cpu_used_ns().  Does nothing in a recording of all
 * threads. */
void vg_recording_thread_cpu(struct vg_recording *recording, uint64_t cpu_ns);

/* Returns whether this recording takes the session's latest tick.  A recording takes the first tick at or after its own
 * due time.  `skipped`: how many of the session's sampling periods passed without a tick since the session's previous
 * tick. */
bool vg_recording_due(struct vg_recording *recording, const struct vg_ticks *ticks, uint64_t skipped);

/* Fetches the program's events for all recordings.  `last`: no fetch follows. */
void vg_recordings_events_fetch(struct vg_session *session, bool last);

/* Stops the recording for this reason, which is static text.  Does nothing if it has stopped. */
void vg_recording_stop(struct vg_session *session, struct vg_recording *recording, const char *reason);

/* Stops the recording because it failed with `code`, a negative errno. */
void vg_recording_fail(struct vg_session *session, struct vg_recording *recording, int code);

/* Stops the recordings that have reached a limit at now_ns, a CLOCK_MONOTONIC, or that could not write. */
void vg_recordings_limits_check(struct vg_session *session, uint64_t now_ns);

/* Writes every sample so far to the file, or to the flight recorder's memory.  `last`: no checkpoint follows. */
void vg_recording_checkpoint(struct vg_session *session, struct vg_recording *recording, bool last);

/* Begins a segment of a flight recorder's memory. */
void vg_recording_segment_begin(struct vg_session *session, struct vg_recording *recording);

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
