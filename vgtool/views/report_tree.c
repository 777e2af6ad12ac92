/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/report_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "vgtool/analysis/call_tree.h"
#include "vgtool/analysis/function_match.h"

/* Most columns of indentation; deeper branches are indented by this too. */
enum { INDENT_MAX = 200 };

/* The heading lists at most this many names of merged functions. */
enum { NAMES_MAX = 3 };

struct tree_view {
	struct vg_report *report;
	const struct vg_report_tree *options;
	struct vg_frames frames;
	struct vg_function_match match; /* only with options->name */
	struct vg_call_tree tree;
};

/* ---- JSON ---- */

static const char *view_name(const struct vg_report_tree *options)
{
	if (options->name != NULL)
		return options->to_callers ? "callers" : "callees";
	return options->to_callers ? "inverted" : "tree";
}

static void row_json(struct tree_view *view, const struct vg_call_row *row)
{
	struct vg_json *json = &view->report->json;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_uint(json, "depth", row->depth);
	if (row->function != VG_NONE) {
		struct vg_function_view function = vg_frames_function(&view->frames, row->function);

		vg_json_key_string(json, "name", function.name);
		vg_json_key_string(json, "module", function.module);
		vg_json_key_string(json, "file", function.file);
		if (view->options->kind == VG_FRAMES_LINE)
			vg_json_key_uint(json, "line", function.line);
	} else {
		vg_json_key_string(json, "name", view->options->name);
	}
	if (!view->options->to_callers)
		vg_json_key_uint(json, vg_report_key(view->report, "self_ns", "self"), row->self_ns);
	vg_json_key_uint(json, vg_report_key(view->report, "total_ns", "total"), row->total_ns);
	vg_json_key_uint(json, "samples", row->samples);
	vg_json_object_end(json);
}

static size_t rows_shown(const struct tree_view *view)
{
	uint64_t limit = view->report->limit;

	return limit > 0 && limit < view->tree.rows.count ? (size_t)limit : view->tree.rows.count;
}

static void tree_json(struct tree_view *view)
{
	struct vg_report_sums sums = vg_report_sums(view->report);
	struct vg_json *json = &view->report->json;

	vg_json_object_begin(json);
	vg_report_json_heading(view->report);
	vg_report_json_sums(view->report, sums.samples, sums.wall_ns, sums.cpu_ns);
	vg_json_key_string(json, "view", view_name(view->options));
	if (view->options->name != NULL)
		vg_json_key_uint(json, "matches", view->match.count);
	vg_json_key(json, "incomplete");
	vg_json_bool(json, view->tree.is_incomplete);
	vg_json_key(json, "rows");
	vg_json_array_begin(json);
	for (size_t i = 0; i < rows_shown(view); i++)
		row_json(view, &view->tree.rows.items[i]);
	vg_json_array_end(json);
	vg_json_object_end(json);
	vg_json_line(json);
}

/* ---- text ---- */

static void matches_text(const struct tree_view *view)
{
	const struct vg_report *report = view->report;
	const char *what = view->options->to_callers ? "callers" : "callees";
	const char *names[NAMES_MAX] = { "", "", "" };
	uint32_t found = 0;

	for (uint32_t f = 0; f < view->frames.count && found < NAMES_MAX; f++) {
		if (view->match.marked[f])
			names[found++] = vg_frames_function(&view->frames, f).name;
	}
	if (view->match.count == 1)
		vg_terminal_line(&report->terminal, "%s of %s", what, names[0]);
	else
		vg_terminal_line(&report->terminal, "%s of %" PRIu32 " functions that match %s, added up: %s, %s%s%s%s",
				 what, view->match.count, view->options->name, names[0], names[1], found > 2 ? ", " : "",
				 names[2], view->match.count > NAMES_MAX ? ", ..." : "");
	putchar('\n');
}

/*
 * Only branches are indented, so that a chain of calls needs no room.  A branch begins with a hyphen, and its callees
 * follow it in the same column:
 *
 *	main
 *	- parse
 *	  parse_number
 *	- print
 */
