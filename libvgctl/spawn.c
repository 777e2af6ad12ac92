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
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_calls.h"
#include "libvgctl/process.h"
#include "libvgctl/wire.h"

/*
 * vg_spawn() creates an intermediate process, which creates the helper.  Both children share the memory of the host
 * (CLONE_VM) until they exit or execute the helper's program.  Until then the thread that created a child waits in
 * clone(2) (CLONE_VFORK).  So sanitizers must not instrument the children, and the children only make system calls.
 *
 * The children call syscall(2) instead of functions such as close(2).  Sanitizers replace such functions and would
 * record in the host's memory what a child does to its own descriptors.  __clone is another name of clone(2) in the C
 * library.  Sanitizers do not replace __clone.
 */
#define IN_CHILD __attribute__((no_sanitize("address", "undefined", "thread")))

/* As in <linux/ioprio.h>, which not every system installs. */
enum { IOPRIO_WHO_PROCESS = 1, IOPRIO_CLASS_RT = 1, IOPRIO_CLASS_SHIFT = 13 };

enum { CHILD_STACK_BYTES = 64 * 1024, ENVIRONMENT_MAX = 8, DESCRIPTORS_MAX = 1 << 20 };

extern int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...);

struct spawn {
	const char *path;
	int socket;
	char *stack;                 /* two stacks, one for each child */
	char *environment[ENVIRONMENT_MAX + 1];
	pid_t helper;                /* pid of the second child, or 0 */
	int failure;                 /* errno of a failure in a child, or 0 */
	const char *call;            /* the system call that failed; valid if `failure` is not 0 */
};

