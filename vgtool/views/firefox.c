/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/firefox.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "symbols/table/debug_id.h"
#include "vgtool/analysis/frame_class.h"
#include "vgtool/views/firefox_columns.h"
#include "vgtool/views/firefox_counters.h"
#include "vgtool/views/firefox_markers.h"
#include "vgtool/views/firefox_threads.h"
#include "vgtool/views/repeats.h"

/* FORMAT_VERSION: see firefox.h.  GECKO_VERSION: of the format that Firefox itself writes, of the same time. */
enum { FORMAT_VERSION = 50, GECKO_VERSION = 30 };

struct timed_sample {
	uint64_t time_ns;
	uint64_t sample;
};

/* Adds the samples of the difference behind those of the tracks: all samples, by the times that are shown. */
static int difference_add(struct vg_firefox *firefox)
{
	const struct vg_sample *samples = firefox->profile->samples.items;
	size_t count = firefox->profile->samples.count;
	uint32_t *order = realloc(firefox->samples.order, (2 * count + 1) * sizeof *order);
	struct timed_sample *items = calloc(count + 1, sizeof *items);

	if (order != NULL)
		firefox->samples.order = order;
	if (order == NULL || items == NULL) {
		free(items);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		items[i] = (struct timed_sample){
			vg_firefox_time(firefox, samples[order[i]].thread, samples[order[i]].time_ns), order[i] };
	vg_sort_by(items, count, time_ns);
	for (size_t i = 0; i < count; i++)
		order[count + i] = (uint32_t)items[i].sample;
	free(items);
	/* first[tracks.count] is `count` already. */
	firefox->samples.first[firefox->tracks.count + 1] = 2 * count;
	return 0;
}

/* In a comparison, the base and the other processes each begin at time 0: weeks may lie between them. */
static void origins_set(struct vg_firefox *firefox)
{
	const struct vg_profile *profile = firefox->profile;

	if (firefox->base_processes == 0)
		return;
	firefox->origin_ns[0] = firefox->origin_ns[1] = UINT64_MAX;
	for (size_t p = 0; p < profile->processes.count; p++) {
		uint64_t *origin_ns = &firefox->origin_ns[p < firefox->base_processes];

		if (profile->processes.items[p].begin_ns < *origin_ns)
			*origin_ns = profile->processes.items[p].begin_ns;
	}
}

/* The kernel reuses ids, and viewers would merge two processes or threads with the same id. */
static int ids_check(struct vg_firefox *firefox)
{
	const struct vg_profile *profile = firefox->profile;
	struct vg_intern pids = { 0 }, tids = { 0 };
	uint32_t id;
	int rc = 0;

	firefox->pid_taken = calloc(firefox->tracks.group_count + 1, 1);
	firefox->tid_taken = calloc(firefox->tracks.count + 1, 1);
	firefox->main_track = calloc(firefox->tracks.group_count + 1, sizeof *firefox->main_track);
	if (firefox->pid_taken == NULL || firefox->tid_taken == NULL || firefox->main_track == NULL)
		return -ENOMEM;
	for (uint32_t t = firefox->tracks.count; t-- > 0;)
		firefox->main_track[firefox->tracks.items[t].group] = t;
	for (uint32_t g = 0; rc >= 0 && g < firefox->tracks.group_count; g++) {
		int32_t pid = profile->processes.items[firefox->tracks.groups[g].process].pid;

		rc = vg_intern(&pids, &pid, sizeof pid, &id);
		firefox->pid_taken[g] = rc == 0;
	}
	for (uint32_t t = 0; rc >= 0 && t < firefox->tracks.count; t++) {
		int32_t tid = profile->threads.items[firefox->tracks.items[t].thread].tid;

		rc = vg_intern(&tids, &tid, sizeof tid, &id);
		firefox->tid_taken[t] = rc == 0;
	}
	vg_intern_free(&pids);
	vg_intern_free(&tids);
	return rc < 0 ? rc : 0;
}

static int firefox_build(struct vg_firefox *firefox)
{
	int rc = vg_frames_build(&firefox->frames, firefox->profile);

	if (rc == 0)
		rc = vg_tracks_build(&firefox->tracks, firefox->profile, firefox->base_processes);
	if (rc == 0)
		rc = vg_thread_names_build(&firefox->names, firefox->profile);
	firefox->names.without_process = true;
	if (rc == 0)
		rc = vg_frame_classes_build(&firefox->classes, firefox->profile);
	firefox->weight = vg_weight_default(firefox->profile);
	firefox->repeats_max = vg_repeats_max(firefox->profile);
	origins_set(firefox);
	if (rc == 0)
		rc = vg_track_samples_build(&firefox->samples, &firefox->tracks, firefox->profile);
	if (rc == 0 && firefox->base_processes > 0)
		rc = difference_add(firefox);
	return rc == 0 ? ids_check(firefox) : rc;
}

static void units_write(struct vg_json *json)
{
	vg_json_key(json, "sampleUnits");
	vg_json_object_begin(json);
	vg_json_key_string(json, "time", "ms");
	vg_json_key_string(json, "eventDelay", "ms");
	vg_json_key_string(json, "threadCPUDelta", "ns");
	vg_json_object_end(json);
}

static void extra_write(struct vg_json *json, const char *exporter)
{
	vg_json_key(json, "extra");
	vg_json_array_begin(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "label", "Vignette");
	vg_json_key(json, "entries");
	vg_json_array_begin(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "label", "Exporter");
	vg_json_key_string(json, "format", "string");
	vg_json_key_string(json, "value", exporter);
	vg_json_object_end(json);
	vg_json_array_end(json);
	vg_json_object_end(json);
	vg_json_array_end(json);
}

static void flag_write(struct vg_json *json, const char *key, bool value)
{
	vg_json_key(json, key);
	vg_json_bool(json, value);
}

static void meta_write(struct vg_firefox *firefox, const char *exporter)
{
	const struct vg_header *header = &firefox->profile->header;
	const char *arch = vg_profile_text(firefox->profile, header->arch);
	struct vg_json *json = &firefox->json;
	char text[80];

	vg_json_key(json, "meta");
	vg_json_object_begin(json);
	vg_json_key_uint(json, "preprocessedProfileVersion", FORMAT_VERSION);
	vg_json_key_uint(json, "version", GECKO_VERSION);
	vg_json_key(json, "interval");
	vg_json_ms(json, header->period_ns > 0 ? (int64_t)header->period_ns : 1000000);
	vg_json_key(json, "startTime");
	/* start_us is below 1,000,000. */
	vg_json_uint(json, header->start_unix_s * 1000 + header->start_us / 1000);
	vg_json_key_uint(json, "processType", 0);
	vg_json_key_string(json, "product", vg_profile_text(firefox->profile, header->program));
	vg_json_key_string(json, "importedFrom", "Vignette");
	vg_json_key_uint(json, "stackwalk", 1);
	snprintf(text, sizeof text, "Linux %.64s", arch != NULL ? arch : "");
	vg_json_key_string(json, "oscpu", text);
	vg_json_key_string(json, "abi", arch != NULL ? arch : "");
	vg_json_key_string(json, "platform", "Linux");
	flag_write(json, "symbolicated", firefox->profile->resolved);
	flag_write(json, "sourceCodeIsNotOnSearchfox", true);
	flag_write(json, "usesOnlyOneStackType", true);
	flag_write(json, "doesNotUseFrameImplementation", true);
	if (firefox->base_processes > 0) {
		vg_json_key(json, "initialSelectedThreads");
		vg_json_array_begin(json);
		vg_json_uint(json, firefox->tracks.count);
		vg_json_array_end(json);
	}
	units_write(json);
	vg_json_key(json, "categories");
	vg_firefox_categories_write(json);
	vg_json_key(json, "markerSchema");
	vg_firefox_markers_schema_write(json);
	extra_write(json, exporter);
	vg_json_object_end(json);
}

static void library_write(struct vg_firefox *firefox, const struct vg_module *module)
{
	const char *name = vg_profile_text(firefox->profile, module->name);
	const char *arch = vg_profile_text(firefox->profile, firefox->profile->header.arch);
	char debug_id[VG_DEBUG_ID_CHARS + 1] = "";
	struct vg_json *json = &firefox->json;

	if (module->build_id_bytes > 0)
		vg_debug_id_text(module->build_id, module->build_id_bytes, debug_id);
	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "arch", arch != NULL ? arch : "");
	vg_json_key_string(json, "name", name);
	vg_json_key_string(json, "path", name);
	vg_json_key_string(json, "debugName", name);
	vg_json_key_string(json, "debugPath", name);
	vg_json_key_string(json, "breakpadId", debug_id);
	vg_json_key(json, "codeId");
	if (module->build_id_bytes > 0)
		vg_json_hex(json, module->build_id, module->build_id_bytes);
	else
		vg_json_null(json);
	vg_json_object_end(json);
}

