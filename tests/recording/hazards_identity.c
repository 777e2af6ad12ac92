/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hazards of who a process is and where it lives: users, capabilities, set-uid, namespaces, roots. */
#include "tests/recording/hazards.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void become_nobody(void)
{
	ensure(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "cannot become nobody");
	/* Setting the user took that away. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void session_good(struct vgctl_session *session)
{
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	int rc;

	spin_ms(200);
	rc = vgctl_sample(session);
	ensure(rc == 0, "vgctl_sample: %s", vgctl_strerror(rc));
	rc = vgctl_end(session, &summary);
	ensure(rc == 0, "vgctl_end: %s", vgctl_strerror(rc));
	ensure(summary.samples >= 2, "%llu samples", (unsigned long long)summary.samples);
}

static void undumpable_root(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	session_good(begin(200));
}

static void undumpable_user(void)
{
	become_nobody();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	begin_refused(-EPERM, "PR_SET_DUMPABLE");
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	session_good(begin(200));
}

/* In the middle of a session: what is due is counted, nothing else happens, and it goes on. */
static void undumpable_later(void)
{
	struct vgctl_session *session;
	struct found found;

	become_nobody();
	session = begin(200);
	spin_ms(200);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	spin_ms(300);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	spin_ms(300);
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end failed");
	profile_look(PROFILE, &found);
	/* What interrupts the threads was let in before, and stays. */
	ensure((found.forbidden > 3 || found.samples > 10) && found.latest_ns > 600000000,
	       "%lu samples, %lu forbidden, the last sample at %lu ms", found.samples, found.forbidden,
	       found.latest_ns / 1000000);
}

/* A server that begins as root and then gives it up. */
static void drops_root(void)
{
	struct vgctl_session *session = begin(200);

	ensure(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "cannot become nobody");
	session_good(session);
}

static void drops_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct vgctl_session *session = begin(200);

	ensure(syscall(SYS_capset, &header, none) == 0, "capset: %s", strerror(errno));
	session_good(session);
	/* And a session from then on: the helper gets them all back by being executed as root. */
	session_good(begin(200));
}

/* Capabilities that an ordinary user's helper does not inherit. */
static void keeps_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct some[2] = { { 0 } };

	some[0].effective = some[0].permitted = 1u << CAP_NET_BIND_SERVICE;
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	ensure(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "cannot become nobody");
	ensure(syscall(SYS_capset, &header, some) == 0, "capset: %s", strerror(errno));
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	begin_refused(-EPERM, "capabilities that vignetted lacks");
}

static void ready(const int ends[2])
{
	(void)!write(ends[1], "", 1);
}

static void ready_await(const int ends[2])
{
	char byte;

	ensure(read(ends[0], &byte, 1) == 1, "the child is not ready");
}

/* A set-uid program that is executed by a sampled process is set-uid, even though its user's helper
 * may not trace it: that goes on, and ends with the process.  `uid` is the helper's. */
static void setuid_exec_as(uid_t uid, int count, const char *rate)
{
	int honoured = 0, late = 0, ends[2];
	struct found found;

	ensure(system("cp /bin/sh ./probe.sh && chown root ./probe.sh && chmod 4755 ./probe.sh") == 0 &&
	       pipe(ends) == 0, "no set-uid program");
	for (int i = 0; i < count; i++) {
		pid_t child = fork(), helper;
		int status;

		if (child == 0) {
			become_nobody();
			ready(ends);
			record_await();
			spin_ms(50);
			for (volatile int turn = 0; turn < i * 1000; turn++)
				;
			/* -p keeps the effective user. */
			execl("./probe.sh", "sh", "-p", "-c", "sleep 0.02; exec test $(id -u) = 0", NULL);
			_exit(2);
		}
		ready_await(ends);
		helper = record_start(child, uid, rate);
		status = await(child);
		honoured += status == 0;
		if (record_stop(helper, 5000) != 0) {
			/* On a busy machine it came after the execve(2) and was refused, or got no
			 * sample. */
			ensure(++late * 2 < count, "vignetted failed");
			unlink(PROFILE);
			continue;
		}
		profile_look(PROFILE, &found);
		ensure(strcmp(found.reason, "the process ended") == 0, "it ends with '%s'", found.reason);
		ensure(found.samples > 0, "no samples");
		unlink(PROFILE);
	}
	printf("(%d of %d executions by a process that user %d samples at %s Hz, %s, were set-uid) ",
	       honoured, count, (int)uid, rate, record_capture);
	ensure(uid != 0 || honoured == count, "root's helper took the set-uid");
	/* To others' the kernel grants no set-uid while they hold the thread (execve(2)). */
	ensure(strlen(rate) > 2 || honoured * 10 >= count * 9, "set-uid was not honoured");
}

