/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/interval_counts.h"

#include <errno.h>
#include <stdlib.h>

/* The open intervals of a thread, the latest on top.  The list is linked, because intervals can end in any order. */
struct open_list {
	uint32_t *below, *above;     /* by interval: its neighbours, or VG_NONE */
	uint32_t top;
};

static void list_push(struct open_list *list, uint32_t interval)
{
	list->below[interval] = list->top;
	list->above[interval] = VG_NONE;
	if (list->top != VG_NONE)
		list->above[list->top] = interval;
	list->top = interval;
}

static void list_remove(struct open_list *list, uint32_t interval)
{
	uint32_t below = list->below[interval], above = list->above[interval];

	if (below != VG_NONE)
		list->above[below] = above;
	if (above != VG_NONE)
		list->below[above] = below;
	else
		list->top = below;
}

static void thread_counts_build(struct vg_interval_counts *interval_counts, const struct vg_intervals *intervals,
				const struct vg_perf_counts *counts, struct open_list *list, uint32_t thread)
{
	uint64_t before = 0;

	list->top = VG_NONE;
	for (uint64_t at = intervals->first_step[thread]; at < intervals->first_step[thread + 1]; at++) {
		uint32_t index = vg_step_interval(intervals->steps[at]);
		const struct vg_interval *interval = &intervals->items.items[index];
		bool ends = vg_step_is_end(intervals->steps[at]);
		uint64_t now = vg_perf_counts_at(counts, thread, ends ? interval->end_ns : interval->begin_ns);

		if (list->top != VG_NONE && now > before)
			interval_counts->self[list->top] += now - before;
		before = now;
		if (!ends) {
			list_push(list, index);
			continue;
		}
		list_remove(list, index);
		if (interval->total_ns != 0)
			interval_counts->total[index] = now - vg_perf_counts_at(counts, thread,
										interval->end_ns - interval->total_ns);
	}
}

int vg_interval_counts_build(struct vg_interval_counts *interval_counts, const struct vg_intervals *intervals,
			     const struct vg_perf_counts *counts)
{
	size_t count = intervals->items.count + 1;
	struct open_list list = {
		.below = calloc(count, sizeof *list.below), .above = calloc(count, sizeof *list.above),
	};
	int rc = 0;

	interval_counts->self = calloc(count, sizeof *interval_counts->self);
	interval_counts->total = calloc(count, sizeof *interval_counts->total);
	if (list.below == NULL || list.above == NULL || interval_counts->self == NULL || interval_counts->total == NULL)
		rc = -ENOMEM;
	for (uint32_t t = 0; rc == 0 && t < intervals->profile->threads.count; t++)
		thread_counts_build(interval_counts, intervals, counts, &list, t);
	free(list.below);
	free(list.above);
	return rc;
}

void vg_interval_counts_free(struct vg_interval_counts *interval_counts)
{
	free(interval_counts->self);
	free(interval_counts->total);
	*interval_counts = (struct vg_interval_counts){ 0 };
}
