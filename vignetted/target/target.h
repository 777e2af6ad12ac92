/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_TARGET_H
#define VG_VIGNETTED_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/err.h"

/* Reads a file as far as it fits into the text, and adds a NUL.  The format makes the file's name.  Returns the length,
 * or a negative errno: then the text is "". */
ssize_t vg_proc_read(char *text, size_t size_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The number in a file of /proc/sys; `otherwise` if there is none. */
int vg_proc_number(const char *path, int otherwise);

/* Whether we have this capability in our effective set. */
bool vg_proc_status_capable(int capability);

enum { VG_PROGRAM_BYTES = 256 };

/*
 * The process that is sampled.
 *
 * 	rc = vg_target_open(&target, pid, &err);
 * 	...
 * 	vg_target_close(&target);
 */
struct vg_target {
	pid_t pid;
	int pidfd;                   /* owned; readable when the process has exited */
	char program[VG_PROGRAM_BYTES]; /* its name: see vg_target_program_read() */
	char executable[PATH_MAX];   /* path of the executable */
	bool in_inner_namespace;     /* its pid namespace is inside that of /proc */
	clockid_t cpu_clock;         /* CPU time of all its threads */
};

/* Returns 0, -ESRCH if there is no such process, -EINVAL if pid is a thread's, -ENOTSUP if /proc is missing or of
 * another pid namespace, or another negative errno. */
int vg_target_open(struct vg_target *target, pid_t pid, struct vg_err *err);
void vg_target_close(struct vg_target *target);

/* Opens the process's executable for reading, which the caller closes, by the link /proc/PID/exe.  The link works for
 * deleted files and for other mount namespaces.  -1: the file cannot be opened, or is not safe
 * (base/process_file.h). */
int vg_target_executable_open(pid_t pid);

/* Writes the last part of the executable's path, which the kernel keeps.  Reads nothing that the process wrote.  Writes
 * "" if the path cannot be read. */
void vg_target_executable_name(pid_t pid, char name[VG_PROGRAM_BYTES]);

/* Reads the name of the process's program: the last part of the path with which the program was executed, if this path
 * leads to the executable.  (redis-server may be a link to redis-check-rdb.)  Otherwise the last part of the
 * executable's path, for example the interpreter of a script.  The name is untrusted.  This function reads the
 * process's memory: call it only in a confined helper. */
void vg_target_program_read(struct vg_target *target);

/* Reads the program's name again if the process runs another executable than before.  Returns whether the
 * executable is another one: the process has called execve(2). */
bool vg_target_program_update(struct vg_target *target);

/* Whether the process has exited, or exits within timeout_ms. */
bool vg_target_exited(const struct vg_target *target, int timeout_ms);

/* CPU time of all its threads, including exited ones.  0: not known. */
uint64_t vg_target_cpu_ns(const struct vg_target *target);

#endif
