/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libvgctl as an application sees it: real helper, real ptrace.  Check forks for every test. */
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
#include "tests/unit/taken.h"

static char path[64], part[80];
static atomic_int signals_seen;

static void setup(void)
{
	snprintf(path, sizeof path, "check_vgctl.%d.vgp", getpid());
	snprintf(part, sizeof part, "%s.part", path);
}

static void teardown(void)
{
	unlink(path);
	unlink(part);
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

/* A helper that leaves its pid and its descriptors behind before it becomes the real one. */
static void spy_write(char *spy, size_t spy_bytes, const char *log)
{
	FILE *file;

	snprintf(spy, spy_bytes, "./check_vgctl.%d.spy", getpid());
	file = fopen(spy, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "#!/bin/sh\necho $$ >%s\nls -l /proc/$$/fd >>%s\nexec %s \"$@\"\n", log, log,
		getenv("VIGNETTED"));
	fchmod(fileno(file), 0700);
	fclose(file);
}

START_TEST(begin_end)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	struct stat status;

	ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	ck_assert_int_eq(stat(part, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0600);
	ck_assert_int_eq(access(path, F_OK), -1);
	spin_ms(300);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_int_eq(access(part, F_OK), -1);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq((uint64_t)status.st_size, summary.file_bytes);
	ck_assert_uint_ge(summary.samples, 3);
	ck_assert_uint_eq(summary.threads, 1);
	ck_assert_uint_eq(summary.limited, 0);
	ck_assert_uint_ge(summary.duration_ns, 300000000u);
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

/* As pid 1 of a container does, this adopts the helper: no zombie may stay. */
START_TEST(adopted_helper)
{
	struct vgctl_session *session;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(no_inherited_descriptor)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	char spy[64], log[64], line[256], mark[] = "check_vgctl.inherited";
	int lines = 0, fd = open(mark, O_CREAT | O_RDWR, 0600);
	FILE *seen;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(dup2(fd, 100), 0);
	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	spy_write(spy, sizeof spy, log);
	options.helper_path = spy;
	ck_assert_msg(vgctl_begin(path, &options, &session) == 0, "%s", vgctl_strerror(-ECONNRESET));
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
	seen = fopen(log, "r");
	ck_assert_ptr_nonnull(seen);
	while (fgets(line, sizeof line, seen) != NULL) {
		lines++;
		ck_assert_msg(strstr(line, mark) == NULL, "the helper has %s", line);
	}
	ck_assert_int_ge(lines, 5);
	fclose(seen);
	unlink(spy);
	unlink(log);
	unlink(mark);
}
END_TEST

/* The pid of the latest helper that the spy has become. */
static int spied_pid(const char *log)
{
	FILE *seen = fopen(log, "r");
	int pid;

	ck_assert_ptr_nonnull(seen);
	ck_assert_int_eq(fscanf(seen, "%d", &pid), 1);
	fclose(seen);
	return pid;
}

static const char *const names[] = { "two.a.vgp", "two.b.vgp", "two.c.vgp", "two.d.vgp" };

/* How often an interval's beginnings or ends are in the profile. */
static int events_count(const struct taken *taken, uint64_t token, enum vg_event_what what)
{
	int count = 0;

	for (size_t i = 0; i < taken->profile.events.count; i++)
		count += taken->profile.events.items[i].token == token &&
			 taken->profile.events.items[i].what == what;
	return count;
}

/* A flight recorder for ever, and an ordinary session beside it: one helper, each its own rate, file
 * and end, and what is open when the second begins stays open in the first. */
START_TEST(second_session)
{
	struct vgctl_options flight = VGCTL_OPTIONS_INIT, plain = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *first, *second;
	struct vgctl_interval open, later;
	char spy[64], log[64];
	struct taken taken;
	int pid;

	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	spy_write(spy, sizeof spy, log);
	flight.helper_path = plain.helper_path = spy;
	flight.flight_s = 60;
	flight.rate_hz = 99;
	plain.rate_hz = 999;
	ck_assert_int_eq(vgctl_begin(path, &flight, &first), 0);
	pid = spied_pid(log);
	open = vgctl_interval_begin(vgctl_intern("kind"), vgctl_intern("open"), 1);
	ck_assert_uint_ne(open.token, 0);
	spin_ms(300);
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(vgctl_begin(names[1], &plain, &second), 0);
		ck_assert_int_eq(spied_pid(log), pid);
		later = vgctl_interval_begin(vgctl_intern("kind"), vgctl_intern("later"), 2);
		spin_ms(300);
		ck_assert_int_eq(vgctl_dump(second, names[2]), -ENOTSUP);
		vgctl_interval_end(later);
		if (round == 0)
			vgctl_interval_end(open);
		ck_assert_int_eq(vgctl_dump(first, names[2]), 0);
		ck_assert_int_eq(vgctl_end(second, &summary), 0);
		ck_assert_uint_ge(summary.samples, 50);
		taken_read(&taken, names[1]);
		ck_assert_int_eq(events_count(&taken, later.token, VG_EVENT_BEGIN), 1);
		ck_assert_int_eq(events_count(&taken, later.token, VG_EVENT_END), 1);
		taken_free(&taken);
		taken_read(&taken, names[2]);
		ck_assert_int_eq(events_count(&taken, open.token, VG_EVENT_BEGIN), 1);
		ck_assert_int_eq(events_count(&taken, open.token, VG_EVENT_END), 1);
		ck_assert_int_eq(events_count(&taken, later.token, VG_EVENT_END), 1);
		taken_free(&taken);
	}
	later = vgctl_interval_begin(0, vgctl_intern("alone"), 0);
	ck_assert_uint_ne(later.token, 0);
	vgctl_interval_end(later);
	/* The first one's end is not the second one's. */
	ck_assert_int_eq(vgctl_begin(names[1], &plain, &second), 0);
	ck_assert_int_eq(vgctl_end(first, &summary), 0);
	ck_assert_uint_ge(summary.samples, 30);
	taken_read(&taken, path);
	ck_assert_int_eq(events_count(&taken, later.token, VG_EVENT_END), 1);
	taken_free(&taken);
	later = vgctl_interval_begin(0, vgctl_intern("alone"), 0);
	ck_assert_uint_ne(later.token, 0);
	vgctl_interval_end(later);
	ck_assert_int_eq(vgctl_begin(path, &flight, &first), 0);
	ck_assert_int_eq(spied_pid(log), pid);
	ck_assert_int_eq(vgctl_end(second, NULL), 0);
	ck_assert_int_eq(vgctl_end(first, NULL), 0);
	ck_assert_uint_eq(vgctl_interval_begin(0, vgctl_intern("nobody"), 0).token, 0);
	ck_assert_int_eq(vgctl_begin(path, &flight, &first), 0);
	ck_assert_int_ne(spied_pid(log), pid);
	ck_assert_int_eq(vgctl_end(first, NULL), 0);
	for (size_t i = 1; i < 3; i++)
		unlink(names[i]);
	unlink(spy);
	unlink(log);
}
END_TEST

/* Four and no more; one watchdog; and as pid 1 would have it, no child is left behind. */
START_TEST(many_sessions)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *sessions[4], *other = NULL;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	options.flight_s = 5;
	options.watchdog_ms = 10000;
	options.watchdog_path = "two.stall";
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 4; i++) {
			ck_assert_int_eq(vgctl_begin(names[i], i == 0 ? &options : NULL, &sessions[i]), 0);
			if (i < 3)
				ck_assert_int_eq(vgctl_begin(path, &options, &other), -EALREADY);
		}
		ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EALREADY), "watchdog"));
		ck_assert_int_eq(vgctl_begin(path, NULL, &other), -EUSERS);
		ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EUSERS), "4 sessions"));
		ck_assert_int_eq(vgctl_begin(names[0], NULL, &other), -EBUSY);
		ck_assert_int_eq(vgctl_listen("two.run", NULL), -EALREADY);
		ck_assert_ptr_null(other);
		ck_assert_int_eq(access(part, F_OK), -1);
		for (int i = 0; i < 4; i++) {
			ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), 0);
			ck_assert_int_eq(vgctl_sample(sessions[i]), 0);
			ck_assert_int_eq(vgctl_end(sessions[i], NULL), 0);
			ck_assert_int_eq(unlink(names[i]), 0);
		}
		ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
		ck_assert_int_eq(errno, ECHILD);
	}
}
END_TEST

