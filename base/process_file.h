/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_PROCESS_FILE_H
#define VG_BASE_PROCESS_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Files of other processes.  A process of another user can hand out a file whose file system answers when that user
 * wants: FUSE, or an overlay of FUSE in a user namespace.  A process that asks for such a file waits in the kernel,
 * where not even SIGKILL ends the wait.  So such a file is refused before the file system is asked:
 *
 *   A file of another user's process must be on a mount that the namespace of the process or ours has.  If that is FUSE
 *   or an overlay, which any user can mount in a user namespace, its file system must be mounted in our own mount
 *   namespace, too, and FUSE by root.
 *
 * Only fdinfo and mountinfo are read for this.  The kernel makes them without asking the file system (Linux 6.18).
 * Files without a mount (memfd) are refused, and those behind the first 4096 mounts.
 *
 *	file = vg_process_path_find(pid, pid, "/usr/lib/libx.so");
 *	link = open("/proc/PID/exe", O_PATH | O_CLOEXEC);
 *	if (vg_process_file_is_safe(link, pid)) ...
 */

/* Whether the file of this O_PATH descriptor can be used; see above. */
bool vg_process_file_is_safe(int file, pid_t pid);

/*
 * Follows an absolute path below the root directory of the process `root`, name by name.  Returns an O_PATH descriptor
 * of a file that is safe if it is a file of the process `pid`, or -1.  The kernel's paths, for example in
 * /proc/PID/maps, have no symbolic links.  So if a name is a link now, it was made later, and an absolute link would
 * lead to a file below our own root directory: a link is not followed, and a descriptor of the last name may be one of
 * a link.
 */
int vg_process_path_find(pid_t root, pid_t pid, const char *path);

/* Sets the text to what is behind the key ("Uid:") in /proc/PID/status, or to "".  VG_PROCESS_SELF: of this process,
 * even if /proc is that of another pid namespace. */
enum { VG_PROCESS_FIELD_BYTES = 256, VG_PROCESS_SELF = -1 };
void vg_process_status(pid_t pid, const char *key, char text[VG_PROCESS_FIELD_BYTES]);

/* The process's id in its own pid namespace, which is the last number of NSpid; 0: unknown. */
pid_t vg_process_own_pid(pid_t pid);

/* The user id of the process: -1 if its four user ids differ, or are unknown. */
long vg_process_user(pid_t pid);

/* Whether that is this process's effective user id. */
bool vg_process_is_own(pid_t pid);

#endif
