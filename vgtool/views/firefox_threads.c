/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/firefox_threads.h"

#include <errno.h>

#include "vgtool/output/progress.h"
#include "vgtool/views/firefox_columns.h"
#include "vgtool/views/repeats.h"

/* The samples of a thread: positions in firefox->samples.order. */
struct part {
	uint64_t first, end;
	bool is_difference;
	bool has_cpu_use;            /* no two threads of the track overlap in time */
	uint64_t begin_ns;           /* begin of the time that the first sample stands for; 0 for the difference */
};

enum column { COLUMN_STACK, COLUMN_TIME, COLUMN_WEIGHT, COLUMN_CPU, COLUMNS };

static const struct vg_sample *sample_at(const struct vg_firefox *firefox, uint64_t at)
{
	return &firefox->profile->samples.items[firefox->samples.order[at]];
}

/* The weights of the repetitions add up to the weight of the record. */
static int64_t repeat_weight(const struct vg_firefox *firefox, const struct vg_sample *sample, uint32_t i,
			     uint32_t repeats)
{
	uint64_t weight_ns = vg_weight_of(sample, firefox->weight);
	int64_t part_ns;

	if (weight_ns > INT64_MAX)
		weight_ns = INT64_MAX;
	part_ns = (int64_t)(weight_ns / repeats + (i + 1 == repeats ? weight_ns % repeats : 0));
	return vg_firefox_is_base(firefox, sample->thread) ? -part_ns : part_ns;
}

/* last_ns: the time of the previous row; times never decrease. */
static void row_write(const struct vg_firefox_tables *tables, enum column column, const struct vg_sample *sample,
		      bool is_difference, uint64_t *last_ns)
{
	struct vg_firefox *firefox = tables->firefox;
	uint32_t repeats = vg_repeats_of(sample, firefox->repeats_max), row = vg_firefox_tables_row(tables, sample);
	struct vg_json *json = &firefox->json;

	for (uint32_t i = 0; i < repeats; i++) {
		uint64_t now_ns = column == COLUMN_TIME ?
				  vg_firefox_time(firefox, sample->thread, vg_repeat_ns(sample, i, repeats)) : 0;
		int64_t weight_ns = column == COLUMN_WEIGHT ? repeat_weight(firefox, sample, i, repeats) : 0;

		if (column == COLUMN_STACK) {
			vg_json_uint(json, row);
		} else if (column == COLUMN_TIME) {
			vg_json_ms(json, now_ns > *last_ns ? (int64_t)(now_ns - *last_ns) : 0);
			*last_ns = now_ns > *last_ns ? now_ns : *last_ns;
		} else if (column == COLUMN_WEIGHT) {
			vg_json_ms(json, is_difference || weight_ns > 0 ? weight_ns : -weight_ns);
		} else {
			/* The thread did not run between the repetitions. */
			vg_json_uint(json, i == 0 ? sample->cpu_ns : 0);
		}
	}
}

/* The first sample of a thread stands for the time before it.  The thread may be older, because a flight recorder keeps
 * only the last seconds. */
static uint64_t part_begin(const struct vg_firefox *firefox, struct part part)
{
	const struct vg_sample *sample = part.first < part.end ? sample_at(firefox, part.first) : NULL;

	if (sample == NULL)
		return 0;
	return vg_firefox_time(firefox, sample->thread, sample->time_ns > sample->wall_ns ?
			       sample->time_ns - sample->wall_ns : 0);
}

/* The first row has no stack and no weight, because viewers compute the use of the CPU between two rows. */
static void samples_write(const struct vg_firefox_tables *tables, struct part part)
{
	static const char *const names[COLUMNS] = { "stack", "timeDeltas", "weight", "threadCPUDelta" };
	const struct vg_firefox *firefox = tables->firefox;
	struct vg_json *json = &tables->firefox->json;
	uint64_t rows = part.first < part.end;

	for (uint64_t at = part.first; at < part.end; at++)
		rows += vg_repeats_of(sample_at(firefox, at), firefox->repeats_max);
	vg_json_line(json);
	vg_json_key(json, "samples");
	vg_json_object_begin(json);
	vg_json_key_uint(json, "length", rows);
	vg_json_key_string(json, "weightType", "tracing-ms");
	for (unsigned column = 0; column < COLUMNS; column++) {
		uint64_t last_ns = part.begin_ns;

		if (column == COLUMN_CPU && !part.has_cpu_use)
			break;
		vg_json_line(json);
		vg_json_key(json, names[column]);
		vg_json_array_begin(json);
		if (column == COLUMN_STACK && rows > 0)
			vg_json_null(json);
		else if (rows > 0)
			vg_json_ms(json, column == COLUMN_TIME ? (int64_t)last_ns : 0);
		for (uint64_t at = part.first; at < part.end && !ferror(json->file); at++)
			row_write(tables, (enum column)column, sample_at(firefox, at), part.is_difference, &last_ns);
		vg_json_array_end(json);
	}
	vg_json_object_end(json);
}

