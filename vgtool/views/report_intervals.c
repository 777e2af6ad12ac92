/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/report_intervals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/output/text.h"

/* USED: columns of a row before the name. */
enum { TEXT_LIMIT = 20, USED = 48 };

static size_t rows_shown(const struct vg_interval_table *table, uint64_t limit)
{
	return limit > 0 && limit < table->rows.count ? (size_t)limit : table->rows.count;
}

static void row_json(struct vg_report *report, const struct vg_interval_row *row)
{
	struct vg_json *json = &report->json;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "kind", vg_profile_text(report->profile, row->kind));
	vg_json_key_string(json, "label", row->is_none ? NULL :
			   vg_interval_name(report->profile, row->kind, row->label));
	vg_json_key_uint(json, vg_report_key(report, "self_ns", "self"), row->self_ns);
	vg_json_key_uint(json, vg_report_key(report, "total_ns", "total"), row->total_ns);
	vg_json_key_uint(json, "self_samples", row->self_samples);
	vg_json_key_uint(json, "total_samples", row->total_samples);
	vg_json_object_end(json);
}

static void table_json(struct vg_report *report, const struct vg_interval_table *table)
{
	vg_report_json_sums(report, table->samples, table->wall_ns, table->cpu_ns);
	vg_json_key(&report->json, "intervals");
	vg_json_array_begin(&report->json);
	for (size_t i = 0; i < rows_shown(table, report->limit); i++)
		row_json(report, &table->rows.items[i]);
	vg_json_array_end(&report->json);
}

static void table_text(const struct vg_report *report, const struct vg_interval_table *table)
{
	const struct vg_profile *profile = report->profile;
	size_t shown = rows_shown(table, report->limit > 0 ? report->limit : TEXT_LIMIT);

	for (size_t i = 0; i < shown; i++) {
		const struct vg_interval_row *row = &table->rows.items[i];
		struct vg_function_view view = { .name = row->is_none ? "(no interval)" :
						 vg_interval_name(profile, row->kind, row->label) };
		struct vg_text self, total, self_share, total_share;
		char line[320];

		if (row->kind != VG_NONE && row->label != VG_NONE)
			view.module = vg_profile_text(profile, row->kind);
		snprintf(line, sizeof line, "%7s %10s %7s %10s %8" PRIu64 "  ",
			 vg_text_percent(&self_share, row->self_ns, table->weight_ns),
			 vg_report_amount(report, &self, row->self_ns),
			 vg_text_percent(&total_share, row->total_ns, table->weight_ns),
			 vg_report_amount(report, &total, row->total_ns), row->total_samples);
		vg_print(stdout, "%s", line);
		vg_report_name(report, &view, strlen(line), vg_report_is_hot(row->self_ns, table->weight_ns));
	}
	if (shown < table->rows.count)
		vg_print(stdout, "%*s... and %zu more\n", USED, "", table->rows.count - shown);
}

static int overall_write(struct vg_report *report, struct vg_interval_table_maker *maker)
{
	const struct vg_thread_samples *threads = &report->threads;
	struct vg_report_sums sums = vg_report_sums(report);
	struct vg_interval_table table;
	int rc = vg_interval_table_build(&table, maker, threads->order, threads->first[report->profile->threads.count]);

	if (rc == 0 && report->is_json) {
		vg_report_json_heading(report);
		table_json(report, &table);
	} else if (rc == 0 && vg_report_heading(report, &sums)) {
		vg_print(stdout, "%7s %10s %7s %10s %8s  interval\n", "self", "", "total", "", "samples");
		if (!report->is_one_thread)
			table_text(report, &table);
	}
	vg_interval_table_free(&table);
	return rc;
}

static int thread_write(struct vg_report *report, struct vg_interval_table_maker *maker, uint32_t t)
{
	const struct vg_thread *thread = &report->profile->threads.items[t];
	const char *name = vg_profile_text(report->profile, thread->name);
	struct vg_thread_name room;
	uint64_t first = report->threads.first[t];
	struct vg_interval_table table;
	int rc = vg_interval_table_build(&table, maker, report->threads.order + first,
					 report->threads.first[t + 1] - first);

	if (rc == 0 && report->is_json) {
		vg_json_line(&report->json);
		vg_json_object_begin(&report->json);
		vg_json_key(&report->json, "tid");
		vg_json_int(&report->json, thread->tid);
		vg_json_key_string(&report->json, "name", name);
		vg_report_json_process(report, t);
		table_json(report, &table);
		vg_json_object_end(&report->json);
	} else if (rc == 0) {
		name = vg_thread_label(report->profile, t, &room);
		putchar('\n');
		vg_terminal_line(&report->terminal, "thread %" PRId32 "%s%s", thread->tid,
				 *name != '\0' ? " " : "", name);
		table_text(report, &table);
	}
	vg_interval_table_free(&table);
	return rc;
}

int vg_report_intervals(struct vg_report *report, const struct vg_intervals *intervals)
{
	struct vg_interval_table_maker maker;
	struct vg_json *json = &report->json;
	int rc = vg_interval_table_maker_open(&maker, intervals, report->weight);

	if (report->counts != NULL)
		maker.values = report->counts->by_sample;
	if (report->is_json)
		vg_json_object_begin(json);
	if (rc == 0)
		rc = overall_write(report, &maker);
	if (report->is_json) {
		vg_json_key(json, "threads");
		vg_json_array_begin(json);
	}
	for (uint32_t t = 0; rc == 0 && t < report->profile->threads.count && !ferror(stdout); t++) {
		if (report->threads.first[t] != report->threads.first[t + 1])
			rc = thread_write(report, &maker, t);
	}
	if (report->is_json) {
		vg_json_array_end(json);
		vg_json_object_end(json);
		vg_json_line(json);
	}
	vg_interval_table_maker_close(&maker);
	return rc;
}