/* Its helper killed, each session says so, and one that begins then has another helper. */
START_TEST(second_session_helper_killed)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *first, *second, *third;
	char spy[64], log[64];
	struct taken taken;
	int pid;

	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	spy_write(spy, sizeof spy, log);
	options.helper_path = spy;
	ck_assert_int_eq(vgctl_begin(path, &options, &first), 0);
	ck_assert_int_eq(vgctl_begin(names[1], &options, &second), 0);
	pid = spied_pid(log);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(vgctl_sample(second), -ECONNRESET);
	ck_assert_int_eq(vgctl_begin(names[2], &options, &third), 0);
	ck_assert_int_ne(spied_pid(log), pid);
	ck_assert_int_eq(vgctl_end(first, NULL), -ECONNRESET);
	ck_assert_int_eq(vgctl_end(second, NULL), -ECONNRESET);
	ck_assert_int_eq(vgctl_begin(names[1], &options, &second), 0);
	vgctl_instant(0, vgctl_intern("after"), 0);
	spin_ms(200);
	ck_assert_int_eq(vgctl_end(third, NULL), 0);
	ck_assert_int_eq(vgctl_end(second, NULL), 0);
	for (size_t i = 1; i < 3; i++) {
		taken_read(&taken, names[i]);
		ck_assert_uint_eq(taken.profile.events.count, 1);
		ck_assert_uint_ge(taken.profile.samples.count, 2);
		taken_free(&taken);
		unlink(names[i]);
	}
	unlink(spy);
	unlink(log);
}
END_TEST