static void times_write(struct vg_firefox *firefox, uint64_t begin_ns, uint64_t end_ns)
{
	struct vg_json *json = &firefox->json;

	vg_json_key_string(json, "processType", "default");
	vg_json_key_uint(json, "processStartupTime", 0);
	vg_json_key(json, "processShutdownTime");
	vg_json_null(json);
	vg_json_key(json, "registerTime");
	vg_json_ms(json, (int64_t)begin_ns);
	vg_json_key(json, "unregisterTime");
	if (end_ns == UINT64_MAX)
		vg_json_null(json);
	else
		vg_json_ms(json, (int64_t)end_ns);
	vg_json_key(json, "pausedRanges");
	vg_json_array_begin(json);
	vg_json_array_end(json);
}

static void track_head_write(struct vg_firefox *firefox, uint32_t track)
{
	const struct vg_profile *profile = firefox->profile;
	const struct vg_track *of = &firefox->tracks.items[track];
	const struct vg_thread *thread = &profile->threads.items[of->thread];
	const struct vg_track_group *group = &firefox->tracks.groups[of->group];
	const char *name = vg_profile_text(profile, thread->name);
	bool is_only = of->thread_count == 1, use_name = profile->processes.count > 1 && name[0] != '\0';
	struct vg_json *json = &firefox->json;
	struct vg_thread_name room;
	char tid[32], process[VG_NAME_MAX_BYTES + 16];

	times_write(firefox, vg_firefox_time(firefox, of->thread, thread->begin_ns),
		    is_only && thread->end_ns != UINT64_MAX ? vg_firefox_time(firefox, of->thread, thread->end_ns) :
		    UINT64_MAX);
	vg_json_key_string(json, "name", use_name ? name : vg_thread_name(&firefox->names, of->thread, &room));
	snprintf(process, sizeof process, "%s%s",
		 vg_profile_text(profile, profile->processes.items[group->process].name),
		 group->is_base ? " (base)" : "");
	vg_json_key_string(json, "processName", process);
	vg_json_key(json, "isMainThread");
	vg_json_bool(json, firefox->main_track[of->group] == track &&
		     thread->tid == profile->processes.items[group->process].pid);
	vg_firefox_pid_write(firefox, of->group);
	snprintf(tid, sizeof tid, "%d (%u)", thread->tid, track + 1);
	vg_json_key(json, "tid");
	if (firefox->tid_taken[track])
		vg_json_string(json, tid);
	else
		vg_json_int(json, thread->tid);
}

static void difference_head_write(struct vg_firefox *firefox)
{
	static const char name[] = "difference";
	struct vg_json *json = &firefox->json;

	times_write(firefox, 0, UINT64_MAX);
	vg_json_key_string(json, "name", name);
	vg_json_key_string(json, "processName", name);
	vg_json_key(json, "isMainThread");
	vg_json_bool(json, true);
	vg_json_key_string(json, "pid", name);
	vg_json_key_string(json, "tid", name);
}

/* track: the number of tracks for the difference. */
static int thread_write(struct vg_firefox *firefox, struct vg_firefox_markers *markers, uint32_t track,
			struct vg_firefox_tables *tables)
{
	const uint64_t *first = firefox->samples.first;
	struct part part = { first[track], first[track + 1], track == firefox->tracks.count, false, 0 };
	int rc = 0;

	vg_firefox_tables_clear(tables);
	for (uint64_t at = part.first; rc == 0 && at < part.end; at++)
		rc = vg_firefox_tables_add(tables, sample_at(firefox, at));
	if (rc != 0)
		return rc;
	vg_json_line(&firefox->json);
	vg_json_object_begin(&firefox->json);
	if (part.is_difference) {
		difference_head_write(firefox);
	} else {
		track_head_write(firefox, track);
		part.begin_ns = part_begin(firefox, part);
		part.has_cpu_use = !vg_track_overlaps(&firefox->samples, track, firefox->profile);
	}
	samples_write(tables, part);
	rc = vg_firefox_markers_write(markers, track, tables);
	vg_firefox_columns_write(tables);
	vg_json_object_end(&firefox->json);
	return rc;
}

int vg_firefox_threads_write(struct vg_firefox *firefox, struct vg_firefox_markers *markers)
{
	uint32_t count = firefox->tracks.count + (firefox->base_processes > 0);
	struct vg_firefox_tables tables;
	struct vg_progress progress;
	int rc = vg_firefox_tables_open(&tables, firefox);

	vg_progress_begin(&progress, "threads", count);
	vg_json_array_begin(&firefox->json);
	for (uint32_t t = 0; rc == 0 && t < count && !ferror(firefox->json.file); t++) {
		vg_progress_step(&progress, t);
		rc = thread_write(firefox, markers, t, &tables);
	}
	vg_json_array_end(&firefox->json);
	vg_progress_end(&progress);
	vg_firefox_tables_close(&tables);
	return rc;
}
