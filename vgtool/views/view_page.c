/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/view_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vgtool/analysis/thread_names.h"
#include "vgtool/output/base64.h"
#include "vgtool/output/gzip.h"
#include "vgtool/output/json.h"
#include "vgtool/page/page.h"
#include "vgtool/views/view_sources.h"
#include "vgtool/views/view_tracks.h"

struct writer {
	const struct vg_profile *profile;
	const struct vg_view_page *page;
	struct vg_frames frames;
	struct vg_view_nodes nodes;
	struct vg_view_intervals intervals;
	struct vg_thread_names names;
	struct vg_view_tracks tracks;
	VG_ARRAY(struct vg_view_piece) pieces; /* of one track */
	struct vg_intern strings;    /* are written last, when all are known */
	struct vg_json json;
	int failed;
};

/* The number of a text in the page's table of strings. */
static uint32_t string_number(void *context, const char *text)
{
	struct writer *writer = context;
	uint32_t number = 0;

	if (vg_intern_string(&writer->strings, text, &number) < 0)
		writer->failed = -ENOMEM;
	return number;
}

/* VG_NONE is written as -1. */
static void index_write(struct writer *writer, uint32_t index)
{
	vg_json_int(&writer->json, index != VG_NONE ? (int64_t)index : -1);
}

static void string_write(struct writer *writer, const char *text)
{
	index_write(writer, text != NULL ? string_number(writer, text) : VG_NONE);
}

/* ---- columns: arrays with one number for each item ---- */

static void column_begin(struct writer *writer, const char *name)
{
	vg_json_line(&writer->json);
	vg_json_key(&writer->json, name);
	vg_json_array_begin(&writer->json);
}

static void column_write(struct writer *writer, const char *name, size_t count,
			 void (*item_write)(struct writer *writer, uint32_t item))
{
	column_begin(writer, name);
	for (uint32_t i = 0; i < count && writer->failed == 0 && !ferror(writer->json.file); i++)
		item_write(writer, i);
	vg_json_array_end(&writer->json);
}

static void function_name(struct writer *writer, uint32_t function)
{
	struct vg_incomplete_name room;

	string_write(writer, vg_view_function(&writer->nodes, function, &room).name);
}

static void function_file(struct writer *writer, uint32_t function)
{
	struct vg_incomplete_name room;

	string_write(writer, vg_view_function(&writer->nodes, function, &room).file);
}

static void function_module(struct writer *writer, uint32_t function)
{
	struct vg_incomplete_name room;

	string_write(writer, vg_view_function(&writer->nodes, function, &room).module);
}

static void function_class(struct writer *writer, uint32_t function)
{
	vg_json_uint(&writer->json, vg_view_class(&writer->nodes, function));
}

static struct vg_view_frame frame_at(const struct writer *writer, uint32_t frame)
{
	struct vg_view_frame at;

	memcpy(&at, vg_intern_bytes(&writer->nodes.list, frame, NULL), sizeof at);
	return at;
}

static void frame_function(struct writer *writer, uint32_t frame)
{
	vg_json_uint(&writer->json, frame_at(writer, frame).function);
}

static void frame_line(struct writer *writer, uint32_t frame)
{
	vg_json_uint(&writer->json, frame_at(writer, frame).line);
}

static void frame_inlined(struct writer *writer, uint32_t frame)
{
	vg_json_uint(&writer->json, frame_at(writer, frame).is_inline);
}

static void node_parent(struct writer *writer, uint32_t node)
{
	index_write(writer, writer->nodes.parents.items[node]);
}

static void node_frame(struct writer *writer, uint32_t node)
{
	vg_json_uint(&writer->json, writer->nodes.frame_of.items[node]);
}

static struct vg_view_path path_at(const struct writer *writer, uint32_t path)
{
	struct vg_view_path at;

	memcpy(&at, vg_intern_bytes(&writer->intervals.paths, path, NULL), sizeof at);
	return at;
}

