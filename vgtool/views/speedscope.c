/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/analysis/chains.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/output/json.h"
#include "vgtool/output/progress.h"
#include "vgtool/output/text.h"
#include "vgtool/views/shown.h"
#include "vgtool/views/speedscope_intervals.h"

struct scope {
	const struct vg_profile *profile;
	enum vg_weight weight;
	struct vg_frames frames;
	struct vg_chains chains;
	struct vg_shown shown;
	struct vg_threads threads;
	struct vg_thread_names names;
	struct vg_spans spans;
	struct vg_speedscope_intervals intervals;
	struct vg_intern extras;     /* struct extra -> id, behind all others */
	struct vg_json json;
	int failed;
};

/* A frame that is no function: so many frames that are cut, or else an interval. */
struct extra {
	uint64_t cut;                /* 0: an interval */
	uint32_t kind, label;
};

/* Frame numbers: the functions, then one for each reason to be incomplete (that is, all but
 * VG_WALK_ROOT, and one for those of tomorrow), then the extras. */
static uint32_t incomplete_number(const struct scope *scope, uint8_t end)
{
	return scope->frames.count + (end < VG_WALK_ENDS ? end : VG_WALK_ENDS) - 1;
}

static uint32_t extra_number(struct scope *scope, const struct extra *extra)
{
	uint32_t id = 0;

	if (vg_intern(&scope->extras, extra, sizeof *extra, &id) < 0)
		scope->failed = -ENOMEM;
	return scope->frames.count + VG_WALK_ENDS + id;
}

static uint32_t cut_number(struct scope *scope, size_t cut)
{
	return extra_number(scope, &(struct extra){ .cut = cut });
}

static uint32_t interval_number(void *context, uint32_t kind, uint32_t label)
{
	return extra_number(context, &(struct extra){ .kind = kind, .label = label });
}

static void stack_write(struct scope *scope, const struct vg_sample *sample)
{
	bool incomplete = sample->end != VG_WALK_ROOT;
	struct vg_shown *shown = &scope->shown;

	vg_shown_stack(shown, sample->stack, VG_SHOWN_MAX - incomplete);
	vg_json_array_begin(&scope->json);
	if (incomplete)
		vg_json_uint(&scope->json, incomplete_number(scope, sample->end));
	for (size_t i = shown->count; i-- > 0;)
		vg_json_uint(&scope->json, shown->functions[i] == VG_SHOWN_CUT ?
			     cut_number(scope, shown->cut) : shown->functions[i]);
	vg_json_array_end(&scope->json);
}

/* A run of samples that show the same, as one. */
struct run {
	uint64_t at, end;            /* positions in threads.order; the next run starts at end */
	const struct vg_sample *sample;
	uint64_t weight_ns;
};

static const struct vg_sample *sample_at(const struct scope *scope, uint64_t at)
{
	return &scope->profile->samples.items[scope->threads.order[at]];
}

/* Walking the two stacks would cost as much as they are deep. */
static bool same_shown(const struct scope *scope, const struct vg_sample *a, const struct vg_sample *b)
{
	if (a->end != b->end || a->stack == VG_NONE || b->stack == VG_NONE)
		return a->end == b->end && a->stack == b->stack;
	return scope->chains.of_node[a->stack] == scope->chains.of_node[b->stack];
}

/* Finds the run that starts at run->end or after it; false when the thread has no more. */
static bool run_next(const struct scope *scope, uint32_t thread, struct run *run)
{
	uint64_t stop = scope->threads.first[thread + 1];

	run->weight_ns = 0;
	run->sample = NULL;
	for (; run->end < stop; run->end++) {
		const struct vg_sample *sample = sample_at(scope, run->end);
		uint64_t weight_ns = vg_weight_of(sample, scope->weight);

		if (weight_ns == 0)
			continue;
		if (run->sample != NULL && !same_shown(scope, sample, run->sample))
			break;
		if (run->sample == NULL)
			run->sample = sample;
		run->weight_ns = vg_sum(run->weight_ns, weight_ns);
	}
	return run->sample != NULL;
}

static struct run run_first(const struct scope *scope, uint32_t thread)
{
	return (struct run){ .end = scope->threads.first[thread] };
}

static uint64_t thread_weight(const struct scope *scope, uint32_t thread, enum vg_weight weight)
{
	uint64_t sum_ns = 0;

	for (uint64_t at = scope->threads.first[thread]; at < scope->threads.first[thread + 1]; at++)
		sum_ns = vg_sum(sum_ns, vg_weight_of(sample_at(scope, at), weight));
	return sum_ns;
}

