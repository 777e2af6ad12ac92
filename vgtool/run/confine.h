/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CONFINE_H
#define VG_VGTOOL_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Profiles, symbol files and binaries are untrusted.  Before a command reads such a file, its process permanently gives
 * up all rights that it does not need.  vgtool(1) lists what the process can still do if the file takes control of it;
 * tests/unit/check_confine.c tries each line of that list.
 *
 *   Landlock (Linux 5.13 or later): files at and below `paths` and `more` can be read.  Files below the
 *   directory of `writes` can be read, created, written, renamed and removed.  All other rights that the
 *   running kernel knows are given up.
 *
 *   seccomp: only the system calls that the commands make are allowed, with the arguments that they use.
 *   Descriptors can be received from `broker` only.  Without `writes` no file can be opened for writing, created,
 *   renamed or removed, with or without Landlock.  A forbidden call fails with EPERM.  A call of another ABI (32 bits,
 *   x32) kills the process.
 *
 * A path that is NULL or does not exist is ignored.  Open descriptors stay open.
 *
 *	vg_reader_confine(&(struct vg_confinement){ .paths = &path, .path_count = 1, .writes = "out.json" }, &err);
 */
struct vg_confinement {
	const char *const *paths;    /* files and directories that can be read */
	size_t path_count;
	const char *const *more;     /* a second list of paths */
	size_t more_path_count;
	const char *writes;          /* the output: a directory, or a file, whose directory is then allowed;
	                                NULL: no file is written */
	int broker;                  /* socket to the broker, from which descriptors are received; 0: none */
	bool removes;                /* empty directories below that of `writes` can be removed, too */
	bool sends;                  /* descriptors can be sent to the broker, too */
	bool executes;               /* the process executes a program: those at and below the paths can be executed,
	                                and memory can be executable */
};

/* False if the kernel was built without seccomp filters. */
bool vg_confine_has_seccomp(void);

/* Confines the process by Landlock and seccomp, if the kernel has them.  Returns 0, even if the kernel has
 * neither.  Returns a negative errno with a message in err if the kernel has Landlock or seccomp and using it
 * fails; the caller must then open no file. */
int vg_reader_confine(const struct vg_confinement *confinement, struct vg_err *err);

#endif
