/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/objdump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/system_calls.h"
#include "vgtool/run/confine.h"

/* A function of a browser, whose binary has 1 GiB, takes a few seconds. */
enum { CPU_SECONDS_MAX = 60 };
static const rlim_t MEMORY_BYTES_MAX = (rlim_t)8 << 30;

/* The descriptor of the binary in the new process. */
enum { BINARY_FD = 3 };
#define BINARY_PATH "/proc/self/fd/3"

int vg_objdump_find(struct vg_objdump *objdump, struct vg_err *err)
{
	const char *directory = getenv("PATH");
	char file[PATH_MAX];

	while (directory != NULL && *directory != '\0') {
		int length = (int)strcspn(directory, ":");

		/* A relative directory is not searched: the working directory may have untrusted files. */
		if (*directory == '/' && snprintf(file, sizeof file, "%.*s/objdump", length, directory) < PATH_MAX &&
		    access(file, X_OK) == 0) {
			objdump->path = realpath(file, NULL);
			return objdump->path != NULL ? 0 : vg_err_sys(err, -ENOMEM, "%s: cannot execute", file);
		}
		directory += length + (directory[length] == ':');
	}
	return vg_err_set(err, -ENOPKG, "--asm: objdump was not found in $PATH; install the package binutils");
}

static void limit_set(int resource, rlim_t value)
{
	const struct rlimit limit = { value, value };

	setrlimit((__rlimit_resource_t)resource, &limit);
}

static bool descriptors_set(int file, int output)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* The file is moved last: until then, descriptor 3 may be `null` or `output`. */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 || dup2(file, BINARY_FD) < 0 || fcntl(BINARY_FD, F_SETFD, 0) != 0)
		return false;
	/* Close what the caller of vgtool has left open.  A kernel before 5.9 does not have this call. */
	syscall(SYS_close_range, BINARY_FD + 1, ~0U, 0);
	return true;
}

/* The program, the files of the dynamic linker, and the binary. */
static int process_confine(const char *path)
{
	char directory[PATH_MAX];
	const char *const paths[] = { directory, "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store",
				      "/etc/ld.so.cache", BINARY_PATH };

	/* realpath(3) has made the path. */
	snprintf(directory, sizeof directory, "%s", path);
	*strrchr(directory, '/') = '\0';
	return vg_reader_confine(&(struct vg_confinement){ .paths = paths, .path_count = sizeof paths / sizeof *paths,
							   .executes = true }, NULL);
}

static void __attribute__((noreturn)) objdump_execute(const char *path, int file, int output, uint64_t begin,
						      uint64_t end, pid_t parent)
{
	char from[48], to[48], *const environment[] = { "LC_ALL=C", NULL };
	/* -z: all instructions of a block of zeroes.  -C: names of C++ and Rust as in the rest of the output. */
	char *const arguments[] = { "objdump", "-d", "-z", "-C", "--no-show-raw-insn", from, to, BINARY_PATH, NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || setsid() < 0 || !descriptors_set(file, output))
		_exit(127);
	snprintf(from, sizeof from, "--start-address=0x%" PRIx64, begin);
	snprintf(to, sizeof to, "--stop-address=0x%" PRIx64, end);
	limit_set(RLIMIT_CPU, CPU_SECONDS_MAX);
	limit_set(RLIMIT_AS, MEMORY_BYTES_MAX);
	limit_set(RLIMIT_FSIZE, 0);
	if (process_confine(path) == 0)
		execve(path, arguments, environment);
	_exit(127);
}

int vg_objdump_start(struct vg_objdump *objdump, int file, uint64_t begin, uint64_t end)
{
	pid_t parent = getpid();
	struct stat status;
	int ends[2];

	vg_objdump_end(objdump);
	/* A reader can open any file with O_PATH.  It cannot read such a descriptor, but objdump opens the file again. */
	if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
	    (fcntl(file, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDONLY)
		return -EINVAL;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	ends[0] = vg_descriptor_raise(ends[0]);
	ends[1] = vg_descriptor_raise(ends[1]);
	objdump->pid = ends[0] >= 0 && ends[1] >= 0 ? fork() : -1;
	if (objdump->pid == 0)
		objdump_execute(objdump->path, file, ends[1], begin, end, parent);
	if (ends[1] >= 0)
		close(ends[1]);
	if (objdump->pid > 0)
		return ends[0];
	objdump->pid = 0;
	if (ends[0] >= 0)
		close(ends[0]);
	return -EAGAIN;
}

void vg_objdump_end(struct vg_objdump *objdump)
{
	if (objdump->pid <= 0)
		return;
	kill(objdump->pid, SIGKILL);
	while (waitpid(objdump->pid, NULL, 0) < 0 && errno == EINTR)
		;
	objdump->pid = 0;
}

void vg_objdump_free(struct vg_objdump *objdump)
{
	vg_objdump_end(objdump);
	free(objdump->path);
	*objdump = (struct vg_objdump){ 0 };
}
