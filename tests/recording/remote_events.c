/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program whose helper listens, and which records events, for tests/recording/remote_events.sh:
 *
 *     remote_events DIRECTORY PROFILE OVERWRITE
 *
 * It reads commands, prints "ok" for each, and ends when its input ends.  Each event has its command's word as label.
 *
 *     all WORD     records an interval, with an instant and a counter in it, and a detached interval
 *     thread WORD  does the same on a new thread
 *     flood WORD   records more instants than the event ring has room for
 *     open WORD    begins an interval
 *     close        ends the latest open interval
 *     fork         prints whether an interval can begin in a child of fork(2)
 *     gate         prints whether an interval can begin: 0 or 1; its label is "gate"
 *     begin, end   begins or ends a session with the file PROFILE
 *     unlisten     prints "late" if the helper did not exit in 5 s, and was killed
 *     listen
 *     lose         closes the descriptors of PROFILE.part
 *     closefrom    closes all descriptors but the standard ones
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "libvgctl/ring.h"
#include "libvgctl/vgctl.h"

static uint32_t kind;

static void *all(void *word)
{
	uint32_t label = vgctl_intern(word);
	struct vgctl_interval detached = vgctl_interval_begin_detached(kind, label, 1);

	{
		VGCTL_SCOPE(kind, label);
		vgctl_instant(kind, label, 7);
		vgctl_counter(label, -3);
	}
	vgctl_interval_end(detached);
	return NULL;
}

static bool begins(void)
{
	struct vgctl_interval interval = vgctl_interval_begin_detached(kind, vgctl_intern("gate"), 0);

	vgctl_interval_end(interval);
	return interval.token != 0;
}

static int begins_in_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(begins());
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *answer(int rc)
{
	return rc == 0 ? "ok" : vgctl_strerror(rc);
}

/* Closes the descriptors of PATH.part. */
static const char *lose(const char *path)
{
	const char *result = "no descriptor";
	struct stat wanted, found;
	char part[256];

	snprintf(part, sizeof part, "%s.part", path);
	if (stat(part, &wanted) != 0)
		return "no file";
	for (int fd = 3; fd < 1024; fd++) {
		if (fstat(fd, &found) == 0 && found.st_ino == wanted.st_ino && found.st_dev == wanted.st_dev) {
			close(fd);
			result = "ok";
		}
	}
	return result;
}

int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session = NULL;
	struct vgctl_interval open[8];
	char line[64], word[32];
	size_t depth = 0;
	int rc;

	if (argc < 4)
		return 2;
	kind = vgctl_intern("kind");
	options.rate_hz = 99;
	options.events_overwrite = atoi(argv[3]);
	rc = vgctl_listen(argv[1], &options);
	printf("listen %s\n", answer(rc));
	fflush(stdout);
	while (rc == 0 && fgets(line, sizeof line, stdin) != NULL) {
		const char *result = "ok";
		char number[16];
		pthread_t thread;

		if (sscanf(line, "all %31s", word) == 1) {
			all(word);
		} else if (sscanf(line, "thread %31s", word) == 1) {
			pthread_create(&thread, NULL, all, word);
			pthread_join(thread, NULL);
		} else if (sscanf(line, "flood %31s", word) == 1) {
			for (int i = 0; i < 2 * VG_LANE_RECORDS; i++)
				vgctl_instant(kind, vgctl_intern(word), 0);
		} else if (sscanf(line, "open %31s", word) == 1) {
			open[depth++] = vgctl_interval_begin(kind, vgctl_intern(word), 0);
		} else if (strcmp(line, "close\n") == 0) {
			vgctl_interval_end(open[--depth]);
		} else if (strcmp(line, "begin\n") == 0) {
			result = answer(vgctl_begin(argv[2], &options, &session));
		} else if (strcmp(line, "end\n") == 0) {
			result = answer(vgctl_end(session, NULL));
		} else if (strcmp(line, "closefrom\n") == 0) {
			for (int fd = 3; fd < 1024; fd++)
				close(fd);
		} else if (strcmp(line, "lose\n") == 0) {
			result = lose(argv[2]);
		} else if (strcmp(line, "unlisten\n") == 0) {
			uint64_t begun_ns = vg_now_ns();

			vgctl_unlisten();
			if (vg_now_ns() - begun_ns >= UINT64_C(5000000000))
				result = "late";
		} else if (strcmp(line, "listen\n") == 0) {
			result = answer(vgctl_listen(argv[1], &options));
		} else if (strcmp(line, "fork\n") == 0 || strcmp(line, "gate\n") == 0) {
			snprintf(number, sizeof number, "%d",
				 line[0] == 'f' ? begins_in_child() : begins());
			result = number;
		}
		printf("%s\n", result);
		fflush(stdout);
	}
	return rc != 0;
}
