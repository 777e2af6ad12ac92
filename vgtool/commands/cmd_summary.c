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
#include "vgtool/analysis/summary.h"
#include "vgtool/commands/command.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/profiles.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

static const char usage[] = "usage: vgtool summary [--json] [--threads] [--percent-above PERCENT] PROFILE...\n";

struct request {
	const char *command;
	bool json_asked;
	double percent_above;        /* show intervals with more than this percentage of all self time;
	                                below 0: show all */
	uint64_t profiles;           /* number of profiles that could be read */
	struct vg_summary summary;
	uint64_t left_out;           /* number of rows that were not shown */
};

static double percent_of(const struct request *request, const struct vg_summary_row *row)
{
	return request->summary.self_ns > 0 ?
	       100.0 * (double)row->self_ns / (double)request->summary.self_ns : 0;
}

static bool has_times(const struct vg_summary_row *row)
{
	return row->type == VG_SUMMARY_INTERVAL || row->type == VG_SUMMARY_DETACHED;
}

static bool row_shown(const struct request *request, const struct vg_summary_row *row)
{
	return !has_times(row) || request->percent_above < 0 ||
	       percent_of(request, row) > request->percent_above;
}

static int profile_add(void *context, struct vg_profile *profile, struct vg_err *err)
{
	struct request *request = context;
	struct vg_intervals intervals = { 0 };
	int rc = vg_intervals_build(&intervals, profile);

	(void)err;
	if (rc == 0)
		rc = vg_summary_add(&request->summary, &intervals);
	vg_intervals_free(&intervals);
	request->profiles += rc == 0;
	return rc;
}

static void counts_json(const struct request *request, struct vg_json *json,
			const struct vg_summary_row *row)
{
	if (request->summary.perf_counter_count == 0 || row->type != VG_SUMMARY_INTERVAL)
		return;
	vg_json_key(json, "perf_counters");
	vg_json_object_begin(json);
	for (uint32_t i = 0; i < request->summary.perf_counter_count; i++) {
		vg_json_key(json, request->summary.perf_counters[i]);
		vg_json_object_begin(json);
		vg_json_key_uint(json, "self", row->counts[i].self);
		vg_json_key_uint(json, "total", row->counts[i].total);
		vg_json_object_end(json);
	}
	vg_json_object_end(json);
}

static void interval_json(const struct request *request, struct vg_json *json,
			  const struct vg_summary_row *row)
{
	vg_json_key(json, "detached");
	vg_json_bool(json, row->type == VG_SUMMARY_DETACHED);
	vg_json_key_uint(json, "count", row->count);
	vg_json_key_uint(json, "open", row->open);
	vg_json_key_uint(json, "end_lost", row->end_lost);
	vg_json_key_uint(json, "self_ns", row->self_ns);
	vg_json_key(json, "self_percent");
	vg_json_real(json, percent_of(request, row));
	vg_json_key_uint(json, "total_ns", row->total_ns);
	vg_json_key_uint(json, "mean_ns", row->length_ns / row->count);
	vg_json_key_uint(json, "min_ns", row->min_ns);
	vg_json_key_uint(json, "p50_ns", row->p50_ns);
	vg_json_key_uint(json, "p99_ns", row->p99_ns);
	vg_json_key_uint(json, "max_ns", row->max_ns);
	counts_json(request, json, row);
}

static void counter_json(struct vg_json *json, const struct vg_summary_row *row)
{
	vg_json_key(json, "min");
	vg_json_int(json, row->min_value);
	vg_json_key(json, "max");
	vg_json_int(json, row->max_value);
	vg_json_key(json, "last");
	vg_json_int(json, row->last_value);
}

static void row_json(const struct request *request, struct vg_json *json,
		     const struct vg_summary_row *row)
{
	vg_json_line(json);
	vg_json_object_begin(json);
	if (request->summary.by_thread)
		vg_json_key_string(json, "thread", row->thread);
	vg_json_key_string(json, "kind", row->kind);
	vg_json_key_string(json, "label", row->label);
	if (has_times(row))
		interval_json(request, json, row);
	else
		vg_json_key_uint(json, "count", row->count);
	if (row->type == VG_SUMMARY_COUNTER)
		counter_json(json, row);
	vg_json_object_end(json);
}

