/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "vgtool/analysis/measures.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/output/json.h"
#include "vgtool/output/progress.h"
#include "vgtool/output/text.h"

static const char usage[] =
	"usage: vgtool aggregate [--json] [--weight wall|cpu] [--limit N]\n"
	"                        [-s STORE]... [--debuginfod] [--unresolved]\n"
	"                        [--no-instruction-frames] PROFILE...\n";

/* Default of --limit for text.  By default JSON has all rows. */
enum { TEXT_LIMIT = 20 };

/* A row with its sums over all profiles. */
struct sum {
	const struct vg_measure_row *row;
	struct vg_spread self, total, count;
	size_t profiles;             /* number of profiles that have the row */
};

struct request {
	const char *command;
	const char *path;            /* of the profile that is being added */
	bool json_asked;
	uint64_t limit;              /* 0: the default */
	struct vg_symbolize symbolize;
	struct vg_measures measures;
	VG_ARRAY(struct sum) sums;
};

static int profile_add(void *context, struct vg_profile *profile, struct vg_err *err)
{
	struct request *request = context;
	int rc = vg_symbolize_profile(&request->symbolize, request->command, profile, err);

	return rc != 0 ? rc : vg_measures_add(&request->measures, profile, request->path, err);
}

static int sum_compare(const void *a, const void *b)
{
	const struct sum *left = a, *right = b;
	int order = (int)vg_measure_group(left->row) - (int)vg_measure_group(right->row);

	if (order != 0)
		return order;
	if (left->self.sum != right->self.sum)
		return left->self.sum < right->self.sum ? 1 : -1;
	if (left->total.sum != right->total.sum)
		return left->total.sum < right->total.sum ? 1 : -1;
	order = strcmp(left->row->name, right->row->name);
	return order != 0 ? order : (left->row > right->row) - (left->row < right->row);
}

static int sums_build(struct request *request)
{
	const struct vg_measures *measures = &request->measures;

	for (size_t i = 0; i < measures->rows.count; i++) {
		const struct vg_measure_row *row = &measures->rows.items[i];
		struct sum sum = {
			.row = row, .profiles = row->count,
			.self = vg_measures_spread(measures, row, VG_MEASURE_SELF, 0, measures->runs),
			.total = vg_measures_spread(measures, row, VG_MEASURE_TOTAL, 0, measures->runs),
			.count = vg_measures_spread(measures, row, VG_MEASURE_COUNT, 0, measures->runs),
		};

		if (row->count > 0 && vg_array_push(&request->sums, &sum) != 0)
			return -ENOMEM;
	}
	if (request->sums.count > 1)
		qsort(request->sums.items, request->sums.count, sizeof *request->sums.items, sum_compare);
	return 0;
}

static void spread_json(struct vg_json *json, const char *key, const struct vg_spread *spread)
{
	vg_json_key(json, key);
	vg_json_object_begin(json);
	vg_json_key(json, "sum");
	vg_json_real(json, spread->sum);
	vg_json_key(json, "mean");
	vg_json_real(json, spread->mean);
	vg_json_key(json, "deviation");
	vg_json_real(json, vg_spread_deviation(spread));
	vg_json_key(json, "min");
	vg_json_real(json, spread->min);
	vg_json_key(json, "max");
	vg_json_real(json, spread->max);
	vg_json_object_end(json);
}

static void sum_json(struct vg_json *json, const struct sum *sum)
{
	static const char *const types[] = {
		[VG_MEASURE_WHOLE] = "all", [VG_MEASURE_INTERVAL] = "interval",
		[VG_MEASURE_DETACHED] = "detached", [VG_MEASURE_FUNCTION] = "function",
	};

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "type", types[sum->row->type]);
	vg_json_key_string(json, "name", sum->row->name);
	vg_json_key_string(json, sum->row->type == VG_MEASURE_FUNCTION ? "module" : "kind",
			   sum->row->origin);
	vg_json_key_uint(json, "profiles", sum->profiles);
	spread_json(json, "self_ns", &sum->self);
	spread_json(json, "total_ns", &sum->total);
	spread_json(json, "count", &sum->count);
	vg_json_object_end(json);
}

static void sums_json(const struct request *request)
{
	struct vg_measure_limit limit = { .limit = request->limit };
	struct vg_json json;

	vg_json_open(&json, stdout);
	vg_json_object_begin(&json);
	vg_json_key_uint(&json, "profiles", request->measures.runs);
	vg_json_key_string(&json, "weight", vg_weight_name(request->measures.weight));
	vg_json_key(&json, "rows");
	vg_json_array_begin(&json);
	for (size_t i = 0; i < request->sums.count && !ferror(stdout); i++) {
		if (vg_measure_shown(&limit, request->sums.items[i].row))
			sum_json(&json, &request->sums.items[i]);
	}
	vg_json_array_end(&json);
	vg_json_object_end(&json);
	vg_json_line(&json);
}

