/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_CHROME_TRACE_H
#define VG_VGTOOL_CHROME_TRACE_H

#include "vgtool/analysis/chains.h"
#include "vgtool/analysis/function_lines.h"
#include "vgtool/analysis/intervals.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/analysis/thread_samples.h"
#include "vgtool/output/json.h"

/* State of one Chrome trace, shared by the files that write its parts (chrome*.c). */
struct vg_chrome {
	const struct vg_profile *profile;
	struct vg_frames frames;
	struct vg_function_lines lines;
	struct vg_chains chains;
	struct vg_thread_samples threads;
	struct vg_thread_names names;
	struct vg_intervals intervals;
	struct vg_json json;
	int64_t *pids;               /* by process: its id, or an unused id if an earlier process has the same id */
	int64_t *tids;               /* by thread: the id of its track.  This is the id of the track's first thread, or
	                                an unused id if an earlier thread has the same id */
	uint32_t *track_of;          /* by thread: its track, which is the track's first thread */
	uint32_t *next_in_track;     /* by thread: the thread that follows in its track; VG_NONE: none */
	uint64_t minimum_ns;         /* shorter intervals are left out */

	/* Nodes of the samples' call tree.  The root is node 1. */
	uint32_t *shown_chain;       /* by chain: the chain that is shown: itself or, if it is too deep, its
	                                deepest caller that is shown */
	unsigned char *has_cut_node; /* by chain: 1: it has one more node, which stands for deeper chains */
	uint32_t *chain_node_ids;    /* by chain: the node of its outermost function; 0: no sample needs it */
	uint32_t *chain_written_by;  /* by chain: the last track for which it was written, + 1; 0: none */
	uint32_t end_node_ids[VG_WALK_END_COUNT + 1]; /* by vg_chrome_end_index(): the node; 0: no sample needs
	                                                 it.  VG_WALK_ROOT has the node "(idle)" */
	uint32_t end_written_by[VG_WALK_END_COUNT + 1]; /* like chain_written_by */
	VG_ARRAY(uint32_t) path;     /* the chains that must be written for a sample, innermost first */
	uint32_t repeats_max;        /* how often one record may be repeated */
};

enum { VG_CHROME_ROOT = 1 };

/* The most functions of one stack.  Deeper stacks are cut, because each thread has its own copy of the nodes that its
 * samples need. */
enum { VG_CHROME_DEPTH_MAX = 2000 };

#endif
