/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CONFINE_H
#define VG_VGTOOL_CONFINE_H

#include <stddef.h>

/*
 * Profiles, symbol files and binaries come from strangers.  Before a command looks into one it gives
 * up, for good, all that it does not need: whoever makes the reader do as they like has then a
 * process that can read what the command was given and write what it was told to, and nothing else.
 *
 *   Landlock (Linux 5.13; where there is none this part is left out): files can be read at and
 *   beneath `paths` and `more`, and made, written and renamed beneath the directory of `writes`.
 *   seccomp: no programs, sockets, signals, tracing, or changing of attributes.  A forbidden call
 *   fails with EPERM.
 *
 * NULL, and paths that do not exist, are passed over.  The standard descriptors stay.  Where the
 * kernel knows neither, the command goes on: its readers are meant to hold without.
 */
struct vg_confinement {
	const char *const *paths;
	size_t path_count;
	const char *const *more;
	size_t more_count;
	const char *writes;          /* a directory, or a file: then the directory it is in */
};

void vg_reader_confine(const struct vg_confinement *confinement);

/* For a command that reads one file, and writes to standard output or to `writes`. */
void vg_reader_confine_to(const char *path, const char *writes);

#endif
