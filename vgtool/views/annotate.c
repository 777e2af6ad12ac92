/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/print.h"
#include "base/sum.h"
#include "vgtool/analysis/function_match.h"
#include "vgtool/analysis/function_table.h"
#include "vgtool/output/text.h"
#include "vgtool/views/source_file.h"

/* Lines without samples that are shown before and after a line with samples. */
enum { CONTEXT_LINES = 4 };

/* SHARE_COLUMNS: the columns before the text of a line.  SOURCE_BYTES_MAX: longer source lines are cut. */
enum { TAB_COLUMNS = 8, SHARE_COLUMNS = 25, SOURCE_BYTES_MAX = 1000 };

/* A line with samples. */
struct line {
	struct vg_function_view view;
	uint64_t self_ns, total_ns;
};

struct lines {
	struct vg_frames frames;     /* owns the texts of the rows */
	VG_ARRAY(struct line) rows;
	uint64_t weight_ns;          /* of all samples of the profile */
};

static bool is_known(const struct line *line)
{
	return line->view.file != NULL && line->view.line > 0;
}

static int text_compare(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* By function, then by file, then by line. */
static int line_compare(const void *a, const void *b)
{
	const struct line *left = a, *right = b;
	int order = text_compare(left->view.name, right->view.name);

	if (order == 0)
		order = text_compare(left->view.module, right->view.module);
	if (order == 0)
		order = text_compare(left->view.file, right->view.file);
	return order != 0 ? order : (left->view.line > right->view.line) - (left->view.line < right->view.line);
}

static bool same_function(const struct line *a, const struct line *b)
{
	return strcmp(a->view.name, b->view.name) == 0 && text_compare(a->view.module, b->view.module) == 0;
}

/* Rows without a line number do not count as rows of the file, even if the file is known. */
static bool same_file(const struct line *a, const struct line *b)
{
	return text_compare(a->view.file, b->view.file) == 0 && is_known(a) == is_known(b);
}

/* Collects the rows of the table that the match selects, sorted. */
static int lines_collect(struct lines *lines, const struct vg_function_table *table,
			 const struct vg_function_match *match)
{
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct vg_function_row *row = &table->rows.items[i];
		struct line line = { vg_frames_function(&lines->frames, row->function), row->self_ns, row->total_ns };

		if (match->marked[row->function] && vg_array_push(&lines->rows, &line) != 0)
			return -ENOMEM;
	}
	lines->weight_ns = table->weight_ns;
	if (lines->rows.count > 1)
		qsort(lines->rows.items, lines->rows.count, sizeof *lines->rows.items, line_compare);
	return 0;
}

static int lines_build(struct lines *lines, const struct vg_profile *profile, const struct vg_annotate *annotate)
{
	struct vg_thread_samples threads = { 0 };
	struct vg_function_table table = { 0 };
	struct vg_function_match match = { 0 };
	struct vg_table_maker maker = { 0 };
	int rc = vg_frames_build_rows(&lines->frames, profile, VG_FRAMES_LINE, true);

	if (rc == 0)
		rc = vg_thread_samples_build(&threads, profile, -1);
	if (rc == 0)
		rc = vg_table_maker_open(&maker, &lines->frames, annotate->weight);
	if (rc == 0)
		rc = vg_function_table_build(&table, &maker, threads.order, threads.first[profile->threads.count]);
	if (rc == 0)
		rc = vg_function_match_name(&match, &lines->frames, annotate->function);
	if (rc == 0)
		rc = lines_collect(lines, &table, &match);
	vg_function_match_free(&match);
	vg_function_table_free(&table);
	vg_table_maker_close(&maker);
	vg_thread_samples_free(&threads);
	return rc;
}

static void lines_free(struct lines *lines)
{
	vg_array_free(&lines->rows);
	vg_frames_free(&lines->frames);
}

/* Prints the text of a source line.  Tabs become blanks, because vg_print() prints them as codes. */
static void source_print(const struct vg_terminal *terminal, const char *text, size_t bytes)
{
	char line[SOURCE_BYTES_MAX + TAB_COLUMNS];
	size_t used = 0;

	for (size_t i = 0; i < bytes && used < SOURCE_BYTES_MAX; i++) {
		if (text[i] != '\t') {
			line[used++] = text[i];
			continue;
		}
		do
			line[used++] = ' ';
		while (used % TAB_COLUMNS != 0);
	}
	line[used] = '\0';
	vg_terminal_cut(stdout, line, vg_terminal_room(terminal, SHARE_COLUMNS));
	putchar('\n');
}

/* Prints a line with or without samples.  `text` is NULL if the source file was not found. */
static void line_print(const struct lines *lines, const struct vg_annotate *annotate, const struct line *row,
		       uint32_t line, const char *text, size_t bytes)
{
	bool is_hot = row != NULL && row->self_ns > 0 && row->self_ns >= lines->weight_ns / 10;
	struct vg_text self, total;

	if (is_hot)
		vg_terminal_color(annotate->terminal, VG_COLOR_RED);
	vg_print(stdout, "%7s %7s %7" PRIu32 "  ",
		 row != NULL ? vg_text_percent(&self, row->self_ns, lines->weight_ns) : "",
		 row != NULL ? vg_text_percent(&total, row->total_ns, lines->weight_ns) : "", line);
	source_print(annotate->terminal, text != NULL ? text : "", bytes);
	if (is_hot)
		vg_terminal_color(annotate->terminal, VG_COLOR_PLAIN);
}

