/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/span_counts.h"

#include <errno.h>
#include <stdlib.h>

/* The open spans of a thread: a list, for they may end in any order. */
struct open_list {
	uint32_t *below, *above;     /* by span */
	uint32_t top;
};

static void list_push(struct open_list *list, uint32_t span)
{
	list->below[span] = list->top;
	list->above[span] = VG_NONE;
	if (list->top != VG_NONE)
		list->above[list->top] = span;
	list->top = span;
}

static void list_remove(struct open_list *list, uint32_t span)
{
	uint32_t below = list->below[span], above = list->above[span];

	if (below != VG_NONE)
		list->above[below] = above;
	if (above != VG_NONE)
		list->below[above] = below;
	else
		list->top = below;
}

static void thread_sweep(struct vg_span_counts *own, const struct vg_spans *spans,
			 const struct vg_counted *counts, struct open_list *list, uint32_t thread)
{
	uint64_t before = 0;

	list->top = VG_NONE;
	for (uint64_t at = spans->first_step[thread]; at < spans->first_step[thread + 1]; at++) {
		uint32_t index = vg_step_span(spans->steps[at]);
		const struct vg_span *span = &spans->items.items[index];
		bool ends = vg_step_ends(spans->steps[at]);
		uint64_t now = vg_counted_at(counts, thread, ends ? span->end_ns : span->begin_ns);

		if (list->top != VG_NONE && now > before)
			own->self[list->top] += now - before;
		before = now;
		if (!ends) {
			list_push(list, index);
			continue;
		}
		list_remove(list, index);
		if (span->once_ns != 0)
			own->once[index] = now - vg_counted_at(counts, thread, span->end_ns - span->once_ns);
	}
}

int vg_span_counts_build(struct vg_span_counts *own, const struct vg_spans *spans,
			 const struct vg_counted *counts)
{
	size_t count = spans->items.count + 1;
	struct open_list list = {
		.below = calloc(count, sizeof *list.below), .above = calloc(count, sizeof *list.above),
	};
	int rc = 0;

	own->self = calloc(count, sizeof *own->self);
	own->once = calloc(count, sizeof *own->once);
	if (list.below == NULL || list.above == NULL || own->self == NULL || own->once == NULL)
		rc = -ENOMEM;
	for (uint32_t t = 0; rc == 0 && t < spans->profile->threads.count; t++)
		thread_sweep(own, spans, counts, &list, t);
	free(list.below);
	free(list.above);
	return rc;
}

void vg_span_counts_free(struct vg_span_counts *own)
{
	free(own->self);
	free(own->once);
	*own = (struct vg_span_counts){ 0 };
}
