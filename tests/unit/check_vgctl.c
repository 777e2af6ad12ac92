/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libvgctl as an application uses it, with a real helper and real stops. libcheck runs each test in a child process.
 *
 * The machine may give the helper no CPU for a second. So a test that needs samples records again, for longer, until
 * there are enough, or takes them with vgctl_sample(), which returns after the sample. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/outfile.h"
#include "libvgctl/vgctl.h"
#include "tests/spin.h"
#include "tests/unit/suites.h"
#include "tests/unit/recorded.h"

static char path[64], part[80], session_paths[4][64];
static atomic_int signals_seen;

static void setup(void)
{
	snprintf(path, sizeof path, "check_vgctl.%d.vgp", getpid());
	snprintf(part, sizeof part, "%s.part", path);
	for (int i = 0; i < 4; i++)
		snprintf(session_paths[i], sizeof session_paths[i], "check_vgctl.%d.%d.vgp", getpid(), i);
}

static void teardown(void)
{
	unlink(path);
	unlink(part);
	for (int i = 0; i < 4; i++)
		unlink(session_paths[i]);
	/* second_session_descriptors_closed leaves it. */
	strcat(session_paths[1], ".part");
	unlink(session_paths[1]);
}

static void spin_ms(uint64_t ms)
{
	for (struct spin spin = spin_begin(ms); spin_on(&spin);)
		;
}

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals_seen, 1);
}

/* Writes a script that logs its pid and its descriptors, and then becomes the real helper. */
static void log_helper_make(char *log_helper, size_t log_helper_bytes, const char *log)
{
	FILE *file;

	snprintf(log_helper, log_helper_bytes, "./check_vgctl.%d.spy", getpid());
	file = fopen(log_helper, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "#!/bin/sh\necho $$ >%s\nls -l /proc/$$/fd >>%s\nexec %s \"$@\"\n", log, log,
		getenv("VIGNETTED"));
	fchmod(fileno(file), 0700);
	fclose(file);
}

START_TEST(begin_end)
{
	struct vgctl_summary summary;
	struct vgctl_session *session;
	struct stat status;

	for (uint64_t ms = 100;; ms *= 2) {
		ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
		ck_assert_int_eq(stat(part, &status), 0);
		ck_assert_int_eq(status.st_mode & 0777, 0600);
		ck_assert_int_eq(access(path, F_OK), -1);
		spin_ms(ms);
		summary = (struct vgctl_summary)VGCTL_SUMMARY_INIT;
		ck_assert_int_eq(vgctl_end(session, &summary), 0);
		ck_assert_int_eq(access(part, F_OK), -1);
		ck_assert_int_eq(stat(path, &status), 0);
		ck_assert_uint_eq((uint64_t)status.st_size, summary.file_bytes);
		ck_assert_uint_eq(summary.threads, 1);
		ck_assert_uint_eq(summary.limited, 0);
		ck_assert_uint_ge(summary.duration_ns, ms * 1000000);
		/* One sample each is due in vgctl_begin() and vgctl_end(). */
		if (summary.samples > 2)
			break;
		ck_assert_int_eq(unlink(path), 0);
	}
}
END_TEST

START_TEST(no_child_and_no_signal)
{
	struct vgctl_session *session;

	signal(SIGCHLD, on_signal);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	usleep(50 * 1000);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_int_eq(atomic_load(&signals_seen), 0);
}
END_TEST

/* Ends the latest session of a process that adopts the helper. Then the helper must not remain as a zombie. Returns
 * false if nothing is known, because the helper did not exit within 1 s: for longer, vgctl_end() does not wait. */
static bool end_without_zombie(struct vgctl_session *session)
{
	uint64_t begin_ns = spin_now_ns();

	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	if (spin_now_ns() - begin_ns >= 1000000000) {
		waitpid(-1, NULL, 0);
		return false;
	}
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	return true;
}

/* This process adopts the helper, as pid 1 of a container would. */
START_TEST(adopted_helper)
{
	struct vgctl_session *session;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	do
		ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	while (!end_without_zombie(session));
}
END_TEST

