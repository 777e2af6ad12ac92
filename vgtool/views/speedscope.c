/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "vgtool/analysis/chains.h"
#include "vgtool/analysis/function_lines.h"
#include "vgtool/analysis/stack_sums.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/output/json.h"
#include "vgtool/output/progress.h"
#include "vgtool/output/text.h"
#include "vgtool/views/trimmed_stack.h"
#include "vgtool/views/speedscope_intervals.h"

struct speedscope {
	const struct vg_profile *profile;
	enum vg_weight weight;
	struct vg_frames frames;
	struct vg_function_lines lines; /* unless frames.kind is VG_FRAMES_LINE */
	struct vg_chains chains;
	struct vg_trimmed_stack trimmed;
	struct vg_thread_samples threads;
	struct vg_thread_names names;
	struct vg_intervals program_intervals;
	struct vg_speedscope_intervals intervals;
	struct vg_intern extras;     /* struct extra -> number */
	struct vg_json json;
	int failed;
};

/* A frame that is not a function.  It stands for a number of cut frames, or for an interval. */
struct extra {
	uint64_t cut;                /* number of cut frames; 0: an interval */
	uint32_t kind, label;        /* of the interval; both VG_NONE - 1: "[deeper intervals]" */
};

/* Frames are numbered in this order: functions, incomplete stacks, extras.  There is one frame for each reason why a
 * stack is incomplete (each enum vg_walk_end except VG_WALK_ROOT) and one for unknown reasons. */
static uint32_t incomplete_number(const struct speedscope *speedscope, uint8_t end)
{
	return speedscope->frames.count + (end < VG_WALK_END_COUNT ? end : VG_WALK_END_COUNT) - 1;
}

static uint32_t extra_number(struct speedscope *speedscope, const struct extra *extra)
{
	uint32_t id = 0;

	if (vg_intern(&speedscope->extras, extra, sizeof *extra, &id) < 0)
		speedscope->failed = -ENOMEM;
	return speedscope->frames.count + VG_WALK_END_COUNT + id;
}

static uint32_t cut_number(struct speedscope *speedscope, size_t cut)
{
	return extra_number(speedscope, &(struct extra){ .cut = cut });
}

static uint32_t interval_number(void *context, uint32_t kind, uint32_t label)
{
	return extra_number(context, &(struct extra){ .kind = kind, .label = label });
}

static void stack_write(struct speedscope *speedscope, uint32_t stack, uint8_t end)
{
	bool incomplete = end != VG_WALK_ROOT;
	struct vg_trimmed_stack *trimmed = &speedscope->trimmed;

	vg_trimmed_stack_fill(trimmed, stack, VG_TRIMMED_STACK_MAX - incomplete);
	vg_json_array_begin(&speedscope->json);
	if (incomplete)
		vg_json_uint(&speedscope->json, incomplete_number(speedscope, end));
	for (size_t i = trimmed->count; i-- > 0;)
		vg_json_uint(&speedscope->json, trimmed->functions[i] == VG_TRIMMED_STACK_GAP ?
			     cut_number(speedscope, trimmed->cut) : trimmed->functions[i]);
	vg_json_array_end(&speedscope->json);
}

/* A run of samples with the same functions, which is written as one sample. */
struct run {
	uint64_t end;                /* position in threads.order where the next run starts */
	const struct vg_sample *sample;
	uint64_t weight_ns;
};

static const struct vg_sample *sample_at(const struct speedscope *speedscope, uint64_t at)
{
	return &speedscope->profile->samples.items[speedscope->threads.order[at]];
}

/* Compares the numbers of the stacks' chains (analysis/chains.h): stacks of one chain have the same functions.
 * Comparing the stacks frame by frame would cost time in proportion to their depth. */
static bool same_functions(const struct speedscope *speedscope, const struct vg_sample *a, const struct vg_sample *b)
{
	if (a->end != b->end || a->stack == VG_NONE || b->stack == VG_NONE)
		return a->end == b->end && a->stack == b->stack;
	return speedscope->chains.by_node[a->stack] == speedscope->chains.by_node[b->stack];
}

