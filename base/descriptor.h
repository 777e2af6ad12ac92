/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_DESCRIPTOR_H
#define VG_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Moves an open file to a descriptor above the standard ones.  If a program has closed its standard output, our file
 * could get descriptor 1.  Then everything that the program prints would go to our file.
 *
 * If fd is a standard descriptor, returns the new descriptor and closes fd.  Otherwise returns fd, even if fd is
 * negative.  On failure, closes fd and returns a negative errno.
 */
int vg_descriptor_raise(int fd);

/* Waits at most wait_ms until a write would not wait.  Returns whether that is so.  False for a terminal that was
 * stopped (Ctrl-S), or whose other end does not read. */
bool vg_descriptor_accepts(int fd, int wait_ms);

/* Writes all bytes.  Continues after EINTR and short writes, and waits until a full pipe has room, even if the pipe is
 * non-blocking.  Returns 0 or a negative errno. */
int vg_write_all(int fd, const void *bytes, size_t length);

#endif