static void path_label(struct writer *writer, uint32_t path)
{
	string_write(writer, vg_intern_text(&writer->intervals.labels, path_at(writer, path).label));
}

static void path_parent(struct writer *writer, uint32_t path)
{
	index_write(writer, path_at(writer, path).parent);
}

static void object_begin(struct writer *writer, const char *name)
{
	vg_json_line(&writer->json);
	vg_json_key(&writer->json, name);
	vg_json_object_begin(&writer->json);
}

static void tables_write(struct writer *writer)
{
	uint32_t functions = vg_view_functions(&writer->nodes);

	object_begin(writer, "functions");
	column_write(writer, "name", functions, function_name);
	column_write(writer, "file", functions, function_file);
	column_write(writer, "module", functions, function_module);
	column_write(writer, "class", functions, function_class);
	vg_json_object_end(&writer->json);
	object_begin(writer, "frames");
	column_write(writer, "function", writer->nodes.list.count, frame_function);
	column_write(writer, "line", writer->nodes.list.count, frame_line);
	column_write(writer, "inlined", writer->nodes.list.count, frame_inlined);
	vg_json_object_end(&writer->json);
	object_begin(writer, "nodes");
	column_write(writer, "parent", writer->nodes.parents.count, node_parent);
	column_write(writer, "frame", writer->nodes.parents.count, node_frame);
	vg_json_object_end(&writer->json);
	object_begin(writer, "paths");
	column_write(writer, "label", writer->intervals.paths.count, path_label);
	column_write(writer, "parent", writer->intervals.paths.count, path_parent);
	vg_json_object_end(&writer->json);
}

/* ---- tracks ---- */

enum column { NODE, END, WALL, CPU, PATH, COLUMNS };

static void piece_write(struct writer *writer, enum column column, const struct vg_view_piece *piece)
{
	switch (column) {
	case NODE: index_write(writer, piece->node); break;
	case END: vg_json_uint(&writer->json, piece->end); break;
	case WALL: vg_json_uint(&writer->json, piece->wall); break;
	case CPU: vg_json_uint(&writer->json, piece->cpu); break;
	case PATH: index_write(writer, piece->path); break;
	case COLUMNS: break;
	}
}

static void track_write(struct writer *writer, uint32_t track)
{
	static const char *const names[COLUMNS] = { "node", "end", "wall", "cpu", "path" };
	const struct vg_track *of = &writer->tracks.of.items[track];
	const struct vg_thread *thread = &writer->profile->threads.items[of->thread];
	const char *name = vg_profile_text(writer->profile, thread->name);
	struct vg_thread_name room;

	vg_json_line(&writer->json);
	vg_json_object_begin(&writer->json);
	vg_json_key_string(&writer->json, "name", of->thread_count > 1 && name[0] != '\0' ? name :
			   vg_thread_name(&writer->names, of->thread, &room));
	vg_json_key(&writer->json, "tid");
	vg_json_int(&writer->json, thread->tid);
	vg_json_key_uint(&writer->json, "group", of->group);
	if (vg_track_overlaps(&writer->tracks.samples, track, writer->profile)) {
		vg_json_key(&writer->json, "overlaps");
		vg_json_bool(&writer->json, true);
	}
	writer->pieces.count = 0;
	for (struct vg_view_reader reader = vg_view_first(&writer->tracks, track);
	     writer->failed == 0 && vg_view_next(&writer->tracks, &reader);)
		writer->failed = vg_array_push(&writer->pieces, &reader.piece);
	for (int column = 0; column < COLUMNS; column++) {
		column_begin(writer, names[column]);
		for (size_t i = 0; i < writer->pieces.count && !ferror(writer->json.file); i++)
			piece_write(writer, (enum column)column, &writer->pieces.items[i]);
		vg_json_array_end(&writer->json);
	}
	vg_json_object_end(&writer->json);
}