/* A program that closes what is not its own loses what it had, and can begin anew. */
START_TEST(second_session_descriptors_closed)
{
	struct vgctl_session *first, *second, *third;

	ck_assert_int_eq(vgctl_begin(path, NULL, &first), 0);
	ck_assert_int_eq(vgctl_begin(names[1], NULL, &second), 0);
	ck_assert_int_eq(close_range(3, ~0U, 0), 0);
	ck_assert_int_eq(vgctl_begin(names[2], NULL, &third), 0);
	ck_assert_int_eq(vgctl_end(first, NULL), -EBADF);
	ck_assert_int_eq(vgctl_sample(second), -EBADF);
	ck_assert_int_eq(vgctl_end(third, NULL), 0);
	ck_assert_int_eq(vgctl_end(second, NULL), -EBADF);
	unlink("two.b.vgp.part");
	unlink(names[2]);
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

	options.helper_path = "/bin/true";
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -ECONNRESET);
	options.helper_path = "/dev/null";
	ck_assert_int_ne(vgctl_begin(path, &options, &session), 0);
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
	options = (struct vgctl_options)VGCTL_OPTIONS_INIT;
	options.struct_bytes = 3;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -EINVAL);
	ck_assert_int_eq(vgctl_begin("/nonexistent/dir/x.vgp", NULL, &session), -ENOENT);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ENOENT), "/nonexistent/dir/x.vgp"));
	ck_assert_int_eq(vgctl_end(NULL, NULL), -EINVAL);
}
END_TEST

/* The directory for temporary files may be a small one: /dev/full is always full. */
START_TEST(disk_full)
{
	struct vgctl_session *session;

	ck_assert_int_eq(vgctl_begin("/dev/full", NULL, &session), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ENOSPC), "No space left"));
}
END_TEST

/* The limit is the process's and its children's: the helper meets it in the middle. */
START_TEST(file_cannot_grow)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct rlimit limit = { 20000, 20000 };
	struct vgctl_session *session;
	struct taken taken;
	int rc = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	for (int i = 0; i < 20000 && rc == 0; i++)
		rc = vgctl_sample(session);
	ck_assert_int_eq(rc, -EFBIG);
	ck_assert_int_eq(vgctl_end(session, NULL), -EFBIG);
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.damaged_bytes, 0);
	ck_assert_str_eq(vg_profile_text(&taken.profile, taken.profile.end_reason),
			 "the process may not write larger files");
	taken_free(&taken);
}
END_TEST

