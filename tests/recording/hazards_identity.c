/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hazards of a process's identity and place: users, capabilities, set-uid, namespaces, roots. */
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

#include "tests/spin.h"

static void become_nobody(void)
{
	ensure(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "cannot become nobody");
	/* setuid(2) has made the process undumpable. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void undumpable_root(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	session_works(begin(200));
}

static void undumpable_user(void)
{
	become_nobody();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	begin_refused(-EPERM, "PR_SET_DUMPABLE");
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	session_works(begin(200));
}

/* The process becomes undumpable in a session: lost samples are counted, and the session continues. */
static void undumpable_later(void)
{
	struct vgctl_session *session;
	uint64_t begun_ns, again_ns;
	struct found found;

	become_nobody();
	session = begin(200);
	begun_ns = spin_now_ns();
	session_use(session);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* The process's open timers stay open, and continue to take samples.  But no sample in vgctl_sample() is
	 * possible. */
	session_use(session);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	again_ns = spin_now_ns();
	session_use(session);
	session_use(session);
	ensure(vgctl_end(session, NULL) == 0, "vgctl_end failed");
	found_read(PROFILE, &found);
	ensure(found.lost >= 5, "%lu samples, %lu lost; expected at least 5 lost", found.samples, found.lost);
	ensure(found.latest_ns > again_ns - begun_ns, "the last sample is at %lu ms; expected one after %lu ms",
	       found.latest_ns / 1000000, (again_ns - begun_ns) / 1000000);
}

/* A server that begins as root and then changes its user. */
static void drops_root(void)
{
	struct vgctl_session *session = begin(200);

	ensure(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "cannot become nobody");
	session_works(session);
}

static void drops_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct vgctl_session *session = begin(200);

	ensure(syscall(SYS_capset, &header, none) == 0, "capset: %s", strerror(errno));
	session_works(session);
	/* A new session: the helper has all capabilities again, because it is executed as root. */
	session_works(begin(200));
}

/* The process has capabilities, and the helper of an ordinary user does not inherit them. */
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

/* If a sampled process executes a set-uid program, the program gets its owner's user id, although the helper may then
 * not trace it.  The helper continues, and ends with the process.  `uid` is the helper's user. */
static void setuid_exec_as(uid_t uid, int count, const char *rate)
{
	int honoured = 0, late = 0, spin_for_ms = strlen(rate) > 2 ? 10 : 50, ends[2];
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
			spin_ms(spin_for_ms);
			for (volatile int turn = 0; turn < i * 1000; turn++)
				;
			/* -p keeps the effective user. */
			execl("./probe.sh", "sh", "-p", "-c", "sleep 0.01; exec test $(id -u) = 0", NULL);
			_exit(2);
		}
		ready_await(ends);
		helper = record_start(child, uid, rate);
		status = await(child);
		found.samples = 0;
		if (record_stop(helper, WAIT_MAX_MS) == 0)
			found_read(PROFILE, &found);
		unlink(PROFILE);
		if (found.samples == 0) {
			/* On a busy machine vignetted may attach after the execve(2) and be refused, or take no
			 * sample.  This execution does not count. */
			ensure(++late < 20, "vignetted failed or took no sample, 20 times");
			i--;
			continue;
		}
		honoured += status == 0;
		ensure(strcmp(found.reason, "the process ended") == 0, "the profile ends with '%s'", found.reason);
	}
	printf("(%d of %d executions by a process that user %d samples at %s Hz, %s, were set-uid) ",
	       honoured, count, (int)uid, rate, record_capture);
	ensure(uid != 0 || honoured == count, "root's helper prevented set-uid");
	/* While another user's helper traces the thread, the kernel ignores set-uid (execve(2)).  At 99 Hz the helper
	 * traces it for a small part of the time: less than 1 % on an idle machine.  A busy machine may interrupt the
	 * thread in execve(2) while the helper traces it.  So the check demands one set-uid execution, and only SOAK
	 * has enough executions for a share.  A helper that traces the thread all the time has none. */
	ensure(strlen(rate) > 2 || honoured >= rounds(1, count * 3 / 4),
	       "set-uid was honoured in %d of %d executions; expected at least %d", honoured, count,
	       rounds(1, count * 3 / 4));
}

static void setuid_exec(void)
{
	setuid_exec_as(0, rounds(5, 500), "10000");
	setuid_exec_as(NOBODY, rounds(5, 500), "10000");
	setuid_exec_as(NOBODY, rounds(10, 500), "99");
	record_capture = "auto";
	setuid_exec_as(NOBODY, rounds(5, 500), "10000");
}

static void user_namespace(void)
{
	become_nobody();
	ensure(unshare(CLONE_NEWUSER) == 0, "unshare: %s", strerror(errno));
	/* The process has all capabilities in the namespace, and loses them at execve(2), because its user is not
	 * mapped. */
	session_works(begin(200));
}

static void user_namespace_later(void)
{
	struct vgctl_session *session;

	become_nobody();
	session = begin(200);
	ensure(unshare(CLONE_NEWUSER) == 0, "unshare: %s", strerror(errno));
	session_works(session);
}

/* vgctl_begin() must refuse: the helper's parent would be the first process of the new namespace.  This
 * parent exits at once, and the namespace could then have no more processes. */
