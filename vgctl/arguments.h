/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGCTL_ARGUMENTS_H
#define VG_VGCTL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "libvgctl/wire.h"

enum { EXIT_USAGE = 2 };

/* What the command line says. */
struct vg_arguments {
	char directory[4096];        /* of the sockets; "": none was given */
	const char *output;
	struct vg_wire_begin begin;
	bool budget_given, rate_given, limit_given;
	pid_t pid;
	uint32_t id;                 /* 0: none was given */
	const char *label;
};

/* Takes the options.  EXIT_SUCCESS to go on with what stands at optind, -1 to stop with success, or
 * EXIT_USAGE with the reason printed. */
int vg_arguments_options(struct vg_arguments *arguments, int argc, char **argv);

/* Print why not.  EXIT_USAGE; EXIT_FAILURE. */
int vg_arguments_usage(void);
int vg_arguments_fail(const struct vg_err *err);

#endif
