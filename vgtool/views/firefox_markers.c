/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/firefox_markers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sorted.h"

static const char interval_type[] = "Interval", instant_type[] = "Instant";

/* Calls `add` for each marker, with its track. */
static void markers_each(struct vg_firefox_markers *markers,
			 void (*add)(struct vg_firefox_markers *markers, uint32_t track, struct vg_firefox_marker marker))
{
	const struct vg_firefox *firefox = markers->firefox;
	const struct vg_profile *profile = firefox->profile;

	for (uint32_t i = 0; i < markers->intervals.items.count; i++) {
		const struct vg_interval *interval = &markers->intervals.items.items[i];

		add(markers, firefox->tracks.track_of[interval->thread],
		    (struct vg_firefox_marker){ interval->begin_ns, i, false });
	}
	for (uint32_t i = 0; i < profile->events.count; i++) {
		const struct vg_event *event = &profile->events.items[i];

		if (event->type == VG_EVENT_INSTANT)
			add(markers, firefox->tracks.track_of[event->thread],
			    (struct vg_firefox_marker){ event->time_ns, i, true });
	}
}

static void marker_count(struct vg_firefox_markers *markers, uint32_t track, struct vg_firefox_marker marker)
{
	(void)marker;
	markers->first[track + 2]++;
}

/* first[track + 1] is the position of the track's next marker, until all are placed. */
static void marker_place(struct vg_firefox_markers *markers, uint32_t track, struct vg_firefox_marker marker)
{
	markers->items[markers->first[track + 1]++] = marker;
}

int vg_firefox_markers_open(struct vg_firefox_markers *markers, struct vg_firefox *firefox)
{
	uint32_t tracks = firefox->tracks.count;
	int rc;

	*markers = (struct vg_firefox_markers){ .firefox = firefox };
	rc = vg_intervals_build(&markers->intervals, firefox->profile);
	if (rc != 0)
		return rc;
	markers->first = calloc((size_t)tracks + 2, sizeof *markers->first);
	markers->items = calloc(markers->intervals.items.count + firefox->profile->events.count + 1,
				sizeof *markers->items);
	if (markers->first == NULL || markers->items == NULL)
		return -ENOMEM;
	markers_each(markers, marker_count);
	for (uint32_t t = 0; t <= tracks; t++)
		markers->first[t + 1] += markers->first[t];
	markers_each(markers, marker_place);
	for (uint32_t t = 0; t < tracks; t++)
		vg_sort_by(markers->items + markers->first[t], markers->first[t + 1] - markers->first[t], time_ns);
	return 0;
}

void vg_firefox_markers_close(struct vg_firefox_markers *markers)
{
	vg_intervals_free(&markers->intervals);
	free(markers->first);
	free(markers->items);
}

static void interval_data(const struct vg_firefox_markers *markers, const struct vg_interval *interval)
{
	struct vg_json *json = &markers->firefox->json;

	vg_json_key_string(json, "type", interval_type);
	if (interval->kind != VG_NONE)
		vg_json_key_string(json, "kind", vg_profile_text(markers->firefox->profile, interval->kind));
	if (interval->value != 0)
		vg_json_key_uint(json, "value", interval->value);
	if (interval->detached)
		vg_json_key_string(json, "detached", "yes");
	if (interval->state == VG_INTERVAL_OPEN)
		vg_json_key_string(json, "end", "still open when the recording ended");
	if (interval->state == VG_INTERVAL_END_LOST)
		vg_json_key_string(json, "end", "lost with events that were dropped");
}

static void instant_data(const struct vg_firefox_markers *markers, const struct vg_event *event)
{
	struct vg_json *json = &markers->firefox->json;

	vg_json_key_string(json, "type", instant_type);
	if (event->kind != VG_NONE)
		vg_json_key_string(json, "kind", vg_profile_text(markers->firefox->profile, event->kind));
	if (event->value != 0)
		vg_json_key_uint(json, "value", event->value);
}

enum column { COLUMN_DATA, COLUMN_NAME, COLUMN_START, COLUMN_END, COLUMN_PHASE, COLUMN_CATEGORY, COLUMNS };

