/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_DESCRIPTOR_H
#define VG_BASE_DESCRIPTOR_H

#include <stddef.h>

/*
 * Moves a file to a descriptor above the standard ones.  A program may have closed those, and what it prints must not
 * land in our file.  Returns the new descriptor and closes fd if it had to move; returns fd otherwise, also a
 * negative one.  Or a negative errno, with fd closed.
 */
int vg_descriptor_raise(int fd);

/* Writes all bytes.  Continues after EINTR and after a short write, and waits for a full pipe even if that is
 * non-blocking.  0 or a negative errno. */
int vg_write_all(int fd, const void *bytes, size_t length);

#endif