START_TEST(one_sample_on_demand)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	struct taken taken;

	options.rate_hz = VGCTL_ON_DEMAND;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	usleep(100 * 1000);
	ck_assert_int_eq(vgctl_sample(session), 0);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_uint_eq(summary.samples, 1);
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.samples.count, 1);
	ck_assert_uint_eq(taken.profile.samples.items[0].end, VG_WALK_ROOT);
	taken_free(&taken);
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

/* Cancelled in the middle of a call, a thread leaves the session to the others. */
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
	struct vgctl_session *session, *second, *own[4], *fifth;
	int status;
	pid_t child;

	ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	ck_assert_int_eq(vgctl_begin("two.second.vgp", NULL, &second), 0);
	child = fork();
	if (child == 0) {
		if (vgctl_sample(session) != -ECHILD || vgctl_sample(second) != -ECHILD)
			_exit(1);
		/* Its parent's do not count. */
		for (int i = 0; i < 4; i++) {
			if (vgctl_begin(names[i], NULL, &own[i]) != 0)
				_exit(2);
		}
		if (vgctl_begin("two.fifth.vgp", NULL, &fifth) != -EUSERS)
			_exit(3);
		for (int i = 0; i < 4; i++) {
			if (vgctl_end(own[i], NULL) != 0)
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
		ck_assert_int_eq(unlink(names[i]), 0);
	unlink("two.second.vgp");
}
END_TEST

START_TEST(helper_killed)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	char spy[64], log[64];
	struct taken taken;
	FILE *seen;
	int pid;

	snprintf(log, sizeof log, "check_vgctl.%d.log", getpid());
	spy_write(spy, sizeof spy, log);
	options.helper_path = spy;
	options.rate_hz = 999;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	seen = fopen(log, "r");
	ck_assert_ptr_nonnull(seen);
	ck_assert_int_eq(fscanf(seen, "%d", &pid), 1);
	fclose(seen);
	spin_ms(2500);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	spin_ms(100);                    /* the application goes on */
	ck_assert_int_eq(vgctl_end(session, NULL), -ECONNRESET);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-ECONNRESET), "died"));
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.end_reason, VG_NONE);
	ck_assert_uint_eq(taken.profile.damaged_bytes, 0);
	ck_assert_uint_ge(taken.profile.samples.count, 100);
	taken_free(&taken);
	unlink(spy);
	unlink(log);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), 0);
	ck_assert_int_eq(vgctl_end(session, NULL), 0);
}
END_TEST

/* A process that is traced says so, and by whom: in words that a program can print. */
START_TEST(another_tracer)
{
	char want[64];
	int report[2], status;
	pid_t child;
	struct { int rc; char text[300]; } got = { 0 };

	ck_assert_int_eq(pipe(report), 0);
	ck_assert_int_eq(prctl(PR_SET_NAME, "run\033[1m\2331m"), 0);
	child = fork();
	if (child == 0) {
		struct vgctl_session *session;

		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		got.rc = vgctl_begin(path, NULL, &session);
		snprintf(got.text, sizeof got.text, "%s", vgctl_strerror(got.rc));
		(void)!write(report[1], &got, sizeof got);
		_exit(0);
	}
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, child, NULL, WSTOPSIG(status));
	ck_assert_int_eq(read(report[0], &got, sizeof got), (ssize_t)sizeof got);
	ck_assert_int_eq(got.rc, -EPERM);
	snprintf(want, sizeof want, "traced by another process, run?[1m?1m (pid %d)", getpid());
	ck_assert_msg(strstr(got.text, want) != NULL, "%s", got.text);
}
END_TEST

START_TEST(limits)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;

	options.max_duration_s = 1;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	spin_ms(1500);
	ck_assert_int_eq(vgctl_sample(session), -EFBIG);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_uint_eq(summary.limited, 1);

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

