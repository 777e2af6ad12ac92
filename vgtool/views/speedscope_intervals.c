/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/speedscope_intervals.h"

#include <errno.h>
#include <stdlib.h>

/* Stands in `open` for all intervals that are hidden. */
enum { DEEPER_INTERVALS = VG_NONE };

/* How an interval is treated. */
enum mark {
	MARK_SHOWN = 0,              /* or not begun */
	MARK_HIDDEN = 1,             /* nested too deep */
	MARK_ENDED = 2,              /* ended while too many intervals were above it; closed when it is at the top */
};

static void event_write(struct vg_speedscope_intervals *writer, const char *type, uint32_t interval,
			uint64_t at_ns)
{
	const struct vg_interval *of = &writer->program_intervals->items.items[interval];
	struct vg_json *json = writer->json;
	uint32_t frame = interval == DEEPER_INTERVALS ?
		writer->frame_of(writer->context, VG_NONE - 1, VG_NONE - 1) :
		writer->frame_of(writer->context, of->kind, of->label);

	vg_json_object_begin(json);
	vg_json_key_string(json, "type", type);
	vg_json_key_uint(json, "frame", frame);
	vg_json_key_uint(json, "at", at_ns);
	vg_json_object_end(json);
}

static int interval_open(struct vg_speedscope_intervals *writer, uint32_t interval, uint64_t at_ns)
{
	if (writer->open.count >= VG_SPEEDSCOPE_INTERVALS_DEPTH_MAX) {
		writer->marks[interval] = MARK_HIDDEN;
		if (writer->hidden++ > 0)
			return 0;
		interval = DEEPER_INTERVALS;
	}
	event_write(writer, "O", interval, at_ns);
	return vg_array_push(&writer->open, &interval);
}

static void top_close(struct vg_speedscope_intervals *writer, uint64_t at_ns)
{
	event_write(writer, "C", writer->open.items[--writer->open.count], at_ns);
}

/* Closes the intervals at the top that have ended already. */
static void ended_close(struct vg_speedscope_intervals *writer, uint64_t at_ns)
{
	while (writer->open.count > 0) {
		uint32_t top = writer->open.items[writer->open.count - 1];

		if (top == DEEPER_INTERVALS || writer->marks[top] != MARK_ENDED)
			return;
		top_close(writer, at_ns);
	}
}

/* Closes an interval that is shown, and the intervals above it, which are then opened again.  If there are too many of
 * them, only marks the interval as ended. */
static void shown_close(struct vg_speedscope_intervals *writer, uint32_t interval, uint64_t at_ns)
{
	uint32_t above[VG_SPEEDSCOPE_REOPENED_MAX];
	size_t count = 0, at = writer->open.count;

	while (at > 0 && writer->open.items[at - 1] != interval && count < VG_SPEEDSCOPE_REOPENED_MAX)
		above[count++] = writer->open.items[--at];
	if (at == 0 || writer->open.items[at - 1] != interval) {
		if (interval != DEEPER_INTERVALS)
			writer->marks[interval] = MARK_ENDED;
		return;
	}
	for (size_t i = 0; i <= count; i++)
		top_close(writer, at_ns);
	ended_close(writer, at_ns);
	while (count-- > 0) {
		event_write(writer, "O", above[count], at_ns);
		writer->open.items[writer->open.count++] = above[count];
	}
}

static void interval_close(struct vg_speedscope_intervals *writer, uint32_t interval, uint64_t at_ns)
{
	if (writer->marks[interval] != MARK_HIDDEN) {
		shown_close(writer, interval, at_ns);
		return;
	}
	if (--writer->hidden == 0)
		shown_close(writer, DEEPER_INTERVALS, at_ns);
}

bool vg_speedscope_intervals_any(const struct vg_intervals *program_intervals, uint32_t thread)
{
	return program_intervals->first_step[thread] != program_intervals->first_step[thread + 1];
}

int vg_speedscope_intervals_write(struct vg_speedscope_intervals *writer, uint32_t thread)
{
	const struct vg_intervals *program_intervals = writer->program_intervals;
	uint64_t stop = program_intervals->first_step[thread + 1], at_ns = 0;
	int rc = 0;

	if (writer->marks == NULL)
		writer->marks = calloc(program_intervals->items.count + 1, 1);
	if (writer->marks == NULL)
		return -ENOMEM;
	writer->open.count = 0;
	writer->hidden = 0;
	vg_json_array_begin(writer->json);
	for (uint64_t i = program_intervals->first_step[thread]; rc == 0 && i < stop; i++) {
		uint32_t interval = vg_step_interval(program_intervals->steps[i]);
		const struct vg_interval *of = &program_intervals->items.items[interval];

		at_ns = vg_step_is_end(program_intervals->steps[i]) ? of->end_ns : of->begin_ns;
		if (vg_step_is_end(program_intervals->steps[i]))
			interval_close(writer, interval, at_ns);
		else
			rc = interval_open(writer, interval, at_ns);
		if (ferror(writer->json->file))
			break;
	}
	while (writer->open.count > 0)
		top_close(writer, at_ns);
	vg_json_array_end(writer->json);
	return rc;
}

void vg_speedscope_intervals_free(struct vg_speedscope_intervals *writer)
{
	vg_array_free(&writer->open);
	free(writer->marks);
}
