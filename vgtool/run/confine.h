/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CONFINE_H
#define VG_VGTOOL_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Profiles, symbol files and binaries come from strangers.  Before a command looks into one it gives
 * up, for good, all that it does not need.  vgtool(1) lists what a reader that a file has captured
 * can still do; tests/unit/check_confine.c tries each line of that list.
 *
 *   Landlock (Linux 5.13, with all rights that the running kernel knows): files can be read at and
 *   beneath `paths` and `more`, and made, written and renamed beneath the directory of `writes`.
 *   seccomp: the calls that the readers make, with the arguments that they make them with.  Without
 *   `writes` no file can be opened for writing, made, renamed or removed, Landlock or not.  A
 *   forbidden call fails with EPERM; a call of another ABI (32 bits, x32) kills.
 *
 * NULL, and paths that do not exist, are passed over.  Open descriptors stay.
 */
struct vg_confinement {
	const char *const *paths;
	size_t path_count;
	const char *const *more;
	size_t more_count;
	const char *writes;          /* a directory, or a file: then the directory it is in */
};

/* False if the kernel was built without seccomp filters. */
bool vg_confine_has_seccomp(void);

/* 0, also where the kernel lacks Landlock or seccomp: what it has is used.  A negative errno if what the
 * kernel has cannot be used: then no file may be opened. */
int vg_reader_confine(const struct vg_confinement *confinement, struct vg_err *err);

#endif