START_TEST(helper_inherits_no_descriptor)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	char log_helper[64], log[64], line[256], mark[64];
	int lines = 0, fd;
	FILE *log_file;

	snprintf(mark, sizeof mark, "check_vgctl.%d.inherited", getpid());
	fd = open(mark, O_CREAT | O_RDWR, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(dup2(fd, 100), 0);
	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	log_helper_make(log_helper, sizeof log_helper, log);
	options.helper_path = log_helper;
	ck_assert_msg(vgctl_begin(path, &options, &session) == 0, "%s", vgctl_strerror(-ECONNRESET));
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	log_file = fopen(log, "r");
	ck_assert_ptr_nonnull(log_file);
	while (fgets(line, sizeof line, log_file) != NULL) {
		lines++;
		ck_assert_msg(strstr(line, mark) == NULL, "the helper has %s", line);
	}
	ck_assert_int_ge(lines, 5);
	fclose(log_file);
	unlink(log_helper);
	unlink(log);
	unlink(mark);
}
END_TEST

/* Returns the pid in the script's log: that of the latest helper. */
static int latest_helper_pid(const char *log)
{
	FILE *log_file = fopen(log, "r");
	int pid;

	ck_assert_ptr_nonnull(log_file);
	ck_assert_int_eq(fscanf(log_file, "%d", &pid), 1);
	fclose(log_file);
	return pid;
}

/* Counts the events of that type in the interval. */
static int events_count(const struct recorded *recorded, uint64_t token, enum vg_event_type type)
{
	int count = 0;

	for (size_t i = 0; i < recorded->profile.events.count; i++)
		count += recorded->profile.events.items[i].token == token &&
			 recorded->profile.events.items[i].type == type;
	return count;
}

static uint32_t rate_of(const struct recorded *recorded)
{
	return (uint32_t)((1000000000 + recorded->profile.header.period_ns / 2) / recorded->profile.header.period_ns);
}

/* A flight recorder that runs all the time, and an ordinary session beside it. One helper serves both. Each has its own
 * rate, file and end. An interval that is open when the second session begins stays open in the first. */
START_TEST(second_session)
{
	struct vgctl_options flight = VGCTL_OPTIONS_INIT, plain = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *first, *second;
	struct vgctl_interval open, later;
	char log_helper[64], log[64];
	struct recorded recorded;
	size_t dumped = 0;
	int pid;

	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	log_helper_make(log_helper, sizeof log_helper, log);
	flight.helper_path = plain.helper_path = log_helper;
	flight.flight_s = 600;
	flight.rate_hz = 99;
	plain.rate_hz = 999;
	ck_assert_int_eq(vgctl_begin(path, &flight, &first), 0);
	pid = latest_helper_pid(log);
	open = vgctl_interval_begin(vgctl_intern("kind"), vgctl_intern("open"), 1);
	ck_assert_uint_ne(open.token, 0);
	spin_ms(100);
	for (uint64_t round = 0; round < 2 || summary.samples < 10 || dumped < 5; round++) {
		ck_assert_int_eq(vgctl_begin(session_paths[1], &plain, &second), 0);
		ck_assert_int_eq(latest_helper_pid(log), pid);
		later = vgctl_interval_begin(vgctl_intern("kind"), vgctl_intern("later"), 2);
		spin_ms(100 + 100 * round);
		ck_assert_int_eq(vgctl_dump(second, session_paths[2]), -ENOTSUP);
		vgctl_interval_end(later);
		if (round == 0)
			vgctl_interval_end(open);
		ck_assert_int_eq(vgctl_dump(first, session_paths[2]), 0);
		ck_assert_int_eq(vgctl_end(second, &summary), 0);
		recorded_read(&recorded, session_paths[1]);
		ck_assert_uint_eq(rate_of(&recorded), 999);
		ck_assert_int_eq(events_count(&recorded, later.token, VG_EVENT_BEGIN), 1);
		ck_assert_int_eq(events_count(&recorded, later.token, VG_EVENT_END), 1);
		recorded_free(&recorded);
		recorded_read(&recorded, session_paths[2]);
		ck_assert_uint_eq(rate_of(&recorded), 99);
		dumped = recorded.profile.samples.count;
		ck_assert_int_eq(events_count(&recorded, open.token, VG_EVENT_BEGIN), 1);
		ck_assert_int_eq(events_count(&recorded, open.token, VG_EVENT_END), 1);
		ck_assert_int_eq(events_count(&recorded, later.token, VG_EVENT_END), 1);
		recorded_free(&recorded);
	}
	later = vgctl_interval_begin(0, vgctl_intern("alone"), 0);
	ck_assert_uint_ne(later.token, 0);
	vgctl_interval_end(later);
	/* The first session ends while the second one goes on. */
	ck_assert_int_eq(vgctl_begin(session_paths[1], &plain, &second), 0);
	ck_assert_int_eq(vgctl_end(first, &summary), 0);
	ck_assert_uint_ge(summary.samples, dumped);
	recorded_read(&recorded, path);
	ck_assert_int_eq(events_count(&recorded, later.token, VG_EVENT_END), 1);
	recorded_free(&recorded);
	later = vgctl_interval_begin(0, vgctl_intern("alone"), 0);
	ck_assert_uint_ne(later.token, 0);
	vgctl_interval_end(later);
	ck_assert_int_eq(vgctl_begin(path, &flight, &first), 0);
	ck_assert_int_eq(latest_helper_pid(log), pid);
	ck_assert_int_eq(vgctl_end(second, NULL), 0);
	ck_assert_int_eq(vgctl_end(first, NULL), 0);
	ck_assert_uint_eq(vgctl_interval_begin(0, vgctl_intern("nobody"), 0).token, 0);
	ck_assert_int_eq(vgctl_begin(path, &flight, &first), 0);
	ck_assert_int_ne(latest_helper_pid(log), pid);
	ck_assert_int_eq(vgctl_end(first, NULL), 0);
	unlink(log_helper);
	unlink(log);
}
END_TEST

