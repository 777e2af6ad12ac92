/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/chrome_events.h"

#include <inttypes.h>

#include "vgtool/output/text.h"
#include "vgtool/views/chrome_event.h"

static void category_write(struct vg_chrome *chrome, uint32_t kind, const char *otherwise)
{
	vg_json_key_string(&chrome->json, "cat", kind != VG_NONE ?
			   vg_profile_text(chrome->profile, kind) : otherwise);
}

static void interval_args_write(struct vg_chrome *chrome, const struct vg_interval *interval)
{
	struct vg_json *json = &chrome->json;

	if (interval->value == 0 && interval->state == VG_INTERVAL_ENDED)
		return;
	vg_json_key(json, "args");
	vg_json_object_begin(json);
	if (interval->value != 0)
		vg_json_key_uint(json, "value", interval->value);
	if (interval->state == VG_INTERVAL_OPEN)
		vg_json_key_string(json, "end", "still open when the recording ended");
	if (interval->state == VG_INTERVAL_END_LOST)
		vg_json_key_string(json, "end", "lost with events that were dropped");
	vg_json_object_end(json);
}

/* Writes the "b" event and the "e" event on the thread where the interval began, because viewers look for the "e"
 * event there. */
static void pair_write(struct vg_chrome *chrome, size_t index)
{
	const struct vg_interval *interval = &chrome->intervals.items.items[index];
	const char *name = vg_interval_name(chrome->profile, interval->kind, interval->label);
	char id[24];

	snprintf(id, sizeof id, "0x%zx", index + 1);
	vg_chrome_event_begin(chrome, "b", name, interval->thread, interval->begin_ns);
	category_write(chrome, interval->kind, "detached");
	vg_json_key_string(&chrome->json, "id", id);
	interval_args_write(chrome, interval);
	vg_json_object_end(&chrome->json);
	vg_chrome_event_begin(chrome, "e", name, interval->thread, interval->end_ns);
	category_write(chrome, interval->kind, "detached");
	vg_json_key_string(&chrome->json, "id", id);
	vg_json_object_end(&chrome->json);
}

static void interval_write(struct vg_chrome *chrome, size_t index)
{
	const struct vg_interval *interval = &chrome->intervals.items.items[index];

	if (vg_interval_ns(interval) < chrome->minimum_ns)
		return;
	if (interval->detached || interval->not_nested) {
		pair_write(chrome, index);
		return;
	}
	vg_chrome_event_begin(chrome, "X", vg_interval_name(chrome->profile, interval->kind, interval->label),
			      interval->thread, interval->begin_ns);
	category_write(chrome, interval->kind, "interval");
	vg_json_key(&chrome->json, "dur");
	vg_json_us(&chrome->json, vg_interval_ns(interval));
	interval_args_write(chrome, interval);
	vg_json_object_end(&chrome->json);
}

static void instant_write(struct vg_chrome *chrome, const struct vg_event *event)
{
	struct vg_json *json = &chrome->json;

	vg_chrome_event_begin(chrome, "i", vg_interval_name(chrome->profile, event->kind, event->label),
			      event->thread, event->time_ns);
	category_write(chrome, event->kind, "instant");
	vg_json_key_string(json, "s", "t");
	if (event->value != 0) {
		vg_json_key(json, "args");
		vg_json_object_begin(json);
		vg_json_key_uint(json, "value", event->value);
		vg_json_object_end(json);
	}
	vg_json_object_end(json);
}

static void counter_write(struct vg_chrome *chrome, const struct vg_event *event)
{
	struct vg_json *json = &chrome->json;

	vg_chrome_event_begin(chrome, "C", vg_interval_name(chrome->profile, event->kind, event->label),
			      event->thread, event->time_ns);
	category_write(chrome, event->kind, "counter");
	vg_json_key(json, "args");
	vg_json_object_begin(json);
	vg_json_key(json, "value");
	vg_json_int(json, (int64_t)event->value);
	vg_json_object_end(json);
	vg_json_object_end(json);
}

/* Viewers merge a process's counters if they have the same name, so the counter's name includes the thread's name. */
static void count_write(struct vg_chrome *chrome, const struct vg_counter_reading *count,
			uint32_t counter)
{
	struct vg_json *json = &chrome->json;
	struct vg_thread_name room;
	char name[sizeof room + 1024];

	snprintf(name, sizeof name, "%.900s, %s",
		 vg_profile_text(chrome->profile, chrome->profile->header.counters[counter]),
		 vg_thread_name(&chrome->names, count->thread, &room));
	vg_chrome_event_begin(chrome, "C", name, count->thread, count->time_ns);
	vg_json_key_string(json, "cat", "thread counter");
	vg_json_key(json, "args");
	vg_json_object_begin(json);
	vg_json_key_uint(json, "value", count->values[counter]);
	vg_json_object_end(json);
	vg_json_object_end(json);
}

void vg_chrome_events_write(struct vg_chrome *chrome)
{
	const struct vg_profile *profile = chrome->profile;
	FILE *file = chrome->json.file;

	for (size_t i = 0; i < chrome->intervals.items.count && !ferror(file); i++)
		interval_write(chrome, i);
	for (size_t i = 0; i < profile->events.count && !ferror(file); i++) {
		if (profile->events.items[i].type == VG_EVENT_INSTANT)
			instant_write(chrome, &profile->events.items[i]);
		else if (profile->events.items[i].type == VG_EVENT_COUNTER)
			counter_write(chrome, &profile->events.items[i]);
	}
	for (size_t i = 0; i < profile->counter_readings.count && !ferror(file); i++) {
		for (uint32_t counter = 0; counter < profile->header.counter_count; counter++)
			count_write(chrome, &profile->counter_readings.items[i], counter);
	}
}
