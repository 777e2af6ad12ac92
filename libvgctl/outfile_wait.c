/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/outfile_wait.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libvgctl/failure.h"

/* A helper that completes its file takes milliseconds as a rule.  Three steps can take about 1 s each: the round in
 * progress, the last round (ROUND_MAX_NS in vignetted/session/round.c), and the wait for a thread that was asked to
 * stop (FINISH_NS in vignetted/capture/tracer.c). */
enum { WRITER_TIMEOUT_MS = 3000 };

/* True if this process has PATH.part open. */
static bool is_open_here(const char *path)
{
	struct stat part, own;
	struct dirent *entry;
	DIR *descriptors;
	char *name;
	bool found = false;

	if (asprintf(&name, "%s.part", path) < 0)
		return false;
	descriptors = stat(name, &part) == 0 ? opendir("/proc/self/fd") : NULL;
	while (!found && descriptors != NULL && (entry = readdir(descriptors)) != NULL)
		found = isdigit((unsigned char)entry->d_name[0]) && fstat(atoi(entry->d_name), &own) == 0 &&
			own.st_dev == part.st_dev && own.st_ino == part.st_ino;
	if (descriptors != NULL)
		closedir(descriptors);
	free(name);
	return found;
}

int vg_outfile_open_wait(struct vg_outfile *file, const char *path)
{
	struct vg_err err;
	int rc = vg_outfile_open(file, path, &err);

	if (rc == -EBUSY && is_open_here(path))
		return vg_failure(rc, "%s.part: a session of this process or of its parent is writing this file; "
				  "use another path", path);
	/* After execve(2), or after the program has closed all descriptors, the helper of an earlier session may
	 * still be completing the file. */
	for (int ms = 0; rc == -EBUSY && ms < WRITER_TIMEOUT_MS; ms++) {
		usleep(1000);
		rc = vg_outfile_open(file, path, &err);
	}
	return rc == 0 ? 0 : vg_failure(rc, "%s", err.text);
}