/* Four sessions are the limit, and one of them can have a watchdog. No child of this subreaper is left behind. */
START_TEST(many_sessions)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *sessions[4], *other = NULL;
	char stall[80];

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	snprintf(stall, sizeof stall, "%s.stall", path);
	options.flight_s = 5;
	options.watchdog_ms = 10000;
	options.watchdog_path = stall;
	for (int round = 0; round < 2;) {
		for (int i = 0; i < 4; i++) {
			ck_assert_int_eq(vgctl_begin(session_paths[i], i == 0 ? &options : NULL, &sessions[i]), 0);
			if (i < 3)
				ck_assert_int_eq(vgctl_begin(path, &options, &other), -EALREADY);
		}
		ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EALREADY), "watchdog"));
		ck_assert_int_eq(vgctl_begin(path, NULL, &other), -EUSERS);
		ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EUSERS), "4 recordings"));
		ck_assert_int_eq(vgctl_begin(session_paths[0], NULL, &other), -EBUSY);
		ck_assert_int_eq(vgctl_listen("check_vgctl.run", NULL), -EALREADY);
		ck_assert_ptr_null(other);
		ck_assert_int_eq(access(part, F_OK), -1);
		for (int i = 0; i < 4; i++) {
			ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), 0);
			ck_assert_int_eq(vgctl_sample(sessions[i]), 0);
			if (i == 3)
				round += end_without_zombie(sessions[i]);
			else
				ck_assert_int_eq(vgctl_end(sessions[i], NULL), 0);
			ck_assert_int_eq(unlink(session_paths[i]), 0);
		}
	}
}
END_TEST

/* When the helper is killed, each of its sessions fails, and the next session has a new helper. */
START_TEST(second_session_helper_killed)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *first, *second, *third;
	char log_helper[64], log[64];
	struct recorded recorded;
	int pid;

	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	log_helper_make(log_helper, sizeof log_helper, log);
	options.helper_path = log_helper;
	ck_assert_int_eq(vgctl_begin(path, &options, &first), 0);
	ck_assert_int_eq(vgctl_begin(session_paths[1], &options, &second), 0);
	pid = latest_helper_pid(log);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(vgctl_sample(second), -ECONNRESET);
	ck_assert_int_eq(vgctl_begin(session_paths[2], &options, &third), 0);
	ck_assert_int_ne(latest_helper_pid(log), pid);
	ck_assert_int_eq(vgctl_end(first, NULL), -ECONNRESET);
	ck_assert_int_eq(vgctl_end(second, NULL), -ECONNRESET);
	ck_assert_int_eq(vgctl_begin(session_paths[1], &options, &second), 0);
	vgctl_instant(0, vgctl_intern("after"), 0);
	/* A busy machine may lose samples, but not nearly all of these. */
	for (int i = 0; i < 20; i++) {
		spin_ms(5);
		ck_assert_int_eq(vgctl_sample(second), 0);
		ck_assert_int_eq(vgctl_sample(third), 0);
	}
	ck_assert_int_eq(vgctl_end(third, NULL), 0);
	ck_assert_int_eq(vgctl_end(second, NULL), 0);
	for (size_t i = 1; i < 3; i++) {
		recorded_read(&recorded, session_paths[i]);
		ck_assert_uint_eq(recorded.profile.events.count, 1);
		ck_assert_uint_ge(recorded.profile.samples.count, 2);
		recorded_free(&recorded);
	}
	unlink(log_helper);
	unlink(log);
}
END_TEST

