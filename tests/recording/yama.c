/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tests what each level of Yama's ptrace_scope allows an ordinary user.  Runs in a virtual machine of its own.
 *
 *     yama VIGNETTED        as root; sets the levels 0 to 3 in turn
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libvgctl/vgctl.h"

enum { USER = 1000 };

static int failures;

static void expect(int level, const char *what, bool good, const char *detail)
{
	failures += !good;
	printf("%s: ptrace_scope %d: %s: %s\n", good ? "ok" : "FAIL", level, what, detail);
}

static void spin_ms(int ms)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

/* A program's own session works up to level 1, because the library sets PR_SET_PTRACER. */
static void own_session(int level, const char *vignetted)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	char text[32];
	int rc;

	snprintf(text, sizeof text, "ptrace_scope is %d", level);
	options.helper_path = vignetted;
	options.rate_hz = 99;            /* no budget, which an emulated machine would exceed */
	rc = vgctl_begin("/tmp/own.vgp", &options, &session);
	if (rc == 0) {
		spin_ms(1000);
		rc = vgctl_end(session, &summary);
	}
	if (level <= 1)
		expect(level, "begin and end", rc == 0 && summary.samples > 0,
		       rc == 0 ? "works" : vgctl_strerror(rc));
	else
		expect(level, "begin", rc == -EPERM && strstr(vgctl_strerror(rc), text) != NULL,
		       rc == 0 ? "works" : vgctl_strerror(rc));
}

/* Runs vignetted with these arguments; returns its exit status, and its messages in `printed`. */
static int helper_run(char *const arguments[], char printed[512])
{
	int ends[2], status;
	size_t length = 0;
	ssize_t got;
	pid_t helper;

	if (pipe(ends) != 0)
		return -1;
	helper = fork();
	if (helper == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(arguments[0], arguments);
		_exit(127);
	}
	close(ends[1]);
	while (length < 511 && (got = read(ends[0], printed + length, 511 - length)) > 0)
		length += (size_t)got;
	printed[length] = '\0';
	printed[strcspn(printed, "\n")] = '\0';
	close(ends[0]);
	return waitpid(helper, &status, 0) == helper && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* `vignetted --pid` on another process of the same user works only at level 0. */
static void by_hand(int level, char *vignetted)
{
	char number[16], printed[512], text[32];
	char *const arguments[] = { vignetted, (char *)"--pid", number, (char *)"-o",
				    (char *)"/tmp/hand.vgp", (char *)"--duration", (char *)"1", NULL };
	pid_t other = fork();
	int status;

	if (other == 0)
		for (;;)
			;
	snprintf(number, sizeof number, "%d", other);
	snprintf(text, sizeof text, "ptrace_scope is %d", level);
	status = helper_run(arguments, printed);
	expect(level, "vignetted --pid",
	       level == 0 ? status == 0 : status == 1 && strstr(printed, text) != NULL, printed);
	kill(other, 9);
	waitpid(other, NULL, 0);
}

/* A command that vignetted starts is its descendant: this works up to level 1. */
static void command(int level, char *vignetted)
{
	char *const arguments[] = { vignetted, (char *)"-o", (char *)"/tmp/command.vgp", (char *)"--",
				    (char *)"/bin/busybox", (char *)"sleep", (char *)"1", NULL };
	char printed[512], text[32];
	int status = helper_run(arguments, printed);

	snprintf(text, sizeof text, "ptrace_scope is %d", level);
	expect(level, "a command", level <= 1 ? status == 0 : status != 0 &&
	       strstr(printed, text) != NULL, printed);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	putchar('\n');                   /* the console may be within a line */
	for (int level = 0; level <= 3; level++) {
		int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_WRONLY), status;
		char digit = (char)('0' + level);
		pid_t child;

		if (fd < 0 || write(fd, &digit, 1) != 1) {
			printf("FAIL: cannot set ptrace_scope to %d\n", level);
			return 1;
		}
		close(fd);
		child = fork();
		if (child == 0) {
			if (setgid(USER) != 0 || setuid(USER) != 0)
				_exit(1);
			/* setuid(2) has made the process undumpable. */
			prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
			own_session(level, argv[1]);
			by_hand(level, argv[1]);
			command(level, argv[1]);
			_exit(failures > 0);
		}
		waitpid(child, &status, 0);
		failures += status != 0;
	}
	printf("yama: %s\n", failures == 0 ? "passed" : "failed");
	return failures > 0;
}
