/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_OPTIONS_H
#define VG_VGTOOL_REPORT_OPTIONS_H

#include "base/option_table.h"
#include "vgtool/analysis/sample_filter.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/views/report_tree.h"

enum vg_report_by {
	VG_REPORT_BY_FUNCTION, VG_REPORT_BY_LINE, VG_REPORT_BY_MODULE, VG_REPORT_BY_FILE, /* as enum vg_frames_kind */
	VG_REPORT_BY_THREAD, VG_REPORT_BY_INTERVAL, VG_REPORT_BY_PROCESS, VG_REPORT_BY_COUNT,
};

/*
 * The options of vgtool report, which vgtool record accepts, too.
 *
 *	struct vg_report_options options = VG_REPORT_OPTIONS_DEFAULT;
 *	... vg_report_option_set() for each option of vg_report_option_table ...
 *	if (vg_report_options_check(&options, &err) == 0)
 *		status = vg_report_run("vgtool report", paths, path_count, &options, &symbolize);
 *	vg_report_options_free(&options);
 *
 * Texts belong to argv.
 */
struct vg_report_options {
	const char *view;            /* the option that chose a tree; NULL: a table */
	struct vg_report_tree tree;
	enum vg_report_by by;
	struct vg_sample_filter filter;
	const char *time;            /* the value of --time, for messages */
	const char *interval;        /* show only samples in intervals with this label; NULL: all */
	const char *counter;         /* show this perf counter in place of time; NULL: time */
	enum vg_weight weight;
	uint64_t limit;              /* rows of a table; 0: the default */
	bool weight_given, is_json, no_pager;
	bool is_temporary;           /* no option: the profile is removed after the report */
	bool is_one_thread;          /* no option: the profile is of one thread, which was chosen by its id */
};

#define VG_REPORT_OPTIONS_DEFAULT { .filter.end_ns = UINT64_MAX, .tree.least_ppm = 5000 }

enum { VG_REPORT_OPTIONS = 17 };
extern const struct vg_option vg_report_option_table[VG_REPORT_OPTIONS];

/* Handles an option of the table, and ignores other options.  Returns 0, or -EINVAL with a message in err. */
int vg_report_option_set(struct vg_report_options *options, const struct vg_option_value *value, struct vg_err *err);

/* Checks that the options can be combined.  Returns 0, or -EINVAL with a message in err. */
int vg_report_options_check(struct vg_report_options *options, struct vg_err *err);

void vg_report_options_free(struct vg_report_options *options);

/* Merges the profiles, symbolizes the result in memory, and prints the report on standard output, through a pager if
 * standard output is a terminal.  `paths`: profiles, and directories of profiles (commands/profiles.h).  `command` is
 * the name in messages.  Returns the exit status. */
int vg_report_run(const char *command, const char *const *paths, size_t path_count,
		  const struct vg_report_options *options, struct vg_symbolize *symbolize);

#endif