static void pid_namespace_for_children(void)
{
	int status;
	pid_t child;

	ensure(unshare(CLONE_NEWPID) == 0, "unshare: %s", strerror(errno));
	begin_refused(-ENOTSUP, "pid namespace");
	child = fork();
	ensure(child >= 0, "the namespace allows no process: fork: %s", strerror(errno));
	if (child == 0)
		_exit(getpid() == 1 ? 0 : 1);
	status = await(child);
	ensure(status == 0, "wait status %d", status);
}

/* The same, but the namespace already has a process. */
static void pid_namespace_for_children_in_use(void)
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

/* Runs the function in the first process of a pid namespace; `mounts`: with its own /proc. */
static pid_t in_pid_namespace(bool mounts, void (*run)(void))
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
	session_works(begin(200));
	found_read(PROFILE, &found);
	ensure(found.threads == 1 && found.tids[0] == 1, "%d threads, the first is %d", found.threads,
	       found.tids[0]);
	ensure(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "the helper is left as a zombie");
}

static void pid_namespace(void)
{
	int status = await(in_pid_namespace(true, tid_recorded));

	ensure(status == 0, "wait status %d", status);
}

static void proc_of_other_namespace(void)
{
	struct vgctl_session *session;
	int rc = vgctl_begin(PROFILE, NULL, &session);

	ensure(rc == -ENOTSUP && strstr(vgctl_strerror(rc), "/proc") != NULL, "%d: %s", rc,
	       vgctl_strerror(rc));
	ensure(access(PROFILE ".part", F_OK) != 0, "a file is left");
	ensure(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "the helper is left as a zombie");
	printf("(%s) ", vgctl_strerror(rc));
}

/* As with unshare --pid without --mount-proc: /proc has the pids of the outer namespace. */
static void pid_namespace_other_proc(void)
{
	int status = await(in_pid_namespace(false, proc_of_other_namespace));

	ensure(status == 0, "wait status %d", status);
}

static void *spin(void *argument)
{
	for (;;)
		;
	return argument;
}

static void two_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, spin, NULL);
	spin(NULL);
}

/* vignetted runs in the outer namespace.  The profile has the thread ids of the inner one. */
static void pid_namespace_from_outer(void)
{
	int outer = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	pid_t child = in_pid_namespace(true, two_threads);
	struct found found;
	char second[64];

	/* The inner /proc is mounted before the second thread is created. */
	snprintf(second, sizeof second, "/proc/%d/task", child);
	for (int ms = 0; entries(second) < 2; ms++) {
		ensure(ms < WAIT_MAX_MS, "the process has no second thread");
		usleep(1000);
	}
	/* Otherwise this process's further children would be in the inner namespace, too. */
	ensure(outer >= 0 && setns(outer, CLONE_NEWPID) == 0, "setns: %s", strerror(errno));
	record_until(child, "200", 2, 2, &found);
	ensure(found.threads == 2 && found.tids[0] == 1 && found.tids[1] == 2,
	       "%d threads, %d and %d; expected 2 threads, 1 and 2", found.threads, found.tids[0], found.tids[1]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static atomic_bool root_changed, stopping;

static void *change_root(void *argument)
{
	if (unshare(CLONE_FS) != 0 || mkdir("empty", 0755) != 0 || chroot("empty") != 0 || chdir("/") != 0)
		return argument;
	atomic_store(&root_changed, true);
	while (!atomic_load(&stopping))
		;
	return NULL;
}

/* A thread with its own root directory is sampled like the others. */
static void thread_in_chroot(void)
{
	struct vgctl_session *session;
	struct found found = { 0 };
	pthread_t thread;

	pthread_create(&thread, NULL, change_root, NULL);
	while (!atomic_load(&root_changed))
		usleep(1000);
	/* On a busy machine many samples are lost, because the thread does not stop in time. */
	for (int turns = 1; found.samples_of[0] < 2 || found.samples_of[1] < 2; turns *= 2) {
		ensure(turns < 1000, "%lu and %lu samples, %lu lost; expected 2 samples of each thread",
		       found.samples_of[0], found.samples_of[1], found.lost);
		session = begin(200);
		for (int turn = 0; turn < turns; turn++)
			session_use(session);
		ensure(vgctl_end(session, NULL) == 0, "vgctl_end failed");
		found_read(PROFILE, &found);
	}
	atomic_store(&stopping, true);
	ensure(found.threads == 2, "%d threads; expected 2", found.threads);
}

/* A session continues when its process changes its root and its mount namespace. */
static void chroot_later(void)
{
	struct vgctl_session *session = begin(200);

	ensure(unshare(CLONE_NEWNS) == 0, "unshare: %s", strerror(errno));
	ensure(mkdir("empty", 0755) == 0 && chroot("empty") == 0 && chdir("/") == 0, "chroot: %s",
	       strerror(errno));
	session_works(session);
	ensure(access("/" PROFILE, F_OK) != 0, "the profile is in the new root");
}

/* Without /proc nothing can be read about threads. */
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
	{ "pid_namespace_for_children_in_use", pid_namespace_for_children_in_use },
	{ "pid_namespace", pid_namespace },
	{ "pid_namespace_other_proc", pid_namespace_other_proc },
	{ "pid_namespace_from_outer", pid_namespace_from_outer },
	{ "thread_in_chroot", thread_in_chroot },
	{ "chroot_later", chroot_later },
	{ "no_proc", no_proc },
	{ NULL, NULL },
};
