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

/* Marks what the samples need, callers included, then numbers it without gaps: an importer may use
 * the numbers as indices.  0 or -ENOMEM. */
int vg_chrome_nodes_number(struct vg_chrome *chrome);

/* A sample's chain as far as it is shown, VG_NONE for an empty stack, and the node that it is at. */
uint32_t vg_chrome_sample_chain(const struct vg_chrome *chrome, const struct vg_sample *sample);
uint32_t vg_chrome_sample_node(const struct vg_chrome *chrome, const struct vg_sample *sample);

/* A chain's functions, counted from the outermost, whose node is chain_ids[chain]; those of the
 * others follow it. */
size_t vg_chrome_functions(const struct vg_chrome *chrome, uint32_t chain);
const char *vg_chrome_function(const struct vg_chrome *chrome, uint32_t chain, size_t i);
uint32_t vg_chrome_parent_node(const struct vg_chrome *chrome, uint32_t chain);

/* The index of a reason in end_ids, and what its node is called: static text, or in the room. */
size_t vg_chrome_end_index(uint8_t end);
const char *vg_chrome_end_name(size_t end, char *room, size_t room_bytes);

/* How often a record is written, and the time of the i-th of those, the last at the record's own. */
uint32_t vg_chrome_repeats(const struct vg_chrome *chrome, const struct vg_sample *sample);
uint64_t vg_chrome_repeat_us(const struct vg_sample *sample, uint32_t i, uint32_t repeats);

/* Opens an event with its fixed fields; more may follow, then vg_json_object_end(). */
void vg_chrome_event_begin(struct vg_chrome *chrome, const char *phase, const char *name,
			   uint32_t thread, uint64_t time_ns);

/* Intervals, instants and counters. */
void vg_chrome_events_write(struct vg_chrome *chrome);

/* The samples among the events, 0 or -ENOMEM; and beside them, as keys of the whole. */
int vg_chrome_samples_write(struct vg_chrome *chrome);
void vg_chrome_stacks_write(struct vg_chrome *chrome);

#endif
