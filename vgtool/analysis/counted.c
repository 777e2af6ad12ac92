/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/counted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/sorted.h"
#include "vgtool/analysis/threads.h"

/* A point of some thread's curve. */
struct placed {
	struct vg_counted_point point;
	uint32_t thread;
};

/* What is needed while the counts are gone through, in the order of the file. */
struct tracing {
	struct vg_counted *counts;
	uint32_t counter;
	struct vg_threads threads;
	struct lane {
		uint64_t at;         /* in threads.order: the sample behind those that are counted */
		struct vg_counted_point last;
		bool begun;
	} *lanes;                    /* by thread */
	VG_ARRAY(struct placed) placed;
};

uint32_t vg_counted_find(const struct vg_profile *profile, const char *name)
{
	char room[VG_COUNTER_NAME_BYTES];
	uint16_t codes[VG_COUNTERS_MAX] = { 0 };
	struct vg_err err;

	/* By the short names that recording takes, too. */
	if (vg_counters_parse(name, codes, &err) == 0 && vg_counters_count(codes) == 1)
		name = vg_counter_name(codes[0], room);
	for (uint32_t i = 0; i < profile->header.counter_count; i++) {
		if (strcmp(vg_profile_text(profile, profile->header.counters[i]), name) == 0)
			return i;
	}
	return VG_NONE;
}

int vg_counted_check(const struct vg_profile *profile, const char *name, const char *path,
		     uint64_t *without, struct vg_err *err)
{
	const struct vg_count *uncounted = vg_profile_count(profile, &profile->stats,
							    "threads_uncounted");
	const struct vg_header *header = &profile->header;
	char names[160] = "";
	size_t length = 0;

	*without = uncounted != NULL ? uncounted->value : 0;
	if (vg_counted_find(profile, name) != VG_NONE)
		return 0;
	for (uint32_t i = 0; i < header->counter_count; i++) {
		snprintf(names + length, sizeof names - length, "%s%.36s", i > 0 ? ", " : "",
			 vg_profile_text(profile, header->counters[i]));
		length = strlen(names);
	}
	return vg_err_set(err, -ENODATA, "%s: has no counter %.64s: %s%s", path, name, length > 0 ?
			  "it has " : "none was asked for when it was recorded", names);
}

/* A hostile profile's times may go back; those of the curve stand still then. */
static int point_add(struct tracing *tracing, uint32_t thread, uint64_t time_ns, uint64_t value)
{
	struct lane *lane = &tracing->lanes[thread];
	struct placed placed = { .thread = thread };

	if (!lane->begun) {
		lane->begun = true;
		lane->last.time_ns = tracing->counts->profile->threads.items[thread].begin_ns;
		placed.point = lane->last;
		if (vg_array_push(&tracing->placed, &placed) != 0)
			return -ENOMEM;
	}
	if (time_ns > lane->last.time_ns)
		lane->last.time_ns = time_ns;
	lane->last.sum = vg_sum(lane->last.sum, value);
	placed.point = lane->last;
	return vg_array_push(&tracing->placed, &placed);
}

static uint64_t share(uint64_t value, uint64_t part, uint64_t whole)
{
	return (uint64_t)((__uint128_t)value * part / whole);
}

/* The samples of the thread since its count before, up to and with that of this count. */
static int samples_share(struct tracing *tracing, const struct vg_thread_count *count, uint64_t value)
{
	const struct vg_profile *profile = tracing->counts->profile;
	struct lane *lane = &tracing->lanes[count->thread];
	uint64_t first = lane->at, end = tracing->threads.first[count->thread + 1], cpu_ns = 0, left = value;
	int rc = 0;

	for (; lane->at < end && tracing->threads.order[lane->at] <= count->sample; lane->at++)
		cpu_ns = vg_sum(cpu_ns, profile->samples.items[tracing->threads.order[lane->at]].cpu_ns);
	for (uint64_t at = first; rc == 0 && at + 1 < lane->at; at++) {
		uint32_t index = tracing->threads.order[at];
		const struct vg_sample *sample = &profile->samples.items[index];
		uint64_t own = cpu_ns == 0 ? 0 : share(value, sample->cpu_ns, cpu_ns);

		own = own < left ? own : left;
		left -= own;
		tracing->counts->by_sample[index] = vg_sum(tracing->counts->by_sample[index], own);
		rc = point_add(tracing, count->thread, sample->time_ns, own);
	}
	tracing->counts->by_sample[count->sample] = vg_sum(tracing->counts->by_sample[count->sample], left);
	return rc != 0 ? rc : point_add(tracing, count->thread, count->time_ns, left);
}