/* Finds the next run, at run->end or after it.  Returns false if the thread has no more runs. */
static bool run_next(const struct speedscope *speedscope, uint32_t thread, struct run *run)
{
	uint64_t stop = speedscope->threads.first[thread + 1];

	run->weight_ns = 0;
	run->sample = NULL;
	for (; run->end < stop; run->end++) {
		const struct vg_sample *sample = sample_at(speedscope, run->end);
		uint64_t weight_ns = vg_weight_of(sample, speedscope->weight);

		if (weight_ns == 0)
			continue;
		if (run->sample != NULL && !same_functions(speedscope, sample, run->sample))
			break;
		if (run->sample == NULL)
			run->sample = sample;
		run->weight_ns = vg_sum(run->weight_ns, weight_ns);
	}
	return run->sample != NULL;
}

static struct run run_first(const struct speedscope *speedscope, uint32_t thread)
{
	return (struct run){ .end = speedscope->threads.first[thread] };
}

static uint64_t thread_weight(const struct speedscope *speedscope, uint32_t thread, enum vg_weight weight)
{
	uint64_t sum_ns = 0;

	for (uint64_t at = speedscope->threads.first[thread]; at < speedscope->threads.first[thread + 1]; at++)
		sum_ns = vg_sum(sum_ns, vg_weight_of(sample_at(speedscope, at), weight));
	return sum_ns;
}

static void samples_write(struct speedscope *speedscope, uint32_t thread)
{
	struct run run = run_first(speedscope, thread);

	vg_json_key(&speedscope->json, "samples");
	vg_json_array_begin(&speedscope->json);
	while (run_next(speedscope, thread, &run) && !ferror(speedscope->json.file))
		stack_write(speedscope, run.sample->stack, run.sample->end);
	vg_json_array_end(&speedscope->json);
}

static void weights_write(struct speedscope *speedscope, uint32_t thread)
{
	struct run run = run_first(speedscope, thread);

	vg_json_key(&speedscope->json, "weights");
	vg_json_array_begin(&speedscope->json);
	while (run_next(speedscope, thread, &run))
		vg_json_uint(&speedscope->json, run.weight_ns);
	vg_json_array_end(&speedscope->json);
}

static void profile_begin(struct vg_json *json, const char *type, const char *name, uint64_t end_ns)
{
	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "type", type);
	vg_json_key_string(json, "name", name);
	vg_json_key_string(json, "unit", "nanoseconds");
	vg_json_key_uint(json, "startValue", 0);
	vg_json_key_uint(json, "endValue", end_ns);
}

static void thread_write(struct speedscope *speedscope, uint32_t thread)
{
	struct vg_thread_name name;

	profile_begin(&speedscope->json, "sampled", vg_thread_name(&speedscope->names, thread, &name),
		      thread_weight(speedscope, thread, speedscope->weight));
	samples_write(speedscope, thread);
	weights_write(speedscope, thread);
	vg_json_object_end(&speedscope->json);
}

static void sums_write(struct speedscope *speedscope, const struct vg_stack_sums *sums)
{
	struct vg_json *json = &speedscope->json;
	uint64_t end_ns = 0;

	for (size_t i = 0; i < sums->items.count; i++)
		end_ns = vg_sum(end_ns, sums->items.items[i].weight_ns);
	profile_begin(json, "sampled", "all threads", end_ns);
	vg_json_key(json, "samples");
	vg_json_array_begin(json);
	for (size_t i = 0; i < sums->items.count && !ferror(json->file); i++)
		stack_write(speedscope, sums->items.items[i].stack, sums->items.items[i].end);
	vg_json_array_end(json);
	vg_json_key(json, "weights");
	vg_json_array_begin(json);
	for (size_t i = 0; i < sums->items.count; i++)
		vg_json_uint(json, sums->items.items[i].weight_ns);
	vg_json_array_end(json);
	vg_json_object_end(json);
}

static void all_threads_write(struct speedscope *speedscope)
{
	struct vg_stack_sums sums;

	if (vg_stack_sums_build(&sums, speedscope->profile, &speedscope->chains, speedscope->weight) == 0)
		sums_write(speedscope, &sums);
	else
		speedscope->failed = -ENOMEM;
	vg_stack_sums_free(&sums);
}

