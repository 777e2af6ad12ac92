/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_REPORT_TREE_H
#define VG_VGTOOL_REPORT_TREE_H

#include "vgtool/views/report.h"

/* `vgtool report --tree`, `--inverted`, `--callers` and `--callees`: prints one tree over all threads. */
struct vg_report_tree {
	bool to_callers;
	const char *name;            /* pattern for the functions that the tree begins with, see
	                                vg_function_match_name(); NULL: it begins with root frames, or with leaf
	                                frames if to_callers */
	enum vg_frames_kind kind;
	uint32_t least_ppm;          /* rows with a smaller share of all samples are left out; with `name`: share of
	                                the samples with these functions */
};

/* Returns 0, -ENOMEM, or -ENOENT if no function of the profile matches the name. */
int vg_report_tree(struct vg_report *report, const struct vg_report_tree *options);

#endif
