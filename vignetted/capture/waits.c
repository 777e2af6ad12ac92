/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/waits.h"

#include <stdlib.h>

/* /proc/PID/task/TID/syscall has "running", or numbers: the system call or -1, its six arguments (not after -1), sp
 * and pc. */
static bool wait_parse(struct vg_wait *wait, char *text)
{
	char *at = text, *end;

	wait->call = strtoll(at, &end, 10);
	if (end == at)
		return false;
	for (int i = 0; i < 6 && wait->call >= 0; i++) {
		at = end;
		wait->arguments[i] = strtoull(at, &end, 16);
	}
	at = end;
	wait->sp = strtoull(at, &end, 16);
	if (end == at)
		return false;
	wait->pc = strtoull(end, NULL, 16);
	return wait->sp != 0;
}

void vg_wait_read(struct vg_wait *wait, struct vg_tasks *tasks, struct vg_task *task)
{
	char text[256];

	wait->running = vg_task_read(tasks, task, VG_TASK_SYSCALL, text, sizeof text) <= 0 ||
			!wait_parse(wait, text);
}