static void intervals_write(struct speedscope *speedscope, uint32_t thread)
{
	struct vg_json *json = &speedscope->json;
	char text[sizeof(struct vg_thread_name) + 16];
	struct vg_thread_name name;
	int rc;

	if (!vg_speedscope_intervals_any(&speedscope->program_intervals, thread))
		return;
	snprintf(text, sizeof text, "%s: intervals", vg_thread_name(&speedscope->names, thread, &name));
	profile_begin(json, "evented", text, speedscope->program_intervals.end_ns);
	vg_json_key(json, "events");
	rc = vg_speedscope_intervals_write(&speedscope->intervals, thread);
	if (rc != 0)
		speedscope->failed = rc;
	vg_json_object_end(json);
}

static void named_frame_write(struct speedscope *speedscope, const char *name, const char *file)
{
	vg_json_line(&speedscope->json);
	vg_json_object_begin(&speedscope->json);
	vg_json_key_string(&speedscope->json, "name", name);
	if (file != NULL)
		vg_json_key_string(&speedscope->json, "file", file);
	vg_json_object_end(&speedscope->json);
}

static void extra_write(struct speedscope *speedscope, const struct extra *extra)
{
	char name[64];

	snprintf(name, sizeof name, "[%" PRIu64 " frames cut]", extra->cut);
	if (extra->cut > 0)
		named_frame_write(speedscope, name, NULL);
	else if (extra->label == VG_NONE - 1)
		named_frame_write(speedscope, "[deeper intervals]", NULL);
	else
		named_frame_write(speedscope, vg_interval_name(speedscope->profile, extra->kind, extra->label),
				  vg_profile_text(speedscope->profile, extra->kind));
}

/* Speedscope shows "file" and "line" beside the name: the source file, or the module if there is none. */
static void function_write(struct speedscope *speedscope, uint32_t function)
{
	struct vg_function_view view = vg_frames_function(&speedscope->frames, function);
	const char *file = view.file != NULL ? view.file : view.is_system_call ? "[system call]" : view.module;
	uint32_t line = speedscope->lines.by_function != NULL ? speedscope->lines.by_function[function] : view.line;
	struct vg_json *json = &speedscope->json;
	char name[VG_NAME_MAX_BYTES + 16];

	if (view.line > 0)
		snprintf(name, sizeof name, "%s:%" PRIu32, view.name, view.line);
	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "name", view.line > 0 ? name : view.name);
	if (file != NULL)
		vg_json_key_string(json, "file", file);
	if (view.file != NULL && line > 0)
		vg_json_key_uint(json, "line", line);
	vg_json_object_end(json);
}

/* Must be written after the profiles: while they are written, we learn which extra frames are needed. */
static void shared_write(struct speedscope *speedscope)
{
	struct vg_incomplete_name room;

	vg_json_key(&speedscope->json, "shared");
	vg_json_object_begin(&speedscope->json);
	vg_json_key(&speedscope->json, "frames");
	vg_json_array_begin(&speedscope->json);
	for (uint32_t i = 0; i < speedscope->frames.count; i++)
		function_write(speedscope, i);
	for (unsigned end = VG_WALK_ROOT + 1; end <= VG_WALK_END_COUNT; end++)
		named_frame_write(speedscope, vg_incomplete_name(end, &room), NULL);
	for (uint32_t i = 0; i < speedscope->extras.count; i++) {
		struct extra extra;

		memcpy(&extra, vg_intern_bytes(&speedscope->extras, i, NULL), sizeof extra);
		extra_write(speedscope, &extra);
	}
	vg_json_array_end(&speedscope->json);
	vg_json_object_end(&speedscope->json);
}

/* Returns the thread that Speedscope shows first: the thread with the most CPU time, because most other threads only
 * wait.  If no thread has CPU time, wall time decides. */
