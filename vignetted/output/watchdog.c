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

enum vg_watch vg_watchdog_check(struct vg_watchdog *watchdog, uint64_t heartbeat_ns, uint64_t now_ns)
{
	if (watchdog->heartbeat_ns != 0) {
		if (heartbeat_ns == watchdog->heartbeat_ns)
			return VG_WATCH_STALL_LASTS;
		watchdog->heartbeat_ns = 0;
		return VG_WATCH_STALL_ENDED;
	}
	/* A heartbeat may be later than now_ns: it came after the clock was read, or the program writes wrong times. */
	if (watchdog->limit_ns == 0 || heartbeat_ns == 0 || heartbeat_ns > now_ns ||
	    now_ns - heartbeat_ns <= watchdog->limit_ns)
		return VG_WATCH_OK;
	watchdog->heartbeat_ns = heartbeat_ns;
	watchdog->stalls++;
	return VG_WATCH_STALL_BEGAN;
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
