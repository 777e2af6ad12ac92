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

static void span_args_write(struct vg_chrome *chrome, const struct vg_span *span)
{
	struct vg_json *json = &chrome->json;

	if (span->value == 0 && span->state == VG_SPAN_ENDED)
		return;
	vg_json_key(json, "args");
	vg_json_object_begin(json);
	if (span->value != 0)
		vg_json_key_uint(json, "value", span->value);
	if (span->state == VG_SPAN_OPEN)
		vg_json_key_string(json, "end", "still open when the recording ended");
	if (span->state == VG_SPAN_LOST)
		vg_json_key_string(json, "end", "lost with events that were dropped");
	vg_json_object_end(json);
}

/* Both halves stand on the thread where it began: viewers look for the other half there. */
static void pair_write(struct vg_chrome *chrome, size_t index)
{
	const struct vg_span *span = &chrome->spans.items.items[index];
	const char *name = vg_span_name(chrome->profile, span->kind, span->label);
	char id[24];

	snprintf(id, sizeof id, "0x%zx", index + 1);
	vg_chrome_event_begin(chrome, "b", name, span->thread, span->begin_ns);
	category_write(chrome, span->kind, "detached");
	vg_json_key_string(&chrome->json, "id", id);
	span_args_write(chrome, span);
	vg_json_object_end(&chrome->json);
	vg_chrome_event_begin(chrome, "e", name, span->thread, span->end_ns);
	category_write(chrome, span->kind, "detached");
	vg_json_key_string(&chrome->json, "id", id);
	vg_json_object_end(&chrome->json);
}

static void span_write(struct vg_chrome *chrome, size_t index)
{
	const struct vg_span *span = &chrome->spans.items.items[index];

	if (span->detached || span->crossed) {
		pair_write(chrome, index);
		return;
	}
	vg_chrome_event_begin(chrome, "X", vg_span_name(chrome->profile, span->kind, span->label),
			      span->thread, span->begin_ns);
	category_write(chrome, span->kind, "interval");
	vg_json_key(&chrome->json, "dur");
	vg_json_us(&chrome->json, vg_span_ns(span));
	span_args_write(chrome, span);
	vg_json_object_end(&chrome->json);
}

static void instant_write(struct vg_chrome *chrome, const struct vg_event *event)
{
	struct vg_json *json = &chrome->json;

	vg_chrome_event_begin(chrome, "i", vg_span_name(chrome->profile, event->kind, event->label),
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

	vg_chrome_event_begin(chrome, "C", vg_span_name(chrome->profile, event->kind, event->label),
			      event->thread, event->time_ns);
	category_write(chrome, event->kind, "counter");
	vg_json_key(json, "args");
	vg_json_object_begin(json);
	vg_json_key(json, "value");
	vg_json_int(json, (int64_t)event->value);
	vg_json_object_end(json);
	vg_json_object_end(json);
}

/* Of a thread, hence with its id: viewers keep counters by process. */
static void count_write(struct vg_chrome *chrome, const struct vg_thread_count *count,
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

	for (size_t i = 0; i < chrome->spans.items.count && !ferror(file); i++)
		span_write(chrome, i);
	for (size_t i = 0; i < profile->events.count && !ferror(file); i++) {
		if (profile->events.items[i].what == VG_EVENT_INSTANT)
			instant_write(chrome, &profile->events.items[i]);
		else if (profile->events.items[i].what == VG_EVENT_COUNTER)
			counter_write(chrome, &profile->events.items[i]);
	}
	for (size_t i = 0; i < profile->thread_counts.count && !ferror(file); i++) {
		for (uint32_t counter = 0; counter < profile->header.counter_count; counter++)
			count_write(chrome, &profile->thread_counts.items[i], counter);
	}
}