static void group_write(struct writer *writer, uint32_t group)
{
	const struct vg_track_group *of = &writer->tracks.of.groups[group];
	const struct vg_process *process = &writer->profile->processes.items[of->process];

	vg_json_line(&writer->json);
	vg_json_object_begin(&writer->json);
	vg_json_key_string(&writer->json, "name", vg_profile_text(writer->profile, process->name));
	vg_json_key_string(&writer->json, "program", vg_profile_text(writer->profile, process->program));
	vg_json_key(&writer->json, "pid");
	vg_json_int(&writer->json, process->pid);
	vg_json_key(&writer->json, "base");
	vg_json_bool(&writer->json, of->is_base);
	vg_json_object_end(&writer->json);
}

/* ---- intervals ---- */

static const struct vg_interval *longest_at(const struct writer *writer, uint32_t number)
{
	return &writer->intervals.intervals.items.items[writer->intervals.longest.items[number]];
}

static int by_track(const void *a, const void *b, void *context)
{
	const struct writer *writer = context;
	const struct vg_interval *items = writer->intervals.intervals.items.items;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	uint32_t left_track = writer->tracks.of.track_of[items[left].thread];
	uint32_t right_track = writer->tracks.of.track_of[items[right].thread];

	if (left_track != right_track)
		return left_track < right_track ? -1 : 1;
	return left < right ? -1 : left > right;
}

enum interval_column { LABEL, BEGIN, LENGTH, DEPTH, INTERVAL_COLUMNS };

static void interval_write(struct writer *writer, enum interval_column column, const struct vg_interval *interval)
{
	uint64_t begin_us = interval->begin_ns / 1000;

	switch (column) {
	case LABEL: string_write(writer, vg_interval_name(writer->profile, interval->kind, interval->label)); break;
	case BEGIN: vg_json_uint(&writer->json, begin_us); break;
	case LENGTH: vg_json_uint(&writer->json, interval->end_ns / 1000 - begin_us); break;
	case DEPTH: vg_json_uint(&writer->json, interval->depth); break;
	case INTERVAL_COLUMNS: break;
	}
}

static void intervals_write(struct writer *writer)
{
	static const char *const names[INTERVAL_COLUMNS] = { "label", "begin", "length", "depth" };
	uint32_t count = (uint32_t)writer->intervals.longest.count;

	if (count > 1)
		qsort_r(writer->intervals.longest.items, count, sizeof *writer->intervals.longest.items, by_track, writer);
	vg_json_line(&writer->json);
	vg_json_key(&writer->json, "intervals");
	vg_json_array_begin(&writer->json);
	for (uint32_t first = 0, end; first < count; first = end) {
		uint32_t track = writer->tracks.of.track_of[longest_at(writer, first)->thread];

		for (end = first; end < count && writer->tracks.of.track_of[longest_at(writer, end)->thread] == track;)
			end++;
		vg_json_object_begin(&writer->json);
		vg_json_key_uint(&writer->json, "track", track);
		for (int column = 0; column < INTERVAL_COLUMNS; column++) {
			column_begin(writer, names[column]);
			for (uint32_t i = first; i < end; i++)
				interval_write(writer, (enum interval_column)column, longest_at(writer, i));
			vg_json_array_end(&writer->json);
		}
		vg_json_object_end(&writer->json);
	}
	vg_json_array_end(&writer->json);
}

/* ---- the document ---- */

static void class_write(struct writer *writer, uint32_t class)
{
	vg_json_string(&writer->json, vg_frame_class_name((enum vg_frame_class)class));
}

static void text_write(struct writer *writer, uint32_t string)
{
	vg_json_string(&writer->json, vg_intern_text(&writer->strings, string));
}

