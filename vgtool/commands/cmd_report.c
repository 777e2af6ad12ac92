/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/print.h"
#include "vgtool/analysis/perf_counts.h"
#include "vgtool/analysis/function_table.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/output/json.h"
#include "vgtool/output/progress.h"
#include "vgtool/output/text.h"
#include "vgtool/views/report_intervals.h"

static const char usage[] =
	"usage: vgtool report [--json] [--thread TID] [--limit N] [--weight wall|cpu]\n"
	"                     [--counter NAME] [--interval LABEL] [--by function|interval]\n"
	"                     " VG_SYMBOLIZE_USAGE " PROFILE\n";

/* Default limits for text: functions, functions of each thread, threads. */
enum { TEXT_LIMIT = 20, TEXT_THREAD_LIMIT = 3, TEXT_THREADS_MAX = 20 };

struct report {
	const struct vg_profile *profile;
	struct vg_frames frames;
	struct vg_thread_samples threads;
	struct vg_table_maker maker;
	struct vg_intervals intervals; /* only with --interval or --by interval */
	const char *interval;        /* show only samples in intervals with this label; NULL: all */
	bool by_interval;            /* rows are intervals, not functions */
	const char *counter;         /* show this perf counter instead of time; NULL: time */
	struct vg_perf_counts counts;
	enum vg_weight weight;
	bool weight_given, json_asked;
	bool columns_named;          /* the line with the names of the columns was printed */
	int64_t only_tid;            /* -1: all */
	uint64_t limit;              /* 0: the default */
	struct vg_json json;
	struct vg_symbolize symbolize;
};

static size_t rows_shown(const struct vg_function_table *table, uint64_t limit)
{
	return limit > 0 && limit < table->rows.count ? (size_t)limit : table->rows.count;
}

static int thread_table(struct report *report, uint32_t thread, struct vg_function_table *table)
{
	uint64_t first = report->threads.first[thread];

	return vg_function_table_build(table, &report->maker, report->threads.order + first,
				       report->threads.first[thread + 1] - first);
}

/* The counts to report, or NULL if time is reported. */
static const struct vg_perf_counts *counts_of(const struct report *report)
{
	return report->counter != NULL ? &report->counts : NULL;
}

static bool thread_selected(const struct report *report, uint32_t thread)
{
	return report->only_tid < 0 ||
	       report->profile->threads.items[thread].tid == report->only_tid;
}

static void functions_json(struct report *report, const struct vg_function_table *table)
{
	struct vg_json *json = &report->json;

	vg_json_key(json, "functions");
	vg_json_array_begin(json);
	for (size_t i = 0; i < rows_shown(table, report->limit); i++) {
		const struct vg_function_row *row = &table->rows.items[i];
		struct vg_function_view view = vg_frames_function(&report->frames, row->function);

		vg_json_line(json);
		vg_json_object_begin(json);
		vg_json_key_string(json, "name", view.name);
		vg_json_key_string(json, "module", view.module);
		vg_json_key_string(json, "file", view.file);
		vg_json_key_uint(json, report->counter != NULL ? "self" : "self_ns", row->self_ns);
		vg_json_key_uint(json, report->counter != NULL ? "total" : "total_ns", row->total_ns);
		vg_json_key_uint(json, "self_samples", row->self_samples);
		vg_json_key_uint(json, "total_samples", row->total_samples);
		vg_json_object_end(json);
	}
	vg_json_array_end(json);
}

static void totals_json(struct vg_json *json, const struct vg_function_table *table)
{
	vg_json_key_uint(json, "samples", table->samples);
	vg_json_key_uint(json, "wall_ns", table->wall_ns);
	vg_json_key_uint(json, "cpu_ns", table->cpu_ns);
}

static const char *weight_name(const struct report *report)
{
	return report->counter != NULL ? report->counts.name : vg_weight_name(report->weight);
}

