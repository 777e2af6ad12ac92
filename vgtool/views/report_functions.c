/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/report_functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/print.h"
#include "base/sum.h"
#include "vgtool/analysis/function_table.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/output/progress.h"

/* Default limits for text: functions, functions of each thread, threads. */
enum { TEXT_LIMIT = 20, TEXT_THREAD_LIMIT = 3, TEXT_THREADS_MAX = 20 };

enum { THREADS_JSON_ROWS_MAX = 1 << 18 };

/* Modules without symbols are mentioned if they have at least 1 / WITHOUT_SYMBOLS_LEAST of the time.  Most programs spend
 * less in libraries whose symbols nobody needs. */
enum { WITHOUT_SYMBOLS_LEAST = 20 };

/* A narrower terminal has no column for the number of samples. */
enum { COLUMNS_WITH_SAMPLES = 100 };

struct functions {
	struct vg_report *report;
	struct vg_frames frames;
	struct vg_table_maker maker;
	bool columns_named;          /* the line with the names of the columns was printed */
	size_t json_rows;            /* rows of the threads' tables that were printed */
	bool is_incomplete;          /* JSON: rows were left out */
};

static int table_build(struct functions *functions, size_t first_thread, size_t end_thread,
		       struct vg_function_table *table)
{
	const struct vg_thread_samples *threads = &functions->report->threads;
	uint64_t first = threads->first[first_thread];

	return vg_function_table_build(table, &functions->maker, threads->order + first,
				       threads->first[end_thread] - first);
}

/* ---- JSON ---- */

static void row_json(struct functions *functions, const struct vg_function_row *row)
{
	struct vg_function_view view = vg_frames_function(&functions->frames, row->function);
	struct vg_report *report = functions->report;
	struct vg_json *json = &report->json;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "name", view.name);
	vg_json_key_string(json, "module", view.module);
	vg_json_key_string(json, "file", view.file);
	if (functions->frames.kind == VG_FRAMES_LINE)
		vg_json_key_uint(json, "line", view.line);
	vg_json_key_uint(json, vg_report_key(report, "self_ns", "self"), row->self_ns);
	vg_json_key_uint(json, vg_report_key(report, "total_ns", "total"), row->total_ns);
	vg_json_key_uint(json, "self_samples", row->self_samples);
	vg_json_key_uint(json, "total_samples", row->total_samples);
	vg_json_object_end(json);
}

/* Returns the number of rows that were printed. */
static size_t table_json(struct functions *functions, const struct vg_function_table *table, uint64_t limit)
{
	static const char *const keys[] = { "functions", "lines", "modules", "files" };
	size_t i;

	vg_report_json_sums(functions->report, table->samples, table->wall_ns, table->cpu_ns);
	vg_json_key(&functions->report->json, keys[functions->frames.kind]);
	vg_json_array_begin(&functions->report->json);
	for (i = 0; i < table->rows.count && i < limit; i++)
		row_json(functions, &table->rows.items[i]);
	vg_json_array_end(&functions->report->json);
	return i;
}

static uint64_t json_limit(const struct functions *functions)
{
	return functions->report->limit > 0 ? functions->report->limit : UINT64_MAX;
}

/* Limits the rows of all threads together: a small hostile profile may have many threads that share deep stacks. */
static void thread_table_json(struct functions *functions, const struct vg_function_table *table)
{
	size_t left = THREADS_JSON_ROWS_MAX - functions->json_rows;
	uint64_t limit = json_limit(functions);

	if (left < limit && left < table->rows.count) {
		limit = left;
		functions->is_incomplete = true;
	}
	functions->json_rows += table_json(functions, table, limit);
}

static void thread_json(struct functions *functions, uint32_t thread, const struct vg_function_table *table)
{
	const struct vg_profile *profile = functions->report->profile;
	struct vg_json *json = &functions->report->json;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key(json, "tid");
	vg_json_int(json, profile->threads.items[thread].tid);
	vg_json_key_string(json, "name", vg_profile_text(profile, profile->threads.items[thread].name));
	vg_report_json_process(functions->report, thread);
	thread_table_json(functions, table);
	vg_json_object_end(json);
}

/* ---- text ---- */

static void columns_name(struct functions *functions, bool with_samples)
{
	const char *kind = vg_frames_kind_name(functions->frames.kind);

	if (functions->columns_named)
		return;
	functions->columns_named = true;
	if (with_samples)
		vg_print(stdout, "%7s %10s %7s %10s %8s  %s\n", "self", "", "total", "", "samples", kind);
	else
		vg_print(stdout, "%7s %10s %7s %10s  %s\n", "self", "", "total", "", kind);
}

/* If the report shows CPU time first, functions that only wait are left out. */
static size_t rows_with_weight(const struct functions *functions, const struct vg_function_table *table)
{
	size_t count = table->rows.count;

	while (functions->report->is_cpu_first && count > 0 && table->rows.items[count - 1].total_ns == 0)
		count--;
	return count;
}