/* Writes the rows of one type.  VG_SUMMARY_INTERVAL includes detached intervals. */
static void rows_json(const struct request *request, struct vg_json *json, const char *key,
		      enum vg_summary_type type)
{
	vg_json_key(json, key);
	vg_json_array_begin(json);
	for (size_t i = 0; i < request->summary.rows.count; i++) {
		const struct vg_summary_row *row = &request->summary.rows.items[i];

		if ((row->type == type || (has_times(row) && type == VG_SUMMARY_INTERVAL)) &&
		    row_shown(request, row))
			row_json(request, json, row);
	}
	vg_json_array_end(json);
}

static void summary_json(const struct request *request)
{
	const struct vg_summary *summary = &request->summary;
	struct vg_json json;

	vg_json_open(&json, stdout);
	vg_json_object_begin(&json);
	vg_json_key_uint(&json, "profiles", request->profiles);
	vg_json_key_uint(&json, "self_ns", summary->self_ns);
	vg_json_key_uint(&json, "events_dropped", summary->dropped);
	vg_json_key_uint(&json, "ends_without_begin", summary->ends_orphaned);
	vg_json_key_uint(&json, "begins_repeated", summary->begins_repeated);
	vg_json_key_uint(&json, "times_out_of_order", summary->times_out_of_order);
	rows_json(request, &json, "intervals", VG_SUMMARY_INTERVAL);
	rows_json(request, &json, "instants", VG_SUMMARY_INSTANT);
	rows_json(request, &json, "counters", VG_SUMMARY_COUNTER);
	vg_json_object_end(&json);
	vg_json_line(&json);
}

static void counts_text(const struct request *request, const struct vg_summary_row *row)
{
	for (uint32_t i = 0; i < request->summary.perf_counter_count; i++) {
		struct vg_text self, total;
		const char *name = request->summary.perf_counters[i];

		if (row->type == VG_SUMMARY_DETACHED)
			vg_print(stdout, " %10s %10s", "-", "-");
		else
			vg_print(stdout, " %10s %10s", vg_amount_text(name, &self, row->counts[i].self),
				 vg_amount_text(name, &total, row->counts[i].total));
	}
}

/* The name of a perf counter is in a line above its two columns. */
static void head_text(const struct vg_summary *summary)
{
	if (summary->perf_counter_count > 0)
		vg_print(stdout, "%81s", "");
	for (uint32_t i = 0; i < summary->perf_counter_count; i++)
		vg_print(stdout, " %21.21s", summary->perf_counters[i]);
	if (summary->perf_counter_count > 0)
		putchar('\n');
	vg_print(stdout, "%7s %10s %10s %8s %10s %10s %10s %10s", "self",
		 "", "total", "count", "mean", "median", "99%", "longest");
	for (uint32_t i = 0; i < summary->perf_counter_count; i++)
		vg_print(stdout, " %10s %10s", "self", "total");
	vg_print(stdout, "  label\n");
}

static void interval_text(const struct request *request, const struct vg_summary_row *row)
{
	struct vg_text share, self, total, mean, p50, p99, max;

	vg_print(stdout, "%7s %10s %10s %8" PRIu64 " %10s %10s %10s %10s",
		 vg_text_percent(&share, row->self_ns, request->summary.self_ns),
		 vg_text_ns(&self, row->self_ns), vg_text_ns(&total, row->total_ns), row->count,
		 vg_text_ns(&mean, row->length_ns / row->count), vg_text_ns(&p50, row->p50_ns),
		 vg_text_ns(&p99, row->p99_ns), vg_text_ns(&max, row->max_ns));
	counts_text(request, row);
	vg_print(stdout, "  %s", row->label);
	if (row->kind != NULL && row->kind != row->label && strcmp(row->kind, row->label) != 0)
		vg_print(stdout, "  [%s]", row->kind);
	if (row->type == VG_SUMMARY_DETACHED)
		fputs("  detached", stdout);
	if (row->open > 0)
		vg_print(stdout, "  %" PRIu64 " still open", row->open);
	if (row->end_lost > 0)
		vg_print(stdout, "  %" PRIu64 " without end", row->end_lost);
	putchar('\n');
}