static void samples_write(struct scope *scope, uint32_t thread)
{
	struct run run = run_first(scope, thread);

	vg_json_key(&scope->json, "samples");
	vg_json_array_begin(&scope->json);
	while (run_next(scope, thread, &run) && !ferror(scope->json.file))
		stack_write(scope, run.sample);
	vg_json_array_end(&scope->json);
}

static void weights_write(struct scope *scope, uint32_t thread)
{
	struct run run = run_first(scope, thread);

	vg_json_key(&scope->json, "weights");
	vg_json_array_begin(&scope->json);
	while (run_next(scope, thread, &run))
		vg_json_uint(&scope->json, run.weight_ns);
	vg_json_array_end(&scope->json);
}

static void thread_write(struct scope *scope, uint32_t thread)
{
	struct vg_json *json = &scope->json;
	struct vg_thread_name name;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "type", "sampled");
	vg_json_key_string(json, "name", vg_thread_name(&scope->names, thread, &name));
	vg_json_key_string(json, "unit", "nanoseconds");
	vg_json_key_uint(json, "startValue", 0);
	vg_json_key_uint(json, "endValue", thread_weight(scope, thread, scope->weight));
	samples_write(scope, thread);
	weights_write(scope, thread);
	vg_json_object_end(json);
}

static void intervals_write(struct scope *scope, uint32_t thread)
{
	struct vg_json *json = &scope->json;
	char text[sizeof(struct vg_thread_name) + 16];
	struct vg_thread_name name;
	int rc;

	if (!vg_speedscope_intervals_any(&scope->spans, thread))
		return;
	snprintf(text, sizeof text, "%s: intervals", vg_thread_name(&scope->names, thread, &name));
	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "type", "evented");
	vg_json_key_string(json, "name", text);
	vg_json_key_string(json, "unit", "nanoseconds");
	vg_json_key_uint(json, "startValue", 0);
	vg_json_key_uint(json, "endValue", scope->spans.end_ns);
	vg_json_key(json, "events");
	rc = vg_speedscope_intervals_write(&scope->intervals, thread);
	if (rc != 0)
		scope->failed = rc;
	vg_json_object_end(json);
}

static void named_frame_write(struct scope *scope, const char *name, const char *file)
{
	vg_json_line(&scope->json);
	vg_json_object_begin(&scope->json);
	vg_json_key_string(&scope->json, "name", name);
	if (file != NULL)
		vg_json_key_string(&scope->json, "file", file);
	vg_json_object_end(&scope->json);
}

static void extra_write(struct scope *scope, const struct extra *extra)
{
	char name[64];

	snprintf(name, sizeof name, "[%" PRIu64 " frames cut]", extra->cut);
	if (extra->cut > 0)
		named_frame_write(scope, name, NULL);
	else if (extra->label == VG_NONE - 1)
		named_frame_write(scope, "[deeper intervals]", NULL);
	else
		named_frame_write(scope, vg_span_name(scope->profile, extra->kind, extra->label),
				  vg_profile_text(scope->profile, extra->kind));
}

/* The file says where a function is; of one without symbols the module does. */
static void function_write(struct scope *scope, uint32_t function)
{
	struct vg_function_view view = vg_frames_function(&scope->frames, function);
	struct vg_json *json = &scope->json;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "name", view.name);
	if (view.file != NULL || view.module != NULL)
		vg_json_key_string(json, "file", view.file != NULL ? view.file : view.module);
	vg_json_object_end(json);
}

/* Stands behind the profiles, when it is known which frames they need. */
static void shared_write(struct scope *scope)
{
	char name[96];

	vg_json_key(&scope->json, "shared");
	vg_json_object_begin(&scope->json);
	vg_json_key(&scope->json, "frames");
	vg_json_array_begin(&scope->json);
	for (uint32_t i = 0; i < scope->frames.count; i++)
		function_write(scope, i);
	for (unsigned end = VG_WALK_ROOT + 1; end <= VG_WALK_ENDS; end++) {
		snprintf(name, sizeof name, "[stack incomplete: %s]", vg_walk_end_name(end));
		named_frame_write(scope, name, NULL);
	}
	for (uint32_t i = 0; i < scope->extras.count; i++) {
		struct extra extra;

		memcpy(&extra, vg_intern_bytes(&scope->extras, i, NULL), sizeof extra);
		extra_write(scope, &extra);
	}
	vg_json_array_end(&scope->json);
	vg_json_object_end(&scope->json);
}

