/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/report_intervals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

enum { TEXT_LIMIT = 20 };

static size_t rows_shown(const struct vg_interval_table *table, uint64_t limit)
{
	return limit > 0 && limit < table->rows.count ? (size_t)limit : table->rows.count;
}

static void row_json(const struct vg_report_intervals *report, struct vg_json *json,
		     const struct vg_interval_row *row)
{
	const struct vg_profile *profile = report->intervals->profile;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "kind", vg_profile_text(profile, row->kind));
	vg_json_key_string(json, "label", row->is_none ? NULL :
			   vg_interval_name(profile, row->kind, row->label));
	vg_json_key_uint(json, report->counts != NULL ? "self" : "self_ns", row->self_ns);
	vg_json_key_uint(json, report->counts != NULL ? "total" : "total_ns", row->total_ns);
	vg_json_key_uint(json, "self_samples", row->self_samples);
	vg_json_key_uint(json, "total_samples", row->total_samples);
	vg_json_object_end(json);
}

static void table_json(const struct vg_report_intervals *report, struct vg_json *json,
		       const struct vg_interval_table *table)
{
	vg_json_key_uint(json, "samples", table->samples);
	vg_json_key_uint(json, "wall_ns", table->wall_ns);
	vg_json_key_uint(json, "cpu_ns", table->cpu_ns);
	vg_json_key(json, "intervals");
	vg_json_array_begin(json);
	for (size_t i = 0; i < rows_shown(table, report->limit); i++)
		row_json(report, json, &table->rows.items[i]);
	vg_json_array_end(json);
}

static void table_text(const struct vg_report_intervals *report,
		       const struct vg_interval_table *table)
{
	const struct vg_profile *profile = report->intervals->profile;
	const char *counter = vg_perf_counts_name(report->counts);
	size_t shown = rows_shown(table, report->limit > 0 ? report->limit : TEXT_LIMIT);

	for (size_t i = 0; i < shown; i++) {
		const struct vg_interval_row *row = &table->rows.items[i];
		struct vg_text self, total, self_share, total_share;

		vg_print(stdout, "%7s %10s %7s %10s %8" PRIu64 "  %s",
			 vg_text_percent(&self_share, row->self_ns, table->weight_ns),
			 vg_amount_text(counter, &self, row->self_ns),
			 vg_text_percent(&total_share, row->total_ns, table->weight_ns),
			 vg_amount_text(counter, &total, row->total_ns), row->total_samples,
			 row->is_none ? "(no interval)" : vg_interval_name(profile, row->kind, row->label));
		if (row->kind != VG_NONE && row->label != VG_NONE)
			vg_print(stdout, "  [%s]", vg_profile_text(profile, row->kind));
		putchar('\n');
	}
	if (shown < table->rows.count)
		vg_print(stdout, "%46s  ... and %zu more\n", "", table->rows.count - shown);
}

static int overall_write(const struct vg_report_intervals *report,
			 struct vg_interval_table_maker *maker, struct vg_json *json)
{
	const struct vg_profile *profile = report->intervals->profile;
	struct vg_interval_table table;
	struct vg_text weight;
	int rc = vg_interval_table_build(&table, maker, report->threads->order,
					 report->threads->first[profile->threads.count]);

	if (rc == 0 && report->json) {
		vg_json_key_string(json, "program", vg_profile_text(profile, profile->header.program));
		vg_json_key_string(json, "weight", report->counts != NULL ? report->counts->name :
				   vg_weight_name(report->weight));
		if (report->counts != NULL)
			vg_json_key_uint(json, "counter_total", report->counts->total);
		table_json(report, json, &table);
	} else if (rc == 0) {
		vg_print(stdout, "%s: %" PRIu64 " sample%s, %s\n",
			 vg_profile_text(profile, profile->header.program), table.samples,
			 vg_text_plural(table.samples),
			 vg_amount_text_full(vg_perf_counts_name(report->counts), report->weight, &weight,
					     table.weight_ns));
		putchar('\n');
		vg_print(stdout, "%7s %10s %7s %10s %8s  interval\n", "self", "", "total", "", "samples");
		if (report->only_tid < 0)
			table_text(report, &table);
	}
	vg_interval_table_free(&table);
	return rc;
}

static int thread_write(const struct vg_report_intervals *report,
			struct vg_interval_table_maker *maker, struct vg_json *json, uint32_t t)
{
	const struct vg_profile *profile = report->intervals->profile;
	const struct vg_thread *thread = &profile->threads.items[t];
	struct vg_interval_table table;
	uint64_t first = report->threads->first[t];
	int rc = vg_interval_table_build(&table, maker, report->threads->order + first,
					 report->threads->first[t + 1] - first);

	if (rc == 0 && report->json) {
		vg_json_line(json);
		vg_json_object_begin(json);
		vg_json_key(json, "tid");
		vg_json_int(json, thread->tid);
		vg_json_key_string(json, "name", vg_profile_text(profile, thread->name));
		table_json(report, json, &table);
		vg_json_object_end(json);
	} else if (rc == 0) {
		const char *name = vg_profile_text(profile, thread->name);

		putchar('\n');
		vg_print(stdout, "thread %" PRId32 "%s%s\n", thread->tid, *name != '\0' ? " " : "", name);
		table_text(report, &table);
	}
	vg_interval_table_free(&table);
	return rc;
}

int vg_report_intervals(const struct vg_report_intervals *report)
{
	const struct vg_profile *profile = report->intervals->profile;
	struct vg_interval_table_maker maker;
	struct vg_json json;
	int rc = vg_interval_table_maker_open(&maker, report->intervals, report->weight);

	if (report->counts != NULL)
		maker.values = report->counts->by_sample;

	vg_json_open(&json, stdout);
	if (report->json)
		vg_json_object_begin(&json);
	if (rc == 0)
		rc = overall_write(report, &maker, &json);
	if (report->json) {
		vg_json_key(&json, "threads");
		vg_json_array_begin(&json);
	}
	for (uint32_t t = 0; rc == 0 && t < profile->threads.count && !ferror(stdout); t++) {
		if (report->threads->first[t] != report->threads->first[t + 1])
			rc = thread_write(report, &maker, &json, t);
	}
	if (report->json) {
		vg_json_array_end(&json);
		vg_json_object_end(&json);
		vg_json_line(&json);
	}
	vg_interval_table_maker_close(&maker);
	return rc;
}
