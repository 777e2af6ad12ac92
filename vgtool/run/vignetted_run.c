/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/vignetted_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "vgtool/run/child.h"

static char *beside_program(void)
{
	char program[PATH_MAX], *path;
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

	if (length <= 0)
		return NULL;
	program[length] = '\0';
	*strrchr(program, '/') = '\0';
	if (asprintf(&path, "%s/vignetted", program) < 0)
		return NULL;
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

int vg_vignetted_find(char **path, struct vg_err *err)
{
	const char *variable = secure_getenv("VIGNETTED");

	if (variable != NULL && *variable != '\0')
		*path = strdup(variable);
	else if ((*path = beside_program()) == NULL)
		*path = strdup(VG_LIBEXECDIR "/vignetted");
	if (*path == NULL)
		return vg_err_sys(err, -ENOMEM, "cannot find vignetted");
	if (access(*path, X_OK) == 0)
		return 0;
	vg_err_sys(err, -errno, "%s: cannot execute; install vignetted, or set $VIGNETTED to its path", *path);
	free(*path);
	*path = NULL;
	return -ENOPKG;
}

void vg_vignetted_line(struct vg_vignetted_status *status, const char *line)
{
	int pid;

	if (sscanf(line, "begin %d", &pid) == 1)
		status->pid = pid;
	else if (strncmp(line, "end ", 4) == 0)
		status->ended = sscanf(line, "end %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
				       " %127[^\n]", &status->elapsed_ms, &status->samples, &status->threads,
				       &status->bytes, &status->lost, &status->skipped, status->reason) == 7;
	else if (sscanf(line, "no program %d", &status->exec_errno) != 1)
		sscanf(line, "progress %" SCNu64 " %" SCNu64 " %" SCNu64, &status->elapsed_ms, &status->samples,
		       &status->cpu_ms);
}

static void __attribute__((noreturn)) helper_execute(char **arguments, int status_fd)
{
	if (fcntl(status_fd, F_SETFD, 0) == 0)
		execv(arguments[0], arguments);
	dprintf(status_fd, "no program %d\n", errno);
	_exit(127);
}

static void lines_read(struct vg_vignetted *helper, int fd)
{
	FILE *lines = fdopen(fd, "r");
	char line[512];

	if (lines == NULL) {
		close(fd);
		return;
	}
	while (fgets(line, sizeof line, lines) != NULL) {
		vg_vignetted_line(&helper->status, line);
		helper->on_status(helper->context, &helper->status);
	}
	fclose(lines);
}

int vg_vignetted_run(struct vg_vignetted *helper, char **arguments, struct vg_err *err)
{
	char number[16];
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return vg_err_sys(err, -errno, "cannot create a pipe");
	ends[0] = vg_descriptor_raise(ends[0]);
	ends[1] = vg_descriptor_raise(ends[1]);
	snprintf(number, sizeof number, "%d", ends[1]);
	arguments[2] = number;
	pid = vg_child_fork();
	if (pid == 0)
		helper_execute(arguments, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return vg_err_sys(err, -errno, "cannot create a process");
	}
	lines_read(helper, ends[0]);
	helper->exit_status = vg_child_wait(pid);
	if (helper->status.exec_errno != 0)
		return vg_err_sys(err, -helper->status.exec_errno, "%s: cannot execute; install vignetted, or set "
				  "$VIGNETTED to its path", arguments[0]);
	if (helper->exit_status > 128 && !helper->status.ended)
		return vg_err_set(err, -ECHILD, "vignetted was ended by a signal: %s",
				  strsignal(helper->exit_status - 128));
	return 0;
}
