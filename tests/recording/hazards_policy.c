/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hazards of limits: system call filters, descriptors, processes; and a helper that is killed before the session has
 * begun. */
#include "tests/recording/hazards.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes the kernel take this action at that system call from now on. */
static void call_deny(int call, uint32_t action)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof rules / sizeof *rules, rules };

	ensure(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs: %s", strerror(errno));
	ensure(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "seccomp: %s", strerror(errno));
}

/* What the message of a session must contain that fails because this call is refused; or NULL. */
static const char *name_expected(int call)
{
	static const struct { int call; const char *name; } names[] = {
		{ SYS_clone, "clone:" }, { SYS_execve, "execve:" }, { SYS_wait4, "wait4" }, { SYS_ptrace, "ptrace" },
		{ SYS_process_vm_readv, "process_vm_readv" }, { SYS_pidfd_open, "pidfd_open:" },
		{ SYS_signalfd4, "signalfd:" }, { SYS_socketpair, "socketpair:" }, { SYS_getdents64, "getdents64" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (names[i].call == call)
			return names[i].name;
	}
	return NULL;
}

/* A session under a filter that denies one system call.  It works (exit status 0), or fails: at its begin with a
 * message (1) or without the right one (3), or at its end (2).  It must not fail because something did not answer (4).
 * */
static void session_without(int call, uint32_t action)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	const char *name = action == SECCOMP_RET_KILL_PROCESS ? "seccomp filter" : name_expected(call);
	struct vgctl_session *session;
	int rc;

	call_deny(call, action);
	options.rate_hz = 500;
	alarm(WAIT_MAX_MS / 1000);
	rc = vgctl_begin(PROFILE, &options, &session);
	if (rc == 0) {
		for (volatile long i = 0; i < 10 * 1000 * 1000; i++)
			;
		rc = vgctl_end(session, NULL);
		_exit(rc == 0 ? 0 : rc == -ETIMEDOUT ? 4 : 2);
	}
	printf("  %d: %s\n", call, vgctl_strerror(rc));
	if (rc == -ETIMEDOUT)
		_exit(4);
	_exit(rc < 0 && strlen(vgctl_strerror(rc)) > 10 &&
	      (name == NULL || strstr(vgctl_strerror(rc), name) != NULL) ? 1 : 3);
}

static void filter_errno(void)
{
	static const int some[] = {
		SYS_clone, SYS_clone3, SYS_execve, SYS_wait4, SYS_setsid, SYS_close_range, SYS_fcntl,
		SYS_dup2, SYS_ptrace, SYS_process_vm_readv, SYS_pidfd_open, SYS_prctl, SYS_seccomp,
		SYS_signalfd4, SYS_ppoll, SYS_poll, SYS_sendmsg, SYS_recvmsg, SYS_socketpair,
		SYS_setsockopt, SYS_getsockopt, SYS_rt_sigprocmask, SYS_rt_sigtimedwait, SYS_getdents64,
		SYS_pread64, SYS_sched_setattr, SYS_setrlimit, SYS_prlimit64, SYS_mmap, SYS_openat,
		SYS_readlinkat, SYS_newfstatat, SYS_clock_nanosleep, SYS_write, SYS_flock, SYS_uname,
		SYS_getpid, SYS_geteuid, SYS_getuid, SYS_munmap, SYS_renameat, SYS_futex,
	};
	int count = rounds(sizeof some / sizeof *some, 470), worked = 0, refused = 0, status;

	printf("\n");
	for (int i = 0; i < count; i++) {
		int call = rounds(0, 1) ? i : some[i];
		pid_t child;

		if (call == SYS_exit_group || call == SYS_exit ||
		    (SANITIZED && (call == SYS_mmap || call == SYS_munmap)))
			continue;
		child = fork();
		if (child == 0)
			session_without(call, SECCOMP_RET_ERRNO | EPERM);
		status = await(child);
		ensure(WIFEXITED(status) && WEXITSTATUS(status) <= 2, "without call %d: wait status %d", call,
		       status);
		worked += WEXITSTATUS(status) == 0;
		refused += WEXITSTATUS(status) != 0;
		unlink(PROFILE ".part");
	}
	printf("of %d calls forbidden one by one, %d made the session fail; ", worked + refused, refused);
	ensure(worked > 0 && refused > 10, "%d worked, %d failed", worked, refused);
}

