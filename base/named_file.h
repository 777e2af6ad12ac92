/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_NAMED_FILE_H
#define VG_BASE_NAMED_FILE_H

/*
 * Files that an untrusted file names: debug information has paths of other files, and a process chooses the paths of
 * its own.  Such a path can lead to /proc/PID/root or another link in /proc, and from there into the mounts of a
 * process whose file system never answers (base/process_file.h).  So links are followed, but none that is in /proc.
 */

/* Opens a regular file for reading.  Returns a descriptor, or a negative errno: -EINVAL: not a regular file; -ELOOP:
 * the path has a link in /proc, or too many links. */
int vg_named_file_open(const char *path);

/* The path without symbolic links, as of realpath(3), which the caller frees.  NULL: errno is set as above. */
char *vg_named_real_path(const char *path);

#endif