/* Prints the rows of one file of a function: each with the lines around it if the source file was found. */
static void file_print(const struct lines *lines, const struct vg_annotate *annotate, const struct line *rows,
		       size_t count, struct vg_source *source)
{
	uint64_t next = 1;           /* the first line that was not shown */
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		/* With 64 bits, `at` can be greater than each line of a hostile profile. */
		uint64_t line = rows[i].view.line, last = i + 1 < count ? rows[i + 1].view.line - 1 : UINT32_MAX;
		uint64_t from = source != NULL && line > CONTEXT_LINES ? line - CONTEXT_LINES : line;
		const char *text = NULL;

		if (from < next)
			from = next;
		if (i > 0 && from > next)
			vg_print(stdout, "%*s\n", SHARE_COLUMNS, "...  ");
		if (last - line > CONTEXT_LINES)
			last = line + CONTEXT_LINES;
		if (source == NULL)
			last = line;
		for (uint64_t at = from; at <= last; at++) {
			text = source != NULL ? vg_source_line(source, (uint32_t)at, &bytes) : NULL;
			if (text == NULL && at != line)
				continue;
			line_print(lines, annotate, at == line ? &rows[i] : NULL, (uint32_t)at, text, text != NULL ? bytes : 0);
		}
		next = last + 1;
	}
}

/* Prints the heading of a function, and returns the number of its rows, in all files. */
static size_t function_heading(const struct lines *lines, const struct vg_annotate *annotate, size_t first)
{
	const struct line *rows = lines->rows.items + first;
	size_t count = 0, left = lines->rows.count - first;
	uint64_t self_ns = 0, unknown_ns = 0;
	struct vg_text share, unknown;

	for (; count < left && same_function(&rows[count], rows); count++) {
		self_ns = vg_sum(self_ns, rows[count].self_ns);
		if (rows[count].view.line == 0)
			unknown_ns = vg_sum(unknown_ns, rows[count].self_ns);
	}
	vg_terminal_color(annotate->terminal, VG_COLOR_BOLD);
	vg_terminal_line(annotate->terminal, "%s%s%s%s: %s of the %s time is in its own code", rows->view.name,
			 rows->view.module != NULL ? " [" : "", rows->view.module != NULL ? rows->view.module : "",
			 rows->view.module != NULL ? "]" : "", vg_text_percent(&share, self_ns, lines->weight_ns),
			 vg_weight_name(annotate->weight));
	vg_terminal_color(annotate->terminal, VG_COLOR_PLAIN);
	if (unknown_ns > 0)
		vg_terminal_line(annotate->terminal, "%s is in code without source lines",
				 vg_text_percent(&unknown, unknown_ns, lines->weight_ns));
	return count;
}

/* Prints the lines of one file.  Returns 0 or -ENOMEM. */
static int file_annotate(const struct lines *lines, const struct vg_annotate *annotate, const struct line *rows,
			 size_t count)
{
	struct vg_source source;
	int rc = vg_source_open(&source, rows->view.file, annotate->directories, annotate->directory_count);

	if (rc == -ENOMEM)
		return rc;
	putchar('\n');
	if (rc == 0)
		vg_terminal_line(annotate->terminal, "%s", source.path);
	else
		vg_terminal_line(annotate->terminal, "%s: not found; --source DIR names the directory of the sources",
				 rows->view.file);
	vg_print(stdout, "%7s %7s %7s\n", "self", "total", "line");
	file_print(lines, annotate, rows, count, rc == 0 ? &source : NULL);
	vg_source_close(&source);
	return 0;
}

int vg_annotate(const struct vg_profile *profile, const struct vg_annotate *annotate, struct vg_err *err)
{
	struct lines lines = { 0 };
	bool has_lines = false;
	int rc = lines_build(&lines, profile, annotate);

	if (rc == 0 && lines.rows.count == 0)
		rc = vg_err_set(err, -ENOENT, "%s: no function with samples matches", annotate->function);
	for (size_t i = 0; i < lines.rows.count; i++)
		has_lines = has_lines || is_known(&lines.rows.items[i]);
	if (rc == 0 && !has_lines)
		rc = vg_err_set(err, -ENODATA, "%s: there are no source lines of this function: its binary was not found, "
				"or was compiled without -g", annotate->function);
	for (size_t first = 0, end = 0; rc == 0 && first < lines.rows.count; first = end) {
		if (first > 0)
			putchar('\n');
		end = first + function_heading(&lines, annotate, first);
		for (size_t at = first, count; rc == 0 && at < end; at += count) {
			const struct line *rows = lines.rows.items + at;

			for (count = 1; at + count < end && same_file(&rows[count], rows); count++)
				;
			if (is_known(rows))
				rc = file_annotate(&lines, annotate, rows, count);
		}
	}
	lines_free(&lines);
	return rc;
}