/* By CPU time: most threads of a program wait, and the one that works is looked for.  By wall
 * time where no CPU time was measured. */
static uint32_t busiest_thread(const struct scope *scope)
{
	uint64_t most_cpu_ns = 0, most_wall_ns = 0;
	uint32_t by_cpu = 0, by_wall = 0;

	for (uint32_t t = 0; t < scope->profile->threads.count; t++) {
		uint64_t cpu_ns = thread_weight(scope, t, VG_WEIGHT_CPU);
		uint64_t wall_ns = thread_weight(scope, t, VG_WEIGHT_WALL);

		if (cpu_ns > most_cpu_ns) {
			most_cpu_ns = cpu_ns;
			by_cpu = t;
		}
		if (wall_ns > most_wall_ns) {
			most_wall_ns = wall_ns;
			by_wall = t;
		}
	}
	return most_cpu_ns > 0 ? by_cpu : by_wall;
}

/* Each thread's intervals stand behind its samples. */
static uint32_t profile_index(const struct scope *scope, uint32_t thread)
{
	uint32_t index = thread;

	for (uint32_t t = 0; t < thread; t++)
		index += vg_speedscope_intervals_any(&scope->spans, t);
	return index;
}

/* Speedscope stops at a file without profiles, and would not even show its name. */
static void nothing_write(struct vg_json *json)
{
	vg_json_object_begin(json);
	vg_json_key_string(json, "type", "sampled");
	vg_json_key_string(json, "name", "no threads");
	vg_json_key_string(json, "unit", "nanoseconds");
	vg_json_key_uint(json, "startValue", 0);
	vg_json_key_uint(json, "endValue", 0);
	vg_json_key(json, "samples");
	vg_json_array_begin(json);
	vg_json_array_end(json);
	vg_json_key(json, "weights");
	vg_json_array_begin(json);
	vg_json_array_end(json);
	vg_json_object_end(json);
}

static int threads_write(struct scope *scope)
{
	size_t count = scope->profile->threads.count;
	struct vg_progress progress;

	vg_progress_begin(&progress, "threads", count);
	vg_json_key(&scope->json, "profiles");
	vg_json_array_begin(&scope->json);
	if (count == 0)
		nothing_write(&scope->json);
	for (size_t t = 0; scope->failed == 0 && t < count && !ferror(scope->json.file); t++) {
		vg_progress_step(&progress, t);
		thread_write(scope, (uint32_t)t);
		intervals_write(scope, (uint32_t)t);
	}
	vg_json_array_end(&scope->json);
	vg_progress_end(&progress);
	return scope->failed;
}

static int scope_write(struct scope *scope, const char *exporter)
{
	const struct vg_profile *profile = scope->profile;
	struct vg_json *json = &scope->json;
	int rc;

	vg_json_object_begin(json);
	vg_json_key_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	vg_json_key_string(json, "name", vg_profile_text(profile, profile->header.program));
	vg_json_key_string(json, "exporter", exporter);
	vg_json_key_uint(json, "activeProfileIndex",
			 profile_index(scope, busiest_thread(scope)));
	rc = threads_write(scope);
	if (rc != 0)
		return rc;
	shared_write(scope);
	vg_json_object_end(json);
	vg_json_line(json);
	return 0;
}

int vg_speedscope_write(const struct vg_profile *profile, enum vg_weight weight,
			const char *exporter, FILE *file)
{
	struct scope scope = { .profile = profile, .weight = weight };
	int rc = vg_frames_build(&scope.frames, profile);

	vg_json_open(&scope.json, file);
	if (rc == 0)
		rc = vg_chains_build(&scope.chains, &scope.frames);
	if (rc == 0)
		rc = vg_shown_build(&scope.shown, &scope.frames);
	if (rc == 0)
		rc = vg_threads_build(&scope.threads, profile, -1);
	if (rc == 0)
		rc = vg_thread_names_build(&scope.names, profile);
	if (rc == 0)
		rc = vg_spans_build(&scope.spans, profile);
	scope.intervals = (struct vg_speedscope_intervals){
		.spans = &scope.spans, .json = &scope.json, .frame_of = interval_number,
		.context = &scope };
	if (rc == 0)
		rc = scope_write(&scope, exporter);
	vg_intern_free(&scope.extras);
	vg_speedscope_intervals_free(&scope.intervals);
	vg_spans_free(&scope.spans);
	vg_thread_names_free(&scope.names);
	vg_threads_free(&scope.threads);
	vg_shown_free(&scope.shown);
	vg_chains_free(&scope.chains);
	vg_frames_free(&scope.frames);
	return rc;
}