static void table_text(struct functions *functions, const struct vg_function_table *table, uint64_t limit)
{
	const struct vg_report *report = functions->report;
	bool with_samples = report->terminal.columns == 0 || report->terminal.columns >= COLUMNS_WITH_SAMPLES;
	size_t count = rows_with_weight(functions, table), shown = limit < count ? (size_t)limit : count;
	size_t used = with_samples ? 48 : 39;

	if (count > 0)
		columns_name(functions, with_samples);
	for (size_t i = 0; i < shown; i++) {
		const struct vg_function_row *row = &table->rows.items[i];
		struct vg_function_view view = vg_frames_function(&functions->frames, row->function);
		struct vg_text self, total, self_share, total_share;
		char samples[32] = "", line[320];

		if (with_samples)
			snprintf(samples, sizeof samples, "%7" PRIu64 "  ", row->total_samples);
		snprintf(line, sizeof line, "%7s %10s %7s %10s  %s",
			 vg_text_percent(&self_share, row->self_ns, table->weight_ns),
			 vg_report_amount(report, &self, row->self_ns),
			 vg_text_percent(&total_share, row->total_ns, table->weight_ns),
			 vg_report_amount(report, &total, row->total_ns), samples);
		vg_print(stdout, "%s", line);
		vg_report_name(report, &view, strlen(line), vg_report_is_hot(row->self_ns, table->weight_ns));
	}
	if (shown < count)
		vg_print(stdout, "%*s... and %zu more\n", (int)used, "", count - shown);
}

/* Says how much of the time has no source line. */
static void lines_text(const struct functions *functions, const struct vg_function_table *table)
{
	const struct vg_report *report = functions->report;
	struct vg_text share;
	uint64_t without = 0;

	for (size_t i = 0; i < table->rows.count; i++) {
		const struct vg_function_row *row = &table->rows.items[i];

		if (vg_frames_function(&functions->frames, row->function).line == 0)
			without = vg_sum(without, row->self_ns);
	}
	if (without == 0)
		return;
	vg_terminal_line(&report->terminal, "%s of the %s in code without source lines; only binaries compiled with -g "
			 "have source lines", vg_text_percent(&share, without, table->weight_ns),
			 report->counts != NULL ? "count is" : "time is");
	putchar('\n');
}

/* Says how much of the time is in modules without symbols, if it is much.  vg_report_heading() says it if no module has
 * symbols. */
static void modules_text(const struct functions *functions, const struct vg_function_table *table)
{
	const struct vg_report *report = functions->report;
	const struct vg_function_row *first = NULL;
	struct vg_text share;
	uint64_t without = 0;

	for (size_t i = 0; report->profile->resolved && i < table->rows.count; i++) {
		const struct vg_function_row *row = &table->rows.items[i];

		if (!vg_frames_function(&functions->frames, row->function).is_module || row->self_ns == 0)
			continue;
		without = vg_sum(without, row->self_ns);
		if (first == NULL || row->self_ns > first->self_ns)
			first = row;
	}
	if (first == NULL || without < table->weight_ns / WITHOUT_SYMBOLS_LEAST)
		return;
	vg_terminal_line(&report->terminal, "%s of the %s in modules without symbols, mostly %s; -s STORE adds symbols",
			 vg_text_percent(&share, without, table->weight_ns),
			 report->counts != NULL ? "count is" : "time is",
			 vg_frames_function(&functions->frames, first->function).name);
	putchar('\n');
}

static void overall_text(struct functions *functions, const struct vg_function_table *table)
{
	const struct vg_report *report = functions->report;
	struct vg_report_sums sums = vg_report_sums(report);

	if (!vg_report_heading(report, &sums))
		return;
	if (functions->frames.kind == VG_FRAMES_LINE)
		lines_text(functions, table);
	modules_text(functions, table);
	if (!report->is_one_thread)
		table_text(functions, table, report->limit > 0 ? report->limit : TEXT_LIMIT);
}

static void thread_text(struct functions *functions, uint32_t thread, const struct vg_function_table *table)
{
	const struct vg_report *report = functions->report;
	const struct vg_thread *of = &report->profile->threads.items[thread];
	struct vg_thread_name room;
	const char *name = vg_thread_label(report->profile, thread, &room);
	struct vg_text wall, cpu;

	if (!report->is_one_thread)
		putchar('\n');
	vg_terminal_color(&report->terminal, VG_COLOR_BOLD);
	vg_terminal_line(&report->terminal, "thread %" PRId32 "%s%s: %" PRIu64 " sample%s, %s wall, %s cpu", of->tid,
			 *name != '\0' ? " " : "", name, table->samples, vg_text_plural(table->samples),
			 vg_text_ns(&wall, table->wall_ns), vg_text_ns(&cpu, table->cpu_ns));
	vg_terminal_color(&report->terminal, VG_COLOR_PLAIN);
	table_text(functions, table, !report->is_one_thread ? TEXT_THREAD_LIMIT :
		   report->limit > 0 ? report->limit : TEXT_LIMIT);
}

