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
enum { WARM_UP = 50, GROWTH_MAX_KIB = 256, LATE_MS = 1000, EXIT_MAX_MS = 20000 };

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

static int begin_run(int count, const char *path)
{
	int descriptors = 0;
	long kib = 0;

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
	printf("%d sessions: descriptors %d, then %d; memory %ld KiB, then %ld; children: %s\n", count,
	       descriptors, descriptors_open(), kib, private_kib(),
	       waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD ? "none" : "SOME");
	return descriptors_open() == descriptors && private_kib() - kib < GROWTH_MAX_KIB &&
	       waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD ? 0 : 1;
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
	struct timespec moment = { 0, rand() % 20000000 }, wait = { 10, 0 };
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
	if (sigtimedwait(&ready, NULL, &wait) != SIGUSR1)
		return false;
	nanosleep(&moment, NULL);
	/* Readable when the helper has ended, also before the init process has reaped it. */
	exited.fd = pidfd_open(helper_pid(pidfile), 0);
	kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) != child || exited.fd < 0)
		return false;
	*late = poll(&exited, 1, LATE_MS) != 1;
	good = poll(&exited, 1, EXIT_MAX_MS) == 1;
	close(exited.fd);
	if (!good)
		printf("the helper has not ended\n");
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
