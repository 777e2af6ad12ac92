/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/part.h"

#include <errno.h>
#include <stdlib.h>

#include "vgtool/analysis/intervals.h"

static uint64_t round_up_to_us(uint64_t ns)
{
	return ns > UINT64_MAX - 999 ? UINT64_MAX : (ns + 999) / 1000 * 1000;
}

static int arrays_allocate(struct vg_part *part, const struct vg_profile *profile)
{
	const struct { unsigned char **array; size_t count; } arrays[] = {
		{ &part->samples, profile->samples.count }, { &part->events, profile->events.count },
		{ &part->counter_readings, profile->counter_readings.count },
		{ &part->threads, profile->threads.count }, { &part->stacks, profile->stacks.count },
		{ &part->modules, profile->modules.count },
		{ &part->symbols, profile->symbols.count }, { &part->jit_code, profile->jit_code.count },
	};
	bool failed = false;

	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
		*arrays[i].array = calloc(arrays[i].count + 1, 1);
		failed = failed || *arrays[i].array == NULL;
	}
	return failed ? -ENOMEM : 0;
}

static bool is_in_range(const struct vg_part *part, uint64_t time_ns)
{
	return time_ns >= part->begin_ns && time_ns < part->end_ns;
}

static void samples_select(struct vg_part *part)
{
	const struct vg_profile *profile = part->profile;

	for (size_t i = 0; i < profile->samples.count; i++) {
		const struct vg_sample *sample = &profile->samples.items[i];

		if (!is_in_range(part, sample->time_ns))
			continue;
		part->samples[i] = part->threads[sample->thread] = 1;
		part->sample_count++;
		if (sample->stack != VG_NONE)
			part->stacks[sample->stack] = 1;
	}
}

/* A reading covers the samples before it, so it is selected with the last of them. */
static void counter_readings_select(struct vg_part *part)
{
	const struct vg_profile *profile = part->profile;

	for (size_t i = 0; i < profile->counter_readings.count; i++) {
		const struct vg_counter_reading *reading = &profile->counter_readings.items[i];

		if (reading->sample != VG_NONE ? part->samples[reading->sample] : is_in_range(part, reading->time_ns))
			part->counter_readings[i] = part->threads[reading->thread] = 1;
	}
}

/* Marks the intervals that were open in the range.  Also those that samples of the range name: the clock of samples and
 * that of events can differ by microseconds. */
static void intervals_mark(const struct vg_part *part, const struct vg_intervals *intervals, unsigned char *marked)
{
	const struct vg_profile *profile = part->profile;

	for (size_t i = 0; i < intervals->items.count; i++) {
		const struct vg_interval *interval = &intervals->items.items[i];

		marked[i] = interval->begin_ns < part->end_ns && interval->end_ns >= part->begin_ns;
	}
	for (size_t i = 0; i < profile->samples.count; i++) {
		uint32_t interval = part->samples[i] ?
				    vg_sample_interval(intervals, &profile->samples.items[i]) : VG_NONE;

		if (interval != VG_NONE)
			marked[interval] = 1;
	}
	/* An interval around another one has a lower index. */
	for (size_t i = intervals->items.count; i-- > 0;) {
		const struct vg_interval *interval = &intervals->items.items[i];

		if (marked[i] && !interval->detached && interval->parent != VG_NONE)
			marked[interval->parent] = 1;
	}
}

static void events_select(struct vg_part *part, const struct vg_intervals *intervals, const unsigned char *marked)
{
	const struct vg_profile *profile = part->profile;
	uint32_t begun = 0, interval;

	for (size_t i = 0; i < profile->events.count; i++) {
		const struct vg_event *event = &profile->events.items[i];
		bool selected = is_in_range(part, event->time_ns);

		if (event->type == VG_EVENT_BEGIN || event->type == VG_EVENT_DETACHED_BEGIN) {
			/* Intervals are in the order of their begin events. */
			selected = marked[begun++];
		} else if (event->type == VG_EVENT_END || event->type == VG_EVENT_DETACHED_END) {
			interval = vg_intervals_find(intervals, event->token);
			if (interval != VG_NONE)
				selected = marked[interval] && event->time_ns < part->end_ns;
		}
		if (!selected)
			continue;
		part->events[i] = part->threads[event->thread] = 1;
		part->event_count++;
	}
}

