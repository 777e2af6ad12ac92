/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/chrome_samples.h"

#include <inttypes.h>

#include "vgtool/output/progress.h"
#include "vgtool/views/chrome_event.h"
#include "vgtool/views/chrome_nodes.h"
#include "vgtool/views/repeats.h"

/* The most samples in one ProfileChunk event.  It is limited, because viewers parse one whole event at a time. */
enum { CHUNK_SAMPLES = 10000 };

/* V8 counts the lines of call frames from 0.  A function has the same line in all of its nodes, because importers tell
 * functions apart by name, file and line. */
static void node_write(struct vg_chrome *chrome, uint32_t id, uint32_t parent, struct vg_chrome_function function)
{
	struct vg_json *json = &chrome->json;

	vg_json_object_begin(json);
	vg_json_key_uint(json, "id", id);
	if (parent != 0)
		vg_json_key_uint(json, "parent", parent);
	vg_json_key(json, "callFrame");
	vg_json_object_begin(json);
	vg_json_key_string(json, "functionName", function.name);
	vg_json_key_uint(json, "scriptId", 0);
	vg_json_key_string(json, "url", function.file != NULL ? function.file : "");
	vg_json_key(json, "lineNumber");
	vg_json_int(json, function.file != NULL ? (int64_t)function.line - 1 : -1);
	vg_json_key(json, "columnNumber");
	vg_json_int(json, -1);
	vg_json_object_end(json);
	vg_json_object_end(json);
}

static void end_node_write(struct vg_chrome *chrome, size_t end, uint32_t track)
{
	struct vg_incomplete_name room;

	if (chrome->end_node_ids[end] == 0 || chrome->end_written_by[end] == track + 1)
		return;
	chrome->end_written_by[end] = track + 1;
	node_write(chrome, chrome->end_node_ids[end], VG_CHROME_ROOT, (struct vg_chrome_function){
		.name = vg_chrome_end_name(end, &room) });
}

/* Writes the nodes of a sample's stack that were not written for this track yet, callers first. */
static int sample_nodes_write(struct vg_chrome *chrome, uint32_t track, const struct vg_sample *sample)
{
	uint32_t chain = vg_chrome_sample_chain(chrome, sample);
	int rc = 0;

	if (chain == VG_NONE || sample->end != VG_WALK_ROOT)
		end_node_write(chrome, vg_chrome_end_index(sample->end), track);
	for (; rc == 0 && chain != VG_NONE && chrome->chain_written_by[chain] != track + 1;
	     chain = vg_chain_caller(&chrome->chains, chain)) {
		chrome->chain_written_by[chain] = track + 1;
		rc = vg_array_push(&chrome->path, &chain);
	}
	while (chrome->path.count > 0) {
		uint32_t parent, id;

		chain = chrome->path.items[--chrome->path.count];
		id = chrome->chain_node_ids[chain];
		parent = vg_chrome_parent_node(chrome, chain);
		for (size_t i = 0; rc == 0 && i < vg_chrome_functions(chrome, chain); i++) {
			node_write(chrome, id, parent, vg_chrome_function(chrome, chain, i));
			parent = id++;
		}
	}
	return rc;
}

struct chunk {
	uint64_t first, end;         /* positions in threads.order */
};

static const struct vg_sample *sample_at(const struct vg_chrome *chrome, uint64_t at)
{
	return &chrome->profile->samples.items[chrome->threads.order[at]];
}

/* Writes an array with a number for each sample, which is repeated as often as the sample. */
static void numbers_array(struct vg_chrome *chrome, const char *name, struct chunk chunk,
			  uint32_t (*number)(const struct vg_chrome *chrome, const struct vg_sample *sample))
{
	vg_json_key(&chrome->json, name);
	vg_json_array_begin(&chrome->json);
	for (uint64_t at = chunk.first; at < chunk.end; at++) {
		const struct vg_sample *sample = sample_at(chrome, at);
		uint32_t repeats = vg_repeats_of(sample, chrome->repeats_max), value = number(chrome, sample);

		for (uint32_t i = 0; i < repeats; i++)
			vg_json_uint(&chrome->json, value);
	}
	vg_json_array_end(&chrome->json);
}

/* Times are relative to the previous sample and never negative. */
static void deltas_array(struct vg_chrome *chrome, struct chunk chunk, uint64_t *last_us)
{
	vg_json_key(&chrome->json, "timeDeltas");
	vg_json_array_begin(&chrome->json);
	for (uint64_t at = chunk.first; at < chunk.end; at++) {
		const struct vg_sample *sample = sample_at(chrome, at);
		uint32_t repeats = vg_repeats_of(sample, chrome->repeats_max);

		for (uint32_t i = 0; i < repeats; i++) {
			uint64_t now_us = vg_repeat_ns(sample, i, repeats) / 1000;

			vg_json_uint(&chrome->json, now_us > *last_us ? now_us - *last_us : 0);
			if (now_us > *last_us)
				*last_us = now_us;
		}
	}
	vg_json_array_end(&chrome->json);
}