static void setuid_exec(void)
{
	setuid_exec_as(0, rounds(10, 500), "10000");
	setuid_exec_as(NOBODY, rounds(10, 500), "10000");
	setuid_exec_as(NOBODY, rounds(10, 500), "99");
	record_capture = "auto";
	setuid_exec_as(NOBODY, rounds(10, 500), "10000");
}

static void user_namespace(void)
{
	become_nobody();
	ensure(unshare(CLONE_NEWUSER) == 0, "unshare: %s", strerror(errno));
	/* All capabilities there, and no user that would keep them over execve(2). */
	session_good(begin(200));
}

static void user_namespace_later(void)
{
	struct vgctl_session *session;

	become_nobody();
	session = begin(200);
	ensure(unshare(CLONE_NEWUSER) == 0, "unshare: %s", strerror(errno));
	session_good(session);
}

/* The first process in the new namespace would be the helper's parent, which ends at once, and with
 * it the namespace: no process could be made in it any more. */
static void pid_namespace_for_children(void)
{
	int status;
	pid_t child;

	ensure(unshare(CLONE_NEWPID) == 0, "unshare: %s", strerror(errno));
	begin_refused(-ENOTSUP, "pid namespace");
	child = fork();
	ensure(child >= 0, "the namespace is dead: fork: %s", strerror(errno));
	if (child == 0)
		_exit(getpid() == 1 ? 0 : 1);
	status = await(child);
	ensure(status == 0, "wait status %d", status);
}

/* The same where the namespace lives already. */
static void pid_namespace_for_children_lives(void)
{
	pid_t child;

	ensure(unshare(CLONE_NEWPID) == 0, "unshare: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		for (;;)
			pause();
	}
	begin_refused(-ENOTSUP, "pid namespace");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Runs it as the first process of a pid namespace; `mounts`: with a /proc of its own. */
static pid_t inside(bool mounts, void (*run)(void))
{
	pid_t child;

	ensure(unshare(CLONE_NEWPID) == 0, "unshare: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		ensure(unshare(CLONE_NEWNS) == 0, "unshare: %s", strerror(errno));
		ensure(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount: %s", strerror(errno));
		ensure(!mounts || mount("proc", "/proc", "proc", 0, NULL) == 0, "mount: %s", strerror(errno));
		run();
		fflush(stdout);
		_exit(0);
	}
	return child;
}

static void tid_recorded(void)
{
	struct found found;

	ensure(getpid() == 1, "not the first process");
	session_good(begin(200));
	profile_look(PROFILE, &found);
	ensure(found.threads == 1 && found.tids[0] == 1, "%d threads, the first is %d", found.threads,
	       found.tids[0]);
	ensure(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "the helper is left as a zombie");
}

static void pid_namespace(void)
{
	int status = await(inside(true, tid_recorded));

	ensure(status == 0, "wait status %d", status);
}

static void strange_proc(void)
{
	struct vgctl_session *session;
	int rc = vgctl_begin(PROFILE, NULL, &session);

	ensure(rc == -ENOTSUP && strstr(vgctl_strerror(rc), "/proc") != NULL, "%d: %s", rc,
	       vgctl_strerror(rc));
	ensure(access(PROFILE ".part", F_OK) != 0, "a file is left");
	ensure(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "the helper is left as a zombie");
	printf("(%s) ", vgctl_strerror(rc));
}

/* unshare --pid without --mount-proc: numbers in /proc are other processes'. */
static void pid_namespace_strange_proc(void)
{
	int status = await(inside(false, strange_proc));

	ensure(status == 0, "wait status %d", status);
}

static void *spin_for_ever(void *argument)
{
	for (;;)
		;
	return argument;
}

static void two_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, spin_for_ever, NULL);
	spin_for_ever(NULL);
}

