/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_SPAWN_H
#define VG_LIBVGCTL_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* True if the program has rights that its user lacks (AT_SECURE), for instance because it is set-user-ID or has file
 * capabilities.  Its arguments, its environment, its working directory and the directory of its file are then
 * untrusted, because the user controls them. */
bool vg_spawn_is_privileged(void);

/*
 * Starts `path --serve`, with `socket` as its descriptor VG_WIRE_FD.
 *
 * The helper has no other descriptor except the standard ones.  Standard input is empty, standard output cannot be
 * written, and standard error is the socket: until its HELLO the helper may send text that says why it cannot start.
 * Its signals have their default dispositions.  Its environment is reduced to the variables that the dynamic
 * linker and the sanitizers need, and is empty if the host is privileged.  It runs on all CPUs.  It does not
 * inherit a real-time policy or negative nice value of the calling thread.
 *
 * The helper is not a child of this process: the process gets no SIGCHLD for it, and waitpid(-1) does not return it.
 * Exception: if this process adopts orphans, the helper becomes its child, even if vg_spawn() fails.  The helper leads
 * its own process group.
 *
 * Sets *helper to the helper's pid, or to 0 if no process was created.  Returns 0 or a negative errno, and then sets
 * *call to the name of the system call that failed.  -EAGAIN: there are too many processes, or the calling thread has
 * SCHED_DEADLINE and therefore cannot create a process.
 *
 *     if (vg_spawn_find(options.helper_path, &path) == 0)
 *             rc = vg_spawn(path, socket, &helper, &call);
 */
int vg_spawn(const char *path, int socket, pid_t *helper, const char **call);

/*
 * After unshare(2) or setns(2), children of the calling thread may begin in another pid or time namespace.  In that
 * case this returns "pid" or "time", and the caller must not call vg_spawn().  Otherwise it returns NULL.  In a new pid
 * namespace the intermediate process would be the init process, and its exit would end the namespace.  In another time
 * namespace the clocks of helper and program would differ.
 */
const char *vg_spawn_other_namespace(void);

/*
 * Finds the helper.  If `option` is not NULL, tries only that path.  Otherwise, if $VIGNETTED is set, tries only that
 * path.  Otherwise tries in this order: the directory of this library if it is a shared library, the directory of the
 * program, and the libexecdir of the configuration.  A privileged program uses an absolute `option` and libexecdir
 * only.  Returns 0 and sets *path, which the caller frees; or returns -ENOPKG and sets *path to NULL.
 */
int vg_spawn_find(const char *option, char **path);

#endif
