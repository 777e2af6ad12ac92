/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/report_threads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "base/sum.h"
#include "vgtool/analysis/thread_names.h"

enum { TEXT_LIMIT = 20 };

struct row {
	uint32_t index;              /* of the thread or process */
	uint64_t weight, wall_ns, cpu_ns, samples, threads;
};

struct rows {
	bool by_process;
	VG_ARRAY(struct row) rows;
};

static int by_weight(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	return left->index < right->index ? -1 : 1;
}

static struct row row_make(const struct vg_report *report, uint32_t thread)
{
	struct row row = { .index = thread, .threads = 1 };

	for (uint64_t i = report->threads.first[thread]; i < report->threads.first[thread + 1]; i++) {
		uint32_t index = report->threads.order[i];
		const struct vg_sample *sample = &report->profile->samples.items[index];

		row.samples = vg_sum(row.samples, sample->count);
		row.wall_ns = vg_sum(row.wall_ns, sample->wall_ns);
		row.cpu_ns = vg_sum(row.cpu_ns, sample->cpu_ns);
		row.weight = vg_sum(row.weight, report->counts != NULL ? report->counts->by_sample[index] :
				    vg_weight_of(sample, report->weight));
	}
	return row;
}

/* The threads of a process follow each other. */
static bool row_merge(const struct vg_report *report, struct rows *rows, const struct row *thread)
{
	uint32_t process = report->profile->threads.items[thread->index].process;
	struct row *row = rows->rows.count > 0 ? &rows->rows.items[rows->rows.count - 1] : NULL;

	if (!rows->by_process || row == NULL || row->index != process)
		return false;
	row->weight = vg_sum(row->weight, thread->weight);
	row->wall_ns = vg_sum(row->wall_ns, thread->wall_ns);
	row->cpu_ns = vg_sum(row->cpu_ns, thread->cpu_ns);
	row->samples = vg_sum(row->samples, thread->samples);
	row->threads++;
	return true;
}

static int rows_build(const struct vg_report *report, struct rows *rows)
{
	int rc = 0;

	for (uint32_t t = 0; rc == 0 && t < report->profile->threads.count; t++) {
		struct row row;

		if (report->threads.first[t] == report->threads.first[t + 1])
			continue;
		row = row_make(report, t);
		if (row_merge(report, rows, &row))
			continue;
		if (rows->by_process)
			row.index = report->profile->threads.items[t].process;
		rc = vg_array_push(&rows->rows, &row);
	}
	if (rows->rows.count > 1)
		qsort(rows->rows.items, rows->rows.count, sizeof *rows->rows.items, by_weight);
	return rc;
}

static int32_t row_id(const struct vg_report *report, const struct rows *rows, const struct row *row)
{
	return rows->by_process ? report->profile->processes.items[row->index].pid :
	       report->profile->threads.items[row->index].tid;
}

static const char *row_name(const struct vg_report *report, const struct rows *rows, const struct row *row)
{
	return vg_profile_text(report->profile, rows->by_process ? report->profile->processes.items[row->index].name :
			       report->profile->threads.items[row->index].name);
}

static void rows_json(struct vg_report *report, const struct rows *rows, size_t shown)
{
	struct vg_report_sums sums = vg_report_sums(report);
	struct vg_json *json = &report->json;

	vg_json_object_begin(json);
	vg_report_json_heading(report);
	vg_report_json_sums(report, sums.samples, sums.wall_ns, sums.cpu_ns);
	vg_json_key(json, rows->by_process ? "processes" : "threads");
	vg_json_array_begin(json);
	for (size_t i = 0; i < shown; i++) {
		const struct row *row = &rows->rows.items[i];

		vg_json_line(json);
		vg_json_object_begin(json);
		vg_json_key(json, rows->by_process ? "pid" : "tid");
		vg_json_int(json, row_id(report, rows, row));
		vg_json_key_string(json, "name", row_name(report, rows, row));
		if (rows->by_process)
			vg_json_key_uint(json, "threads", row->threads);
		else
			vg_report_json_process(report, row->index);
		vg_report_json_sums(report, row->samples, row->wall_ns, row->cpu_ns);
		if (report->counts != NULL)
			vg_json_key_uint(json, "total", row->weight);
		vg_json_object_end(json);
	}
	vg_json_array_end(json);
	vg_json_object_end(json);
	vg_json_line(json);
}

static void rows_text(const struct vg_report *report, const struct rows *rows, size_t shown)
{
	struct vg_report_sums sums = vg_report_sums(report);
	enum { USED = 41 };

	if (!vg_report_heading(report, &sums))
		return;
	vg_print(stdout, "%7s %10s %10s %10s  %s\n", "share", report->counts != NULL ? "count" : "wall",
		 "cpu", "samples", rows->by_process ? "process" : "thread");
	for (size_t i = 0; i < shown; i++) {
		const struct row *row = &rows->rows.items[i];
		struct vg_thread_name room;
		const char *name = rows->by_process ? row_name(report, rows, row) :
				   vg_thread_label(report->profile, row->index, &room);
		struct vg_text share, first, cpu;
		char line[320];

		snprintf(line, sizeof line, "%7s %10s %10s %10" PRIu64 "  %" PRId32 "%s",
			 vg_text_percent(&share, row->weight, sums.weight),
			 report->counts != NULL ? vg_report_amount(report, &first, row->weight) :
			 vg_text_ns(&first, row->wall_ns), vg_text_ns(&cpu, row->cpu_ns), row->samples,
			 row_id(report, rows, row), *name != '\0' ? " " : "");
		vg_print(stdout, "%s", line);
		vg_terminal_fit(stdout, name, vg_terminal_room(&report->terminal, strlen(line)));
		putchar('\n');
	}
	if (shown < rows->rows.count)
		vg_print(stdout, "%*s... and %zu more\n", USED, "", rows->rows.count - shown);
}

int vg_report_threads(struct vg_report *report, bool by_process)
{
	struct rows rows = { .by_process = by_process };
	uint64_t limit = report->limit > 0 ? report->limit : report->is_json ? UINT64_MAX : TEXT_LIMIT;
	int rc = rows_build(report, &rows);
	size_t shown = limit < rows.rows.count ? (size_t)limit : rows.rows.count;

	if (rc == 0 && report->is_json)
		rows_json(report, &rows, shown);
	else if (rc == 0)
		rows_text(report, &rows, shown);
	vg_array_free(&rows.rows);
	return rc;
}
