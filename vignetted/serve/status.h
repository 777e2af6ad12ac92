/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_STATUS_H
#define VG_VIGNETTED_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Lines about a recording for the program that started vignetted (--status-fd of vignetted(8)):
 *
 *     begin PID
 *     progress MILLISECONDS SAMPLES CPU_MILLISECONDS            (once a second, and before the last line)
 *     end MILLISECONDS SAMPLES THREADS BYTES LOST SKIPPED REASON
 *
 * A line is left out if the reader is so late that a write would wait: sampling must not wait for the reader.  The last
 * line waits for the reader for at most five seconds.
 */
struct vg_status {
	int fd;                      /* the caller's; a pipe or socket; -1: writes nothing */
	uint64_t begin_ns, due_ns;   /* CLOCK_MONOTONIC */
};

/* Checks the descriptor, and keeps the recorded command from inheriting it.  Returns 0, or a negative errno with a
 * message in err. */
int vg_status_open(int fd, struct vg_err *err);

void vg_status_begin(struct vg_status *status, pid_t pid);
void vg_status_progress(struct vg_status *status, uint64_t samples);

struct vg_status_end {
	uint64_t samples, threads, bytes, lost, skipped;
	const char *reason;
};
void vg_status_end(struct vg_status *status, const struct vg_status_end *end);

#endif