/* The filter kills the helper, or a process that starts the helper, and not the host. */
static void filter_kill(void)
{
	static const int calls[] = { SYS_execve, SYS_setsid, SYS_ptrace, SYS_process_vm_readv,
				     SYS_sched_setattr, SYS_pidfd_open, SYS_signalfd4 };
	int status;

	printf("\n");
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		pid_t child = fork();

		if (child == 0)
			session_without(calls[i], SECCOMP_RET_KILL_PROCESS);
		status = await(child);
		ensure(WIFEXITED(status) && WEXITSTATUS(status) == 1,
		       "killed for call %d: wait status %d", calls[i], status);
	}
}

/* A program that confines itself after vgctl_begin(). */
static void filter_later(void)
{
	struct vgctl_session *session = begin(500);

	call_deny(SYS_ptrace, SECCOMP_RET_KILL_PROCESS);
	call_deny(SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS);
	call_deny(SYS_execve, SECCOMP_RET_KILL_PROCESS);
	call_deny(SYS_clone, SECCOMP_RET_KILL_PROCESS);
	call_deny(SYS_openat, SECCOMP_RET_KILL_PROCESS);
	call_deny(SYS_socketpair, SECCOMP_RET_KILL_PROCESS);
	session_works(session);
}

/* A program that closes all descriptors, as a daemon does, also closes the library's.  The library then touches no file
 * that gets one of these numbers. */