static void overall_json(struct report *report, const struct vg_function_table *table)
{
	struct vg_json *json = &report->json;

	vg_json_object_begin(json);
	vg_json_key_string(json, "program",
			   vg_profile_text(report->profile, report->profile->header.program));
	vg_json_key_string(json, "weight", weight_name(report));
	if (report->counter != NULL)
		vg_json_key_uint(json, "counter_total", report->counts.total);
	totals_json(json, table);
	functions_json(report, table);
	vg_json_key(json, "threads");
	vg_json_array_begin(json);
}

static void thread_json(struct report *report, uint32_t thread, const struct vg_function_table *table)
{
	const struct vg_thread *of = &report->profile->threads.items[thread];
	struct vg_json *json = &report->json;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key(json, "tid");
	vg_json_int(json, of->tid);
	vg_json_key_string(json, "name", vg_profile_text(report->profile, of->name));
	totals_json(json, table);
	functions_json(report, table);
	vg_json_object_end(json);
}

static void rows_text(struct report *report, const struct vg_function_table *table, uint64_t limit)
{
	const char *counter = vg_perf_counts_name(counts_of(report));
	size_t shown = rows_shown(table, limit);

	if (!report->columns_named)
		vg_print(stdout, "%7s %10s %7s %10s %8s  %s\n", "self", "", "total", "", "samples",
			 "function");
	report->columns_named = true;
	for (size_t i = 0; i < shown; i++) {
		const struct vg_function_row *row = &table->rows.items[i];
		struct vg_function_view view = vg_frames_function(&report->frames, row->function);
		struct vg_text self, total, self_share, total_share;

		vg_print(stdout, "%7s %10s %7s %10s %8" PRIu64 "  %s", vg_text_percent(&self_share,
			 row->self_ns, table->weight_ns),
			 vg_amount_text(counter, &self, row->self_ns),
			 vg_text_percent(&total_share, row->total_ns, table->weight_ns),
			 vg_amount_text(counter, &total, row->total_ns), row->total_samples,
			 view.name);
		if (view.module != NULL && !view.is_module)
			vg_print(stdout, "  [%s]", view.module);
		putchar('\n');
	}
	if (shown < table->rows.count)
		vg_print(stdout, "%46s  ... and %zu more\n", "", table->rows.count - shown);
}

static void overall_text(struct report *report, const struct vg_function_table *table)
{
	const struct vg_profile *profile = report->profile;
	const char *program = vg_profile_text(profile, profile->header.program);
	struct vg_text weight;

	vg_print(stdout, "%s: %" PRIu64 " sample%s, %s, %zu thread%s\n",
		 *program != '\0' ? program : "unknown program", table->samples,
		 vg_text_plural(table->samples),
		 vg_amount_text_full(vg_perf_counts_name(counts_of(report)), report->weight, &weight,
				     table->weight_ns),
		 profile->threads.count,
		 vg_text_plural(profile->threads.count));
	if (table->samples == 0) {
		vg_print(stdout, "no samples\n");
		return;
	}
	if (!profile->resolved)
		vg_print(stdout, "%s\n", report->symbolize.unresolved ? "not resolved: --unresolved shows addresses" :
			 "not resolved: no symbols of these builds were found; use -s STORE");
	putchar('\n');
	if (report->only_tid < 0)
		rows_text(report, table, report->limit > 0 ? report->limit : TEXT_LIMIT);
}

static void thread_text(struct report *report, uint32_t thread, const struct vg_function_table *table)
{
	const struct vg_thread *of = &report->profile->threads.items[thread];
	struct vg_text wall, cpu;

	const char *name = vg_profile_text(report->profile, of->name);

	if (report->only_tid < 0)
		putchar('\n');
	vg_print(stdout, "thread %" PRId32 "%s%s: %" PRIu64 " sample%s, %s wall, %s cpu\n", of->tid,
		 *name != '\0' ? " " : "", name, table->samples, vg_text_plural(table->samples),
		 vg_text_ns(&wall, table->wall_ns), vg_text_ns(&cpu, table->cpu_ns));
	if (report->only_tid < 0)
		rows_text(report, table, TEXT_THREAD_LIMIT);
	else
		rows_text(report, table, report->limit > 0 ? report->limit : TEXT_LIMIT);
}

