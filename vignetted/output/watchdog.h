/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WATCHDOG_H
#define VG_VIGNETTED_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "libvgctl/ring.h"
#include "libvgctl/wire.h"

/*
 * Looks whether the program's heartbeat, which it puts into the ring, comes in time.  Until there is
 * one, and while the program says that none is due, nothing is late.
 */
struct vg_watchdog {
	uint64_t limit_ns;           /* 0: there is no watchdog */
	int files[VG_WIRE_WATCH_FILES]; /* owned, one for each stall */
	uint32_t file_count, files_used;
	uint64_t beat_ns;            /* the beat before the stall in progress; 0: there is none */
	uint64_t stalls;
};

enum vg_watch {
	VG_WATCH_WELL,
	VG_WATCH_STALL,              /* a stall is found */
	VG_WATCH_STALLED,            /* it goes on */
	VG_WATCH_OVER,               /* it is over */
};

/* All zero is none.  The file becomes the watchdog's; false: it has as many as it can. */
bool vg_watchdog_add(struct vg_watchdog *watchdog, uint64_t limit_ns, int fd);

/* `beat_ns` and `now_ns` are of CLOCK_MONOTONIC; 0: no beat is due. */
enum vg_watch vg_watchdog_look(struct vg_watchdog *watchdog, uint64_t beat_ns, uint64_t now_ns);

/* A file for the stall, or -1: there is none left. */
int vg_watchdog_file(struct vg_watchdog *watchdog);

void vg_watchdog_close(struct vg_watchdog *watchdog);

#endif