/* Each bound reaches the helper, and one that cannot be is refused. */
START_TEST(bounds)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	struct taken taken;
	pthread_t thread;

	options.max_memory_bytes = (32 << 20) - 1;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -EINVAL);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EINVAL), "max_memory_bytes"));
	options = (struct vgctl_options)VGCTL_OPTIONS_INIT;
	options.max_threads = 0;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -EINVAL);
	options = (struct vgctl_options)VGCTL_OPTIONS_INIT;
	options.max_name_bytes = 15;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), -EINVAL);

	pthread_create(&thread, NULL, waiting_thread, NULL);
	options = (struct vgctl_options)VGCTL_OPTIONS_INIT;
	options.max_memory_bytes = 32 << 20;
	options.max_threads = options.max_modules = 1;
	options.max_name_bytes = 16;
	ck_assert_int_eq(vgctl_begin(path, &options, &session), 0);
	spin_ms(300);
	ck_assert_int_eq(vgctl_end(session, &summary), 0);
	ck_assert_uint_eq(summary.threads, 1);
	ck_assert_uint_ge(summary.lost, 3);
	taken_read(&taken, path);
	ck_assert_uint_le(taken.profile.modules.count, 1);
	taken_free(&taken);
}
END_TEST

/* In a program without standard descriptors nothing of ours may take their numbers: what it
 * prints is not the profile's, nor the helper's.  And the file is where it was begun. */
START_TEST(no_standard_descriptors)
{
	struct taken taken;
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
	taken_read(&taken, path);
	ck_assert_uint_eq(taken.profile.damaged_bytes, 0);
	taken_free(&taken);
}
END_TEST

/* Writes profiles to one path as fast as it can, and leaves every third behind unfinished. */
static void writer_run(void)
{
	for (int i = 0; i < 2000; i++) {
		struct stat ours, named;
		struct vg_outfile file;

		if (vg_outfile_open(&file, path, NULL) != 0)
			continue;
		if (i % 3 == 0) {
			vg_outfile_forget(&file);
			continue;
		}
		if (fstat(file.fd, &ours) != 0 || stat(part, &named) != 0 || ours.st_ino != named.st_ino)
			_exit(1);
		if (vg_outfile_commit(&file, NULL) != 0)
			_exit(2);
	}
	_exit(0);
}

/* Of several processes that write to one path, each renames its own file or none. */
START_TEST(one_path_many_writers)
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

/* A pipe is written in place, but not waited for. */
START_TEST(pipe_without_reader)
{
	struct vgctl_session *session;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(vgctl_begin(path, NULL, &session), -ENXIO);
}
END_TEST

/* The helper's end comes with the host's, and the profile is whole. */
START_TEST(host_dies)
{
	struct taken taken;
	int status, fd;
	pid_t child = fork();

	if (child == 0) {
		struct vgctl_session *session;

		if (vgctl_begin(path, NULL, &session) == 0)
			spin_ms(300);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	/* The helper gives the lock up when it is done. */
	fd = open(part, O_RDONLY);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	close(fd);
	taken_read(&taken, part);
	ck_assert_str_eq(vg_profile_text(&taken.profile, taken.profile.end_reason),
			 "the process ended");
	ck_assert_uint_ge(taken.profile.samples.count, 3);
	taken_free(&taken);
}
END_TEST

Suite *vgctl_suite(void)
{
	Suite *suite = suite_create("vgctl");
	TCase *tests = tcase_create("host");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, begin_end);
	tcase_add_test(tests, no_child_and_no_signal);
	tcase_add_test(tests, adopted_helper);
	tcase_add_test(tests, no_inherited_descriptor);
	tcase_add_test(tests, second_session);
	tcase_add_test(tests, many_sessions);
	tcase_add_test(tests, second_session_helper_killed);
	tcase_add_test(tests, second_session_descriptors_closed);
	tcase_add_test(tests, helper_missing);
	tcase_add_test(tests, helper_is_another_program);
	tcase_add_test(tests, bad_options);
	tcase_add_test(tests, disk_full);
	tcase_add_test(tests, file_cannot_grow);
	tcase_add_test(tests, one_sample_on_demand);
	tcase_add_test(tests, cancelled_thread);
	tcase_add_test(tests, forked_child_has_no_session);
	tcase_add_test(tests, helper_killed);
	tcase_add_test(tests, another_tracer);
	tcase_add_test(tests, limits);
	tcase_add_test(tests, bounds);
	tcase_add_test(tests, no_standard_descriptors);
	tcase_add_test(tests, one_path_many_writers);
	tcase_add_test(tests, pipe_without_reader);
	tcase_add_test(tests, host_dies);
	suite_add_tcase(suite, tests);
	return suite;
}