static int count_take(struct tracing *tracing, const struct vg_thread_count *count)
{
	uint64_t value = count->values[tracing->counter];

	tracing->counts->total = vg_sum(tracing->counts->total, value);
	if (count->sample != VG_NONE)
		return samples_share(tracing, count, value);
	tracing->counts->unsampled = vg_sum(tracing->counts->unsampled, value);
	return point_add(tracing, count->thread, count->time_ns, value);
}

/* By thread, in the order in which they came. */
static int points_sort(struct tracing *tracing)
{
	struct vg_counted *counts = tracing->counts;
	size_t thread_count = counts->profile->threads.count;
	uint64_t begin = 0;

	counts->first = calloc(thread_count + 2, sizeof *counts->first);
	counts->points = malloc((tracing->placed.count + 1) * sizeof *counts->points);
	if (counts->first == NULL || counts->points == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < tracing->placed.count; i++)
		counts->first[tracing->placed.items[i].thread + 1]++;
	for (size_t t = 0; t < thread_count; t++) {
		uint64_t own = counts->first[t + 1];

		counts->first[t + 1] = begin;
		begin += own;
	}
	for (size_t i = 0; i < tracing->placed.count; i++) {
		const struct placed *placed = &tracing->placed.items[i];

		counts->points[counts->first[placed->thread + 1]++] = placed->point;
	}
	return 0;
}

int vg_counted_build(struct vg_counted *counts, const struct vg_profile *profile, uint32_t counter)
{
	struct tracing tracing = { .counts = counts, .counter = counter };
	int rc;

	*counts = (struct vg_counted){
		.profile = profile, .name = vg_profile_text(profile, profile->header.counters[counter]),
	};
	counts->by_sample = calloc(profile->samples.count + 1, sizeof *counts->by_sample);
	tracing.lanes = calloc(profile->threads.count + 1, sizeof *tracing.lanes);
	rc = counts->by_sample == NULL || tracing.lanes == NULL ? -ENOMEM :
	     vg_threads_build(&tracing.threads, profile, -1);
	for (size_t t = 0; rc == 0 && t < profile->threads.count; t++)
		tracing.lanes[t].at = tracing.threads.first[t];
	for (size_t i = 0; rc == 0 && i < profile->thread_counts.count; i++)
		rc = count_take(&tracing, &profile->thread_counts.items[i]);
	if (rc == 0)
		rc = points_sort(&tracing);
	vg_threads_free(&tracing.threads);
	vg_array_free(&tracing.placed);
	free(tracing.lanes);
	return rc;
}

void vg_counted_free(struct vg_counted *counts)
{
	free(counts->by_sample);
	free(counts->first);
	free(counts->points);
	*counts = (struct vg_counted){ 0 };
}

const char *vg_counted_name(const struct vg_counted *counts)
{
	return counts != NULL ? counts->name : NULL;
}

const char *vg_counted_text(const char *counter, struct vg_text *room, uint64_t value)
{
	return counter == NULL || strcmp(counter, "task-clock") == 0 ? vg_text_ns(room, value) :
	       vg_text_number(room, value);
}

const char *vg_counted_whole(const char *counter, enum vg_weight weight, struct vg_text *room,
			     uint64_t value)
{
	struct vg_text figure;

	vg_counted_text(counter, &figure, value);
	if (counter != NULL)
		snprintf(room->text, sizeof room->text, "%.20s %.40s", figure.text, counter);
	else
		snprintf(room->text, sizeof room->text, "%.20s of %s time", figure.text,
			 vg_weight_name(weight));
	return room->text;
}

uint64_t vg_counted_at(const struct vg_counted *counts, uint32_t thread, uint64_t time_ns)
{
	const struct vg_counted_point *points = counts->points + counts->first[thread], *before, *after;
	size_t count = counts->first[thread + 1] - counts->first[thread];
	size_t later = vg_count_to(points, count, time_ns, time_ns);

	if (later == 0)
		return 0;
	before = &points[later - 1];
	if (later == count)
		return before->sum;
	after = &points[later];
	return before->sum + share(after->sum - before->sum, time_ns - before->time_ns,
				   after->time_ns - before->time_ns);
}
