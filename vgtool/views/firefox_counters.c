/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/firefox_counters.h"

#include "base/sorted.h"
#include "vgtool/analysis/intervals.h"

/* What one row of the picture shows. */
struct key {
	uint32_t group;
	uint32_t perf_counter;       /* index in the header; VG_NONE: a counter of the program */
	uint32_t kind, label;        /* strings; VG_NONE for perf counters */
};

struct value {
	uint64_t time_ns;
	uint64_t value;              /* of a perf counter its growth, otherwise an int64_t */
	uint64_t counter;            /* number in `keys` */
};

struct counters {
	struct vg_firefox *firefox;
	struct vg_intern keys;       /* struct key -> number */
	VG_ARRAY(struct value) values;
};

static int value_add(struct counters *counters, uint32_t thread, struct key key, uint64_t time_ns, uint64_t value)
{
	const struct vg_firefox *firefox = counters->firefox;
	struct value item = { vg_firefox_time(firefox, thread, time_ns), value, 0 };
	uint32_t counter;
	int rc;

	key.group = firefox->tracks.items[firefox->tracks.track_of[thread]].group;
	rc = vg_intern(&counters->keys, &key, sizeof key, &counter);
	item.counter = counter;
	return rc < 0 ? rc : vg_array_push(&counters->values, &item);
}

static int values_collect(struct counters *counters)
{
	const struct vg_profile *profile = counters->firefox->profile;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < profile->events.count; i++) {
		const struct vg_event *event = &profile->events.items[i];

		if (event->type == VG_EVENT_COUNTER)
			rc = value_add(counters, event->thread, (struct key){ 0, VG_NONE, event->kind, event->label },
				       event->time_ns, event->value);
	}
	for (size_t i = 0; rc == 0 && i < profile->counter_readings.count; i++) {
		const struct vg_counter_reading *reading = &profile->counter_readings.items[i];

		for (uint32_t c = 0; rc == 0 && c < profile->header.counter_count; c++)
			rc = value_add(counters, reading->thread, (struct key){ 0, c, VG_NONE, VG_NONE },
				       reading->time_ns, reading->values[c]);
	}
	return rc;
}

/* Version 50 shows counters of few kinds.  Version 62 and later read `display`, and show all counters. */
static void display_write(struct vg_json *json, const char *name, bool is_perf)
{
	vg_json_key(json, "display");
	vg_json_object_begin(json);
	vg_json_key_string(json, "graphType", is_perf ? "line-rate" : "line-accumulated");
	vg_json_key_string(json, "unit", "");
	vg_json_key_string(json, "color", is_perf ? "orange" : "purple");
	vg_json_key(json, "markerSchemaLocation");
	vg_json_null(json);
	vg_json_key_uint(json, "sortWeight", 50);
	vg_json_key_string(json, "label", name);
	vg_json_key(json, "tooltipRows");
	vg_json_array_begin(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "type", "value");
	vg_json_key_string(json, "source", is_perf ? "count" : "accumulated");
	vg_json_key(json, "format");
	vg_json_object_begin(json);
	vg_json_key_string(json, "unit", "number");
	vg_json_object_end(json);
	vg_json_key_string(json, "label", name);
	vg_json_object_end(json);
	vg_json_array_end(json);
	vg_json_object_end(json);
}

static void samples_write(struct vg_json *json, const struct value *values, size_t count, bool is_perf)
{
	vg_json_key(json, "samples");
	vg_json_object_begin(json);
	vg_json_key_uint(json, "length", count);
	vg_json_key(json, "time");
	vg_json_array_begin(json);
	for (size_t i = 0; i < count && !ferror(json->file); i++)
		vg_json_ms(json, (int64_t)values[i].time_ns);
	vg_json_array_end(json);
	vg_json_key(json, "count");
	vg_json_array_begin(json);
	for (size_t i = 0; i < count && !ferror(json->file); i++) {
		/* The format has differences.  A hostile profile's may overflow, which only shows a wrong number. */
		if (is_perf)
			vg_json_uint(json, values[i].value);
		else
			vg_json_int(json, (int64_t)(values[i].value - (i > 0 ? values[i - 1].value : 0)));
	}
	vg_json_array_end(json);
	vg_json_object_end(json);
}

static void counter_write(struct counters *counters, const struct value *values, size_t count)
{
	const struct vg_profile *profile = counters->firefox->profile;
	struct vg_json *json = &counters->firefox->json;
	const char *name;
	struct key key;
	bool is_perf;

	memcpy(&key, vg_intern_bytes(&counters->keys, (uint32_t)values->counter, NULL), sizeof key);
	is_perf = key.perf_counter != VG_NONE;
	name = is_perf ? vg_profile_text(profile, profile->header.counters[key.perf_counter]) :
	       vg_interval_name(profile, key.kind, key.label);
	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "name", name);
	vg_json_key_string(json, "category", is_perf ? "perf counter" : "counter");
	vg_json_key_string(json, "description", key.kind != VG_NONE ? vg_profile_text(profile, key.kind) : "");
	vg_firefox_pid_write(counters->firefox, key.group);
	vg_json_key_uint(json, "mainThreadIndex", counters->firefox->main_track[key.group]);
	display_write(json, name, is_perf);
	samples_write(json, values, count, is_perf);
	vg_json_object_end(json);
}

static void list_write(struct counters *counters)
{
	size_t first = 0, count = counters->values.count;

	vg_sort_by(counters->values.items, count, counter);
	while (first < count && !ferror(counters->firefox->json.file)) {
		struct value *values = counters->values.items + first;
		size_t end = vg_count_at_most(values, count - first, counter, values->counter);

		vg_sort_by(values, end, time_ns);
		counter_write(counters, values, end);
		first += end;
	}
}

int vg_firefox_counters_write(struct vg_firefox *firefox)
{
	struct counters counters = { .firefox = firefox };
	int rc = values_collect(&counters);

	vg_json_array_begin(&firefox->json);
	if (rc == 0)
		list_write(&counters);
	vg_json_array_end(&firefox->json);
	vg_intern_free(&counters.keys);
	vg_array_free(&counters.values);
	return rc;
}