IN_CHILD static void signals_reset(void)
{
	/* `action` is the kernel's struct sigaction.  Zeros mean SIG_DFL.  `none` is an empty signal set. */
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

/* Like dup2(2).  The two numbers must differ. */
IN_CHILD static int child_move(int from, int to)
{
	return (int)syscall(SYS_dup3, from, to, 0);
}

/* Reads /proc/self/fd and sets *last to the highest open descriptor.  False: /proc/self/fd could not be read. */
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
	/* Linux before 5.9 has no close_range(2), and a filter may forbid it.  Closing every number below RLIMIT_NOFILE
	 * would take too long, because the limit can be 1e9. */
	if (descriptors_list(&last)) {
		for (int fd = VG_WIRE_FD + 1; fd <= last; fd++)
			child_close(fd);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	for (rlim_t fd = VG_WIRE_FD + 1; fd < limit.rlim_cur && fd < DESCRIPTORS_MAX; fd++)
		child_close((int)fd);
}

/* Arranges the descriptors of the helper: VG_WIRE_FD and the standard error are the socket, so that we receive what the
 * dynamic linker prints.  Standard input and output are the read end of an empty pipe.  /dev/null is used only if a
 * filter forbids pipes: /dev/null may not exist, and /dev cannot be unmounted while /dev/null is open.  Returns NULL,
 * or the system call that failed. */
IN_CHILD static const char *descriptors_arrange(int socket)
{
	int ends[2];

	/* Close descriptors before opening new ones: the host may have reached its limit. */
	if (socket == VG_WIRE_FD && syscall(SYS_fcntl, socket, F_SETFD, 0) < 0)
		return "fcntl";
	if (socket != VG_WIRE_FD && child_move(socket, VG_WIRE_FD) < 0)
		return "dup3";
	descriptors_close();
	for (int fd = 0; fd < VG_WIRE_FD; fd++)
		child_close(fd);
	/* The read end becomes descriptor 0, the write end 1. */
	if (syscall(SYS_pipe2, ends, 0) != 0 && child_open("/dev/null", O_RDWR) != 0)
		return "pipe2 and open of /dev/null";
	return child_move(0, 1) < 0 || child_move(VG_WIRE_FD, 2) < 0 ? "dup3" : NULL;
}

/* To trace a process with capabilities, the helper needs the same capabilities or CAP_SYS_PTRACE.  execve(2) removes
 * the capabilities of an ordinary user's process unless they are ambient. */
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

/* The helper must inherit neither a scheduling advantage nor the CPU affinity of the calling thread.  Like
 * SCHED_RESET_ON_FORK, this function removes a real-time policy and a negative nice value.  It also removes a real-time
 * I/O class.  It keeps SCHED_BATCH, SCHED_IDLE and a positive nice value.  The helper may run on all CPUs of the
 * cpuset. */
IN_CHILD static void scheduling_reset(void)
{
	static const unsigned char every_cpu[1024] = { [0 ... 1023] = 0xff };
	unsigned char cpus[sizeof every_cpu] __attribute__((aligned(8)));
	struct sched_param none = { 0 };
	long policy = syscall(SYS_sched_getscheduler, 0);
	long bytes = syscall(SYS_sched_getaffinity, 1, sizeof cpus, cpus);

	/* First move to the CPUs of process 1.  The kernel does not move a process away from an isolated CPU (isolcpus)
	 * that its affinity still allows. */
	if (bytes > 0)
		syscall(SYS_sched_setaffinity, 0, bytes, cpus);
	syscall(SYS_sched_setaffinity, 0, sizeof every_cpu, every_cpu);
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
	/* This system call returns 20 minus the nice value. */
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
	spawn->call = descriptors_arrange(spawn->socket);
	if (spawn->call == NULL) {
		spawn->call = "execve";
		syscall(SYS_execve, spawn->path, arguments, spawn->environment);
	}
	spawn->failure = errno;
	syscall(SYS_exit_group, 127);
	__builtin_unreachable();
}

/* The intermediate process: it starts the helper and exits, so that the helper is an orphan.  A direct child without an
 * exit signal does not work: execve(2) resets the exit signal to SIGCHLD. */
IN_CHILD static int intermediate_run(void *argument)
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

/* Selects the variables that the helper gets.  Variables such as LD_PRELOAD must not affect the helper.  A privileged
 * host passes on no variable, because its environment comes from its user, who is not trusted.  AT_SECURE does not
 * always protect the helper's dynamic linker: the kernel does not set AT_SECURE for the helper if the host has set its
 * effective user to the real user or passes on an ambient capability. */
static void environment_select(struct spawn *spawn)
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

/* True if the calling thread's children begin in another namespace than the thread.  The paths in /proc identify the
 * namespaces of the thread and of its children. */
static bool children_in_other_namespace(const char *own_path, const char *children_path)
{
	char own[64], children[64];
	ssize_t length = readlink(own_path, own, sizeof own);

	/* readlink(2) of children_path fails if no process is in that pid namespace yet. */
	return length > 0 && (readlink(children_path, children, sizeof children) != length ||
			      memcmp(own, children, (size_t)length) != 0);
}

const char *vg_spawn_other_namespace(void)
{
	if (children_in_other_namespace("/proc/thread-self/ns/pid", "/proc/thread-self/ns/pid_for_children"))
		return "pid";
	if (children_in_other_namespace("/proc/thread-self/ns/time", "/proc/thread-self/ns/time_for_children"))
		return "time";
	return NULL;
}

/* A thread with SCHED_DEADLINE can create a process only while it has SCHED_FLAG_RESET_ON_FORK.  This function sets or
 * clears the flag.  It returns false if nothing was changed: the thread has another policy, the flag already had the
 * requested value, or the thread may not change the flag. */
static bool deadline_fork_allow(bool allowed)
{
	const uint64_t flag = 1; /* SCHED_FLAG_RESET_ON_FORK of <linux/sched.h> */
	struct vg_sched_attr attributes = { 0 };
	bool changed = syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
		       attributes.policy == SCHED_DEADLINE && ((attributes.flags & flag) != 0) != allowed;

	attributes.flags ^= flag;
	return changed && syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

/* Runs the intermediate process until it exits.  Returns its pid, which the caller must reap, or a negative errno.
 * CLONE_VM avoids copying the host's page tables, which takes tens of milliseconds for a large host.  The child
 * has no exit signal, so the host's waitpid(-1) ignores the child, except with __WALL. */
static pid_t intermediate_clone(struct spawn *spawn)
{
	pid_t intermediate = __clone(intermediate_run, spawn->stack + (size_t)2 * CHILD_STACK_BYTES,
				     CLONE_VM | CLONE_VFORK, spawn);

	return intermediate < 0 ? -errno : intermediate;
}

int vg_spawn(const char *path, int socket, pid_t *helper, const char **call)
{
	struct spawn spawn = { .path = path, .socket = socket, .call = "clone" };
	sigset_t all, before;
	pid_t intermediate;
	int cancel_state;

	environment_select(&spawn);
	*call = "mmap";
	spawn.stack = mmap(NULL, (size_t)2 * CHILD_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (spawn.stack == MAP_FAILED)
		return -errno;
	/* A signal handler of the host must not run in a child, because the child shares the host's memory. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	intermediate = intermediate_clone(&spawn);
	if (intermediate == -EAGAIN && deadline_fork_allow(true)) {
		intermediate = intermediate_clone(&spawn);
		deadline_fork_allow(false);
	}
	while (intermediate > 0 && waitpid(intermediate, NULL, __WALL) < 0 && errno == EINTR)
		;
	*helper = spawn.helper;
	*call = spawn.call;
	pthread_setcancelstate(cancel_state, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(spawn.stack, (size_t)2 * CHILD_STACK_BYTES);
	return intermediate < 0 ? intermediate : -spawn.failure;
}

/* access(2) would check the real user, but execve(2) checks the effective user. */
static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0;
}

/* Returns the path if it is a program; otherwise frees it and returns NULL.  Accepts NULL. */
static char *program_check(char *path)
{
	if (path != NULL && is_program(path))
		return path;
	free(path);
	return NULL;
}

/* `vignetted` in the directory of the file, or NULL. */
static char *find_beside(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *path;

	if (slash == NULL || asprintf(&path, "%.*s/vignetted", (int)(slash - file), file) < 0)
		return NULL;
	return program_check(path);
}

static char *find_at(const char *file)
{
	return program_check(strdup(file));
}

struct object_search {
	uintptr_t program;           /* address of the main program's program headers */
	char *path;                  /* path of the helper in the directory of this library, or NULL */
};

static int object_visit(struct dl_phdr_info *object, size_t bytes, void *argument)
{
	struct object_search *search = argument;

	(void)bytes;
	if (!vg_process_object_has_library(object))
		return 0;
	if ((uintptr_t)object->dlpi_phdr != search->program && object->dlpi_name != NULL && object->dlpi_name[0] == '/')
		search->path = find_beside(object->dlpi_name);
	return 1;
}

/* Uses the dynamic linker's name of the shared object that contains this code.  Does not use the name of the main
 * program: it is empty or argv[0], which the user controls.  Does not use a relative name: it depends on the working
 * directory at the start of the program. */
static char *find_beside_library(void)
{
	struct object_search search = { getauxval(AT_PHDR), NULL };

	dl_iterate_phdr(object_visit, &search);
	return search.path;
}

/* The buffers are on the heap, because the calling thread's stack may be as small as PTHREAD_STACK_MIN. */
static char *find_beside_program(void)
{
	char *program = malloc(PATH_MAX), *found = NULL;
	ssize_t length = program != NULL ? readlink("/proc/self/exe", program, PATH_MAX - 1) : -1;

	if (length > 0) {
		program[length] = '\0';
		found = find_beside(program);
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
	/* The user of a privileged program chooses its working directory. */
	if (option != NULL && (!privileged || *option == '/'))
		*path = find_at(option);
	if (option != NULL)
		return *path != NULL ? 0 : -ENOPKG;
	/* The user of a privileged program can also choose its directory, with a hard link. */
	if (!privileged)
		*path = find_beside_library();
	if (!privileged && *path == NULL)
		*path = find_beside_program();
	if (*path == NULL)
		*path = find_at(VG_LIBEXECDIR "/vignetted");
	return *path != NULL ? 0 : -ENOPKG;
}
