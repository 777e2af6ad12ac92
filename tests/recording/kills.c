/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The helper is killed many times, three of four times while it holds a stopped thread.  The program's results stay
 * right, no thread stays stopped, and each profile is readable up to its last chunk.
 *
 *     kills ROUNDS PROFILE PIDFILE      $VIGNETTED writes its pid into PIDFILE
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/infile.h"
#include "libvgctl/vgctl.h"
#include "profile/reader.h"

/* HELD_MAX_S: until a thread is seen stopped.  CONTINUE_MAX_S: until no thread is stopped any more.  Both only keep the
 * test from hanging. */
enum { WORKERS = 3, STEPS = 200000, HELD_MAX_S = 120, CONTINUE_MAX_S = 120 };

static _Atomic pid_t tids[WORKERS];
static uint64_t sum_alone;
static atomic_ulong sums_right, sums_wrong;
static atomic_bool stopping;

static uint64_t sum_compute(void)
{
	uint64_t state = 1, sum = 0;

	for (int i = 0; i < STEPS; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		sum += (uint64_t)((double)(state >> 40) * 1.5) ^ state;
	}
	return sum;
}

static void *work(void *tid)
{
	*(_Atomic pid_t *)tid = (pid_t)syscall(SYS_gettid);
	while (!stopping)
		atomic_fetch_add(sum_compute() == sum_alone ? &sums_right : &sums_wrong, 1);
	return NULL;
}

static char thread_state(pid_t tid)
{
	char path[64], text[256] = "", *close;
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (file == NULL)
		return '?';
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	close = strrchr(text, ')');
	return close != NULL ? close[2] : '?';
}

static bool any_stopped(void)
{
	for (int i = 0; i < WORKERS; i++) {
		char state = thread_state(tids[i]);

		if (state == 't' || state == 'T')
			return true;
	}
	return false;
}

static pid_t helper_pid(const char *path)
{
	FILE *file = fopen(path, "re");
	int pid = 0;

	if (file == NULL || fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file != NULL)
		fclose(file);
	return pid;
}

/* Whether the profile is undamaged, or damaged only in its last chunk, which was being written. */
static bool profile_good(const char *path)
{
	struct vg_profile profile = { 0 };
	struct vg_infile file;
	struct vg_err err = { "" };
	bool good;

	if (vg_infile_open(&file, path, &err) != 0) {
		printf("%s\n", err.text);
		return false;
	}
	good = vg_profile_read(&profile, &file, &err) == 0 && profile.damage.count <= 1;
	if (good && profile.damage.count == 1)
		good = profile.damage.items[0].offset + profile.damage.items[0].bytes == file.length;
	if (!good)
		printf("the profile is damaged: %s\n", err.text);
	vg_profile_free(&profile);
	vg_infile_close(&file);
	return good;
}

static void sleep_us(long us)
{
	struct timespec time = { 0, us * 1000 };

	nanosleep(&time, NULL);
}

/* Returns 1 if a thread was stopped when the helper was killed, 0 if none was, -1 after a message if the test
 * failed. */
static int round_run(const char *path, const char *pidfile, bool in_stop)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	bool held = false;
	int rc;

	options.rate_hz = 10000;
	options.stop_always = 1;
	rc = vgctl_begin(path, &options, &session);
	if (rc != 0) {
		printf("vgctl_begin: %s\n", vgctl_strerror(rc));
		return -1;
	}
	sleep_us(rand() % 20000);
	for (time_t end = time(NULL) + HELD_MAX_S; in_stop && !held && time(NULL) < end;)
		held = any_stopped();
	if (in_stop && !held) {
		printf("no thread was stopped in %d s\n", HELD_MAX_S);
		return -1;
	}
	kill(helper_pid(pidfile), SIGKILL);
	rc = vgctl_end(session, NULL);
	if (rc != -ECONNRESET) {
		printf("vgctl_end: %s\n", rc == 0 ? "no error" : vgctl_strerror(rc));
		return -1;
	}
	for (time_t end = time(NULL) + CONTINUE_MAX_S; any_stopped(); sleep_us(1000)) {
		if (time(NULL) >= end) {
			printf("a thread is still stopped %d s after the helper was killed\n", CONTINUE_MAX_S);
			return -1;
		}
	}
	return profile_good(path) ? held : -1;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];
	int rounds = argc == 4 ? atoi(argv[1]) : 0, held = 0;

	if (rounds < 1)
		return 2;
	sum_alone = sum_compute();
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, &tids[i]);
	for (int i = 0; i < WORKERS; i++) {
		while (tids[i] == 0)
			sleep_us(1000);
	}
	for (int i = 0; i < rounds; i++) {
		int rc = round_run(argv[2], argv[3], i % 4 != 0);

		if (rc < 0)
			return 1;
		held += rc;
	}
	stopping = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%d helpers killed, %d of them with a stopped thread; %lu sums right, %lu wrong\n", rounds,
	       held, sums_right, sums_wrong);
	return sums_wrong == 0 && sums_right > 0 && held * 2 >= rounds ? 0 : 1;
}
