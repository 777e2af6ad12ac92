/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/waits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "running", or the call's number, and unless that is -1 six arguments; then sp and pc. */
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

void vg_wait_read(struct vg_wait *wait, int directory, pid_t tid)
{
	char path[32], text[256];
	ssize_t got;
	int fd;

	wait->running = true;
	snprintf(path, sizeof path, "%d/syscall", tid);
	fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, text, sizeof text - 1);
	close(fd);
	if (got <= 0)
		return;
	text[got] = '\0';
	wait->running = !wait_parse(wait, text);
}
