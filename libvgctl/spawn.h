/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_LIBVGCTL_SPAWN_H
#define VG_LIBVGCTL_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether the program has rights that its user lacks: it is set-user-ID, has file capabilities or the
 * like.  Its arguments, environment, working directory and place are then not to be trusted. */
bool vg_spawn_is_privileged(void);

/*
 * Starts `path --serve` with `socket` as its descriptor VG_WIRE_FD and no other but the
 * standard ones, which are empty and cannot be written; signals at their defaults; of the environment only
 * what the dynamic linker and the sanitizers need, or nothing if the host is privileged.  On all CPUs, without
 * a real-time policy or a negative nice value of the calling thread's.
 *
 * The new process is nobody's child that the host could stumble on: no SIGCHLD, nothing for
 * waitpid(-1).  Unless this process adopts orphans: then *helper, which leads a process group of its own, is its
 * child, after a failure too.  *helper is 0 if none was made.  0, or a negative errno, that of a failed execve(2)
 * included; -EAGAIN also where the calling thread's SCHED_DEADLINE does not let it have children.
 */
int vg_spawn(const char *path, int socket, pid_t *helper);

/*
 * The kind of namespace, "pid" or "time", in which the calling thread's children begin and the thread is not, after unshare(2)
 * or setns(2); or NULL.  vg_spawn() must not be called then.  The first child in a pid namespace would be its init, which
 * ends at once and takes the namespace with it.  In another time namespace the helper's clock would not be the program's.
 */
const char *vg_spawn_elsewhere(void);

/*
 * Looks for the helper: `option` if not NULL, $VIGNETTED, beside this library if it is a shared one,
 * beside the program, in the compiled-in libexecdir.  The first two are not looked past.  In a
 * privileged program only an absolute `option` and libexecdir count.  0, and the path is the caller's to
 * free; or -ENOPKG, and it is NULL.
 */
int vg_spawn_find(const char *option, char **path);

#endif
