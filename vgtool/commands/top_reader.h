/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TOP_READER_H
#define VG_VGTOOL_TOP_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "vgtool/commands/symbolize.h"

/*
 * The process of vgtool top that reads the profile, while it is recorded.  It is confined as a view (symbolize.h), and
 * has no terminal.  Standard input has requests, standard output gets the replies: the text of a table, and a NUL.
 * There is one request at a time.
 */
struct vg_top_request {
	uint64_t now_ns;             /* time since the recording began */
	uint32_t rows, columns;      /* room for the text */
	bool is_everything;          /* the table is of the whole recording, not of the window only */
	bool is_urgent;              /* a person waits for the reply */
};

/* A longer text of the reader is truncated. */
enum { VG_TOP_TEXT_MAX_BYTES = 1 << 20 };

struct vg_top_reader {
	const char *command;         /* "vgtool top" */
	int profile;                 /* descriptor from which the profile is read */
	uint64_t window_ns;
	struct vg_symbolize *symbolize;
};

/* Confines the process and answers requests until standard input ends.  With a broker (vg_symbolize_confine()) the rest
 * of this function runs in a child process.  Returns the exit status. */
int vg_top_reader_run(const struct vg_top_reader *reader);

#endif
