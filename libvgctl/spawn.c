/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "libvgctl/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sched_attr.h"
#include "libvgctl/wire.h"

/*
 * Both children run on memory shared with the host, whose caller stands still meanwhile: so no
 * instrumentation, and nothing but system calls.  Not by the C library's functions, where these keep
 * notes in memory: a sanitizer that the host was built with has put its own in their place, which
 * would take down in the host's notes what the child does to its copies.  By the C library's other
 * name for clone(2) it passes that by as well.
 */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread")))

/* Of <linux/ioprio.h>, which not every system has for its users. */
enum { IOPRIO_WHO_PROCESS = 1, IOPRIO_CLASS_RT = 1, IOPRIO_CLASS_SHIFT = 13 };

enum { CHILD_STACK_BYTES = 64 * 1024, ENVIRONMENT_MAX = 8, DESCRIPTORS_MAX = 1 << 20 };

extern int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...);

struct spawn {
	const char *path;
	int socket;
	char *stack;                 /* two stacks, one for each child */
	char *environment[ENVIRONMENT_MAX + 1];
	pid_t helper;                /* what became of the second child; 0 */
	int failure;                 /* errno of what failed in a child, or 0 */
};

IN_CHILD static void signals_reset(void)
{
	/* The kernel's struct sigaction, all zero: SIG_DFL; and its set of signals, empty. */
	static const unsigned long action[4], none[1];

	for (int signal = 1; signal < NSIG; signal++)
		syscall(SYS_rt_sigaction, signal, action, NULL, sizeof none);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, sizeof none);
}

IN_CHILD static int child_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags);
}

IN_CHILD static void child_close(int fd)
{
	syscall(SYS_close, fd);
}

/* As dup2(2), for two that differ. */
IN_CHILD static int child_move(int from, int to)
{
	return (int)syscall(SYS_dup3, from, to, 0);
}

/* The highest descriptor that is open, by the names in /proc/self/fd. */
IN_CHILD static bool descriptors_list(int *last)
{
	char names[1024] __attribute__((aligned(8)));
	int directory = child_open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	long got;

	if (directory < 0)
		return false;
	while ((got = syscall(SYS_getdents64, directory, names, sizeof names)) > 0) {
		for (long at = 0; at < got;) {
			const struct dirent *entry = (const void *)(names + at);
			int fd = 0;

			for (const char *digit = entry->d_name; *digit >= '0' && *digit <= '9'; digit++)
				fd = fd * 10 + (*digit - '0');
			if (fd > *last)
				*last = fd;
			at += entry->d_reclen;
		}
	}
	child_close(directory);
	return got == 0;
}

IN_CHILD static void descriptors_close(void)
{
	struct rlimit limit = { 0 };
	int last = -1;

	if (syscall(SYS_close_range, VG_WIRE_FD + 1, ~0u, 0) == 0)
		return;
	/* Before Linux 5.9, or where a filter forbids it.  The limit may be a billion. */
	if (descriptors_list(&last)) {
		for (int fd = VG_WIRE_FD + 1; fd <= last; fd++)
			child_close(fd);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	for (rlim_t fd = VG_WIRE_FD + 1; fd < limit.rlim_cur && fd < DESCRIPTORS_MAX; fd++)
		child_close((int)fd);
}

/* The standard descriptors become the reading end of an empty pipe, the socket VG_WIRE_FD.  /dev/null may not exist, and
 * would keep /dev from being unmounted.  It serves where a filter forbids pipes. */
IN_CHILD static int descriptors_arrange(int socket)
{
	int ends[2];

	/* First those that are not needed: the host may have used up all it may have. */
	if (socket == VG_WIRE_FD ? syscall(SYS_fcntl, socket, F_SETFD, 0) < 0 : child_move(socket, VG_WIRE_FD) < 0)
		return -1;
	descriptors_close();
	for (int fd = 0; fd < VG_WIRE_FD; fd++)
		child_close(fd);
	/* The ends are the descriptors 0, to read from, and 1. */
	if (syscall(SYS_pipe2, ends, 0) != 0 && child_open("/dev/null", O_RDWR) != 0)
		return -1;
	return child_move(0, 1) < 0 || child_move(0, 2) < 0 ? -1 : 0;
}

/* A process with capabilities can be traced by those only that have them too, or this one.  execve(2)
 * takes them from an ordinary user's helper unless they are ambient. */
IN_CHILD static void capability_keep(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) != 0 ||
	    (data[0].permitted & 1u << CAP_SYS_PTRACE) == 0)
		return;
	data[0].inheritable |= 1u << CAP_SYS_PTRACE;
	if (syscall(SYS_capset, &header, data) == 0)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_PTRACE, 0, 0);
}