static size_t indent_print(const struct tree_view *view, const struct vg_call_row *row, size_t used)
{
	size_t most = vg_terminal_room(&view->report->terminal, used) / 2;
	uint64_t indent = 2 * (uint64_t)row->branches;

	if (indent > most)
		indent = most / 2 * 2;
	if (indent > INDENT_MAX)
		indent = INDENT_MAX;
	if (row->is_branch && indent >= 2)
		vg_print(stdout, "%*s- ", (int)indent - 2, "");
	else
		vg_print(stdout, "%*s", (int)indent, "");
	return (size_t)indent;
}

static void row_text(const struct tree_view *view, const struct vg_call_row *row)
{
	const struct vg_report *report = view->report;
	struct vg_function_view function = { .name = view->options->name };
	struct vg_text share, total, self = { "" };
	char line[320];
	size_t used;

	if (row->function != VG_NONE)
		function = vg_frames_function(&view->frames, row->function);
	if (row->self_ns > 0)
		vg_text_percent(&self, row->self_ns, view->tree.weight_ns);
	snprintf(line, sizeof line, "%7s %10s%*s  ", vg_text_percent(&share, row->total_ns, view->tree.weight_ns),
		 vg_report_amount(report, &total, row->total_ns), view->options->to_callers ? 0 : 8, self.text);
	vg_print(stdout, "%s", line);
	used = strlen(line);
	used += indent_print(view, row, used);
	vg_report_name(report, &function, used, !view->options->to_callers &&
		       vg_report_is_hot(row->self_ns, view->tree.weight_ns));
}

static void tree_text(struct tree_view *view)
{
	const struct vg_report *report = view->report;
	struct vg_report_sums sums = vg_report_sums(report);
	size_t shown = rows_shown(view);

	if (!vg_report_heading(report, &sums))
		return;
	if (view->options->name != NULL)
		matches_text(view);
	if (view->options->to_callers)
		vg_print(stdout, "%7s %10s  %s\n", "total", "", vg_frames_kind_name(view->options->kind));
	else
		vg_print(stdout, "%7s %10s %7s  %s\n", "total", "", "self", vg_frames_kind_name(view->options->kind));
	for (size_t i = 0; i < shown && !ferror(stdout); i++)
		row_text(view, &view->tree.rows.items[i]);
	if (shown < view->tree.rows.count)
		vg_terminal_line(&report->terminal, "... and %zu more rows; --limit sets their number",
				 view->tree.rows.count - shown);
	if (view->tree.is_incomplete)
		vg_terminal_line(&report->terminal, "the tree is too large and incomplete; use a larger --min");
}

int vg_report_tree(struct vg_report *report, const struct vg_report_tree *options)
{
	struct tree_view view = { .report = report, .options = options };
	struct vg_call_tree_options tree_options = {
		.to_callers = options->to_callers, .weight = report->weight, .least_ppm = options->least_ppm,
		.values = report->counts != NULL ? report->counts->by_sample : NULL };
	int rc = vg_frames_build_rows(&view.frames, report->profile, options->kind, !report->is_unresolved);

	if (rc == 0 && options->name != NULL) {
		rc = vg_function_match_name(&view.match, &view.frames, options->name);
		tree_options.begin = view.match.marked;
		if (rc == 0 && view.match.count == 0)
			rc = -ENOENT;
	}
	if (rc == 0)
		rc = vg_call_tree_build(&view.tree, &view.frames, report->threads.order,
					report->threads.first[report->profile->threads.count], &tree_options);
	if (rc == 0 && options->name != NULL && view.tree.rows.count == 0)
		rc = -ENODATA;
	if (rc == 0 && report->is_json)
		tree_json(&view);
	else if (rc == 0)
		tree_text(&view);
	vg_call_tree_free(&view.tree);
	vg_function_match_free(&view.match);
	vg_frames_free(&view.frames);
	return rc;
}