static void heading_write(struct writer *writer)
{
	const struct vg_profile *profile = writer->profile;
	const char *program = vg_profile_text(profile, profile->header.program);
	uint64_t start_s = writer->page->base_processes > 0 ? 0 : profile->header.start_unix_s;
	struct vg_json *json = &writer->json;

	/* The header's time is the earliest of all processes.  A comparison shows the new ones. */
	for (uint32_t i = writer->page->base_processes; i > 0 && i < profile->processes.count; i++) {
		uint64_t process_s = profile->processes.items[i].start_ns / 1000000000;

		if (process_s > 0 && (start_s == 0 || process_s < start_s))
			start_s = process_s;
	}
	vg_json_key_uint(json, "version", 1);
	vg_json_key_string(json, "exporter", writer->page->exporter);
	vg_json_key_string(json, "title", writer->page->title != NULL ? writer->page->title :
			   program != NULL ? program : "");
	vg_json_key_uint(json, "recorded", start_s);
	vg_json_key_uint(json, "duration", profile->duration_ns / 1000);
	vg_json_key_uint(json, "weight", writer->page->weight);
	vg_json_key(json, "comparison");
	vg_json_bool(json, writer->page->base_processes > 0);
}

static int document_write(struct writer *writer, FILE *file)
{
	struct vg_json *json = &writer->json;
	int rc;

	vg_json_open(json, file);
	vg_json_object_begin(json);
	heading_write(writer);
	column_write(writer, "classes", VG_CLASS_COUNT, class_write);
	tables_write(writer);
	column_write(writer, "groups", writer->tracks.of.group_count, group_write);
	column_write(writer, "tracks", writer->tracks.of.count, track_write);
	intervals_write(writer);
	vg_json_line(json);
	vg_json_key(json, "sources");
	rc = vg_view_sources_write(&writer->nodes, writer->page->sources, writer->page->source_count, string_number,
				   writer, json);
	if (rc >= 0 && writer->page->source_files != NULL)
		*writer->page->source_files = rc;
	column_write(writer, "strings", writer->strings.count, text_write);
	vg_json_object_end(json);
	vg_json_line(json);
	return rc < 0 ? rc : writer->failed;
}

static int writer_build(struct writer *writer)
{
	const struct vg_profile *profile = writer->profile;
	int rc = vg_frames_build_rows(&writer->frames, profile, VG_FRAMES_FUNCTION, writer->page->by_module);

	if (rc == 0)
		rc = vg_view_nodes_build(&writer->nodes, &writer->frames, VG_VIEW_NODES_MAX);
	if (rc == 0)
		rc = vg_view_intervals_build(&writer->intervals, profile);
	if (rc == 0)
		rc = vg_thread_names_build(&writer->names, profile);
	if (rc == 0)
		rc = vg_view_tracks_build(&writer->tracks, &writer->nodes, &writer->intervals,
					  writer->page->base_processes);
	writer->names.without_process = true;
	return rc;
}

int vg_view_page_data(const struct vg_profile *profile, const struct vg_view_page *page, FILE *file)
{
	struct writer writer = { .profile = profile, .page = page };
	int rc = writer_build(&writer);

	if (rc == 0)
		rc = document_write(&writer, file);
	vg_intern_free(&writer.strings);
	vg_array_free(&writer.pieces);
	vg_view_tracks_free(&writer.tracks);
	vg_thread_names_free(&writer.names);
	vg_view_intervals_free(&writer.intervals);
	vg_view_nodes_free(&writer.nodes);
	vg_frames_free(&writer.frames);
	return rc;
}

/* A failed write sets the error indicator of `file`. */
static int encoded_write(const struct vg_profile *profile, const struct vg_view_page *page, FILE *file)
{
	struct vg_base64 base64;
	struct vg_gzip gzip;
	FILE *letters = vg_base64_open(&base64, file), *json;
	int rc = -ENOMEM;

	if (letters == NULL)
		return -ENOMEM;
	json = vg_gzip_open(&gzip, letters);
	if (json != NULL) {
		rc = vg_view_page_data(profile, page, json);
		vg_gzip_close(&gzip, json);
	}
	vg_base64_close(&base64, letters);
	return rc;
}

int vg_view_page_write(const struct vg_profile *profile, const struct vg_view_page *page, FILE *file)
{
	int rc;

	fputs(vg_page_head, file);
	rc = encoded_write(profile, page, file);
	fputs(vg_page_tail, file);
	return rc;
}