static int profile_write(struct vg_firefox *firefox, struct vg_firefox_markers *markers, const char *exporter)
{
	const struct vg_profile *profile = firefox->profile;
	struct vg_json *json = &firefox->json;
	int rc;

	vg_json_object_begin(json);
	meta_write(firefox, exporter);
	vg_json_key(json, "libs");
	vg_json_array_begin(json);
	for (size_t m = 0; m < profile->modules.count && !ferror(json->file); m++)
		library_write(firefox, &profile->modules.items[m]);
	vg_json_array_end(json);
	vg_json_key(json, "counters");
	rc = vg_firefox_counters_write(firefox);
	vg_json_key(json, "threads");
	if (rc == 0)
		rc = vg_firefox_threads_write(firefox, markers);
	vg_json_object_end(json);
	vg_json_line(json);
	return rc;
}

int vg_firefox_write(const struct vg_profile *profile, uint32_t base_processes, const char *exporter, FILE *file)
{
	struct vg_firefox firefox = { .profile = profile, .base_processes = base_processes };
	struct vg_firefox_markers markers = { 0 };
	int rc = firefox_build(&firefox);

	vg_json_open(&firefox.json, file);
	if (rc == 0)
		rc = vg_firefox_markers_open(&markers, &firefox);
	if (rc == 0)
		rc = profile_write(&firefox, &markers, exporter);
	vg_firefox_markers_close(&markers);
	free(firefox.pid_taken);
	free(firefox.tid_taken);
	free(firefox.main_track);
	vg_track_samples_free(&firefox.samples);
	free(firefox.classes);
	vg_thread_names_free(&firefox.names);
	vg_tracks_free(&firefox.tracks);
	vg_frames_free(&firefox.frames);
	return rc;
}
