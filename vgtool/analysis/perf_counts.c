/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/perf_counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/sorted.h"
#include "base/sum.h"
#include "vgtool/analysis/thread_samples.h"

/* A time, and what the thread has counted up to this time.  points_sort() sorts these points by thread. */
struct thread_point {
	struct vg_perf_counts_point point;
	uint32_t thread;
};

/* State while the perf counter readings are processed in the order of the file. */
struct builder {
	struct vg_perf_counts *counts;
	uint32_t counter;
	struct vg_thread_samples threads;
	struct thread_state {
		uint64_t at;         /* position in threads.order of the first sample that no reading has covered */
		struct vg_perf_counts_point last;
		bool has_points;
	} *states;                    /* by thread */
	VG_ARRAY(struct thread_point) thread_points;
};

uint32_t vg_perf_counter_find(const struct vg_profile *profile, const char *name)
{
	char room[VG_COUNTER_NAME_BYTES];
	uint16_t codes[VG_COUNTERS_MAX] = { 0 };
	struct vg_err err;

	/* Accept the short names of vignetted's option --counter, too. */
	if (vg_counters_parse(name, codes, &err) == 0 && vg_counters_count(codes) == 1)
		name = vg_counter_name(codes[0], room);
	for (uint32_t i = 0; i < profile->header.counter_count; i++) {
		if (strcmp(vg_profile_text(profile, profile->header.counters[i]), name) == 0)
			return i;
	}
	return VG_NONE;
}

int vg_perf_counter_check(const struct vg_profile *profile, const char *name, const char *path,
			  uint64_t *without, struct vg_err *err)
{
	const struct vg_count *uncounted = vg_profile_count(profile, &profile->stats,
							    "threads_without_counters");
	const struct vg_header *header = &profile->header;
	char names[160] = "";
	size_t length = 0;

	*without = uncounted != NULL ? uncounted->value : 0;
	if (vg_perf_counter_find(profile, name) != VG_NONE)
		return 0;
	for (uint32_t i = 0; i < header->counter_count; i++) {
		snprintf(names + length, sizeof names - length, "%s%.36s", i > 0 ? ", " : "",
			 vg_profile_text(profile, header->counters[i]));
		length = strlen(names);
	}
	return vg_err_set(err, -ENODATA, "%s: no perf counter %.64s; %s%s", path, name, length > 0 ?
			  "it was recorded with " : "it was recorded without perf counters", names);
}

/* Adds a point to a thread.  If its time is before the latest point, which happens only in a hostile profile, the
 * latest time is used. */
static int point_add(struct builder *builder, uint32_t thread, uint64_t time_ns, uint64_t value)
{
	struct thread_state *thread_state = &builder->states[thread];
	struct thread_point thread_point = { .thread = thread };

	if (!thread_state->has_points) {
		thread_state->has_points = true;
		thread_state->last.time_ns = builder->counts->profile->threads.items[thread].begin_ns;
		thread_point.point = thread_state->last;
		if (vg_array_push(&builder->thread_points, &thread_point) != 0)
			return -ENOMEM;
	}
	if (time_ns > thread_state->last.time_ns)
		thread_state->last.time_ns = time_ns;
	thread_state->last.sum = vg_sum(thread_state->last.sum, value);
	thread_point.point = thread_state->last;
	return vg_array_push(&builder->thread_points, &thread_point);
}

static uint64_t share(uint64_t value, uint64_t part, uint64_t whole)
{
	return (uint64_t)((__uint128_t)value * part / whole);
}

/* Divides a reading among the thread's samples since its previous reading, in proportion to their CPU time.  The last
 * of these samples, reading->sample, gets the rest. */
static int count_divide(struct builder *builder, const struct vg_counter_reading *reading, uint64_t value)
{
	const struct vg_profile *profile = builder->counts->profile;
	struct thread_state *thread_state = &builder->states[reading->thread];
	uint64_t first = thread_state->at, end = builder->threads.first[reading->thread + 1], cpu_ns = 0, left = value;
	int rc = 0;

	for (; thread_state->at < end && builder->threads.order[thread_state->at] <= reading->sample;
	     thread_state->at++)
		cpu_ns = vg_sum(cpu_ns, profile->samples.items[builder->threads.order[thread_state->at]].cpu_ns);
	for (uint64_t at = first; rc == 0 && at + 1 < thread_state->at; at++) {
		uint32_t index = builder->threads.order[at];
		const struct vg_sample *sample = &profile->samples.items[index];
		uint64_t part = cpu_ns == 0 ? 0 : share(value, sample->cpu_ns, cpu_ns);

		part = part < left ? part : left;
		left -= part;
		builder->counts->by_sample[index] = vg_sum(builder->counts->by_sample[index], part);
		rc = point_add(builder, reading->thread, sample->time_ns, part);
	}
	builder->counts->by_sample[reading->sample] = vg_sum(builder->counts->by_sample[reading->sample], left);
	return rc != 0 ? rc : point_add(builder, reading->thread, reading->time_ns, left);
}