/* A program that closes all descriptors loses its sessions, and can begin new ones. */
START_TEST(second_session_descriptors_closed)
{
	struct vgctl_session *first, *second, *third;

	ck_assert_int_eq(vgctl_begin(path, NULL, &first), 0);
	ck_assert_int_eq(vgctl_begin(session_paths[1], NULL, &second), 0);
	ck_assert_int_eq(close_range(3, ~0U, 0), 0);
	ck_assert_int_eq(vgctl_begin(session_paths[2], NULL, &third), 0);
	ck_assert_int_eq(vgctl_end(first, NULL), -EBADF);
	ck_assert_int_eq(vgctl_sample(second), -EBADF);
	ck_assert_int_eq(vgctl_end(third, NULL), 0);
	ck_assert_int_eq(vgctl_end(second, NULL), -EBADF);
}
END_TEST

START_TEST(helper_missing)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	options.helper_path = "/nonexistent/vignetted";
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -ENOPKG);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ENOPKG), "/nonexistent/vignetted"));
	ck_assert_int_eq(access(part, F_OK), -1);
	setenv("VIGNETTED", "/nonexistent/too", 1);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), -ENOPKG);
}
END_TEST

START_TEST(helper_is_another_program)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	int rc;

	options.helper_path = "/bin/true";
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -ECONNRESET);
	options.helper_path = "/dev/null";
	ck_assert_int_ne(vgctl_begin(path, &options, &session), 0);
	/* A program that prints why it ends. */
	options.helper_path = "/bin/cat";
	do
		rc = vgctl_begin(path, &options, &session);
	while (rc == -ETIMEDOUT);
	ck_assert_int_eq(rc, -ECONNRESET);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ECONNRESET), "--help' for more information. (/bin/cat)"));
	ck_assert_ptr_null(strchr(vgctl_strerror(-ECONNRESET), '\n'));
}
END_TEST

/* Fails unless vgctl_begin() and vgctl_listen() with this file as the helper return rc with a sentence that has the
 * text. Once the file has printed something, the library waits 1 s for more. So on a busy machine a file that ends may
 * seem not to end: it is tried again. */
static void start_fails(const char *bytes, size_t length, int rc, const char *text)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	char helper[80];
	FILE *file;

	snprintf(helper, sizeof helper, "./check_vgctl.%d.helper", getpid());
	options.helper_path = helper;
	file = fopen(helper, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
	fchmod(fileno(file), 0700);
	fclose(file);
	for (int call = 0; call < 2;) {
		int got = call == 0 ? vgctl_begin(path, &options, &session) : vgctl_listen("check_vgctl.run", &options);

		if (got == -ETIMEDOUT && rc != -ETIMEDOUT)
			continue;
		ck_assert_int_eq(got, rc);
		ck_assert_msg(strstr(vgctl_strerror(rc), text) != NULL, "%s", vgctl_strerror(rc));
		call++;
	}
	ck_assert_int_eq(access(part, F_OK), -1);
	unlink(helper);
}