static uint32_t busiest_thread(const struct speedscope *speedscope)
{
	uint64_t most_cpu_ns = 0, most_wall_ns = 0;
	uint32_t by_cpu = 0, by_wall = 0;

	for (uint32_t t = 0; t < speedscope->profile->threads.count; t++) {
		uint64_t cpu_ns = thread_weight(speedscope, t, VG_WEIGHT_CPU);
		uint64_t wall_ns = thread_weight(speedscope, t, VG_WEIGHT_WALL);

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

/* A thread's profile of intervals follows its profile of samples. */
static uint32_t profile_index(const struct speedscope *speedscope, uint32_t thread)
{
	uint32_t index = thread;

	for (uint32_t t = 0; t < thread; t++)
		index += vg_speedscope_intervals_any(&speedscope->program_intervals, t);
	return index;
}

/* Writes a profile without samples.  Speedscope shows nothing of a file without profiles, not even the file's name. */
static void empty_profile_write(struct vg_json *json)
{
	profile_begin(json, "sampled", "no threads", 0);
	vg_json_key(json, "samples");
	vg_json_array_begin(json);
	vg_json_array_end(json);
	vg_json_key(json, "weights");
	vg_json_array_begin(json);
	vg_json_array_end(json);
	vg_json_object_end(json);
}

static int threads_write(struct speedscope *speedscope)
{
	size_t count = speedscope->profile->threads.count;
	struct vg_progress progress;

	vg_progress_begin(&progress, "threads", count);
	vg_json_key(&speedscope->json, "profiles");
	vg_json_array_begin(&speedscope->json);
	if (count == 0)
		empty_profile_write(&speedscope->json);
	for (size_t t = 0; speedscope->failed == 0 && t < count && !ferror(speedscope->json.file); t++) {
		vg_progress_step(&progress, t);
		thread_write(speedscope, (uint32_t)t);
		intervals_write(speedscope, (uint32_t)t);
	}
	if (speedscope->failed == 0 && count > 1)
		all_threads_write(speedscope);
	vg_json_array_end(&speedscope->json);
	vg_progress_end(&progress);
	return speedscope->failed;
}

static int file_write(struct speedscope *speedscope, const char *exporter)
{
	const struct vg_profile *profile = speedscope->profile;
	struct vg_json *json = &speedscope->json;
	int rc;

	vg_json_object_begin(json);
	vg_json_key_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	vg_json_key_string(json, "name", vg_profile_text(profile, profile->header.program));
	vg_json_key_string(json, "exporter", exporter);
	vg_json_key_uint(json, "activeProfileIndex",
			 profile_index(speedscope, busiest_thread(speedscope)));
	rc = threads_write(speedscope);
	if (rc != 0)
		return rc;
	shared_write(speedscope);
	vg_json_object_end(json);
	vg_json_line(json);
	return 0;
}

int vg_speedscope_write(const struct vg_profile *profile, enum vg_weight weight, enum vg_frames_kind kind,
			const char *exporter, FILE *file)
{
	struct speedscope speedscope = { .profile = profile, .weight = weight };
	int rc = vg_frames_build_rows(&speedscope.frames, profile, kind, false);

	vg_json_open(&speedscope.json, file);
	if (rc == 0 && kind == VG_FRAMES_FUNCTION)
		rc = vg_function_lines_build(&speedscope.lines, &speedscope.frames, weight);
	if (rc == 0)
		rc = vg_chains_build(&speedscope.chains, &speedscope.frames);
	if (rc == 0)
		rc = vg_trimmed_stack_build(&speedscope.trimmed, &speedscope.frames);
	if (rc == 0)
		rc = vg_thread_samples_build(&speedscope.threads, profile, -1);
	if (rc == 0)
		rc = vg_thread_names_build(&speedscope.names, profile);
	if (rc == 0)
		rc = vg_intervals_build(&speedscope.program_intervals, profile);
	speedscope.intervals = (struct vg_speedscope_intervals){
		.program_intervals = &speedscope.program_intervals, .json = &speedscope.json,
		.frame_of = interval_number, .context = &speedscope };
	if (rc == 0)
		rc = file_write(&speedscope, exporter);
	vg_intern_free(&speedscope.extras);
	vg_speedscope_intervals_free(&speedscope.intervals);
	vg_intervals_free(&speedscope.program_intervals);
	vg_thread_names_free(&speedscope.names);
	vg_thread_samples_free(&speedscope.threads);
	vg_trimmed_stack_free(&speedscope.trimmed);
	vg_chains_free(&speedscope.chains);
	vg_function_lines_free(&speedscope.lines);
	vg_frames_free(&speedscope.frames);
	return rc;
}
