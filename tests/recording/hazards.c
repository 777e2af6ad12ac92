/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Hazards for a sampled program: events in its life, and calls and resources that are forbidden to it.  Each hazard
 * runs in a process of its own, as root.  After each hazard, no process may be left.
 *
 *     hazards [NAME ...]    runs all hazards, or only those with these names or in these tables (process, identity,
 *                           policy)
 */
#include "tests/recording/hazards.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/infile.h"
#include "profile/reader.h"
#include "tests/spin.h"

/* A hazard that takes longer than this counts as hanging, and an alarm ends it. */
enum { ALARM_S = 2500 };

static pid_t runner;

int rounds(int few, int many)
{
	const char *soak = getenv("SOAK");

	return soak != NULL && *soak != '\0' ? many : few;
}

void ensure(bool good, const char *format, ...)
{
	va_list args;

	if (good)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void spin_ms(int ms)
{
	for (struct spin spin = spin_begin((uint64_t)ms); spin_on(&spin);)
		;
}

int await(pid_t child)
{
	int status = 0;
	pid_t got = waitpid(child, &status, 0);

	ensure(child > 0 && got == child, "no child");
	return status;
}

int entries(const char *path)
{
	DIR *directory = opendir(path);
	int count = -2;

	while (directory != NULL && readdir(directory) != NULL)
		count++;
	if (directory != NULL)
		closedir(directory);
	return count;
}

struct vgctl_session *begin(unsigned int rate_hz)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session = NULL;
	int rc;

	options.rate_hz = rate_hz;
	rc = vgctl_begin(PROFILE, &options, &session);
	ensure(rc == 0, "vgctl_begin: %s", vgctl_strerror(rc));
	return session;
}

void session_use(struct vgctl_session *session)
{
	for (int turn = 0; turn < 5; turn++) {
		int rc;

		spin_ms(10);
		rc = vgctl_sample(session);
		ensure(rc == 0, "vgctl_sample: %s", vgctl_strerror(rc));
	}
}

void session_works(struct vgctl_session *session)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	int rc;

	session_use(session);
	rc = vgctl_end(session, &summary);
	ensure(rc == 0, "vgctl_end: %s", vgctl_strerror(rc));
	ensure(summary.samples >= 2, "%llu samples, %llu lost; expected at least 2 samples",
	       (unsigned long long)summary.samples, (unsigned long long)summary.lost);
}

void begin_refused(int error, const char *text)
{
	struct vgctl_session *session;
	int before, rc;

	/* The first call makes the event ring, which stays open. */
	vgctl_begin(PROFILE, NULL, &session);
	before = entries("/proc/self/fd");
	rc = vgctl_begin(PROFILE, NULL, &session);
	ensure(rc == error, "vgctl_begin returned %d and not %d: %s", rc, error, vgctl_strerror(rc));
	ensure(strstr(vgctl_strerror(rc), text) != NULL, "vgctl_begin: the message is not '%s' but '%s'", text,
	       vgctl_strerror(rc));
	ensure(entries("/proc/self/fd") == before, "vgctl_begin left a descriptor open");
	ensure(access(PROFILE ".part", F_OK) != 0, "vgctl_begin left a file");
	printf("(%s) ", vgctl_strerror(rc));
}

char state_of(pid_t pid, pid_t tid)
{
	char path[64], text[256] = "", *close;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	if (file == NULL)
		return '-';
	if (fgets(text, sizeof text, file) == NULL)
		text[0] = '\0';
	fclose(file);
	close = strrchr(text, ')');
	return close != NULL && close[1] == ' ' ? close[2] : '-';
}

bool is_pausing(pid_t pid)
{
	char path[64];
	int call = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/syscall", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return true;
	if (fscanf(file, "%d", &call) != 1)
		call = -1;
	fclose(file);
	return call == SYS_clock_nanosleep || state_of(pid, pid) == 'Z';
}

unsigned long waits_of(pid_t pid)
{
	char path[64], line[128];
	unsigned long waits = 1000000;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		sscanf(line, "voluntary_ctxt_switches: %lu", &waits);
	if (file != NULL)
		fclose(file);
	return waits;
}

/* The runner is a subreaper: an orphan becomes its child.  Its only other child is the hazard. */
pid_t helper_of(pid_t host)
{
	char path[64];
	int child, helper = 0;
	FILE *children;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", runner, runner);
	children = fopen(path, "re");
	while (children != NULL && fscanf(children, "%d", &child) == 1)
		helper = child != host && state_of(child, child) != 'Z' ? child : helper;
	if (children != NULL)
		fclose(children);
	return helper;
}

void helper_wait(pid_t host)
{
	for (int ms = 0; helper_of(host) != 0; ms++) {
		ensure(ms < WAIT_MAX_MS, "the helper has not ended");
		usleep(1000);
	}
}

const char *record_capture = "stop";

pid_t record_start(pid_t pid, uid_t uid, const char *rate)
{
	char number[16];
	pid_t helper = fork();

	if (helper != 0)
		return helper;
	snprintf(number, sizeof number, "%d", pid);
	if (uid != 0 && (setgid(uid) != 0 || setuid(uid) != 0))
		_exit(125);
	execl(getenv("VIGNETTED"), "vignetted", "--rate", rate, "-o", PROFILE, "--pid", number,
	      "--capture", record_capture, NULL);
	_exit(125);
}

static bool record_has_begun(void)
{
	struct stat status;

	return stat(PROFILE ".part", &status) == 0 && status.st_size > 0;
}

void record_await(void)
{
	for (int ms = 0; !record_has_begun(); ms++) {
		ensure(ms < WAIT_MAX_MS, "vignetted does not begin");
		usleep(1000);
	}
}