static int overall_write(struct report *report)
{
	struct vg_function_table table;
	int rc = vg_function_table_build(&table, &report->maker, report->threads.order,
					 report->threads.first[report->profile->threads.count]);

	if (rc != 0)
		return rc;
	if (report->json_asked)
		overall_json(report, &table);
	else
		overall_text(report, &table);
	vg_function_table_free(&table);
	return 0;
}

static int thread_write(struct report *report, uint32_t thread)
{
	struct vg_function_table table;
	int rc = thread_table(report, thread, &table);

	if (rc != 0)
		return rc;
	if (report->json_asked)
		thread_json(report, thread, &table);
	else
		thread_text(report, thread, &table);
	vg_function_table_free(&table);
	return 0;
}

/* The text shows at most TEXT_THREADS_MAX threads, and only those with samples.  JSON shows all. */
static int threads_write(struct report *report)
{
	size_t count = report->profile->threads.count, shown = 0, left_out = 0;
	struct vg_progress progress;
	int rc = 0;

	vg_progress_begin(&progress, "threads", count);
	for (size_t t = 0; rc == 0 && t < count && !ferror(stdout); t++) {
		vg_progress_step(&progress, t);
		if (!thread_selected(report, (uint32_t)t))
			continue;
		if (!report->json_asked && report->threads.first[t] == report->threads.first[t + 1])
			continue;
		if (!report->json_asked && shown == TEXT_THREADS_MAX) {
			left_out++;
			continue;
		}
		shown++;
		rc = thread_write(report, (uint32_t)t);
	}
	vg_progress_end(&progress);
	if (left_out > 0) {
		putchar('\n');
		vg_print(stdout, "... and %zu more thread%s; use --thread TID for one, --json for all\n", left_out,
			 vg_text_plural(left_out));
	}
	return rc;
}

/* Builds the intervals.  With --interval, removes the samples that are not in intervals with this label. */
static int intervals_select(struct report *report)
{
	unsigned char *keep = NULL;
	int rc = vg_intervals_build(&report->intervals, report->profile);

	if (rc == 0 && report->interval != NULL)
		rc = vg_samples_in_interval(&report->intervals, report->interval, &keep);
	if (rc == 0 && report->interval != NULL)
		vg_thread_samples_keep(&report->threads, report->profile, keep);
	free(keep);
	return rc;
}

static int functions_write(struct report *report)
{
	int rc = report->symbolize.unresolved ? vg_frames_build(&report->frames, report->profile) :
		 vg_frames_build_by_module(&report->frames, report->profile);

	if (rc == 0)
		rc = vg_table_maker_open(&report->maker, &report->frames, report->weight);
	report->maker.values = report->counts.by_sample;
	if (rc == 0)
		rc = overall_write(report);
	if (rc == 0)
		rc = threads_write(report);
	if (rc == 0 && report->json_asked) {
		vg_json_array_end(&report->json);
		vg_json_object_end(&report->json);
		vg_json_line(&report->json);
	}
	vg_table_maker_close(&report->maker);
	vg_frames_free(&report->frames);
	return rc;
}

static int report_write(struct report *report)
{
	int rc = vg_thread_samples_build(&report->threads, report->profile, report->only_tid);

	if (rc == 0 && report->counter != NULL)
		rc = vg_perf_counts_build(&report->counts, report->profile,
					  vg_perf_counter_find(report->profile, report->counter));
	if (rc == 0 && (report->interval != NULL || report->by_interval))
		rc = intervals_select(report);
	if (rc == 0 && report->by_interval)
		rc = vg_report_intervals(&(struct vg_report_intervals){
			.intervals = &report->intervals, .threads = &report->threads,
			.weight = report->weight, .counts = counts_of(report), .only_tid = report->only_tid,
			.limit = report->limit, .json = report->json_asked });
	else if (rc == 0)
		rc = functions_write(report);
	vg_intervals_free(&report->intervals);
	vg_perf_counts_free(&report->counts);
	vg_thread_samples_free(&report->threads);
	return rc;
}

static bool thread_known(const struct report *report)
{
	for (size_t t = 0; t < report->profile->threads.count; t++) {
		if (thread_selected(report, (uint32_t)t))
			return true;
	}
	return report->only_tid < 0;
}