/* From outside, the threads have the numbers that they know themselves by. */
static void pid_namespace_from_outside(void)
{
	int outside = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	pid_t child = inside(true, two_threads);
	struct found found;

	usleep(100 * 1000);
	/* Our own children would land in the namespace too. */
	ensure(outside >= 0 && setns(outside, CLONE_NEWPID) == 0, "setns: %s", strerror(errno));
	ensure(record_outside(child, 0, "200", 1000) == 0, "vignetted failed");
	profile_look(PROFILE, &found);
	ensure(found.threads == 2 && found.tids[0] == 1 && found.tids[1] == 2, "threads %d and %d",
	       found.tids[0], found.tids[1]);
	ensure(found.samples_of[0] >= 2 && found.samples_of[1] >= 2, "%lu and %lu samples",
	       found.samples_of[0], found.samples_of[1]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static atomic_bool elsewhere, stopping;

static void *go_elsewhere(void *argument)
{
	if (unshare(CLONE_FS) != 0 || mkdir("empty", 0755) != 0 || chroot("empty") != 0 || chdir("/") != 0)
		return argument;
	atomic_store(&elsewhere, true);
	while (!atomic_load(&stopping))
		;
	return NULL;
}

/* A thread with a root of its own is one like the others. */
static void thread_in_chroot(void)
{
	struct vgctl_session *session;
	struct found found;
	pthread_t thread;

	pthread_create(&thread, NULL, go_elsewhere, NULL);
	while (!atomic_load(&elsewhere))
		usleep(1000);
	session = begin(200);
	spin_ms(300);
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end failed");
	atomic_store(&stopping, true);
	profile_look(PROFILE, &found);
	ensure(found.threads == 2 && found.samples_of[0] >= 2 && found.samples_of[1] >= 2, "%lu and %lu samples, %lu lost", found.samples_of[0], found.samples_of[1],
	       found.lost);
}

/* Begun, a session survives that its process changes root and mount namespace. */
static void chroot_later(void)
{
	struct vgctl_session *session = begin(200);

	ensure(unshare(CLONE_NEWNS) == 0, "unshare: %s", strerror(errno));
	ensure(mkdir("empty", 0755) == 0 && chroot("empty") == 0 && chdir("/") == 0, "chroot: %s",
	       strerror(errno));
	session_good(session);
	ensure(access("/" PROFILE, F_OK) != 0, "the profile is in the new root");
}

/* A root without /proc: there is nothing to be read of any thread. */
static void no_proc(void)
{
	ensure(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/proc", "tmpfs", 0, NULL) == 0, "mount: %s", strerror(errno));
	{
		struct vgctl_session *session;
		int rc = vgctl_begin(PROFILE, NULL, &session);

		ensure(rc == -ENOTSUP && strstr(vgctl_strerror(rc), "/proc") != NULL, "%d: %s", rc,
		       vgctl_strerror(rc));
		printf("(%s) ", vgctl_strerror(rc));
	}
}

const struct hazard identity_hazards[] = {
	{ "undumpable_root", undumpable_root },
	{ "undumpable_user", undumpable_user },
	{ "undumpable_later", undumpable_later },
	{ "drops_root", drops_root },
	{ "drops_capabilities", drops_capabilities },
	{ "keeps_capabilities", keeps_capabilities },
	{ "setuid_exec", setuid_exec },
	{ "user_namespace", user_namespace },
	{ "user_namespace_later", user_namespace_later },
	{ "pid_namespace_for_children", pid_namespace_for_children },
	{ "pid_namespace_for_children_lives", pid_namespace_for_children_lives },
	{ "pid_namespace", pid_namespace },
	{ "pid_namespace_strange_proc", pid_namespace_strange_proc },
	{ "pid_namespace_from_outside", pid_namespace_from_outside },
	{ "thread_in_chroot", thread_in_chroot },
	{ "chroot_later", chroot_later },
	{ "no_proc", no_proc },
	{ NULL, NULL },
};