static const char *real_ns(struct vg_text *room, double ns)
{
	return vg_text_ns(room, ns < 1e19 ? (uint64_t)ns : UINT64_MAX);
}

static void sum_text(const struct request *request, const struct sum *sum)
{
	struct vg_text self, mean, deviation, least, most, total;

	vg_print(stdout, "%10s %10s %10s %10s %10s %10s %5zu/%-5" PRIu32 " %s", real_ns(&self, sum->self.sum),
		 real_ns(&mean, sum->self.mean), real_ns(&deviation, vg_spread_deviation(&sum->self)),
		 real_ns(&least, sum->self.min), real_ns(&most, sum->self.max),
		 real_ns(&total, sum->total.sum), sum->profiles, request->measures.runs,
		 sum->row->name);
	if (sum->row->origin != NULL)
		vg_print(stdout, "  [%s]", sum->row->origin);
	if (sum->row->type == VG_MEASURE_DETACHED)
		fputs("  detached", stdout);
	putchar('\n');
}

static void sums_text(const struct request *request)
{
	struct vg_measure_limit limit = { .limit = request->limit > 0 ? request->limit : TEXT_LIMIT };
	uint64_t left_out = 0;

	vg_print(stdout, "%10s %10s %10s %10s %10s %10s %11s\n", "self", "mean", "deviation", "least", "most",
		 "total", "profiles");
	for (size_t i = 0; i < request->sums.count && !ferror(stdout); i++) {
		const struct sum *sum = &request->sums.items[i];

		if (vg_measure_shown(&limit, sum->row))
			sum_text(request, sum);
		else
			left_out++;
	}
	if (left_out > 0)
		vg_print(stdout, "%77s ... and %" PRIu64 " more\n", "", left_out);
}

/* A profile that cannot be read is left out.  A profile that cannot be compared with the others ends the
 * command. */
static int request_run(struct request *request, char **paths, int count)
{
	int status = VG_EXIT_DONE, rc;
	struct vg_progress progress;
	struct vg_err err;

	if (vg_symbolize_confine(&request->symbolize, request->command, (struct vg_confinement){
		.paths = (const char *const *)paths, .path_count = (size_t)count,
	}) != VG_EXIT_DONE)
		return VG_EXIT_FAILED;
	vg_progress_begin(&progress, "profiles", (uint64_t)count);
	for (int i = 0; i < count && !request->measures.incomparable; i++) {
		vg_progress_step(&progress, (uint64_t)i);
		request->path = paths[i];
		if (vg_command_with_profile(request->command, paths[i], profile_add, request) != VG_EXIT_DONE)
			status = VG_EXIT_FAILED;
	}
	vg_progress_end(&progress);
	if (request->measures.runs == 0 || request->measures.incomparable)
		return status;
	rc = vg_measures_finish(&request->measures);
	if (rc == 0)
		rc = sums_build(request);
	if (rc != 0) {
		vg_err_sys(&err, rc, "cannot add up the profiles");
		return vg_command_fail(request->command, &err);
	}
	if (request->measures.changed_module != NULL)
		vg_command_warn(request->command, "%s: has no symbols, and its build differs between the profiles; "
				"resolve the profiles to compare its functions", request->measures.changed_module);
	(request->json_asked ? sums_json : sums_text)(request);
	return status;
}

static const struct vg_option options[] = {
	VG_OPTION_JSON,
	VG_OPTION_WEIGHT("the profile's mode"),
	VG_OPTION_LIMIT,
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;

	switch (value->key) {
	case 'j': request->json_asked = true; break;
	case 'w':
		request->measures.weight_given = true;
		request->measures.weight = (enum vg_weight)value->number;
		break;
	case 'n': request->limit = value->number; break;
	}
	return vg_symbolize_set(&request->symbolize, value, err);
}

int cmd_aggregate(int argc, char **argv)
{
	struct request request = { .command = argv[0] };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int status = vg_command_line_read(&line, argc, argv);

	if (status == VG_COMMAND_LINE_READ)
		status = optind < argc ? request_run(&request, argv + optind, argc - optind) :
			 vg_command_usage_error(argv[0], usage, "expected a PROFILE");
	vg_symbolize_free(&request.symbolize);
	vg_array_free(&request.sums);
	vg_measures_free(&request.measures);
	return status;
}
