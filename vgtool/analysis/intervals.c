/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The open intervals of a thread.  The list is linked, because intervals can end in any order. */
struct open_list {
	uint64_t now_ns;             /* latest time of the thread's events */
	uint32_t top;                /* the interval that began last, or VG_NONE */
};

/* The open intervals of one kind and label on one thread. */
struct open_name {
	uint64_t since_ns;           /* begin of the first of them */
	uint64_t open;               /* their number */
};

struct open_name_key {
	uint32_t thread, kind, label;
};

struct builder {
	struct vg_intervals *intervals;
	struct open_list *open_lists;          /* by thread */
	size_t open;                 /* number of intervals in the lists; each needs room for its end step */
	struct vg_intern open_name_keys;
	VG_ARRAY(struct open_name) open_names;
	VG_ARRAY(uint32_t) open_name_of; /* by interval: index in open_names */
	VG_ARRAY(uint64_t) steps;    /* of all threads, in the order of the file */
};

static struct vg_interval *interval_at(struct builder *builder, uint32_t interval)
{
	return &builder->intervals->items.items[interval];
}

/* Moves a thread's time forward.  The time since its previous event is self time of the interval that began last. */
static void list_advance(struct builder *builder, struct open_list *open_list, uint64_t now_ns)
{
	if (now_ns < open_list->now_ns) {
		builder->intervals->times_out_of_order++;
		return;
	}
	if (open_list->top != VG_NONE)
		interval_at(builder, open_list->top)->self_ns += now_ns - open_list->now_ns;
	open_list->now_ns = now_ns;
}

static int open_name_find(struct builder *builder, const struct vg_interval *interval)
{
	struct open_name_key key = { interval->thread, interval->kind, interval->label };
	struct open_name fresh = { 0 };
	uint32_t id = 0;
	int rc = vg_intern(&builder->open_name_keys, &key, sizeof key, &id);

	if (rc > 0)
		rc = vg_array_push(&builder->open_names, &fresh);
	return rc < 0 ? rc : vg_array_push(&builder->open_name_of, &id);
}

static void open_name_enter(struct builder *builder, uint32_t index)
{
	struct open_name *open_name = &builder->open_names.items[builder->open_name_of.items[index]];

	interval_at(builder, index)->is_recursive = open_name->open > 0;
	if (open_name->open++ == 0)
		open_name->since_ns = interval_at(builder, index)->begin_ns;
}

static void open_name_leave(struct builder *builder, uint32_t index)
{
	struct open_name *open_name = &builder->open_names.items[builder->open_name_of.items[index]];
	struct vg_interval *interval = interval_at(builder, index);

	if (--open_name->open == 0)
		interval->total_ns = interval->end_ns - open_name->since_ns;
}

/* This cannot fail: interval_begin() has reserved room for this step and for the ends of all open intervals. */
static void step_add(struct builder *builder, uint32_t index, bool ends)
{
	builder->steps.items[builder->steps.count++] = (uint64_t)index << 1 | ends;
}

static void list_push(struct builder *builder, struct open_list *open_list, uint32_t index)
{
	struct vg_interval *interval = interval_at(builder, index);

	interval->below = interval->parent = open_list->top;
	interval->above = VG_NONE;
	interval->listed = true;
	if (open_list->top != VG_NONE) {
		interval_at(builder, open_list->top)->above = index;
		interval->depth = interval_at(builder, open_list->top)->depth + 1;
	}
	open_list->top = index;
	builder->open++;
	open_name_enter(builder, index);
	step_add(builder, index, false);
}

static void list_remove(struct builder *builder, struct open_list *open_list, uint32_t index,
			enum vg_interval_state state)
{
	struct vg_interval *interval = interval_at(builder, index);

	interval->end_ns = open_list->now_ns;
	interval->state = (uint8_t)state;
	interval->not_nested = interval->above != VG_NONE;
	interval->listed = false;
	builder->open--;
	if (interval->below != VG_NONE)
		interval_at(builder, interval->below)->above = interval->above;
	if (interval->above != VG_NONE)
		interval_at(builder, interval->above)->below = interval->below;
	else
		open_list->top = interval->below;
	open_name_leave(builder, index);
	step_add(builder, index, true);
}

/* Ends the intervals whose end events were lost.  A begin event names its parent, the interval that was open around it.
 * So intervals that began after the parent must have ended.  A begin event that names itself as its parent proves
 * nothing: the host did not know the parent, because it keeps a limited number of open intervals. */
static void lost_ends_apply(struct builder *builder, struct open_list *open_list, const struct vg_event *event)
{
	uint32_t parent = VG_NONE;

	if (!builder->intervals->events_missing || event->parent == event->token)
		return;
	if (event->parent != 0) {
		parent = vg_intervals_find(builder->intervals, event->parent);
		if (parent == VG_NONE || !interval_at(builder, parent)->listed ||
		    interval_at(builder, parent)->thread != event->thread)
			return;
	}
	while (open_list->top != parent)
		list_remove(builder, open_list, open_list->top, VG_INTERVAL_END_LOST);
}

