/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_OUTPUT_PATH_H
#define VG_BASE_OUTPUT_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* These functions examine, prepare and open the path of an output file. */

/* Returns the part of `path` after the last slash, as a pointer into `path`. */
const char *vg_path_name(const char *path);

/* Whether files of this owner are trusted: it is this user or root.  In a user namespace that does not map root, root's
 * files have the overflow user id; files of other unmapped users have the same id, and are trusted, too. */
bool vg_output_path_owner_is_trusted(uid_t owner);

/* Whether the owner of an open file is trusted. */
bool vg_output_path_file_is_trusted(int fd);

/* Makes a file name of an untrusted text: letters, digits, '_', '+', '-' and '.' stay, other bytes become '_', and so
 * does a '-' or '.' at the start.  So the name is no option of a program that gets it by a pattern, no hidden file, and
 * cannot control a terminal.  It is cut to 200 bytes: NAME_MAX is 255, and numbers and endings are added.  The name of
 * an empty text is empty. */
enum { VG_OUTPUT_NAME_BYTES = 201 };
void vg_output_path_make_name(const char *text, char name[VG_OUTPUT_NAME_BYTES]);

/* Returns an O_PATH descriptor of the path's directory, or a negative errno.  The descriptor stays valid after
 * chdir(2), chroot(2) or rename(2). */
int vg_output_path_directory(const char *path);

/* Makes all directories above the last component of the path.  "a/b/" is the path of a directory: b is made, too.
 * Directories that exist stay as they are.  Changes the path while it runs.  Returns 0, or a negative errno with a
 * message in err. */
int vg_output_path_make_directories(char *path, mode_t mode, struct vg_err *err);

/* Follows the links in the path.  Returns true if they lead to a pipe, a device, a directory, a socket, or our standard
 * output or error.  Returns false if the links cannot be followed. */
bool vg_output_path_is_special(const char *path);

/* Checks that the path is a directory, for files whose names are made.  Returns 0; -ENOENT: nothing is there; -ENOTDIR;
 * -EACCES: the path is a symbolic link of another user, who could choose any directory; or another negative errno with
 * a message in err.  Only the last part of the path is examined. */
int vg_output_path_check_directory(const char *path, struct vg_err *err);

/*
 * Opens a file that must be written in place: a pipe, a character device, or our own standard output or error through a
 * link such as /dev/stdout.  Returns 0 and sets *fd, which the caller owns.  If the path is a regular file or does not
 * exist, sets *fd to -1: then the caller creates a new file and renames it.
 *
 * In a directory that is writable for all users, other users can create files.  So this function returns -EACCES for a
 * pipe or symbolic link that belongs to neither this user nor root.  It returns -EISDIR for a directory, -EINVAL for a
 * block device or a socket, or a negative errno of open(2).  All checks are made on the open descriptor, so that the
 * file cannot be replaced between check and use.
 */
int vg_output_path_open_special(const char *path, int *fd, struct vg_err *err);

#endif