static void descriptors_closed(void)
{
	struct vgctl_session *session = begin(500);
	struct found found;
	int ends[2], file, rc;
	char byte;

	session_use(session);
	closefrom(3);
	helper_wait(getpid());
	found_read(PROFILE ".part", &found);
	ensure(strcmp(found.reason, "the program closed its end of the session") == 0,
	       "the profile ends with '%s'", found.reason);
	file = open("mine", O_RDWR | O_CREAT, 0600);
	ensure(file == 3 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "descriptors");
	while (dup(ends[0]) < 20)
		;
	rc = vgctl_sample(session);
	ensure(rc == -EBADF, "vgctl_sample returned %d: %s", rc, vgctl_strerror(rc));
	ensure(recv(ends[1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN, "a message in the program's own socket");
	rc = vgctl_end(session, NULL);
	ensure(rc == -EBADF, "vgctl_end returned %d: %s", rc, vgctl_strerror(rc));
	printf("(%s) ", vgctl_strerror(rc));
	for (int fd = 3; fd < 20; fd++)
		ensure(fcntl(fd, F_GETFD) >= 0, "descriptor %d was closed", fd);
	ensure(access(PROFILE, F_OK) == 0 || access(PROFILE ".part", F_OK) == 0, "the profile was removed");
	session = begin(500);
	ensure(vgctl_end(session, NULL) == 0, "no session after that");
}

/* At each limit of descriptors there is a session or a message. */
static void descriptors_few(void)
{
	int worked = 0;

	for (rlim_t most = 3; most <= 40; most++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			struct rlimit limit = { most, most };
			struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
			struct vgctl_session *session;
			int rc;

			ensure(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
			alarm(WAIT_MAX_MS / 1000);
			rc = vgctl_begin(PROFILE, NULL, &session);
			if (rc != 0) {
				ensure(rc != -ETIMEDOUT, "with %d descriptors: %s", (int)most, vgctl_strerror(rc));
				ensure(access(PROFILE ".part", F_OK) != 0, "a file is left");
				printf("\n  %d: %s", (int)most, vgctl_strerror(rc));
				_exit(2);
			}
			/* On a busy machine some samples are lost, because the thread does not stop in time. */
			session_use(session);
			rc = vgctl_end(session, &summary);
			ensure(rc == 0 && summary.samples > 0, "with %d descriptors: %llu samples, not 1 or more; %s",
			       (int)most, (unsigned long long)summary.samples, vgctl_strerror(rc));
			_exit(0);
		}
		status = await(child);
		ensure(WIFEXITED(status) && WEXITSTATUS(status) != 1,
		       "with %d descriptors: wait status %d", (int)most, status);
		worked += status == 0;
	}
	printf("\n");
	ensure(worked > 15, "only %d of 38 limits allow a session", worked);
}

/* Only the host is at its limit, like a program that leaks descriptors. */
static void descriptors_used_up(void)
{
	int free_fd = -1, fd;

	for (int left = 0; left < 6; left++) {
		struct vgctl_session *session;
		int rc;

		while ((fd = open("/dev/null", O_RDONLY)) >= 0)
			free_fd = fd;
		ensure(errno == EMFILE, "open: %s", strerror(errno));
		for (int i = 0; i < left; i++)
			close(free_fd - i);
		rc = vgctl_begin(PROFILE, NULL, &session);
		if (rc == 0)
			rc = vgctl_end(session, NULL);
		else
			ensure(rc == -EMFILE && access(PROFILE ".part", F_OK) != 0, "with %d left: %s", left,
			       vgctl_strerror(rc));
		if (left < 2)
			ensure(rc == -EMFILE, "with %d left: %s", left, vgctl_strerror(rc));
		if (left == 5)
			ensure(rc == 0, "with %d left: %s", left, vgctl_strerror(rc));
	}
}

/* The user has as many processes as the limit allows. */
static void processes_used_up(void)
{
	struct rlimit limit = { 1, 1 };

	ensure(setgid(12345) == 0 && setuid(12345) == 0, "setuid");
	for (rlim_t most = 1; most <= 2; most++) {
		int status;
		pid_t child;

		/* This process and its child both count towards the limit. */
		child = fork();
		if (child == 0) {
			limit.rlim_cur = limit.rlim_max = most + 1;
			ensure(setrlimit(RLIMIT_NPROC, &limit) == 0, "setrlimit");
			begin_refused(-ENOEXEC, "Resource temporarily unavailable");
			fflush(stdout);
			_exit(0);
		}
		status = await(child);
		ensure(status == 0, "wait status %d", status);
	}
}

/* Makes a helper that is killed `us` microseconds after its start, or before it is vignetted if `us` is 0. */
static void brief_helper_write(int us)
{
	FILE *file = fopen("brief", "w");

	ensure(file != NULL, "fopen: %s", strerror(errno));
	if (us == 0)
		fprintf(file, "#!/bin/sh\nkill -9 $$\n");
	else
		fprintf(file, "#!/bin/sh\n(sleep 0.%06d; kill -9 $$) 3>&- &\nexec \"%s\" \"$@\"\n", us,
			getenv("VIGNETTED"));
	fchmod(fileno(file), 0700);
	fclose(file);
}

/* If the helper is killed in its first milliseconds, vgctl_begin() fails and leaves nothing behind.  The first helper
 * is killed before it begins.  filter_kill() kills it at each of some system calls; here the moments are random. */
static void helper_killed_in_begin(void)
{
	int count = rounds(30, 2000), failed = 0, before;
	struct vgctl_options options = VGCTL_OPTIONS_INIT;

	options.helper_path = "./brief";
	/* The first session makes the event ring, which stays open. */
	vgctl_thread_name("host");
	before = entries("/proc/self/fd");
	for (int i = 0; i < count; i++) {
		struct vgctl_session *session;
		int rc;

		brief_helper_write(i * 7919 % 8000);
		rc = vgctl_begin(PROFILE, &options, &session);
		if (rc == 0) {
			usleep(10 * 1000);
			rc = vgctl_end(session, NULL);
			ensure(rc == 0 || rc == -ECONNRESET, "vgctl_end: %s", vgctl_strerror(rc));
		} else {
			ensure(rc == -ECONNRESET, "vgctl_begin: %d, %s", rc, vgctl_strerror(rc));
			ensure(access(PROFILE ".part", F_OK) != 0, "vgctl_begin left a file");
			failed++;
		}
		ensure(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD, "a child is left");
		ensure(entries("/proc/self/fd") == before, "a descriptor is left");
	}
	printf("(%d of %d killed in vgctl_begin) ", failed, count);
	ensure(failed > 0, "none was killed in vgctl_begin");
}

const struct hazard policy_hazards[] = {
	{ "filter_errno", filter_errno },
	{ "filter_kill", filter_kill },
	{ "filter_later", filter_later },
	{ "descriptors_closed", descriptors_closed },
	{ "descriptors_few", descriptors_few },
	{ "descriptors_used_up", descriptors_used_up },
	{ "processes_used_up", processes_used_up },
	{ "helper_killed_in_begin", helper_killed_in_begin },
	{ NULL, NULL },
};