static int count_add(struct builder *builder, const struct vg_counter_reading *reading)
{
	uint64_t value = reading->values[builder->counter];

	builder->counts->total = vg_sum(builder->counts->total, value);
	if (reading->sample != VG_NONE)
		return count_divide(builder, reading, value);
	builder->counts->unsampled = vg_sum(builder->counts->unsampled, value);
	return point_add(builder, reading->thread, reading->time_ns, value);
}

/* A stable counting sort by thread, as in intervals.c. */
static int points_sort(struct builder *builder)
{
	struct vg_perf_counts *counts = builder->counts;
	size_t thread_count = counts->profile->threads.count;
	uint64_t begin = 0;

	counts->first = calloc(thread_count + 2, sizeof *counts->first);
	counts->points = malloc((builder->thread_points.count + 1) * sizeof *counts->points);
	if (counts->first == NULL || counts->points == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < builder->thread_points.count; i++)
		counts->first[builder->thread_points.items[i].thread + 1]++;
	for (size_t t = 0; t < thread_count; t++) {
		uint64_t count = counts->first[t + 1];

		counts->first[t + 1] = begin;
		begin += count;
	}
	for (size_t i = 0; i < builder->thread_points.count; i++) {
		const struct thread_point *thread_point = &builder->thread_points.items[i];

		counts->points[counts->first[thread_point->thread + 1]++] = thread_point->point;
	}
	return 0;
}

int vg_perf_counts_build(struct vg_perf_counts *counts, const struct vg_profile *profile, uint32_t counter)
{
	struct builder builder = { .counts = counts, .counter = counter };
	int rc;

	*counts = (struct vg_perf_counts){
		.profile = profile, .name = vg_profile_text(profile, profile->header.counters[counter]),
	};
	counts->by_sample = calloc(profile->samples.count + 1, sizeof *counts->by_sample);
	builder.states = calloc(profile->threads.count + 1, sizeof *builder.states);
	rc = counts->by_sample == NULL || builder.states == NULL ? -ENOMEM :
	     vg_thread_samples_build(&builder.threads, profile, -1);
	for (size_t t = 0; rc == 0 && t < profile->threads.count; t++)
		builder.states[t].at = builder.threads.first[t];
	for (size_t i = 0; rc == 0 && i < profile->counter_readings.count; i++)
		rc = count_add(&builder, &profile->counter_readings.items[i]);
	if (rc == 0)
		rc = points_sort(&builder);
	vg_thread_samples_free(&builder.threads);
	vg_array_free(&builder.thread_points);
	free(builder.states);
	return rc;
}

void vg_perf_counts_free(struct vg_perf_counts *counts)
{
	free(counts->by_sample);
	free(counts->first);
	free(counts->points);
	*counts = (struct vg_perf_counts){ 0 };
}

const char *vg_perf_counts_name(const struct vg_perf_counts *counts)
{
	return counts != NULL ? counts->name : NULL;
}

const char *vg_amount_text(const char *counter, struct vg_text *room, uint64_t value)
{
	return counter == NULL || strcmp(counter, "task-clock") == 0 ? vg_text_ns(room, value) :
	       vg_text_number(room, value);
}

const char *vg_amount_text_full(const char *counter, enum vg_weight weight, struct vg_text *room,
				uint64_t value)
{
	struct vg_text figure;

	vg_amount_text(counter, &figure, value);
	if (counter != NULL)
		snprintf(room->text, sizeof room->text, "%.20s %.40s", figure.text, counter);
	else
		snprintf(room->text, sizeof room->text, "%.20s of %s time", figure.text,
			 vg_weight_name(weight));
	return room->text;
}

uint64_t vg_perf_counts_at(const struct vg_perf_counts *counts, uint32_t thread, uint64_t time_ns)
{
	const struct vg_perf_counts_point *points = counts->points + counts->first[thread], *before, *after;
	size_t count = counts->first[thread + 1] - counts->first[thread];
	size_t later = vg_count_at_most(points, count, time_ns, time_ns);

	if (later == 0)
		return 0;
	before = &points[later - 1];
	if (later == count)
		return before->sum;
	after = &points[later];
	return before->sum + share(after->sum - before->sum, time_ns - before->time_ns,
				   after->time_ns - before->time_ns);
}
