/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/speedscope_intervals.h"

#include <errno.h>
#include <stdlib.h>

enum { DEEPER = VG_NONE };

/* How a span is treated. */
enum mark {
	MARK_SHOWN = 0,              /* or not begun */
	MARK_HIDDEN = 1,             /* too deep */
	MARK_ENDED = 2,              /* too far below the top: closes when it comes up */
};

static void event_write(struct vg_speedscope_intervals *intervals, const char *type, uint32_t span,
			uint64_t at_ns)
{
	const struct vg_span *of = &intervals->spans->items.items[span];
	struct vg_json *json = intervals->json;
	uint32_t frame = span == DEEPER ?
		intervals->frame_of(intervals->context, VG_NONE - 1, VG_NONE - 1) :
		intervals->frame_of(intervals->context, of->kind, of->label);

	vg_json_object_begin(json);
	vg_json_key_string(json, "type", type);
	vg_json_key_uint(json, "frame", frame);
	vg_json_key_uint(json, "at", at_ns);
	vg_json_object_end(json);
}

static int span_open(struct vg_speedscope_intervals *intervals, uint32_t span, uint64_t at_ns)
{
	if (intervals->open.count >= VG_SPEEDSCOPE_INTERVALS_DEPTH_MAX) {
		intervals->marks[span] = MARK_HIDDEN;
		if (intervals->hidden++ > 0)
			return 0;
		span = DEEPER;
	}
	event_write(intervals, "O", span, at_ns);
	return vg_array_push(&intervals->open, &span);
}

static void top_close(struct vg_speedscope_intervals *intervals, uint64_t at_ns)
{
	event_write(intervals, "C", intervals->open.items[--intervals->open.count], at_ns);
}

/* Those that ended below others go with these. */
static void ended_close(struct vg_speedscope_intervals *intervals, uint64_t at_ns)
{
	while (intervals->open.count > 0) {
		uint32_t top = intervals->open.items[intervals->open.count - 1];

		if (top == DEEPER || intervals->marks[top] != MARK_ENDED)
			return;
		top_close(intervals, at_ns);
	}
}

static void shown_close(struct vg_speedscope_intervals *intervals, uint32_t span, uint64_t at_ns)
{
	uint32_t above[VG_SPEEDSCOPE_REOPENED_MAX];
	size_t count = 0, at = intervals->open.count;

	while (at > 0 && intervals->open.items[at - 1] != span && count < VG_SPEEDSCOPE_REOPENED_MAX)
		above[count++] = intervals->open.items[--at];
	if (at == 0 || intervals->open.items[at - 1] != span) {
		if (span != DEEPER)
			intervals->marks[span] = MARK_ENDED;
		return;
	}
	for (size_t i = 0; i <= count; i++)
		top_close(intervals, at_ns);
	ended_close(intervals, at_ns);
	while (count-- > 0) {
		event_write(intervals, "O", above[count], at_ns);
		intervals->open.items[intervals->open.count++] = above[count];
	}
}

static void span_close(struct vg_speedscope_intervals *intervals, uint32_t span, uint64_t at_ns)
{
	if (intervals->marks[span] != MARK_HIDDEN) {
		shown_close(intervals, span, at_ns);
		return;
	}
	if (--intervals->hidden == 0)
		shown_close(intervals, DEEPER, at_ns);
}

bool vg_speedscope_intervals_any(const struct vg_spans *spans, uint32_t thread)
{
	return spans->first_step[thread] != spans->first_step[thread + 1];
}

int vg_speedscope_intervals_write(struct vg_speedscope_intervals *intervals, uint32_t thread)
{
	const struct vg_spans *spans = intervals->spans;
	uint64_t stop = spans->first_step[thread + 1], at_ns = 0;
	int rc = 0;

	if (intervals->marks == NULL)
		intervals->marks = calloc(spans->items.count + 1, 1);
	if (intervals->marks == NULL)
		return -ENOMEM;
	intervals->open.count = 0;
	intervals->hidden = 0;
	vg_json_array_begin(intervals->json);
	for (uint64_t i = spans->first_step[thread]; rc == 0 && i < stop; i++) {
		uint32_t span = vg_step_span(spans->steps[i]);
		const struct vg_span *of = &spans->items.items[span];

		at_ns = vg_step_ends(spans->steps[i]) ? of->end_ns : of->begin_ns;
		if (vg_step_ends(spans->steps[i]))
			span_close(intervals, span, at_ns);
		else
			rc = span_open(intervals, span, at_ns);
		if (ferror(intervals->json->file))
			break;
	}
	while (intervals->open.count > 0)
		top_close(intervals, at_ns);
	vg_json_array_end(intervals->json);
	return rc;
}

void vg_speedscope_intervals_free(struct vg_speedscope_intervals *intervals)
{
	vg_array_free(&intervals->open);
	free(intervals->marks);
}
