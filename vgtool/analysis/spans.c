/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The open spans of a thread: a list, for they may end in any order. */
struct lane {
	uint64_t now_ns;
	uint32_t top;                /* span that began last, or VG_NONE */
};

/* How many spans of one name are open on one thread, and since when. */
struct crowd {
	uint64_t since_ns;
	uint64_t open;
};

struct crowd_key {
	uint32_t thread, kind, label;
};

struct sweep {
	struct vg_spans *spans;
	struct lane *lanes;          /* by thread */
	size_t open;                 /* spans in the lanes: their ends will be steps */
	struct vg_intern crowd_keys;
	VG_ARRAY(struct crowd) crowds;
	VG_ARRAY(uint32_t) crowd_of; /* by span */
	VG_ARRAY(uint64_t) steps;    /* of all threads, in the order of the file */
};

static struct vg_span *span_at(struct sweep *sweep, uint32_t span)
{
	return &sweep->spans->items.items[span];
}

/* Moves a thread's time on; what passed is the innermost span's. */
static void lane_advance(struct sweep *sweep, struct lane *lane, uint64_t now_ns)
{
	if (now_ns < lane->now_ns) {
		sweep->spans->times_back++;
		return;
	}
	if (lane->top != VG_NONE)
		span_at(sweep, lane->top)->self_ns += now_ns - lane->now_ns;
	lane->now_ns = now_ns;
}

static int crowd_find(struct sweep *sweep, const struct vg_span *span)
{
	struct crowd_key key = { span->thread, span->kind, span->label };
	struct crowd fresh = { 0 };
	uint32_t id = 0;
	int rc = vg_intern(&sweep->crowd_keys, &key, sizeof key, &id);

	if (rc > 0)
		rc = vg_array_push(&sweep->crowds, &fresh);
	return rc < 0 ? rc : vg_array_push(&sweep->crowd_of, &id);
}

static void crowd_enter(struct sweep *sweep, uint32_t index)
{
	struct crowd *crowd = &sweep->crowds.items[sweep->crowd_of.items[index]];

	span_at(sweep, index)->repeats = crowd->open > 0;
	if (crowd->open++ == 0)
		crowd->since_ns = span_at(sweep, index)->begin_ns;
}

static void crowd_leave(struct sweep *sweep, uint32_t index)
{
	struct crowd *crowd = &sweep->crowds.items[sweep->crowd_of.items[index]];
	struct vg_span *span = span_at(sweep, index);

	if (--crowd->open == 0)
		span->once_ns = span->end_ns - crowd->since_ns;
}

/* There is room: each span that begins makes it for its own end and for those of all that are open. */
static void step_note(struct sweep *sweep, uint32_t index, bool ends)
{
	sweep->steps.items[sweep->steps.count++] = (uint64_t)index << 1 | ends;
}

static void lane_push(struct sweep *sweep, struct lane *lane, uint32_t index)
{
	struct vg_span *span = span_at(sweep, index);

	span->below = span->parent = lane->top;
	span->above = VG_NONE;
	span->listed = true;
	if (lane->top != VG_NONE) {
		span_at(sweep, lane->top)->above = index;
		span->depth = span_at(sweep, lane->top)->depth + 1;
	}
	lane->top = index;
	sweep->open++;
	crowd_enter(sweep, index);
	step_note(sweep, index, false);
}

static void lane_remove(struct sweep *sweep, struct lane *lane, uint32_t index,
			enum vg_span_state state)
{
	struct vg_span *span = span_at(sweep, index);

	span->end_ns = lane->now_ns;
	span->state = (uint8_t)state;
	span->crossed = span->above != VG_NONE;
	span->listed = false;
	sweep->open--;
	if (span->below != VG_NONE)
		span_at(sweep, span->below)->above = span->above;
	if (span->above != VG_NONE)
		span_at(sweep, span->above)->below = span->below;
	else
		lane->top = span->below;
	crowd_leave(sweep, index);
	step_note(sweep, index, true);
}

/* Where events are missing, a begin that names its parent shows which ends are missing: those of
 * all that began after the parent.  One that names itself does not know. */
static void lost_ends_find(struct sweep *sweep, struct lane *lane, const struct vg_event *event)
{
	uint32_t parent = VG_NONE;

	if (!sweep->spans->gappy || event->parent == event->token)
		return;
	if (event->parent != 0) {
		parent = vg_spans_find(sweep->spans, event->parent);
		if (parent == VG_NONE || !span_at(sweep, parent)->listed ||
		    span_at(sweep, parent)->thread != event->thread)
			return;
	}
	while (lane->top != parent)
		lane_remove(sweep, lane, lane->top, VG_SPAN_LOST);
}