static int interval_begin(struct builder *builder, const struct vg_event *event)
{
	struct vg_intervals *intervals = builder->intervals;
	struct open_list *open_list = &builder->open_lists[event->thread];
	struct vg_interval interval = {
		.token = event->token, .value = event->value, .thread = event->thread,
		.kind = event->kind, .label = event->label, .state = VG_INTERVAL_OPEN,
		.parent = VG_NONE, .below = VG_NONE, .above = VG_NONE,
		.detached = event->type == VG_EVENT_DETACHED_BEGIN,
	};
	uint32_t index = (uint32_t)intervals->items.count, token;
	int rc;

	if (index == VG_NONE)
		return -ENOMEM;
	list_advance(builder, open_list, event->time_ns);
	lost_ends_apply(builder, open_list, event);
	interval.begin_ns = open_list->now_ns;
	if (interval.detached && event->parent != 0 && event->parent != event->token)
		interval.parent = vg_intervals_find(intervals, event->parent);
	rc = vg_intern(&intervals->tokens, &event->token, sizeof event->token, &token);
	if (rc > 0)
		rc = vg_array_push(&intervals->by_token, &index);
	else if (rc == 0 && interval_at(builder, intervals->by_token.items[token])->state == VG_INTERVAL_OPEN)
		intervals->begins_repeated++;
	if (rc == 0)
		rc = vg_array_push(&intervals->items, &interval);
	if (rc == 0)
		rc = open_name_find(builder, &interval);
	if (rc == 0 && !interval.detached)
		rc = vg_array_reserve(&builder->steps, 2 + builder->open);
	if (rc != 0)
		return rc;
	intervals->by_token.items[token] = index;
	if (!interval.detached)
		list_push(builder, open_list, index);
	return 0;
}

static void interval_end(struct builder *builder, const struct vg_event *event)
{
	uint32_t index = vg_intervals_find(builder->intervals, event->token);
	struct vg_interval *interval;
	struct open_list *open_list;

	list_advance(builder, &builder->open_lists[event->thread], event->time_ns);
	if (index == VG_NONE || interval_at(builder, index)->state != VG_INTERVAL_OPEN) {
		builder->intervals->ends_orphaned++;
		return;
	}
	interval = interval_at(builder, index);
	open_list = &builder->open_lists[interval->thread];
	if (!interval->detached) {
		/* vgctl(3) forbids ending an interval on another thread.  Such an interval is still counted. */
		if (interval->thread != event->thread)
			list_advance(builder, open_list, event->time_ns);
		list_remove(builder, open_list, index, VG_INTERVAL_ENDED);
		return;
	}
	interval->state = VG_INTERVAL_ENDED;
	interval->end_ns = event->time_ns > interval->begin_ns ? event->time_ns : interval->begin_ns;
	interval->self_ns = interval->total_ns = vg_interval_ns(interval);
}

static int event_add(struct builder *builder, const struct vg_event *event)
{
	switch ((enum vg_event_type)event->type) {
	case VG_EVENT_BEGIN:
	case VG_EVENT_DETACHED_BEGIN:
		return interval_begin(builder, event);
	case VG_EVENT_END:
	case VG_EVENT_DETACHED_END:
		interval_end(builder, event);
		break;
	case VG_EVENT_INSTANT:
	case VG_EVENT_COUNTER:
	case VG_EVENT_TYPES:
		break;
	}
	return 0;
}

static uint64_t thread_end(const struct vg_intervals *intervals, uint32_t thread)
{
	uint64_t end_ns = intervals->profile->threads.items[thread].end_ns;

	return end_ns < intervals->end_ns ? end_ns : intervals->end_ns;
}