/* ---- tables ---- */

static int overall_write(struct functions *functions)
{
	struct vg_function_table table;
	int rc = table_build(functions, 0, functions->report->profile->threads.count, &table);

	if (rc != 0)
		return rc;
	if (functions->report->is_json) {
		vg_report_json_heading(functions->report);
		table_json(functions, &table, json_limit(functions));
	} else {
		overall_text(functions, &table);
	}
	vg_function_table_free(&table);
	return 0;
}

static int thread_write(struct functions *functions, uint32_t thread)
{
	struct vg_function_table table;
	int rc = table_build(functions, thread, thread + 1, &table);

	if (rc != 0)
		return rc;
	if (functions->report->is_json)
		thread_json(functions, thread, &table);
	else
		thread_text(functions, thread, &table);
	vg_function_table_free(&table);
	return 0;
}

/* True if the report shows CPU time first and the thread has none.  The thread's table would have no rows. */
static bool is_idle(const struct vg_report *report, size_t thread)
{
	uint64_t cpu_ns = 0;

	for (uint64_t i = report->threads.first[thread]; i < report->threads.first[thread + 1]; i++)
		cpu_ns |= report->profile->samples.items[report->threads.order[i]].cpu_ns;
	return report->is_cpu_first && cpu_ns == 0;
}

static void threads_left_out_text(const struct vg_report *report, size_t idle, size_t left_out)
{
	if (idle > 0 || left_out > 0)
		putchar('\n');
	if (idle > 0)
		vg_terminal_line(&report->terminal, "%zu thread%s used no CPU time; %s--weight wall shows where they "
				 "wait", idle, vg_text_plural(idle), vg_report_hint(report));
	if (left_out > 0)
		vg_terminal_line(&report->terminal, "... and %zu more thread%s; --by thread lists threads, --thread "
				 "THREAD shows one", left_out, vg_text_plural(left_out));
}

/* The text shows at most TEXT_THREADS_MAX threads.  Without a filter, JSON shows threads without samples, too. */
static int threads_write(struct functions *functions)
{
	const struct vg_report *report = functions->report;
	size_t count = report->profile->threads.count, shown = 0, left_out = 0, idle = 0;
	bool with_empty = report->is_json && report->filter == NULL;
	struct vg_progress progress;
	int rc = 0;

	vg_progress_begin(&progress, "threads", count);
	for (size_t t = 0; rc == 0 && t < count && !ferror(stdout); t++) {
		vg_progress_step(&progress, t);
		if (!with_empty && report->threads.first[t] == report->threads.first[t + 1])
			continue;
		if (is_idle(report, t)) {
			idle++;
			continue;
		}
		if (!report->is_json && shown == TEXT_THREADS_MAX) {
			left_out++;
			continue;
		}
		shown++;
		rc = thread_write(functions, (uint32_t)t);
	}
	vg_progress_end(&progress);
	threads_left_out_text(report, idle, left_out);
	return rc;
}

static int functions_open(struct functions *functions, enum vg_frames_kind kind)
{
	const struct vg_report *report = functions->report;
	int rc = vg_frames_build_rows(&functions->frames, report->profile, kind, !report->is_unresolved);

	return rc != 0 ? rc : vg_table_maker_open(&functions->maker, &functions->frames, report->weight);
}

static void functions_close(struct functions *functions)
{
	vg_table_maker_close(&functions->maker);
	vg_frames_free(&functions->frames);
}

int vg_report_samples(struct vg_report *report, const uint32_t *samples, size_t count, uint64_t limit)
{
	struct functions functions = { .report = report };
	struct vg_function_table table;
	int rc = functions_open(&functions, VG_FRAMES_FUNCTION);

	if (rc == 0)
		rc = vg_function_table_build(&table, &functions.maker, samples, count);
	if (rc == 0) {
		table_text(&functions, &table, limit);
		vg_function_table_free(&table);
	}
	functions_close(&functions);
	return rc;
}

int vg_report_functions(struct vg_report *report, enum vg_frames_kind kind)
{
	struct functions functions = { .report = report };
	struct vg_json *json = &report->json;
	int rc = functions_open(&functions, kind);

	functions.maker.values = report->counts != NULL ? report->counts->by_sample : NULL;
	if (report->is_json)
		vg_json_object_begin(json);
	if (rc == 0)
		rc = overall_write(&functions);
	if (report->is_json) {
		vg_json_key(json, "threads");
		vg_json_array_begin(json);
	}
	if (rc == 0)
		rc = threads_write(&functions);
	if (report->is_json) {
		vg_json_array_end(json);
		vg_json_key(json, "incomplete");
		vg_json_bool(json, functions.is_incomplete);
		vg_json_object_end(json);
		vg_json_line(json);
	}
	functions_close(&functions);
	return rc;
}
