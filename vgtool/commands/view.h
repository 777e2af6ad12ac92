/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIEW_H
#define VG_VGTOOL_VIEW_H

#include <stdio.h>

#include "vgtool/commands/profiles.h"
#include "vgtool/commands/symbolize.h"

/*
 * A command that writes one view of one profile, or of several as one, to a file.
 *
 *	struct vg_view view = { .command = argv[0], .write = folded_write };
 *	return vg_view_run_on(&view, usage, argc, argv);
 */
struct vg_view {
	const char *command;         /* "vgtool NAME", for messages */
	struct vg_profiles profiles; /* freed by vg_view_run_on().  With --base, profiles.base_processes is set for
	                                `write` */
	VG_ARRAY(const char *) base; /* the arguments of --base; freed by vg_view_run_on() */
	VG_ARRAY(const char *) sources; /* directories that the view reads, too; freed by vg_view_run_on() */
	const char *out;             /* NULL or "-": standard output */
	/* Writes the view.  Returns 0, -EFBIG if it would be larger than VG_VIEW_GIB_MAX, or another negative errno
	 * with a message in err.  If err is empty, the printed message names the profile and the errno. */
	int (*write)(void *context, const struct vg_profile *profile, FILE *file, struct vg_err *err);
	void *context;
	bool compressed;             /* the output is compressed by gzip, and is not written to a terminal */
	VG_ARRAY(const char *) names; /* arguments of --name, for the processes of the first arguments; freed by
	                                 vg_view_run_on().  The strings belong to argv */
	struct vg_symbolize symbolize; /* freed by vg_view_run_on() */
};

/* For tables of options (base/option_table.h). */
#define VG_VIEW_OPTION_OUTPUT \
	{ 'o', "output", VG_OPTION_TEXT, "OUT", .unit = "the name of a file", .by_default = "standard output", \
	  .help = "write to this file", .is_short = 1 }

/* --base is for views that can compare profiles. */
#define VG_VIEW_OPTION_BASE \
	{ 'b', "base", VG_OPTION_TEXT, "OLD", .unit = "the name of a profile", \
	  .help = "compare with this profile; may be repeated" }

#define VG_VIEW_OPTION_NAME \
	{ 'N', "name", VG_OPTION_TEXT, "NAME", .unit = "the name of a process", \
	  .help = "show the process of the next PROFILE with this name" }

/* Keeps the value of an option of these, and ignores other options.  Returns 0, or a negative errno with a message in
 * err. */
int vg_view_option_set(struct vg_view *view, const struct vg_option_value *value, struct vg_err *err);

/* Limit of a view's size.  Speedscope, Perfetto and the Firefox Profiler keep the whole file in a browser's
 * memory and cannot open a file of this size.  A view reaches the limit with 50,000 stacks of 2000 functions
 * whose names have 40 bytes.  The limit is for the bytes before compression, because gzip can shrink a hostile view to
 * 0.1 %. */
enum { VG_VIEW_GIB_MAX = 4 };

/* A view that is larger is written with a warning: V8's longest string, which holds a whole file, has 512 MiB. */
enum { VG_VIEW_MIB_READABLE = 512 };

/* Confines the process, reads the profiles of the arguments after the options (at getopt(3)'s optind), symbolizes them
 * and writes the view.  Returns the exit status: VG_EXIT_USAGE after a message and the usage if there is no argument,
 * or if there are more names than arguments.
 * After a failure the output file is neither created nor replaced.  --base comes first in the view's profile. */
int vg_view_run_on(struct vg_view *view, const char *usage, int argc, char **argv);

/* The same with these profiles and directories of profiles. */
int vg_view_run_paths(struct vg_view *view, const char *const *paths, size_t count);

/* A whole command: reads the options --output, --base, --name and those of symbolize.h, and writes a compressed view.
 * write: of the view, for example vg_pprof_write().  Returns the exit status. */
int vg_view_run_compressed(const char *usage, int argc, char **argv,
			   int (*write)(const struct vg_profile *profile, uint32_t base_processes, const char *exporter,
					FILE *file));

/* For a command that calls none of these functions. */
void vg_view_free(struct vg_view *view);

#endif