START_TEST(helper_cannot_be_executed)
{
	static const char script[] = "#!/nonexistent/sh\n";
	static const char loud[] = "#!/bin/sh\necho a warning >&2\nprintf 'another\\na \\033 line\\n\\n' >&2\n";
	static const char stuck[] = "#!/bin/sh\necho a line >&2\nexec sleep 60\n";

	start_fails("text", 4, -ENOEXEC, "helper: execve: Exec format error");
	start_fails(script, sizeof script - 1, -ENOEXEC, "its dynamic linker or interpreter does not exist");
	start_fails(loud, sizeof loud - 1, -ECONNRESET, "the helper did not start: a ? line (./check_vgctl.");
	start_fails(stuck, sizeof stuck - 1, -ETIMEDOUT, "the helper did not start: a line (./check_vgctl.");
}
END_TEST

/* A copy of the helper needs a library that does not exist. */
START_TEST(helper_lacks_a_library)
{
	static const char needed[] = "libunwind-", absent[] = "libabsent-";
	FILE *file = fopen(getenv("VIGNETTED"), "r");
	bool changed = false;
	size_t length;
	char *bytes;

	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	length = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(length);
	ck_assert_uint_eq(fread(bytes, 1, length, file), length);
	fclose(file);
	for (char *at = bytes; (at = memmem(at, length - (size_t)(at - bytes), needed, sizeof needed - 1)) != NULL;) {
		memcpy(at, absent, sizeof absent - 1);
		changed = true;
	}
	if (changed)                     /* otherwise the helper is linked statically */
		start_fails(bytes, length, -ECONNRESET, "loading shared libraries: libabsent-");
	free(bytes);
}
END_TEST

START_TEST(bad_options)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;

	ck_assert_int_eq(vgctl_begin(NULL, NULL, &session), -EINVAL);
	ck_assert_int_eq(vgctl_begin("", NULL, &session), -EINVAL);
	ck_assert_int_eq(vgctl_begin(path, NULL, NULL), -EINVAL);
	options.rate_hz = 10001;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -EINVAL);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EINVAL), "rate_hz"));
	ck_assert_int_eq(vgctl_begin("/nonexistent/dir/x.vgp", NULL, &session), -ENOENT);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ENOENT), "/nonexistent/dir/x.vgp"));
	ck_assert_int_eq(vgctl_end(NULL, NULL), -EINVAL);
}
END_TEST

/* /dev/full is always full. */
START_TEST(disk_full)
{
	struct vgctl_session *session;

	ck_assert_int_eq(vgctl_begin("/dev/full", NULL, &session), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ENOSPC), "No space left"));
}
END_TEST

/* The helper inherits the limit, and reaches it while it records. Once in a while a last chunk fits that leaves no room
 * for the end record of 2 KiB: then the profile has no reason. */
START_TEST(file_cannot_grow)
{
	enum { END_BYTES = 2 * 1024 };
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct rlimit limit = { 20000, 20000 };
	const char *reason;
	struct vgctl_session *session;
	struct recorded recorded;
	int rc = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	for (int i = 0; i < 20000 && rc == 0; i++)
		rc = vgctl_sample(session);
	ck_assert_int_eq(rc, -EFBIG);
	ck_assert_int_eq(vgctl_end(session, NULL), -EFBIG);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.damaged_bytes, 0);
	reason = vg_profile_text(&recorded.profile, recorded.profile.end_reason);
	if (reason == NULL)
		ck_assert_uint_gt(recorded.profile.file_bytes + END_BYTES, limit.rlim_cur);
	else
		ck_assert_str_eq(reason, "the process may not write larger files");
	recorded_free(&recorded);
}
END_TEST

/* A recording on demand has the samples that the program asks for, and no other. */
START_TEST(one_sample_on_demand)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary;
	struct vgctl_session *session;
	struct recorded recorded;

	options.rate_hz = VGCTL_ON_DEMAND;
	/* A sample may be lost on a busy machine. */
	do {
		ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
		usleep(100 * 1000);
		ck_assert_int_eq(vgctl_sample(session), 0);
		summary = (struct vgctl_summary)VGCTL_SUMMARY_INIT;
		ck_assert_int_eq(vgctl_end(session, &summary), 0);
		ck_assert_uint_eq(summary.samples + summary.lost, 1);
	} while (summary.samples == 0);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.samples.count, 1);
	ck_assert_uint_eq(recorded.profile.samples.items[0].end, VG_WALK_ROOT);
	recorded_free(&recorded);
}
END_TEST

static atomic_bool napper_stopping;

