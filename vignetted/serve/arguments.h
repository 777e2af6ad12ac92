/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_ARGUMENTS_H
#define VG_VIGNETTED_ARGUMENTS_H

#include <stdio.h>

#include "base/err.h"
#include "vignetted/session/session_state.h"

/* What the command line asks for. */
enum vg_request {
	VG_REQUEST_RECORD,
	VG_REQUEST_SERVE,
	VG_REQUEST_CHECK,
	VG_REQUEST_HELP,
	VG_REQUEST_VERSION,
};

/* The parsed command line. */
struct vg_arguments {
	enum vg_request request;
	struct vg_session_options session;
	const char *output;          /* NULL: a name made of the program and its pid */
	pid_t pid;                   /* 0: launch `command` instead; with VG_REQUEST_CHECK: no process */
	char *const *command;        /* NULL: none */
	bool quiet;                  /* no progress line */
	int status_fd;               /* descriptor for lines about the recording; -1: none */
};

/* Parses the command line.  Returns 0, or -EINVAL with err set. */
int vg_arguments_parse(struct vg_arguments *arguments, int argc, char **argv, struct vg_err *err);

/* Prints the text of --help. */
void vg_arguments_help(FILE *file);

#endif
