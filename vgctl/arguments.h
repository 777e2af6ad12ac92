/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGCTL_ARGUMENTS_H
#define VG_VGCTL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "libvgctl/wire.h"

enum { EXIT_USAGE = 2 };

/* The parsed command line. */
struct vg_arguments {
	char directory[4096];        /* of the sockets; "": not given */
	const char *output;
	struct vg_wire_begin begin;
	pid_t pid;
	uint32_t id;                 /* of a recording; 0: not given */
	const char *label;
};

/* Parses the options.  On success returns EXIT_SUCCESS, and optind is the index of the first argument after the
 * options.  Returns -1 after --help or --version: the program must then exit with success.  If an option is wrong,
 * prints the reason and returns EXIT_USAGE. */
int vg_arguments_options(struct vg_arguments *arguments, int argc, char **argv);

/* Prints the usage.  Returns EXIT_USAGE. */
int vg_arguments_usage(void);

/* Prints the error.  Returns EXIT_FAILURE. */
int vg_arguments_fail(const struct vg_err *err);

#endif