static int intervals_select(struct vg_part *part)
{
	struct vg_intervals intervals;
	unsigned char *marked = NULL;
	int rc = vg_intervals_build(&intervals, part->profile);

	if (rc == 0)
		marked = calloc(intervals.items.count + 1, 1);
	if (marked != NULL) {
		intervals_mark(part, &intervals, marked);
		events_select(part, &intervals, marked);
	}
	vg_intervals_free(&intervals);
	rc = marked == NULL ? -ENOMEM : 0;
	free(marked);
	return rc;
}

/* Readers take the process's id from its main thread. */
static void main_thread_select(struct vg_part *part)
{
	const struct vg_profile *profile = part->profile;
	int32_t pid = profile->processes.items[0].pid;

	for (size_t t = 0; t < profile->threads.count; t++) {
		if (profile->threads.items[t].tid != pid)
			continue;
		if (!part->threads[t])
			part->threads[t] = VG_PART_MAIN_THREAD;
		return;
	}
}

static void symbol_select(struct vg_part *part, const struct vg_stack *stack)
{
	const struct vg_profile *profile = part->profile;
	struct vg_symbol_key key = { stack->address, stack->module, 0 };
	const struct vg_symbol *symbol;
	uint32_t index;

	if (!vg_intern_find(&profile->symbol_keys, &key, sizeof key, &index) || part->symbols[index])
		return;
	part->symbols[index] = stack->found_by == VG_FOUND_IN_KERNEL ? VG_PART_KERNEL : 1;
	symbol = &profile->symbols.items[index];
	for (uint32_t i = 0; i < symbol->count; i++) {
		uint32_t function = profile->symbol_lines.items[symbol->first + i].function;

		if (profile->functions.items[function].module != VG_NONE)
			part->modules[profile->functions.items[function].module] = 1;
	}
}

/* Selects the callers of the selected frames, and what belongs to the frames. */
static void stacks_select(struct vg_part *part)
{
	const struct vg_profile *profile = part->profile;

	/* A caller's index is lower than that of its callees. */
	for (size_t i = profile->stacks.count; i-- > 0;) {
		const struct vg_stack *stack = &profile->stacks.items[i];
		const struct vg_jit_code *code;

		if (!part->stacks[i])
			continue;
		if (stack->parent != VG_NONE)
			part->stacks[stack->parent] = 1;
		if (stack->module != VG_NONE) {
			part->modules[stack->module] = 1;
			symbol_select(part, stack);
			continue;
		}
		code = vg_profile_jit_code(profile, stack);
		if (code != NULL)
			part->jit_code[code - profile->jit_code.items] = 1;
	}
}

int vg_part_select(struct vg_part *part, const struct vg_profile *profile)
{
	int rc;

	*part = (struct vg_part){ .profile = profile, .begin_ns = round_up_to_us(part->begin_ns),
				  .end_ns = round_up_to_us(part->end_ns) };
	rc = arrays_allocate(part, profile);
	if (rc != 0)
		return rc;
	samples_select(part);
	counter_readings_select(part);
	rc = intervals_select(part);
	main_thread_select(part);
	stacks_select(part);
	return rc;
}

void vg_part_free(struct vg_part *part)
{
	free(part->samples);
	free(part->events);
	free(part->counter_readings);
	free(part->threads);
	free(part->stacks);
	free(part->modules);
	free(part->symbols);
	free(part->jit_code);
	*part = (struct vg_part){ 0 };
}