static void *napping_thread(void *tid)
{
	*(pid_t *)tid = gettid();
	while (!atomic_load(&napper_stopping))
		usleep(1000);
	return NULL;
}

/* In a recording on demand, a thread begins at the time when it was created. Three scans can find the thread: for the
 * recording's first sample, for its second sample, or for another recording between these. */
START_TEST(threads_on_demand_begin_when_created)
{
	enum { NAP_US = 60 * 1000, NAP_NS = NAP_US * 1000, CLOCK_TICK_NS = 10 * 1000 * 1000 };
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session, *second = NULL;
	const struct vg_thread *found = NULL;
	struct recorded recorded;
	pthread_t thread;
	pid_t tid = 0;

	if (_i == 2)
		ck_assert_int_eq(vgctl_begin(session_paths[0], NULL, &second), 0);
	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	if (_i == 1)
		ck_assert_int_eq(vgctl_sample(session), 0);
	usleep(NAP_US);
	pthread_create(&thread, NULL, napping_thread, &tid);
	usleep(NAP_US);
	ck_assert_int_eq(vgctl_sample(session), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	if (second != NULL)
		ck_assert_int_eq(vgctl_end(second, NULL), 0);
	atomic_store(&napper_stopping, true);
	pthread_join(thread, NULL);
	recorded_read(&recorded, path);
	for (size_t i = 0; i < recorded.profile.threads.count; i++) {
		const struct vg_thread *each = &recorded.profile.threads.items[i];

		if (each->tid == tid)
			found = each;
		else if (each->tid == getpid())
			ck_assert_uint_eq(each->begin_ns, 0);
	}
	ck_assert_ptr_nonnull(found);
	ck_assert_uint_ge(found->begin_ns, NAP_NS - CLOCK_TICK_NS);
	ck_assert_uint_lt(found->begin_ns, recorded.profile.duration_ns - NAP_NS + 2 * CLOCK_TICK_NS);
	recorded_free(&recorded);
}
END_TEST

static void *sampling_thread(void *session)
{
	for (;;) {
		vgctl_sample(session);
		pthread_testcancel();
	}
	return NULL;
}

/* A thread may be cancelled during a call. Other threads can still use the session. */
START_TEST(cancelled_thread)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	pthread_t thread;

	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	for (int i = 0; i < 10; i++) {
		pthread_create(&thread, NULL, sampling_thread, session);
		usleep(10 * 1000);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		ck_assert_int_eq(vgctl_sample(session), 0);
	}
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
}
END_TEST

START_TEST(forked_child_has_no_session)
{
	struct vgctl_session *session, *second, *own_sessions[4], *fifth;
	char of_second[80], of_fifth[80];
	int status;
	pid_t child;

	snprintf(of_second, sizeof of_second, "%s.second", path);
	snprintf(of_fifth, sizeof of_fifth, "%s.fifth", path);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	ck_assert_int_eq(vgctl_begin(of_second, NULL, &second), 0);
	child = fork();
	if (child == 0) {
		if (vgctl_sample(session) != -ECHILD || vgctl_sample(second) != -ECHILD)
			_exit(1);
		/* The parent's sessions do not count. */
		for (int i = 0; i < 4; i++) {
			if (vgctl_begin(session_paths[i], NULL, &own_sessions[i]) != 0)
				_exit(2);
		}
		if (vgctl_begin(of_fifth, NULL, &fifth) != -EUSERS)
			_exit(3);
		for (int i = 0; i < 4; i++) {
			if (vgctl_end(own_sessions[i], NULL) != 0)
				_exit(4);
		}
		_exit(vgctl_end(session, NULL) == -ECHILD && vgctl_end(second, NULL) == -ECHILD ? 0 : 5);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(vgctl_sample(session), 0);
	ck_assert_int_eq(vgctl_sample(second), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	ck_assert_int_eq(vgctl_sample(second), 0);
	ck_assert_int_eq(vgctl_end(second, NULL), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(unlink(session_paths[i]), 0);
	unlink(of_second);
}
END_TEST

START_TEST(helper_killed)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	char log_helper[64], log[64];
	struct recorded recorded;
	size_t written = 0;
	int pid;

	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	log_helper_make(log_helper, sizeof log_helper, log);
	options.helper_path = log_helper;
	options.rate_hz = 999;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	pid = latest_helper_pid(log);
	/* The helper writes a chunk each second. */
	while (written < 20) {
		spin_ms(100);
		recorded_read(&recorded, part);
		written = recorded.profile.samples.count;
		recorded_free(&recorded);
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	spin_ms(100);                    /* the application continues */
	ck_assert_int_eq(vgctl_end(session, NULL), -ECONNRESET);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ECONNRESET), "died"));
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.end_reason, VG_NONE);
	/* The helper may be in the write of a chunk. */
	ck_assert_uint_le(recorded.profile.damage.count, 1);
	if (recorded.profile.damage.count == 1)
		ck_assert_uint_eq(recorded.profile.damage.items[0].offset + recorded.profile.damage.items[0].bytes,
				  recorded.profile.file_bytes);
	ck_assert_uint_ge(recorded.profile.samples.count, 20);
	recorded_free(&recorded);
	unlink(log_helper);
	unlink(log);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
}
END_TEST

