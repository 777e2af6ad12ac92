/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_RECORD_OPTIONS_H
#define VG_VGTOOL_RECORD_OPTIONS_H

#include <sys/types.h>

#include "base/array.h"
#include "vgtool/commands/report_options.h"

/*
 * The command line of vgtool record: its own options, options of vignetted, and those of vgtool report.
 *
 *	struct vg_record_options options = VG_RECORD_OPTIONS_DEFAULT;
 *	if (vg_record_options_parse(&options, argc, argv, &err) == 0)
 *		...
 *	vg_record_options_free(&options);
 *
 * Texts belong to argv, unless a member is owned.
 */
struct vg_record_options {
	const char *out;             /* NULL: the profile is temporary.  A directory if there can be several profiles */
	VG_ARRAY(pid_t) pids;        /* owned array; empty: `command` is executed */
	char **command;              /* ends with NULL */
	const char *thread;          /* id of the only thread to record; also in `forwarded`; NULL: all threads */
	bool children, no_perf_map, quiet, view, help;
	VG_ARRAY(char *) forwarded;  /* owned array of owned strings, for vignetted: "--rate=99" */
	struct vg_report_options report;
	struct vg_symbolize symbolize;
};

/* Options of vignetted that vgtool top has, too.  vignetted checks their values. */
#define VG_RECORD_OPTION_RATE(option_key) \
	{ (option_key), "rate", VG_OPTION_TEXT, "HZ", .unit = "samples per second", .by_default = "99", \
	  .help = "samples of a thread per second" }
#define VG_RECORD_OPTION_BUDGET(option_key) \
	{ (option_key), "budget", VG_OPTION_TEXT, "PERCENT", .unit = "0 to 100 percent", .by_default = "1", \
	  .help = "limit the cost by a lower rate" }
#define VG_RECORD_OPTION_CAPTURE(option_key) \
	{ (option_key), "capture", VG_OPTION_TEXT, "auto|stop", .unit = "auto or stop", .by_default = "auto", \
	  .help = "use timers, or only stop threads" }

enum { VG_RECORD_PIDS_MAX = 64 };

#define VG_RECORD_OPTIONS_DEFAULT { .report = VG_REPORT_OPTIONS_DEFAULT }

/* Parses the command line, up to the first argument after the options.  Returns 0, or a negative errno with a message
 * in err.  After --help, other members than `help` may be incomplete. */
int vg_record_options_parse(struct vg_record_options *options, int argc, char **argv, struct vg_err *err);

/* Whether each process has a profile of its own, in a directory. */
bool vg_record_options_several(const struct vg_record_options *options);

/* Prints one line for each option. */
void vg_record_help(FILE *file);

void vg_record_options_free(struct vg_record_options *options);

#endif