/* The helper must not come before the host's threads because the one that starts it does, nor be kept to the CPUs of
 * that one.  As after SCHED_RESET_ON_FORK: no real-time policy, no negative nice value; and no real-time class of I/O.
 * What makes a program give way to others stays: SCHED_BATCH, SCHED_IDLE, a positive nice value.  The CPUs are all that the
 * cpuset has. */
IN_CHILD static void scheduling_reset(void)
{
	static const unsigned char every_cpu[1024] = { [0 ... 1023] = 0xff };
	unsigned char cpus[sizeof every_cpu] __attribute__((aligned(8)));
	struct sched_param none = { 0 };
	long policy = syscall(SYS_sched_getscheduler, 0);
	long bytes = syscall(SYS_sched_getaffinity, 1, sizeof cpus, cpus);

	/* First to where process 1 may run.  From an isolated CPU (isolcpus) the kernel moves nobody who may stay. */
	if (bytes > 0)
		syscall(SYS_sched_setaffinity, 0, bytes, cpus);
	syscall(SYS_sched_setaffinity, 0, sizeof every_cpu, every_cpu);
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
	/* This call returns 20 less the nice value. */
	if (syscall(SYS_getpriority, PRIO_PROCESS, 0) > 20)
		syscall(SYS_setpriority, PRIO_PROCESS, 0, 0);
	if (syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) >> IOPRIO_CLASS_SHIFT == IOPRIO_CLASS_RT)
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0);
}

IN_CHILD static int helper_run(void *argument)
{
	struct spawn *spawn = argument;
	char *arguments[] = { (char *)"vignetted", (char *)"--serve", NULL };

	signals_reset();
	syscall(SYS_setsid);
	scheduling_reset();
	capability_keep();
	if (descriptors_arrange(spawn->socket) == 0)
		syscall(SYS_execve, spawn->path, arguments, spawn->environment);
	spawn->failure = errno;
	syscall(SYS_exit_group, 127);
	__builtin_unreachable();
}

/* Its only task is to be the helper's parent, and to be gone: execve(2) resets the signal that
 * a process sends its parent at its end, so the helper cannot be the host's own child. */
IN_CHILD static int middle_run(void *argument)
{
	struct spawn *spawn = argument;
	int helper = __clone(helper_run, spawn->stack + CHILD_STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, spawn);

	if (helper < 0)
		spawn->failure = errno;
	else
		spawn->helper = helper;
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

bool vg_spawn_is_privileged(void)
{
	return getauxval(AT_SECURE) != 0;
}

/* The host's preloaded libraries and the like are none of the helper's business.  A privileged host's environment
 * is its user's, and the helper's linker would follow it: where the host has made its real user the effective one,
 * or passes on an ambient capability, the kernel does not set AT_SECURE for the helper. */
static void environment_pick(struct spawn *spawn)
{
	static const char *const wanted[] = { "LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=",
					      "LSAN_OPTIONS=", "TSAN_OPTIONS=" };
	size_t count = 0;

	if (vg_spawn_is_privileged())
		return;
	for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
		for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
			if (strncmp(*variable, wanted[i], strlen(wanted[i])) == 0 &&
			    count < ENVIRONMENT_MAX)
				spawn->environment[count++] = *variable;
		}
	}
}

/* Whether the calling thread's children begin in another namespace of the kind. */
static bool is_elsewhere(const char *own_path, const char *children_path)
{
	char own[64], children[64];
	ssize_t length = readlink(own_path, own, sizeof own);

	/* A namespace that has no process yet shows no link. */
	return length > 0 && (readlink(children_path, children, sizeof children) != length ||
			      memcmp(own, children, (size_t)length) != 0);
}

const char *vg_spawn_elsewhere(void)
{
	if (is_elsewhere("/proc/thread-self/ns/pid", "/proc/thread-self/ns/pid_for_children"))
		return "pid";
	if (is_elsewhere("/proc/thread-self/ns/time", "/proc/thread-self/ns/time_for_children"))
		return "time";
	return NULL;
}

/* A thread with SCHED_DEADLINE can clone only while it has SCHED_FLAG_RESET_ON_FORK.  Sets or clears that flag.  False if
 * the flag stays as it was: the thread has another policy, had the flag so before, or may not change it. */