static int span_begin(struct sweep *sweep, const struct vg_event *event)
{
	struct vg_spans *spans = sweep->spans;
	struct lane *lane = &sweep->lanes[event->thread];
	struct vg_span span = {
		.token = event->token, .value = event->value, .thread = event->thread,
		.kind = event->kind, .label = event->label, .state = VG_SPAN_OPEN,
		.parent = VG_NONE, .below = VG_NONE, .above = VG_NONE,
		.detached = event->what == VG_EVENT_DETACHED_BEGIN,
	};
	uint32_t index = (uint32_t)spans->items.count, token;
	int rc;

	if (index == VG_NONE)
		return -ENOMEM;
	lane_advance(sweep, lane, event->time_ns);
	lost_ends_find(sweep, lane, event);
	span.begin_ns = lane->now_ns;
	if (span.detached && event->parent != 0 && event->parent != event->token)
		span.parent = vg_spans_find(spans, event->parent);
	rc = vg_intern(&spans->tokens, &event->token, sizeof event->token, &token);
	if (rc > 0)
		rc = vg_array_push(&spans->by_token, &index);
	else if (rc == 0 && span_at(sweep, spans->by_token.items[token])->state == VG_SPAN_OPEN)
		spans->begins_repeated++;
	if (rc == 0)
		rc = vg_array_push(&spans->items, &span);
	if (rc == 0)
		rc = crowd_find(sweep, &span);
	if (rc == 0 && !span.detached)
		rc = vg_array_reserve(&sweep->steps, 2 + sweep->open);
	if (rc != 0)
		return rc;
	spans->by_token.items[token] = index;
	if (!span.detached)
		lane_push(sweep, lane, index);
	return 0;
}

static void span_end(struct sweep *sweep, const struct vg_event *event)
{
	uint32_t index = vg_spans_find(sweep->spans, event->token);
	struct vg_span *span;
	struct lane *lane;

	lane_advance(sweep, &sweep->lanes[event->thread], event->time_ns);
	if (index == VG_NONE || span_at(sweep, index)->state != VG_SPAN_OPEN) {
		sweep->spans->ends_orphaned++;
		return;
	}
	span = span_at(sweep, index);
	lane = &sweep->lanes[span->thread];
	if (!span->detached) {
		/* That it ended on another thread is against the rules, and is taken as it is. */
		if (span->thread != event->thread)
			lane_advance(sweep, lane, event->time_ns);
		lane_remove(sweep, lane, index, VG_SPAN_ENDED);
		return;
	}
	span->state = VG_SPAN_ENDED;
	span->end_ns = event->time_ns > span->begin_ns ? event->time_ns : span->begin_ns;
	span->self_ns = span->once_ns = vg_span_ns(span);
}

static int event_take(struct sweep *sweep, const struct vg_event *event)
{
	switch ((enum vg_event_what)event->what) {
	case VG_EVENT_BEGIN:
	case VG_EVENT_DETACHED_BEGIN:
		return span_begin(sweep, event);
	case VG_EVENT_END:
	case VG_EVENT_DETACHED_END:
		span_end(sweep, event);
		break;
	case VG_EVENT_INSTANT:
	case VG_EVENT_COUNTER:
	case VG_EVENT_WHATS:
		break;
	}
	return 0;
}

static uint64_t thread_end(const struct vg_spans *spans, uint32_t thread)
{
	uint64_t end_ns = spans->profile->threads.items[thread].end_ns;

	return end_ns < spans->end_ns ? end_ns : spans->end_ns;
}

/* What is open now stays so. */
static void open_close(struct sweep *sweep)
{
	struct vg_spans *spans = sweep->spans;

	for (uint32_t t = 0; t < spans->profile->threads.count; t++) {
		struct lane *lane = &sweep->lanes[t];
		uint64_t end_ns = thread_end(spans, t);

		if (lane->top == VG_NONE)
			continue;
		lane_advance(sweep, lane, end_ns > lane->now_ns ? end_ns : lane->now_ns);
		while (lane->top != VG_NONE)
			lane_remove(sweep, lane, lane->top, VG_SPAN_OPEN);
	}
	for (size_t i = 0; i < spans->items.count; i++) {
		struct vg_span *span = &spans->items.items[i];

		if (!span->detached || span->state != VG_SPAN_OPEN)
			continue;
		span->end_ns = spans->end_ns;
		span->self_ns = span->once_ns = vg_span_ns(span);
	}
}