/* The error names the tracer. Its name is shown without control characters. */
START_TEST(another_tracer)
{
	char expected[64];
	int report[2], status;
	pid_t child;
	struct { int rc; char text[300]; } result = { 0 };

	ck_assert_int_eq(pipe(report), 0);
	ck_assert_int_eq(prctl(PR_SET_NAME, "run\033[1m\2331m"), 0);
	child = fork();
	if (child == 0) {
		struct vgctl_session *session;

		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		result.rc = vgctl_begin(path, NULL, &session);
		snprintf(result.text, sizeof result.text, "%s", vgctl_strerror(result.rc));
		(void)!write(report[1], &result, sizeof result);
		_exit(0);
	}
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, child, NULL, WSTOPSIG(status));
	ck_assert_int_eq(read(report[0], &result, sizeof result), (ssize_t)sizeof result);
	ck_assert_int_eq(result.rc, -EPERM);
	snprintf(expected, sizeof expected, "traced by another process, run?[1m?1m (pid %d)", getpid());
	ck_assert_msg(strstr(result.text, expected) != NULL, "%s", result.text);
}
END_TEST

START_TEST(limits)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	int rc;

	options.max_duration_s = 1;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	while ((rc = vgctl_sample(session)) == 0)
		usleep(20 * 1000);
	ck_assert_int_eq(rc, -EFBIG);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_uint_eq(summary.limited, 1);
	ck_assert_uint_ge(summary.duration_ns, 990000000);

	options = (struct vgctl_options)VGCTL_OPTIONS_INIT;
	options.max_file_bytes = 65536;
	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	for (int i = 0; i < 50000 && vgctl_sample(session) == 0; i++)
		;
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_uint_eq(summary.limited, 1);
	ck_assert_uint_le(summary.file_bytes, 65536);
	ck_assert_uint_ge(summary.file_bytes, 32768);
}
END_TEST

static void *waiting_thread(void *unused)
{
	(void)unused;
	pause();
	return NULL;
}

/* The helper gets each bound. A bound that is out of range is refused. */
START_TEST(bounds_reach_the_helper)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	pthread_t thread;

	options.max_memory_bytes = (32 << 20) - 1;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -EINVAL);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EINVAL), "max_memory_bytes"));
	options = (struct vgctl_options)VGCTL_OPTIONS_INIT;
	options.max_threads = 0;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -EINVAL);

	pthread_create(&thread, NULL, waiting_thread, NULL);
	options = (struct vgctl_options)VGCTL_OPTIONS_INIT;
	options.max_memory_bytes = 32 << 20;
	options.max_threads = 1;
	options.unused[0] = options.unused[1] = 1;  /* from a program that was compiled with an earlier header */
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(vgctl_sample(session), 0);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_uint_eq(summary.threads, 1);
	/* Each sample leaves out the second thread. */
	ck_assert_uint_ge(summary.lost, 3);
}
END_TEST

/* The standard descriptors of this program are closed. The library and the helper must not use their numbers, because
 * the program's output would get into the profile. The program's new directory has no effect on the file's path. */
