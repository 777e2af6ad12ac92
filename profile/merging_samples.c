/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/merging.h"

#include <errno.h>

static int token_map(struct vg_merging *part, uint64_t *token)
{
	const uint64_t key[] = { *token, part->process };
	uint32_t id = 0;
	int rc = 0;

	if (*token != 0)
		rc = vg_intern(&part->merge->tokens, key, sizeof key, &id);
	*token = *token != 0 ? (uint64_t)id + 1 : 0;
	return rc < 0 ? rc : 0;
}

int vg_merging_samples(struct vg_merging *part)
{
	const struct vg_profile *from = part->from;
	int rc = vg_array_reserve(&part->to->samples, from->samples.count);

	for (size_t i = 0; rc == 0 && i < from->samples.count; i++) {
		struct vg_sample sample = from->samples.items[i];

		sample.thread += part->first_thread;
		sample.stack = vg_merging_shift(sample.stack, part->first_stack);
		rc = token_map(part, &sample.interval);
		part->to->samples.items[part->to->samples.count++] = sample;
	}
	return rc;
}

int vg_merging_events(struct vg_merging *part)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < part->from->events.count; i++) {
		struct vg_event event = part->from->events.items[i];

		event.thread += part->first_thread;
		event.kind = vg_merging_map(part->strings, event.kind);
		event.label = vg_merging_map(part->strings, event.label);
		rc = token_map(part, &event.token);
		if (rc == 0)
			rc = token_map(part, &event.parent);
		if (rc == 0)
			rc = vg_array_push(&part->to->events, &event);
	}
	return rc;
}

int vg_merging_counter_readings(struct vg_merging *part)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < part->from->counter_readings.count; i++) {
		const struct vg_counter_reading *of = &part->from->counter_readings.items[i];
		struct vg_counter_reading reading = { .time_ns = of->time_ns, .thread = part->first_thread + of->thread,
						      .sample = vg_merging_shift(of->sample, part->first_sample) };

		for (uint32_t counter = 0; counter < part->from->header.counter_count; counter++) {
			if (part->counters[counter] != VG_NONE)
				reading.values[part->counters[counter]] = of->values[counter];
		}
		rc = vg_array_push(&part->to->counter_readings, &reading);
	}
	return rc;
}
