/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/vignetted_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"

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
	else
		sscanf(line, "progress %" SCNu64 " %" SCNu64 " %" SCNu64, &status->elapsed_ms, &status->samples,
		       &status->cpu_ms);
}

static volatile pid_t running;  /* vignetted; 0: none */

/* The terminal sends its signals to vignetted, too.  A signal that kill(2) sent came to this process only. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code <= 0 && running != 0)
		kill(running, number);
}

static void signals_catch(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void __attribute__((noreturn)) helper_execute(char **arguments, int status_fd, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && fcntl(status_fd, F_SETFD, 0) == 0)
		execv(arguments[0], arguments);
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
	int ends[2], status = 0;
	pid_t parent = getpid();
	char number[16];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return vg_err_sys(err, -errno, "cannot create a pipe");
	ends[0] = vg_descriptor_raise(ends[0]);
	ends[1] = vg_descriptor_raise(ends[1]);
	snprintf(number, sizeof number, "%d", ends[1]);
	arguments[2] = number;
	signals_catch();
	running = fork();
	if (running < 0) {
		running = 0;
		return vg_err_sys(err, -errno, "cannot create a process");
	}
	if (running == 0)
		helper_execute(arguments, ends[1], parent);
	close(ends[1]);
	lines_read(helper, ends[0]);
	while (waitpid(running, &status, 0) < 0 && errno == EINTR)
		;
	running = 0;
	helper->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}
