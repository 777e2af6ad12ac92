/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_INSIDE_H
#define VG_VGTOOL_CHROME_INSIDE_H

#include "vgtool/analysis/chains.h"
#include "vgtool/analysis/spans.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/analysis/threads.h"
#include "vgtool/output/json.h"

/* The parts of one Chrome trace, for the files that write it. */
struct vg_chrome {
	const struct vg_profile *profile;
	struct vg_frames frames;
	struct vg_chains chains;
	struct vg_threads threads;
	struct vg_thread_names names;
	struct vg_spans spans;
	struct vg_json json;
	int64_t pid;
	int64_t *tids;               /* by thread: its own, or a made-up one where that is taken */

	/* Nodes of the samples' tree, numbered from 1, which is the root. */
	uint32_t *shown;             /* by chain: itself, or the caller that stands for it */
	unsigned char *cut_after;    /* by chain: it stands for deeper ones too, as one more node */
	uint32_t *chain_ids;         /* by chain: of its outermost function, 0: not needed */
	uint32_t *chain_seen;        /* by chain: the last thread that had it, + 1 */
	uint32_t end_ids[VG_WALK_ENDS + 1]; /* by reason, 0: not needed; VG_WALK_ROOT is "(idle)" */
	uint32_t end_seen[VG_WALK_ENDS + 1];
	VG_ARRAY(uint32_t) path;     /* chains that are to be written, innermost first */
	uint32_t repeats_max;        /* how often a record may be written */
};

enum { VG_CHROME_ROOT = 1 };

/* Deeper stacks are cut: each thread has its own copy of what its samples are in. */
enum { VG_CHROME_DEPTH_MAX = 2000 };

#endif