static bool deadline_allow(bool allowed)
{
	const uint64_t flag = 1; /* SCHED_FLAG_RESET_ON_FORK of <linux/sched.h> */
	struct vg_sched_attr attributes = { 0 };
	bool changed = syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
		       attributes.policy == SCHED_DEADLINE && ((attributes.flags & flag) != 0) != allowed;

	attributes.flags ^= flag;
	return changed && syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

/* The first child, which has ended by then, or a negative errno.  CLONE_VFORK: no copy of the host's page tables, which
 * takes tens of milliseconds for a large one.  No exit signal: waitpid(-1) passes such a child by, __WALL does not. */
static pid_t middle_clone(struct spawn *spawn)
{
	pid_t middle = __clone(middle_run, spawn->stack + (size_t)2 * CHILD_STACK_BYTES, CLONE_VM | CLONE_VFORK, spawn);

	return middle < 0 ? -errno : middle;
}

int vg_spawn(const char *path, int socket, pid_t *helper)
{
	struct spawn spawn = { .path = path, .socket = socket };
	sigset_t all, before;
	pid_t middle;
	int cancel_state;

	environment_pick(&spawn);
	spawn.stack = mmap(NULL, (size_t)2 * CHILD_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (spawn.stack == MAP_FAILED)
		return -errno;
	/* A handler of the host that ran in the child would run on the shared memory. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	middle = middle_clone(&spawn);
	if (middle == -EAGAIN && deadline_allow(true)) {
		middle = middle_clone(&spawn);
		deadline_allow(false);
	}
	while (middle > 0 && waitpid(middle, NULL, __WALL) < 0 && errno == EINTR)
		;
	*helper = spawn.helper;
	pthread_setcancelstate(cancel_state, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(spawn.stack, (size_t)2 * CHILD_STACK_BYTES);
	return middle < 0 ? middle : -spawn.failure;
}

/* Not access(2), which asks for the real user: execve(2) goes by the effective one. */
static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0;
}

/* The path, if a program is there; else frees it and returns NULL.  Accepts NULL. */
static char *program_check(char *path)
{
	if (path != NULL && is_program(path))
		return path;
	free(path);
	return NULL;
}

/* `vignetted` in the directory that file is in. */
static char *beside(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *path;

	if (slash == NULL || asprintf(&path, "%.*s/vignetted", (int)(slash - file), file) < 0)
		return NULL;
	return program_check(path);
}

static char *given(const char *file)
{
	return program_check(strdup(file));
}

struct own_object {
	uintptr_t program;           /* address of the main program's headers */
	char *path;                  /* of the helper beside it, or NULL */
};

/* Whether this code is in the object. */
static bool holds_this(const struct dl_phdr_info *object)
{
	uintptr_t code = (uintptr_t)holds_this - object->dlpi_addr;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && code >= part->p_vaddr && code - part->p_vaddr < part->p_memsz)
			return true;
	}
	return false;
}

static int object_look(struct dl_phdr_info *object, size_t bytes, void *argument)
{
	struct own_object *own = argument;

	(void)bytes;
	if (!holds_this(object))
		return 0;
	if ((uintptr_t)object->dlpi_phdr != own->program && object->dlpi_name != NULL && object->dlpi_name[0] == '/')
		own->path = beside(object->dlpi_name);
	return 1;
}

/* By the linker's name of the shared object that this code is in.  The main program's is empty, or argv[0], which is
 * whatever its user wants.  A relative name was one where the program began. */
static char *beside_library(void)
{
	struct own_object own = { getauxval(AT_PHDR), NULL };

	dl_iterate_phdr(object_look, &own);
	return own.path;
}

/* Not in an array: the calling thread's stack may be of PTHREAD_STACK_MIN. */
static char *beside_program(void)
{
	char *program = malloc(PATH_MAX), *found = NULL;
	ssize_t length = program != NULL ? readlink("/proc/self/exe", program, PATH_MAX - 1) : -1;

	if (length > 0) {
		program[length] = '\0';
		found = beside(program);
	}
	free(program);
	return found;
}

int vg_spawn_find(const char *option, char **path)
{
	const char *variable = secure_getenv("VIGNETTED");
	bool privileged = vg_spawn_is_privileged();

	*path = NULL;
	if (option == NULL && variable != NULL && *variable != '\0')
		option = variable;
	/* The working directory is the user's choice. */
	if (option != NULL && (!privileged || *option == '/'))
		*path = given(option);
	if (option != NULL)
		return *path != NULL ? 0 : -ENOPKG;
	/* So is the program's own directory: a user may make a hard link to it. */
	if (!privileged)
		*path = beside_library();
	if (!privileged && *path == NULL)
		*path = beside_program();
	if (*path == NULL)
		*path = given(VG_LIBEXECDIR "/vignetted");
	return *path != NULL ? 0 : -ENOPKG;
}