START_TEST(no_standard_descriptors)
{
	struct recorded recorded;
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct vgctl_session *session;

		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			close(fd);
		if (vgctl_begin(path, NULL, &session) != 0)
			_exit(1);
		for (int fd = 0; fd <= STDERR_FILENO; fd++) {
			if (write(fd, "stray\n", 6) >= 0)
				_exit(2);
		}
		if (chdir("/") != 0)
			_exit(3);
		_exit(vgctl_end(session, NULL) == 0 ? 0 : 4);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	recorded_read(&recorded, path);
	ck_assert_uint_eq(recorded.profile.damaged_bytes, 0);
	recorded_free(&recorded);
}
END_TEST

/* Writes many profiles to one path. Leaves every third .part behind. */
static void writer_run(void)
{
	for (int i = 0; i < 600; i++) {
		struct stat own_status, part_status;
		struct vg_outfile file;

		if (vg_outfile_open(&file, path, NULL) != 0)
			continue;
		if (i % 3 == 0) {
			vg_outfile_close_copy(&file);
			continue;
		}
		if (fstat(file.fd, &own_status) != 0 || stat(part, &part_status) != 0 ||
		    own_status.st_ino != part_status.st_ino)
			_exit(1);
		if (vg_outfile_commit(&file, NULL) != 0)
			_exit(2);
	}
	_exit(0);
}

/* Several processes write to one path. Each renames its own file or none. */
START_TEST(many_writers_of_one_path)
{
	pid_t writers[4];
	int status;

	for (int i = 0; i < 4; i++) {
		writers[i] = fork();
		if (writers[i] == 0)
			writer_run();
	}
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(waitpid(writers[i], &status, 0), writers[i]);
		ck_assert_int_eq(status, 0);
	}
}
END_TEST

/* A pipe is opened without waiting for a reader. */
START_TEST(pipe_without_reader)
{
	struct vgctl_session *session;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), -ENXIO);
}
END_TEST

/* The helper exits after the host, and the profile is whole. */
START_TEST(host_exits)
{
	struct recorded recorded;
	int status, fd;
	pid_t child = fork();

	if (child == 0) {
		struct vgctl_session *session;

		/* A busy machine may lose samples, but not nearly all of these. */
		if (vgctl_begin(path, NULL, &session) == 0) {
			for (int i = 0; i < 20; i++) {
				spin_ms(5);
				vgctl_sample(session);
			}
		}
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	/* The helper releases the file's lock when it is done. */
	fd = open(part, O_RDONLY);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	close(fd);
	recorded_read(&recorded, part);
	ck_assert_str_eq(vg_profile_text(&recorded.profile, recorded.profile.end_reason),
			 "the process ended");
	ck_assert_uint_ge(recorded.profile.samples.count, 3);
	recorded_free(&recorded);
}
END_TEST

Suite *vgctl_suite(void)
{
	Suite *suite = suite_create("vgctl");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, begin_end);
	tcase_add_test(tests, no_child_and_no_signal);
	tcase_add_test(tests, adopted_helper);
	tcase_add_test(tests, helper_inherits_no_descriptor);
	tcase_add_test(tests, second_session);
	tcase_add_test(tests, many_sessions);
	tcase_add_test(tests, second_session_helper_killed);
	tcase_add_test(tests, second_session_descriptors_closed);
	tcase_add_test(tests, helper_missing);
	tcase_add_test(tests, helper_is_another_program);
	tcase_add_test(tests, helper_cannot_be_executed);
	tcase_add_test(tests, helper_lacks_a_library);
	tcase_add_test(tests, bad_options);
	tcase_add_test(tests, disk_full);
	tcase_add_test(tests, file_cannot_grow);
	tcase_add_test(tests, one_sample_on_demand);
	tcase_add_loop_test(tests, threads_on_demand_begin_when_created, 0, 3);
	tcase_add_test(tests, cancelled_thread);
	tcase_add_test(tests, forked_child_has_no_session);
	tcase_add_test(tests, helper_killed);
	tcase_add_test(tests, another_tracer);
	tcase_add_test(tests, limits);
	tcase_add_test(tests, bounds_reach_the_helper);
	tcase_add_test(tests, no_standard_descriptors);
	tcase_add_test(tests, many_writers_of_one_path);
	tcase_add_test(tests, pipe_without_reader);
	tcase_add_test(tests, host_exits);
	suite_add_tcase(suite, tests);
	return suite;
}
