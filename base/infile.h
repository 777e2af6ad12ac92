/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_INFILE_H
#define VG_BASE_INFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* All bytes of a file.  Regular files are mapped; pipes are read.  If another process shortens a mapped file, reading
 * the missing bytes raises SIGBUS. */
struct vg_infile {
	const char *path;            /* the caller's; "standard input" for "-" */
	const unsigned char *bytes;  /* never NULL, even if length is 0 */
	uint64_t length;
	bool mapped;
};

/*
 * Opens a regular file for reading; follows links.  The type is known before open(2), which has effects on devices (a
 * watchdog starts) and waits for the writer of a FIFO.  The seccomp filter of the confined readers forbids open(2)
 * without O_NONBLOCK or O_PATH, so that no library opens a path itself.
 *
 * Returns a descriptor, which the caller owns; -EISDIR; -EINVAL: another type of file; or another negative errno.
 */
int vg_regular_file_open(const char *path);

/* As vg_regular_file_open(), for an O_PATH descriptor of the file, which stays the caller's.  O_NONBLOCK: the file's
 * owner can hold a lease on it, which would block open(2) for 45 s (fcntl(2)). */
int vg_regular_handle_open(int handle, const char *path);

/*
 * As vg_regular_file_open(), for a path that an untrusted file names: debug information has paths of other files, and a
 * process chooses the paths of its own.  Such a path can lead to /proc/PID/root or another link in /proc, and from
 * there into the mounts of a process whose file system never answers (base/process_file.h).  So links are followed, but
 * none that is in /proc.  -ELOOP: the path has a link in /proc, or too many links.
 */
int vg_named_file_open(const char *path);

/* The path without symbolic links, as of realpath(3), which the caller frees.  NULL: errno is set as above. */
char *vg_named_real_path(const char *path);

/* Sets *data_bytes to how many bytes of a regular file of this size are data, and not holes, as lseek(2) with SEEK_DATA
 * reports it.  A hole costs nobody anything, so limits of work and memory are multiples of the data.  A file system
 * that has no SEEK_DATA reports the whole size.  Of a file with very many pieces, not all are counted.  Returns 0, or
 * -EFBIG with err set: more than 1 GiB is holes; reading 1 GiB of zeros takes two seconds. */
int vg_file_holes_check(int fd, uint64_t size, const char *path, uint64_t *data_bytes, struct vg_err *err);

/* Opens a regular file.  Returns 0, or a negative errno with err set. */
int vg_infile_open(struct vg_infile *file, const char *path, struct vg_err *err);

/* Opens a file that the user has named: perhaps a pipe; "-" is standard input.  Returns 0, or a negative errno with err
 * set.  For a pipe with more than 4 GiB, returns -EFBIG. */
int vg_infile_open_argument(struct vg_infile *file, const char *path, struct vg_err *err);
void vg_infile_close(struct vg_infile *file);

#endif