static uint64_t profile_end(const struct vg_profile *profile)
{
	uint64_t end_ns = profile->duration_ns;

	for (size_t i = 0; i < profile->events.count; i++) {
		if (profile->events.items[i].time_ns > end_ns)
			end_ns = profile->events.items[i].time_ns;
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		if (profile->samples.items[i].time_ns > end_ns)
			end_ns = profile->samples.items[i].time_ns;
	}
	return end_ns;
}

static uint64_t dropped_count(const struct vg_profile *profile)
{
	const struct vg_count *dropped = vg_profile_count(profile, &profile->lost, "events_dropped");

	return dropped != NULL ? dropped->value : 0;
}

/* A counting sort: first[t + 1] counts thread t, becomes where it begins, and ends up as where it
 * ends. */
static void counts_to_starts(uint64_t *first, size_t thread_count)
{
	uint64_t begin = 0;

	for (size_t t = 0; t < thread_count; t++) {
		uint64_t count = first[t + 1];

		first[t + 1] = begin;
		begin += count;
	}
}

static int threads_sort(struct sweep *sweep)
{
	struct vg_spans *spans = sweep->spans;
	const struct vg_span *items = spans->items.items;
	size_t thread_count = spans->profile->threads.count;

	spans->first = calloc(thread_count + 2, sizeof *spans->first);
	spans->order = malloc((spans->items.count + 1) * sizeof *spans->order);
	spans->first_step = calloc(thread_count + 2, sizeof *spans->first_step);
	spans->steps = malloc((sweep->steps.count + 1) * sizeof *spans->steps);
	if (spans->first == NULL || spans->order == NULL || spans->first_step == NULL ||
	    spans->steps == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < spans->items.count; i++)
		spans->first[items[i].thread + 1]++;
	for (size_t i = 0; i < sweep->steps.count; i++)
		spans->first_step[items[vg_step_span(sweep->steps.items[i])].thread + 1]++;
	counts_to_starts(spans->first, thread_count);
	counts_to_starts(spans->first_step, thread_count);
	for (size_t i = 0; i < spans->items.count; i++)
		spans->order[spans->first[items[i].thread + 1]++] = (uint32_t)i;
	for (size_t i = 0; i < sweep->steps.count; i++) {
		uint64_t step = sweep->steps.items[i];

		spans->steps[spans->first_step[items[vg_step_span(step)].thread + 1]++] = step;
	}
	return 0;
}

int vg_spans_build(struct vg_spans *spans, const struct vg_profile *profile)
{
	struct sweep sweep = { .spans = spans };
	int rc = 0;

	*spans = (struct vg_spans){ .profile = profile, .end_ns = profile_end(profile),
				    .dropped = dropped_count(profile) };
	/* A damaged chunk takes events with it too. */
	spans->gappy = spans->dropped > 0 || profile->damage.count > 0;
	sweep.lanes = calloc(profile->threads.count + 1, sizeof *sweep.lanes);
	if (sweep.lanes == NULL)
		return -ENOMEM;
	for (size_t t = 0; t < profile->threads.count; t++)
		sweep.lanes[t].top = VG_NONE;
	for (size_t i = 0; rc == 0 && i < profile->events.count; i++)
		rc = event_take(&sweep, &profile->events.items[i]);
	if (rc == 0)
		open_close(&sweep);
	if (rc == 0)
		rc = threads_sort(&sweep);
	vg_intern_free(&sweep.crowd_keys);
	vg_array_free(&sweep.crowds);
	vg_array_free(&sweep.crowd_of);
	vg_array_free(&sweep.steps);
	free(sweep.lanes);
	return rc;
}

void vg_spans_free(struct vg_spans *spans)
{
	vg_array_free(&spans->items);
	free(spans->first);
	free(spans->order);
	free(spans->first_step);
	free(spans->steps);
	vg_intern_free(&spans->tokens);
	vg_array_free(&spans->by_token);
	*spans = (struct vg_spans){ 0 };
}

uint32_t vg_spans_find(const struct vg_spans *spans, uint64_t token)
{
	uint32_t id;

	if (!vg_intern_find(&spans->tokens, &token, sizeof token, &id))
		return VG_NONE;
	return spans->by_token.items[id];
}

const char *vg_span_name(const struct vg_profile *profile, uint32_t kind, uint32_t label)
{
	if (label != VG_NONE)
		return vg_profile_text(profile, label);
	return kind != VG_NONE ? vg_profile_text(profile, kind) : "(no label)";
}
