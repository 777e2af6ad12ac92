/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/chrome.h"

#include <errno.h>
#include <stdlib.h>

#include "vgtool/output/text.h"
#include "vgtool/views/chrome_event.h"
#include "vgtool/views/chrome_events.h"
#include "vgtool/views/chrome_nodes.h"
#include "vgtool/views/chrome_samples.h"
#include "vgtool/views/chrome_stacks.h"
#include "vgtool/views/chrome_tracks.h"
#include "vgtool/views/repeats.h"

static void metadata_write(struct vg_chrome *chrome, const char *name, uint32_t thread,
			   const char *text, uint64_t number)
{
	struct vg_json *json = &chrome->json;

	vg_chrome_event_begin(chrome, "M", name, thread, 0);
	vg_json_key(json, "args");
	vg_json_object_begin(json);
	if (text != NULL)
		vg_json_key_string(json, "name", text);
	else
		vg_json_key_uint(json, "sort_index", number);
	vg_json_object_end(json);
	vg_json_object_end(json);
}

static void threads_write(struct vg_chrome *chrome)
{
	const struct vg_profile *profile = chrome->profile;
	struct vg_thread_name name;

	for (uint32_t t = 0; t < profile->threads.count && !ferror(chrome->json.file); t++) {
		uint32_t process = profile->threads.items[t].process;

		if (t == 0 || process != profile->threads.items[t - 1].process)
			metadata_write(chrome, "process_name", t,
				       vg_profile_text(profile, profile->processes.items[process].name), 0);
		if (chrome->track_of[t] != t)
			continue;
		metadata_write(chrome, "thread_name", t, vg_thread_name(&chrome->names, t, &name), 0);
		metadata_write(chrome, "thread_sort_index", t, NULL, t);
	}
}

/* The kernel reuses ids of threads and processes.  Viewers would merge two threads with the same id, so the later
 * thread gets an id that no thread has.  The same is true of processes. */
static int ids_choose(struct vg_chrome *chrome)
{
	enum { ABOVE_ALL_TIDS = 1 << 30 };
	const struct vg_profile *profile = chrome->profile;
	struct vg_intern taken = { 0 };
	int rc = 0;

	chrome->tids = calloc(profile->threads.count + 1, sizeof *chrome->tids);
	chrome->pids = calloc(profile->processes.count + 1, sizeof *chrome->pids);
	if (chrome->tids == NULL || chrome->pids == NULL)
		return -ENOMEM;
	for (size_t t = 0; rc >= 0 && t < profile->threads.count; t++) {
		uint32_t id;

		chrome->tids[t] = profile->threads.items[t].tid;
		rc = vg_intern(&taken, &chrome->tids[t], sizeof *chrome->tids, &id);
		if (rc == 0)
			chrome->tids[t] = ABOVE_ALL_TIDS + (int64_t)t;
	}
	for (size_t t = 0; t < profile->threads.count; t++)
		chrome->tids[t] = chrome->tids[chrome->track_of[t]];
	vg_intern_free(&taken);
	for (size_t p = 0; rc >= 0 && p < profile->processes.count; p++) {
		uint32_t id;

		chrome->pids[p] = profile->processes.items[p].pid;
		rc = vg_intern(&taken, &chrome->pids[p], sizeof *chrome->pids, &id);
		if (rc == 0)
			chrome->pids[p] = ABOVE_ALL_TIDS + (int64_t)p;
	}
	vg_intern_free(&taken);
	return rc < 0 ? rc : 0;
}

static int trace_build(struct vg_chrome *chrome, const struct vg_chrome_options *options)
{
	int rc = vg_frames_build(&chrome->frames, chrome->profile);

	if (rc == 0)
		rc = vg_function_lines_build(&chrome->lines, &chrome->frames, vg_weight_default(chrome->profile));
	if (rc == 0)
		rc = vg_chains_build(&chrome->chains, &chrome->frames);
	if (rc == 0)
		rc = vg_thread_samples_build(&chrome->threads, chrome->profile, -1);
	if (rc == 0)
		rc = vg_thread_names_build(&chrome->names, chrome->profile);
	chrome->names.without_process = true;
	if (rc == 0)
		rc = vg_intervals_build(&chrome->intervals, chrome->profile);
	chrome->repeats_max = vg_repeats_max(chrome->profile);
	chrome->minimum_ns = options->minimum_ns;
	if (rc == 0)
		rc = vg_chrome_tracks_build(chrome, options->collapse_threads);
	if (rc == 0)
		rc = ids_choose(chrome);
	if (rc == 0)
		rc = vg_chrome_nodes_number(chrome);
	return rc;
}

static int trace_write(struct vg_chrome *chrome, const char *exporter)
{
	const struct vg_profile *profile = chrome->profile;
	struct vg_json *json = &chrome->json;
	int rc;

	vg_json_object_begin(json);
	vg_json_key_string(json, "displayTimeUnit", "ns");
	vg_json_key(json, "otherData");
	vg_json_object_begin(json);
	vg_json_key_string(json, "program", vg_profile_text(profile, profile->header.program));
	vg_json_key_string(json, "exporter", exporter);
	vg_json_key_uint(json, "start_unix_s", profile->header.start_unix_s);
	vg_json_key_uint(json, "events_dropped", chrome->intervals.dropped);
	vg_json_object_end(json);
	vg_json_key(json, "traceEvents");
	vg_json_array_begin(json);
	threads_write(chrome);
	vg_chrome_events_write(chrome);
	rc = vg_chrome_samples_write(chrome);
	vg_json_array_end(json);
	vg_chrome_stacks_write(chrome);
	vg_json_object_end(json);
	vg_json_line(json);
	return rc;
}

int vg_chrome_write(const struct vg_profile *profile, const struct vg_chrome_options *options, const char *exporter,
		    FILE *file)
{
	struct vg_chrome chrome = { .profile = profile };
	int rc;

	vg_json_open(&chrome.json, file);
	rc = trace_build(&chrome, options);
	if (rc == 0)
		rc = trace_write(&chrome, exporter);
	free(chrome.tids);
	free(chrome.pids);
	free(chrome.track_of);
	free(chrome.next_in_track);
	free(chrome.shown_chain);
	free(chrome.has_cut_node);
	free(chrome.chain_node_ids);
	free(chrome.chain_written_by);
	vg_array_free(&chrome.path);
	vg_intervals_free(&chrome.intervals);
	vg_thread_names_free(&chrome.names);
	vg_thread_samples_free(&chrome.threads);
	vg_chains_free(&chrome.chains);
	vg_function_lines_free(&chrome.lines);
	vg_frames_free(&chrome.frames);
	return rc;
}