/* If `begun`, returns early when the recording has begun. */
static bool has_ended(pid_t helper, int *status, uint64_t ms, bool begun)
{
	pid_t got = 0;

	for (uint64_t end_ms = now_ms() + ms; got == 0 && now_ms() < end_ms; usleep(1000)) {
		got = waitpid(helper, status, WNOHANG);
		if (begun && record_has_begun())
			break;
	}
	return got == helper;
}

int record_stop(pid_t helper, int ms)
{
	int status = 0;

	if (!has_ended(helper, &status, WAIT_MAX_MS, true) && !has_ended(helper, &status, (uint64_t)ms, false)) {
		kill(helper, SIGINT);
		ensure(has_ended(helper, &status, WAIT_MAX_MS, false), "vignetted has not ended");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t count_named(const struct vg_profile *profile, const struct vg_counts *counts,
			    const char *name)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < counts->count; i++) {
		if (name == NULL || strcmp(vg_profile_text(profile, counts->items[i].name), name) == 0)
			sum += counts->items[i].value;
	}
	return sum;
}

void found_read(const char *path, struct found *found)
{
	struct vg_profile profile = { 0 };
	struct vg_infile file;
	struct vg_err err;
	const char *reason;

	memset(found, 0, sizeof *found);
	ensure(vg_infile_open(&file, path, &err) == 0, "%s", err.text);
	ensure(vg_profile_read(&profile, &file, &err) == 0, "%s", err.text);
	ensure(profile.damaged_bytes == 0, "%s is damaged", path);
	found->samples = profile.samples_total;
	found->lost = count_named(&profile, &profile.lost, NULL) -
		      count_named(&profile, &profile.lost, "ticks_skipped");
	found->forbidden = count_named(&profile, &profile.lost, "forbidden");
	found->stops = count_named(&profile, &profile.stats, "stops");
	for (size_t i = 0; i < profile.threads.count && i < 64; i++)
		found->tids[found->threads++] = profile.threads.items[i].tid;
	for (size_t i = 0; i < profile.samples.count; i++) {
		const struct vg_sample *sample = &profile.samples.items[i];

		if (sample->thread < 64)
			found->samples_of[sample->thread] += sample->count;
		if (sample->time_ns > found->latest_ns)
			found->latest_ns = sample->time_ns;
		if (sample->thread == 1) {
			found->latest_of_second_ns[2] = found->latest_of_second_ns[1];
			found->latest_of_second_ns[1] = found->latest_of_second_ns[0];
			found->latest_of_second_ns[0] = sample->time_ns;
		}
	}
	found->duration_ns = profile.duration_ns;
	reason = profile.end_reason != VG_NONE ? vg_profile_text(&profile, profile.end_reason) : "";
	snprintf(found->reason, sizeof found->reason, "%s", reason);
	vg_profile_free(&profile);
	vg_infile_close(&file);
}

void record_until(pid_t pid, const char *rate, int threads, uint64_t samples, struct found *found)
{
	for (int ms = 100;; ms *= 2) {
		int status = record_stop(record_start(pid, 0, rate), ms), enough = 0;

		/* vignetted fails if all samples were lost. */
		if (status == 0)
			found_read(PROFILE, found);
		while (status == 0 && enough < threads && found->samples_of[enough] >= samples)
			enough++;
		if (status == 0 && enough == threads)
			return;
		ensure(ms < WAIT_MAX_MS, "vignetted's exit status is %d; thread %d of %d has fewer than %lu samples",
		       status, enough, threads, samples);
	}
}

/* ---- the runner ---- */

/* Whether all processes of the hazard end within WAIT_MAX_MS.  Kills them otherwise. */
static bool all_end(void)
{
	for (uint64_t end_ms = now_ms() + WAIT_MAX_MS; now_ms() < end_ms; usleep(2000)) {
		int left;

		while ((left = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
			;
		if (left < 0)
			return true;
	}
	printf("process %d is left; ", helper_of(0));
	for (pid_t left; (left = helper_of(0)) != 0; waitpid(left, NULL, 0))
		kill(left, SIGKILL);
	return false;
}

static bool hazard_run(const struct hazard *hazard, int number)
{
	char directory[] = "/tmp/hazards.XXXXXX", command[64];
	bool good = mkdtemp(directory) != NULL && chmod(directory, 0777) == 0;
	int status = 0;
	pid_t child;

	printf("%s: ", hazard->name);
	child = good ? fork() : -1;
	if (child == 0) {
		alarm(ALARM_S);
		if (chdir(directory) != 0)
			_exit(1);
		hazard->run();
		fflush(stdout);
		_exit(0);
	}
	good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
	if (!good)
		printf("wait status %d; ", status);
	good = all_end() && good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", number, hazard->name);
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command) == 0 && good;
}

static bool is_selected(const char *table, const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], name) == 0 || strcmp(argv[i], table) == 0)
			return true;
	}
	return argc == 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		const struct hazard *hazards;
	} tables[] = { { "process", process_hazards }, { "identity", identity_hazards }, { "policy", policy_hazards } };
	int ran = 0, failures = 0;

	if (geteuid() != 0 || getenv("VIGNETTED") == NULL) {
		printf("must be root, with VIGNETTED in the environment\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	runner = getpid();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		for (const struct hazard *hazard = tables[i].hazards; hazard->name != NULL; hazard++) {
			if (is_selected(tables[i].name, hazard->name, argc, argv))
				failures += !hazard_run(hazard, ++ran);
		}
	}
	printf("%d hazards, %d failed\n", ran, failures);
	return failures == 0 && ran > 0 ? 0 : 1;
}
