/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_ANNOTATE_H
#define VG_VGTOOL_ANNOTATE_H

#include "base/err.h"
#include "vgtool/analysis/thread_samples.h"
#include "vgtool/output/terminal.h"

/*
 * The source lines of a function, each with its share of the time.  Self is the time in the line's own code.  Total
 * includes the functions that the line calls.
 *
 *	rc = vg_annotate(profile, &(struct vg_annotate){ .function = "parse", .weight = VG_WEIGHT_CPU,
 *			 .directories = &directory, .directory_count = 1, .terminal = &terminal }, &err);
 */
struct vg_annotate {
	const char *function;        /* see vg_function_match_name() */
	enum vg_weight weight;
	const char *const *directories; /* source files are looked for here: see vg_source_open() */
	size_t directory_count;
	const struct vg_terminal *terminal;
};

/* Prints on standard output.  Returns 0; -ENOENT if no function matches, -ENODATA if the function has no source lines
 * (both with a message in err); or -ENOMEM. */
int vg_annotate(const struct vg_profile *profile, const struct vg_annotate *annotate, struct vg_err *err);

#endif