/* Gives an end time to the intervals that have no end event. */
static void open_intervals_end(struct builder *builder)
{
	struct vg_intervals *intervals = builder->intervals;

	for (uint32_t t = 0; t < intervals->profile->threads.count; t++) {
		struct open_list *open_list = &builder->open_lists[t];
		uint64_t end_ns = thread_end(intervals, t);

		if (open_list->top == VG_NONE)
			continue;
		list_advance(builder, open_list, end_ns > open_list->now_ns ? end_ns : open_list->now_ns);
		while (open_list->top != VG_NONE)
			list_remove(builder, open_list, open_list->top, VG_INTERVAL_OPEN);
	}
	for (size_t i = 0; i < intervals->items.count; i++) {
		struct vg_interval *interval = &intervals->items.items[i];

		if (!interval->detached || interval->state != VG_INTERVAL_OPEN)
			continue;
		interval->end_ns = intervals->end_ns;
		interval->self_ns = interval->total_ns = vg_interval_ns(interval);
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

/* Second step of a counting sort.  On entry, first[t + 1] is the number of items of thread t.  On return, it is the
 * index where the items of thread t begin.  The third step stores the items and moves first[t + 1] to the end of thread
 * t, where thread t + 1 begins. */
static void counts_to_starts(uint64_t *first, size_t thread_count)
{
	uint64_t begin = 0;

	for (size_t t = 0; t < thread_count; t++) {
		uint64_t count = first[t + 1];

		first[t + 1] = begin;
		begin += count;
	}
}

static int threads_sort(struct builder *builder)
{
	struct vg_intervals *intervals = builder->intervals;
	const struct vg_interval *items = intervals->items.items;
	size_t thread_count = intervals->profile->threads.count;

	intervals->first = calloc(thread_count + 2, sizeof *intervals->first);
	intervals->order = malloc((intervals->items.count + 1) * sizeof *intervals->order);
	intervals->first_step = calloc(thread_count + 2, sizeof *intervals->first_step);
	intervals->steps = malloc((builder->steps.count + 1) * sizeof *intervals->steps);
	if (intervals->first == NULL || intervals->order == NULL || intervals->first_step == NULL ||
	    intervals->steps == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < intervals->items.count; i++)
		intervals->first[items[i].thread + 1]++;
	for (size_t i = 0; i < builder->steps.count; i++)
		intervals->first_step[items[vg_step_interval(builder->steps.items[i])].thread + 1]++;
	counts_to_starts(intervals->first, thread_count);
	counts_to_starts(intervals->first_step, thread_count);
	for (size_t i = 0; i < intervals->items.count; i++)
		intervals->order[intervals->first[items[i].thread + 1]++] = (uint32_t)i;
	for (size_t i = 0; i < builder->steps.count; i++) {
		uint64_t step = builder->steps.items[i];

		intervals->steps[intervals->first_step[items[vg_step_interval(step)].thread + 1]++] = step;
	}
	return 0;
}

int vg_intervals_build(struct vg_intervals *intervals, const struct vg_profile *profile)
{
	struct builder builder = { .intervals = intervals };
	int rc = 0;

	*intervals = (struct vg_intervals){ .profile = profile, .end_ns = profile_end(profile),
				    .dropped = dropped_count(profile) };
	/* Events are lost in damaged chunks, too. */
	intervals->events_missing = intervals->dropped > 0 || profile->damage.count > 0;
	builder.open_lists = calloc(profile->threads.count + 1, sizeof *builder.open_lists);
	if (builder.open_lists == NULL)
		return -ENOMEM;
	for (size_t t = 0; t < profile->threads.count; t++)
		builder.open_lists[t].top = VG_NONE;
	for (size_t i = 0; rc == 0 && i < profile->events.count; i++)
		rc = event_add(&builder, &profile->events.items[i]);
	if (rc == 0)
		open_intervals_end(&builder);
	if (rc == 0)
		rc = threads_sort(&builder);
	vg_intern_free(&builder.open_name_keys);
	vg_array_free(&builder.open_names);
	vg_array_free(&builder.open_name_of);
	vg_array_free(&builder.steps);
	free(builder.open_lists);
	return rc;
}

void vg_intervals_free(struct vg_intervals *intervals)
{
	vg_array_free(&intervals->items);
	free(intervals->first);
	free(intervals->order);
	free(intervals->first_step);
	free(intervals->steps);
	vg_intern_free(&intervals->tokens);
	vg_array_free(&intervals->by_token);
	*intervals = (struct vg_intervals){ 0 };
}

uint32_t vg_intervals_find(const struct vg_intervals *intervals, uint64_t token)
{
	uint32_t id;

	if (!vg_intern_find(&intervals->tokens, &token, sizeof token, &id))
		return VG_NONE;
	return intervals->by_token.items[id];
}

uint32_t vg_sample_interval(const struct vg_intervals *intervals, const struct vg_sample *sample)
{
	uint32_t interval = sample->interval != 0 ? vg_intervals_find(intervals, sample->interval) : VG_NONE;

	/* Only a hostile profile names an interval of another thread.  Ignore such an interval: if many threads named
	 * one deeply nested interval, the table of each thread would cost time for all intervals around it. */
	return interval != VG_NONE && intervals->items.items[interval].thread == sample->thread ? interval : VG_NONE;
}

const char *vg_interval_name(const struct vg_profile *profile, uint32_t kind, uint32_t label)
{
	if (label != VG_NONE)
		return vg_profile_text(profile, label);
	return kind != VG_NONE ? vg_profile_text(profile, kind) : "(no label)";
}
