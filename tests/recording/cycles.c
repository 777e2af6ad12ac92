/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Many sessions leave nothing behind in the program, and a killed program leaves no helper.
 *
 *     cycles begin N PROFILE         N sessions: descriptors, children and memory do not grow
 *     cycles die N PROFILE PIDFILE   N programs killed in a session: each helper ends, and its profile is
 *                                    complete.  $VIGNETTED writes the helper's pid into PIDFILE.  With
 *                                    TIMING in the environment, nine of ten helpers end within a second
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/infile.h"
#include "libvgctl/vgctl.h"
#include "profile/reader.h"

/* In the first rounds the C library's own memory grows. */
enum { WARM_UP = 50, GROWTH_MAX_KIB = 256, LATE_MS = 1000, BEGIN_MAX_S = 120, EXIT_MAX_MS = 120000 };

static int descriptors_open(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (directory != NULL && readdir(directory) != NULL)
		count++;
	if (directory != NULL)
		closedir(directory);
	return count;
}

static long private_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	long kib = 0, one;
	char line[128];

	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (sscanf(line, "Private_Dirty: %ld", &one) == 1)
			kib += one;
	}
	if (file != NULL)
		fclose(file);
	return kib;
}

/* Waits until all children have ended, for at most EXIT_MAX_MS.  Returns the number of zombies that were left, or -1 if
 * a child still runs. */
static int children_left(void)
{
	int left = 0;

	for (int ms = 0; ms < EXIT_MAX_MS; ms++) {
		pid_t ended = waitpid(-1, NULL, __WALL | WNOHANG);

		if (ended < 0)
			return errno == ECHILD ? left : -1;
		left += ended > 0;
		if (ended == 0)
			usleep(1000);
	}
	return -1;
}

/* vgctl_end() leaves a helper as a zombie if it exits late (child_reap() in libvgctl/helper.c).  So one helper in ten
 * may be left. */
static int begin_run(int count, const char *path)
{
	int descriptors = 0, descriptors_then, children;
	long kib = 0, kib_then;

	for (int i = 0; i < count + WARM_UP; i++) {
		struct vgctl_session *session;
		int rc;

		if (i == WARM_UP) {
			descriptors = descriptors_open();
			kib = private_kib();
		}
		rc = vgctl_begin(path, NULL, &session);
		if (rc == 0 && i % 2 == 0)
			rc = vgctl_sample(session);
		if (rc == 0)
			rc = vgctl_end(session, NULL);
		if (rc != 0) {
			printf("round %d: %s\n", i, vgctl_strerror(rc));
			return 1;
		}
	}
	descriptors_then = descriptors_open();
	kib_then = private_kib();
	children = children_left();
	printf("%d sessions: descriptors %d, then %d; memory %ld KiB, then %ld (%d more are too many); %d children "
	       "left (-1: one still runs)\n", count, descriptors, descriptors_then, kib, kib_then, GROWTH_MAX_KIB,
	       children);
	return descriptors_then == descriptors && kib_then - kib < GROWTH_MAX_KIB && children >= 0 &&
	       children * 10 <= count ? 0 : 1;
}

static void live(const char *path)
{
	struct vgctl_session *session;

	if (vgctl_begin(path, NULL, &session) != 0)
		_exit(1);
	kill(getppid(), SIGUSR1);
	for (;;)
		;
}

static pid_t helper_pid(const char *pidfile)
{
	FILE *file = fopen(pidfile, "re");
	int pid = 0;

	if (file == NULL || fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file != NULL)
		fclose(file);
	return pid;
}

static bool profile_complete(const char *part)
{
	struct vg_profile profile = { 0 };
	struct vg_infile file;
	struct vg_err err;
	bool good;

	if (vg_infile_open(&file, part, &err) != 0)
		return false;
	good = vg_profile_read(&profile, &file, &err) == 0 && profile.damage.count == 0 &&
	       profile.end_reason != VG_NONE;
	vg_profile_free(&profile);
	vg_infile_close(&file);
	return good;
}

/* Sets *late if the helper did not end within a second, which may be due to a busy machine. */
static bool die_once(const char *path, const char *part, const char *pidfile, bool *late)
{
	struct timespec moment = { 0, rand() % 20000000 }, wait = { BEGIN_MAX_S, 0 };
	struct pollfd exited = { .events = POLLIN };
	sigset_t ready;
	bool good;
	pid_t child;

	sigemptyset(&ready);
	sigaddset(&ready, SIGUSR1);
	sigprocmask(SIG_BLOCK, &ready, NULL);
	child = fork();
	if (child == 0)
		live(path);
	if (sigtimedwait(&ready, NULL, &wait) != SIGUSR1) {
		printf("no session began in %d s\n", BEGIN_MAX_S);
		kill(child, SIGKILL);
		return false;
	}
	nanosleep(&moment, NULL);
	/* Readable when the helper has ended, also before the init process has reaped it. */
	exited.fd = pidfd_open(helper_pid(pidfile), 0);
	kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) != child || exited.fd < 0) {
		printf("the helper ended before the program\n");
		return false;
	}
	*late = poll(&exited, 1, LATE_MS) != 1;
	good = poll(&exited, 1, EXIT_MAX_MS) == 1;
	close(exited.fd);
	if (!good)
		printf("the helper has not ended %d s after the program\n", EXIT_MAX_MS / 1000);
	else if (!profile_complete(part))
		printf("the profile is not complete\n");
	return good && profile_complete(part);
}

static int die_run(int count, const char *path, const char *pidfile)
{
	const char *timing = getenv("TIMING");
	int late_count = 0;
	char part[4096];

	/* The program would rename the file at the session's end, but is killed before. */
	snprintf(part, sizeof part, "%s.part", path);
	for (int i = 0; i < count; i++) {
		bool late = false;

		if (!die_once(path, part, pidfile, &late)) {
			printf("round %d\n", i);
			return 1;
		}
		late_count += late;
	}
	printf("%d programs killed: each helper ended, %d of them after more than a second; each profile is "
	       "complete\n", count, late_count);
	return timing != NULL && *timing != '\0' && late_count * 10 > count;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "begin") == 0)
		return begin_run(atoi(argv[2]), argv[3]);
	if (argc == 5 && strcmp(argv[1], "die") == 0)
		return die_run(atoi(argv[2]), argv[3], argv[4]);
	return 2;
}