static void other_text(const struct vg_summary_row *row)
{
	vg_print(stdout, "%37" PRIu64 "  %s", row->count, row->label);
	if (row->kind != NULL && strcmp(row->kind, row->label) != 0)
		vg_print(stdout, "  [%s]", row->kind);
	if (row->type == VG_SUMMARY_COUNTER)
		vg_print(stdout, "  %" PRId64 " to %" PRId64 ", last %" PRId64, row->min_value, row->max_value,
			 row->last_value);
	else
		fputs("  instant", stdout);
	putchar('\n');
}

static void thread_head(const char *thread)
{
	putchar('\n');
	vg_print(stdout, "%s:\n", thread);
}

static void summary_text(struct request *request)
{
	const struct vg_summary *summary = &request->summary;
	const char *thread = NULL;

	if (summary->rows.count == 0) {
		vg_print(stdout, "no events: the program recorded none\n");
		return;
	}
	head_text(summary);
	for (size_t i = 0; i < summary->rows.count && !ferror(stdout); i++) {
		const struct vg_summary_row *row = &summary->rows.items[i];

		if (!row_shown(request, row)) {
			request->left_out++;
			continue;
		}
		if (row->thread != NULL && (thread == NULL || strcmp(thread, row->thread) != 0))
			thread_head(row->thread);
		thread = row->thread;
		if (has_times(row))
			interval_text(request, row);
		else
			other_text(row);
	}
	if (request->left_out > 0)
		vg_print(stdout, "%37s  ... and %" PRIu64 " below %g%%\n", "", request->left_out,
			 request->percent_above);
}

static void losses_warn(const struct request *request)
{
	const struct vg_summary *summary = &request->summary;

	if (summary->dropped > 0)
		vg_command_warn(request->command, "%" PRIu64 " event%s dropped; the times of intervals without an "
				"end are estimates", summary->dropped, summary->dropped == 1 ? " was" : "s were");
	if (summary->ends_orphaned > 0)
		vg_command_warn(request->command, "left out %" PRIu64 " end event%s without a begin event",
				summary->ends_orphaned, vg_text_plural(summary->ends_orphaned));
}

static int request_run(struct request *request, struct vg_profiles *profiles)
{
	int status = VG_EXIT_DONE;

	if (vg_command_confine(request->command, &(struct vg_confinement){
		.paths = profiles->paths.items, .path_count = profiles->paths.count,
	}) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	for (size_t i = 0; i < profiles->paths.count; i++) {
		if (vg_command_with_profile(request->command, profiles->paths.items[i], profile_add, request) !=
		    VG_EXIT_DONE && !profiles->from_directory.items[i])
			status = VG_EXIT_FAILED;
	}
	if (request->profiles == 0)
		return VG_EXIT_FAILED;
	vg_summary_finish(&request->summary);
	losses_warn(request);
	if (request->json_asked)
		summary_json(request);
	else
		summary_text(request);
	return status;
}

static int arguments_run(struct request *request, char **arguments, int count)
{
	struct vg_profiles profiles = { 0 };
	struct vg_err err;
	int status = vg_profiles_list(&profiles, (const char *const *)arguments, (size_t)count, &err) == 0 ?
		     request_run(request, &profiles) : vg_command_fail(request->command, &err);

	vg_profiles_free(&profiles);
	return status;
}

static const struct vg_option options[] = {
	VG_OPTION_JSON,
	{ 'T', "threads", VG_OPTION_FLAG, .help = "show each thread on its own", .is_short = 1 },
	{ 'p', "percent-above", VG_OPTION_TEXT, "PERCENT", .unit = "0 or more percent", .by_default = "0",
	  .help = "leave out smaller rows: 0 or more", .is_short = 1 },
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	switch (value->key) {
	case 'j': request->json_asked = true; break;
	case 'T': request->summary.by_thread = true; break;
	case 'p':
		if (!vg_number_percent(value->text, &request->percent_above))
			return vg_err_set(err, -EINVAL, "--percent-above %s: must be 0 or more percent", value->text);
		break;
	}
	return 0;
}

int cmd_summary(int argc, char **argv)
{
	struct request request = { .command = argv[0], .percent_above = -1 };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	if (status == VG_COMMAND_LINE_READ)
		status = optind < argc ? arguments_run(&request, argv + optind, argc - optind) :
			 vg_command_usage_error(argv[0], usage, "expected a PROFILE");
	vg_summary_free(&request.summary);
	return status;
}
