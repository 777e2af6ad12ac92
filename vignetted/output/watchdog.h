/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_WATCHDOG_H
#define VG_VIGNETTED_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "libvgctl/ring.h"
#include "libvgctl/wire.h"

/*
 * Checks the program's heartbeat, which the program writes into the event ring.  A heartbeat older than the limit is a
 * stall.  Before the first heartbeat, and while the program says that none is due, there is no stall.
 *
 *     vg_watchdog_add(&watchdog, limit_ns, fd);                  for each stall that is to be recorded
 *     switch (vg_watchdog_check(&watchdog, heartbeat_ns, now_ns)) ...
 *
 * All zero is no watchdog.
 */
struct vg_watchdog {
	uint64_t limit_ns;           /* 0: there is no watchdog */
	int files[VG_WIRE_WATCH_FILES]; /* owned, one for each stall */
	uint32_t file_count, files_used;
	uint64_t heartbeat_ns;       /* the heartbeat before the stall in progress; 0: no stall */
	uint64_t stalls;             /* number of stalls so far */
};

enum vg_watch {
	VG_WATCH_OK,
	VG_WATCH_STALL_BEGAN,
	VG_WATCH_STALL_LASTS,
	VG_WATCH_STALL_ENDED,
};

/* Adds a file for one stall.  Returns true and takes ownership of fd.  Returns false if limit_ns is 0 or there are
 * already VG_WIRE_WATCH_FILES files; fd then stays the caller's. */
bool vg_watchdog_add(struct vg_watchdog *watchdog, uint64_t limit_ns, int fd);

/* Both times are of CLOCK_MONOTONIC.  heartbeat_ns is the latest heartbeat, or 0 if none is due. */
enum vg_watch vg_watchdog_check(struct vg_watchdog *watchdog, uint64_t heartbeat_ns, uint64_t now_ns);

/* Returns the file for the stall that began, or -1 if none is left.  The watchdog still owns it. */
int vg_watchdog_file(struct vg_watchdog *watchdog);

void vg_watchdog_close(struct vg_watchdog *watchdog);

#endif