/* The source lines of the samples' leaf frames; V8 counts these from 1, and leaves the key out if all are unknown. */
static void lines_array(struct vg_chrome *chrome, struct chunk chunk)
{
	bool any = false;

	for (uint64_t at = chunk.first; at < chunk.end && !any; at++)
		any = vg_chrome_sample_line(chrome, sample_at(chrome, at)) > 0;
	if (any)
		numbers_array(chrome, "lines", chunk, vg_chrome_sample_line);
}

static void profile_event_begin(struct vg_chrome *chrome, const char *name, uint32_t track, uint64_t time_ns)
{
	struct vg_json *json = &chrome->json;
	char id[24];

	snprintf(id, sizeof id, "0x%" PRIx64, (uint64_t)track + 1);
	vg_chrome_event_begin(chrome, "P", name, track, time_ns);
	vg_json_key_string(json, "cat", "disabled-by-default-v8.cpu_profiler");
	vg_json_key_string(json, "id", id);
	vg_json_key(json, "args");
	vg_json_object_begin(json);
	vg_json_key(json, "data");
	vg_json_object_begin(json);
}

static void profile_event_end(struct vg_chrome *chrome)
{
	for (int containers = 3; containers > 0; containers--)
		vg_json_object_end(&chrome->json);
}

static int chunk_write(struct vg_chrome *chrome, uint32_t track, struct chunk chunk, bool opens, uint64_t *last_us)
{
	struct vg_json *json = &chrome->json;
	int rc = 0;

	profile_event_begin(chrome, "ProfileChunk", track, *last_us * 1000);
	vg_json_key(json, "cpuProfile");
	vg_json_object_begin(json);
	vg_json_key(json, "nodes");
	vg_json_array_begin(json);
	if (opens)
		node_write(chrome, VG_CHROME_ROOT, 0, (struct vg_chrome_function){ .name = "(root)" });
	for (uint64_t at = chunk.first; rc == 0 && at < chunk.end; at++)
		rc = sample_nodes_write(chrome, track, sample_at(chrome, at));
	vg_json_array_end(json);
	numbers_array(chrome, "samples", chunk, vg_chrome_sample_node);
	vg_json_object_end(json);
	deltas_array(chrome, chunk, last_us);
	lines_array(chrome, chunk);
	profile_event_end(chrome);
	return rc;
}

/* A sample of V8 lasts until the next one.  So the time between two threads of a track needs a sample of its own. */
static void idle_write(struct vg_chrome *chrome, uint32_t track, uint64_t begin_us, uint64_t *last_us)
{
	struct vg_json *json = &chrome->json;

	profile_event_begin(chrome, "ProfileChunk", track, *last_us * 1000);
	vg_json_key(json, "cpuProfile");
	vg_json_object_begin(json);
	vg_json_key(json, "nodes");
	vg_json_array_begin(json);
	end_node_write(chrome, VG_WALK_ROOT, track);
	vg_json_array_end(json);
	vg_json_key(json, "samples");
	vg_json_array_begin(json);
	vg_json_uint(json, chrome->end_node_ids[VG_WALK_ROOT]);
	vg_json_array_end(json);
	vg_json_object_end(json);
	vg_json_key(json, "timeDeltas");
	vg_json_array_begin(json);
	vg_json_uint(json, begin_us > *last_us ? begin_us - *last_us : 0);
	vg_json_array_end(json);
	profile_event_end(chrome);
	if (begin_us > *last_us)
		*last_us = begin_us;
}

/* Writes the samples of a track, thread by thread. */
static int track_write(struct vg_chrome *chrome, uint32_t track)
{
	uint64_t last_us = 0, end_us = 0;
	bool opens = true;
	int rc = 0;

	for (uint32_t thread = track; thread != VG_NONE; thread = chrome->next_in_track[thread]) {
		uint64_t at = chrome->threads.first[thread], stop = chrome->threads.first[thread + 1];

		if (opens && at < stop) {
			last_us = chrome->profile->threads.items[thread].begin_ns / 1000;
			profile_event_begin(chrome, "Profile", track, last_us * 1000);
			vg_json_key_uint(&chrome->json, "startTime", last_us);
			profile_event_end(chrome);
		} else if (at < stop) {
			idle_write(chrome, track, end_us, &last_us);
		}
		end_us = chrome->profile->threads.items[thread].end_ns / 1000;
		while (rc == 0 && at < stop && !ferror(chrome->json.file)) {
			struct chunk chunk = { at, stop - at > CHUNK_SAMPLES ? at + CHUNK_SAMPLES : stop };

			rc = chunk_write(chrome, track, chunk, opens, &last_us);
			opens = false;
			at = chunk.end;
		}
	}
	return rc;
}

int vg_chrome_samples_write(struct vg_chrome *chrome)
{
	size_t count = chrome->profile->threads.count;
	struct vg_progress progress;
	int rc = 0;

	vg_progress_begin(&progress, "threads", count);
	for (uint32_t t = 0; rc == 0 && t < count; t++) {
		vg_progress_step(&progress, t);
		if (chrome->track_of[t] == t)
			rc = track_write(chrome, t);
	}
	vg_progress_end(&progress);
	return rc;
}
