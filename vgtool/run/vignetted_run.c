/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/vignetted_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
	else if (strncmp(line, "vignetted: ", 11) == 0 && status->message[0] == '\0')
		snprintf(status->message, sizeof status->message, "%.255s", line + 11);
	else if (sscanf(line, "no program %d", &status->exec_errno) != 1)
		sscanf(line, "progress %" SCNu64 " %" SCNu64 " %" SCNu64, &status->elapsed_ms, &status->samples,
		       &status->cpu_ms);
}

bool vg_vignetted_perf_map_wanted(pid_t pid)
{
	struct stat status;
	char path[32];

	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	return pid == 0 || (stat(path, &status) == 0 && status.st_uid == geteuid());
}

static void __attribute__((noreturn)) helper_execute(const struct vg_vignetted *helper, char **arguments, int status_fd)
{
	if (helper->prepare != NULL)
		helper->prepare(helper->context);
	if (fcntl(status_fd, F_SETFD, 0) == 0 && (!helper->is_quiet || dup2(status_fd, STDERR_FILENO) >= 0))
		execv(arguments[0], arguments);
	dprintf(status_fd, "no program %d\n", errno);
	_exit(127);
}

bool vg_vignetted_read(struct vg_vignetted *helper)
{
	char bytes[sizeof helper->line];
	ssize_t got = read(helper->status_fd, bytes, sizeof bytes);

	if (got < 0 && errno == EINTR)
		return true;
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] != '\n' && helper->line_bytes < sizeof helper->line - 1) {
			helper->line[helper->line_bytes++] = bytes[i];
		} else if (bytes[i] == '\n') {
			helper->line[helper->line_bytes] = '\0';
			helper->line_bytes = 0;
			vg_vignetted_line(&helper->status, helper->line);
			helper->on_status(helper->context, &helper->status);
		}
	}
	if (got > 0)
		return true;
	close(helper->status_fd);
	return false;
}

int vg_vignetted_start(struct vg_vignetted *helper, char **arguments, struct vg_err *err)
{
	char number[16];
	int ends[2];

	helper->status = (struct vg_vignetted_status){ 0 };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return vg_err_sys(err, -errno, "cannot create a pipe");
	ends[0] = vg_descriptor_raise(ends[0]);
	ends[1] = vg_descriptor_raise(ends[1]);
	snprintf(number, sizeof number, "%d", ends[1]);
	arguments[2] = number;
	helper->pid = vg_child_fork();
	if (helper->pid == 0)
		helper_execute(helper, arguments, ends[1]);
	arguments[2] = NULL;
	close(ends[1]);
	helper->status_fd = ends[0];
	if (helper->pid > 0)
		return 0;
	close(ends[0]);
	return vg_err_sys(err, -errno, "cannot create a process");
}

int vg_vignetted_wait(struct vg_vignetted *helper, const char *program, struct vg_err *err)
{
	helper->exit_status = vg_child_wait(helper->pid);
	if (helper->status.exec_errno != 0)
		return vg_err_sys(err, -helper->status.exec_errno, "%s: cannot execute; install vignetted, or set "
				  "$VIGNETTED to its path", program);
	if (helper->exit_status > 128 && !helper->status.ended)
		return vg_err_set(err, -ECHILD, "vignetted was ended by a signal: %s",
				  strsignal(helper->exit_status - 128));
	return 0;
}