static int item_write(const struct vg_firefox_markers *markers, enum column column,
		      const struct vg_firefox_marker *marker, struct vg_firefox_tables *tables)
{
	enum { PHASE_INSTANT, PHASE_INTERVAL };
	const struct vg_firefox *firefox = markers->firefox;
	const struct vg_event *event = marker->is_instant ? &firefox->profile->events.items[marker->index] : NULL;
	const struct vg_interval *interval = event == NULL ? &markers->intervals.items.items[marker->index] : NULL;
	struct vg_json *json = &markers->firefox->json;
	uint32_t label = event != NULL ? event->label : interval->label, kind = event != NULL ? event->kind : interval->kind;
	uint32_t thread = event != NULL ? event->thread : interval->thread, number = 0;
	int rc = 0;

	switch (column) {
	case COLUMN_DATA:
		vg_json_object_begin(json);
		if (event != NULL)
			instant_data(markers, event);
		else
			interval_data(markers, interval);
		vg_json_object_end(json);
		break;
	case COLUMN_NAME:
		rc = vg_firefox_tables_string(tables, label != VG_NONE ? label : kind, &number);
		vg_json_uint(json, number);
		break;
	case COLUMN_START:
		vg_json_ms(json, (int64_t)vg_firefox_time(firefox, thread, marker->time_ns));
		break;
	case COLUMN_END:
		if (event != NULL)
			vg_json_null(json);
		else
			vg_json_ms(json, (int64_t)vg_firefox_time(firefox, thread, interval->end_ns));
		break;
	case COLUMN_PHASE:
		vg_json_uint(json, event != NULL ? PHASE_INSTANT : PHASE_INTERVAL);
		break;
	default:
		vg_json_uint(json, 0);
	}
	return rc;
}

int vg_firefox_markers_write(const struct vg_firefox_markers *markers, uint32_t track,
			     struct vg_firefox_tables *tables)
{
	static const char *const names[COLUMNS] = { "data", "name", "startTime", "endTime", "phase", "category" };
	struct vg_json *json = &markers->firefox->json;
	uint64_t first = markers->first[track], end = markers->first[track + 1];
	int rc = 0;

	vg_json_line(json);
	vg_json_key(json, "markers");
	vg_json_object_begin(json);
	vg_json_key_uint(json, "length", end - first);
	for (unsigned column = 0; column < COLUMNS; column++) {
		vg_json_key(json, names[column]);
		vg_json_array_begin(json);
		for (uint64_t at = first; at < end && rc == 0 && !ferror(json->file); at++)
			rc = item_write(markers, (enum column)column, &markers->items[at], tables);
		vg_json_array_end(json);
	}
	vg_json_object_end(json);
	return rc;
}

static void field_write(struct vg_json *json, const char *key, const char *label, const char *format)
{
	vg_json_object_begin(json);
	vg_json_key_string(json, "key", key);
	vg_json_key_string(json, "label", label);
	vg_json_key_string(json, "format", format);
	vg_json_key(json, "searchable");
	vg_json_bool(json, true);
	vg_json_object_end(json);
}

static void schema_write(struct vg_json *json, const char *name, bool is_interval)
{
	vg_json_object_begin(json);
	vg_json_key_string(json, "name", name);
	vg_json_key_string(json, "tooltipLabel", "{marker.name}");
	vg_json_key_string(json, "tableLabel", "{marker.data.kind} {marker.data.value}");
	vg_json_key_string(json, "chartLabel", "{marker.data.value}");
	vg_json_key(json, "display");
	vg_json_array_begin(json);
	vg_json_string(json, "marker-chart");
	vg_json_string(json, "marker-table");
	vg_json_string(json, "timeline-overview");
	vg_json_array_end(json);
	vg_json_key(json, "data");
	vg_json_array_begin(json);
	field_write(json, "kind", "Kind", "string");
	field_write(json, "value", "Value", "integer");
	if (is_interval) {
		field_write(json, "detached", "Detached", "string");
		field_write(json, "end", "End", "string");
	}
	vg_json_array_end(json);
	vg_json_object_end(json);
}

void vg_firefox_markers_schema_write(struct vg_json *json)
{
	vg_json_array_begin(json);
	schema_write(json, interval_type, true);
	schema_write(json, instant_type, false);
	vg_json_array_end(json);
}
