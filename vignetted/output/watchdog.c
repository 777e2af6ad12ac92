/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/watchdog.h"

#include <string.h>
#include <unistd.h>

bool vg_watchdog_add(struct vg_watchdog *watchdog, uint64_t limit_ns, int fd)
{
	if (limit_ns == 0 || watchdog->file_count == VG_WIRE_WATCH_FILES)
		return false;
	watchdog->limit_ns = limit_ns;
	watchdog->files[watchdog->file_count++] = fd;
	return true;
}

enum vg_watch vg_watchdog_look(struct vg_watchdog *watchdog, uint64_t beat_ns, uint64_t now_ns)
{
	if (watchdog->beat_ns != 0) {
		if (beat_ns == watchdog->beat_ns)
			return VG_WATCH_STALLED;
		watchdog->beat_ns = 0;
		return VG_WATCH_OVER;
	}
	/* The program may have beaten since we looked at the clock, or lie. */
	if (watchdog->limit_ns == 0 || beat_ns == 0 || beat_ns > now_ns ||
	    now_ns - beat_ns <= watchdog->limit_ns)
		return VG_WATCH_WELL;
	watchdog->beat_ns = beat_ns;
	watchdog->stalls++;
	return VG_WATCH_STALL;
}

int vg_watchdog_file(struct vg_watchdog *watchdog)
{
	return watchdog->files_used < watchdog->file_count ?
	       watchdog->files[watchdog->files_used++] : -1;
}

void vg_watchdog_close(struct vg_watchdog *watchdog)
{
	for (uint32_t i = 0; i < watchdog->file_count; i++)
		close(watchdog->files[i]);
	memset(watchdog, 0, sizeof *watchdog);
}