/* Returns a negative errno, with a message in err, if the profile lacks the wanted thread or perf counter.  Warns if
 * some threads lack the counter. */
static int profile_check(const struct report *report, const char *command, const char *path, struct vg_err *err)
{
	uint64_t without = 0;
	int rc = 0;

	if (!thread_known(report))
		return vg_err_set(err, -ESRCH, "%s: no thread %" PRId64, path, report->only_tid);
	if (report->counter != NULL)
		rc = vg_perf_counter_check(report->profile, report->counter, path, &without, err);
	if (rc == 0 && without > 0)
		vg_command_warn(command, "%s: perf counters could not be opened for %" PRIu64 " thread%s", path,
				without, vg_text_plural(without));
	return rc;
}

/* Reports one profile.  Returns the exit status. */
static int report_run(struct report *report, const char *command, const char *path)
{
	struct vg_command_profile opened;
	struct vg_err err;
	int status, rc;

	if (vg_symbolize_confine(&report->symbolize, command,
				 (struct vg_confinement){ .paths = &path, .path_count = 1 }) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	status = vg_command_open(command, path, &opened);
	if (status != VG_EXIT_DONE)
		goto out;
	rc = vg_symbolize_profile(&report->symbolize, command, &opened.profile, &err);
	/* cppcheck-suppress autoVariables ; reset below */
	report->profile = &opened.profile;
	if (!report->weight_given)
		report->weight = vg_weight_default(report->profile);
	if (rc != 0 || profile_check(report, command, opened.file.path, &err) != 0) {
		status = vg_command_fail(command, &err);
		goto out;
	}
	rc = report_write(report);
	if (rc != 0) {
		if (rc == -ESRCH)
			vg_err_set(&err, rc, "%s: no interval %s", opened.file.path, report->interval);
		else
			vg_err_sys(&err, rc, "%s: cannot make the report", opened.file.path);
		status = vg_command_fail(command, &err);
	}
out:
	report->profile = NULL;
	vg_command_close(&opened);
	return status;
}

int cmd_report(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "thread", required_argument, NULL, 't' },
		{ "limit", required_argument, NULL, 'n' },
		{ "weight", required_argument, NULL, 'w' },
		{ "counter", required_argument, NULL, 'c' },
		{ "interval", required_argument, NULL, 'i' },
		{ "by", required_argument, NULL, 'b' },
		VG_SYMBOLIZE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct report report = { .only_tid = -1 };
	uint64_t tid;
	int option, status;

	while ((option = getopt_long(argc, argv, "jt:n:w:c:i:b:s:h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			report.json_asked = true;
			break;
		case 't':
			if (!vg_number_parse(optarg, 0, INT32_MAX, &tid))
				return vg_command_bad_value(argv[0], usage, "--thread", "a thread id; use a number");
			report.only_tid = (int64_t)tid;
			break;
		case 'n':
			if (!vg_number_parse(optarg, 1, UINT64_MAX, &report.limit))
				return vg_command_bad_value(argv[0], usage, "--limit", "a number of rows; use 1 or more");
			break;
		case 'w':
			if (!vg_weight_parse(optarg, &report.weight))
				return vg_command_bad_value(argv[0], usage, "--weight", "a weight; use wall or cpu");
			report.weight_given = true;
			break;
		case 'c':
			report.counter = optarg;
			break;
		case 'i':
			report.interval = optarg;
			break;
		case 'b':
			report.by_interval = strcmp(optarg, "interval") == 0;
			if (!report.by_interval && strcmp(optarg, "function") != 0)
				return vg_command_bad_value(argv[0], usage, "--by", "a kind of row; use function or interval");
			break;
		default:
			status = vg_symbolize_option(&report.symbolize, argv[0], usage, option);
			if (status != VG_SYMBOLIZE_TAKEN)
				return status;
		}
	}
	if (argc - optind != 1)
		return vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	vg_json_open(&report.json, stdout);
	status = report_run(&report, argv[0], argv[optind]);
	vg_symbolize_free(&report.symbolize);
	return status;
}
