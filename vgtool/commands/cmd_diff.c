/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/print.h"
#include "vgtool/analysis/changes.h"
#include "vgtool/commands/symbolize.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

static const char usage[] =
	"usage: vgtool diff [--json] [--weight wall|cpu] [--by self|total] [--limit N]\n"
	"                   [--fail-above PERCENT] [--at-least PERCENT]\n"
	"                   " VG_SYMBOLIZE_USAGE " A B\n"
	"       vgtool diff [OPTION]... A... -- B...\n";

/* Default of --limit for text.  By default JSON has all rows. */
enum { TEXT_LIMIT = 20 };

/* Exit status 1 means that a row grew.  So other failures have exit status 3. */
enum { EXIT_GREW = 1, EXIT_UNREADABLE = 3 };

struct request {
	const char *command;
	const char *path;            /* of the profile that is being added */
	bool json_asked;
	uint64_t limit;              /* 0: the default */
	struct vg_symbolize symbolize;
	struct vg_measures measures;
	struct vg_changes changes;
};

static int profile_add(void *context, struct vg_profile *profile, struct vg_err *err)
{
	struct request *request = context;
	int rc = vg_symbolize_profile(&request->symbolize, request->command, profile, err);

	return rc != 0 ? rc : vg_measures_add(&request->measures, profile, request->path, err);
}

static int profiles_add(struct request *request, char **paths, int count)
{
	int status = VG_EXIT_DONE;

	for (int i = 0; i < count && status == VG_EXIT_DONE; i++) {
		request->path = paths[i];
		status = vg_command_with_profile(request->command, paths[i], profile_add, request);
	}
	return status;
}

static const char *type_text(enum vg_measure_type type)
{
	switch (type) {
	case VG_MEASURE_WHOLE: return "all";
	case VG_MEASURE_INTERVAL: return "interval";
	case VG_MEASURE_DETACHED: return "detached";
	case VG_MEASURE_FUNCTION: return "function";
	}
	return "";
}

static void side_json(struct vg_json *json, const char *key, const struct vg_spread *a,
		      const struct vg_spread *b, const struct vg_spread_change *change)
{
	double percent = vg_change_percent(a, b);

	vg_json_key(json, key);
	vg_json_object_begin(json);
	vg_json_key(json, "a");
	vg_json_real(json, a->mean);
	vg_json_key(json, "b");
	vg_json_real(json, b->mean);
	vg_json_key(json, "change");
	vg_json_real(json, change->change);
	vg_json_key(json, "percent");
	vg_json_real(json, percent);
	vg_json_key(json, "margin");
	vg_json_real(json, change->has_margin ? change->margin : NAN);
	vg_json_object_end(json);
}

static void change_json(struct vg_json *json, const struct vg_change *change)
{
	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "type", type_text(change->row->type));
	vg_json_key_string(json, "name", change->row->name);
	vg_json_key_string(json, change->row->type == VG_MEASURE_FUNCTION ? "module" : "kind",
			   change->row->origin);
	side_json(json, "self_ns", &change->self_a, &change->self_b, &change->self);
	side_json(json, "total_ns", &change->total_a, &change->total_b, &change->total);
	vg_json_key(json, "count_a");
	vg_json_real(json, change->count_a.mean);
	vg_json_key(json, "count_b");
	vg_json_real(json, change->count_b.mean);
	vg_json_key(json, "fails");
	vg_json_bool(json, change->fails);
	vg_json_object_end(json);
}

static void changes_json(const struct request *request)
{
	const struct vg_changes *changes = &request->changes;
	struct vg_measure_limit limit = { .limit = request->limit };
	struct vg_json json;

	vg_json_open(&json, stdout);
	vg_json_object_begin(&json);
	vg_json_key_uint(&json, "profiles_a", changes->runs_a);
	vg_json_key_uint(&json, "profiles_b", changes->runs_b);
	vg_json_key_string(&json, "weight", vg_weight_name(request->measures.weight));
	vg_json_key_uint(&json, "failed", changes->failed);
	vg_json_key(&json, "changes");
	vg_json_array_begin(&json);
	for (size_t i = 0; i < changes->items.count && !ferror(stdout); i++) {
		const struct vg_change *change = &changes->items.items[i];

		if (vg_measure_shown(&limit, change->row) || change->fails)
			change_json(&json, change);
	}
	vg_json_array_end(&json);
	vg_json_object_end(&json);
	vg_json_line(&json);
}

/* "-1.00 s", "+1.00 s" or "0 s". */
static const char *signed_ns(struct vg_text *room, double ns)
{
	struct vg_text plain;
	double size = fabs(ns);

	snprintf(room->text, sizeof room->text, "%s%s", ns < 0 ? "-" : ns > 0 ? "+" : "",
		 vg_text_ns(&plain, size < 1e19 ? (uint64_t)size : UINT64_MAX));
	return room->text;
}

static const char *percent_text(struct vg_text *room, double percent)
{
	if (isinf(percent))
		snprintf(room->text, sizeof room->text, "new");
	else if (percent >= 1e6)
		snprintf(room->text, sizeof room->text, "> 1e6%%");
	else
		snprintf(room->text, sizeof room->text, "%+.1f%%", percent);
	return room->text;
}

/* `signed_ns(...) + (ns > 0)` leaves out the plus sign: only the column of the change has one. */
static void change_text(const struct request *request, const struct vg_change *change)
{
	bool by_total = request->changes.by_total;
	const struct vg_spread *a = by_total ? &change->total_a : &change->self_a;
	const struct vg_spread *b = by_total ? &change->total_b : &change->self_b;
	const struct vg_spread_change *by = by_total ? &change->total : &change->self;
	struct vg_text of_a, of_b, difference, margin, percent;

	vg_print(stdout, "%10s %10s %11s %10s %8s  %s", signed_ns(&of_a, a->mean) + (a->mean > 0),
		 signed_ns(&of_b, b->mean) + (b->mean > 0), signed_ns(&difference, by->change),
		 by->has_margin ? signed_ns(&margin, by->margin) + (by->margin > 0) : "-",
		 percent_text(&percent, vg_change_percent(a, b)), change->row->name);
	if (change->row->origin != NULL)
		vg_print(stdout, "  [%s]", change->row->origin);
	if (change->row->type == VG_MEASURE_DETACHED)
		fputs("  detached", stdout);
	if (change->fails)
		fputs("  <- grew", stdout);
	putchar('\n');
}

static void changes_text(const struct request *request)
{
	const struct vg_changes *changes = &request->changes;
	struct vg_measure_limit limit = { .limit = request->limit > 0 ? request->limit : TEXT_LIMIT };
	uint64_t left_out = 0;

	vg_print(stdout, "%s time: A is the mean of %" PRIu32 " profile%s, B of %" PRIu32 "\n",
		 changes->by_total ? "total" : "self", changes->runs_a,
		 vg_text_plural(changes->runs_a), changes->runs_b);
	putchar('\n');
	vg_print(stdout, "%10s %10s %11s %10s %8s\n", "A", "B", "change", "+-95%", "");
	for (size_t i = 0; i < changes->items.count && !ferror(stdout); i++) {
		const struct vg_change *change = &changes->items.items[i];

		if (vg_measure_shown(&limit, change->row) || change->fails)
			change_text(request, change);
		else
			left_out++;
	}
	if (left_out > 0)
		vg_print(stdout, "%52s  ... and %" PRIu64 " more\n", "", left_out);
}

static int request_run(struct request *request, char **a, char **b)
{
	struct vg_err err;
	int status, rc;

	if (vg_symbolize_confine(&request->symbolize, request->command, (struct vg_confinement){
		.paths = (const char *const *)a, .path_count = request->changes.runs_a,
		.more = (const char *const *)b, .more_path_count = request->changes.runs_b,
	}) != VG_EXIT_DONE)
		return EXIT_UNREADABLE;
	status = profiles_add(request, a, (int)request->changes.runs_a);
	if (status == VG_EXIT_DONE)
		status = profiles_add(request, b, (int)request->changes.runs_b);
	if (status != VG_EXIT_DONE)
		return EXIT_UNREADABLE;
	rc = vg_measures_finish(&request->measures);
	if (rc == 0)
		rc = vg_changes_build(&request->changes, &request->measures);
	if (rc != 0) {
		vg_err_sys(&err, rc, "cannot compare the profiles");
		vg_command_fail(request->command, &err);
		return EXIT_UNREADABLE;
	}
	if (request->measures.changed_module != NULL)
		vg_command_warn(request->command, "%s: has no symbols, and its build differs between the profiles; "
				"resolve the profiles to compare its functions", request->measures.changed_module);
	(request->json_asked ? changes_json : changes_text)(request);
	if (fflush(stdout) != 0 || ferror(stdout))
		return EXIT_UNREADABLE;        /* main() prints the message */
	return request->changes.failed > 0 ? EXIT_GREW : VG_EXIT_DONE;
}

/* Returns VG_SYMBOLIZE_TAKEN, or the exit status after a message or the usage. */
static int option_parse(struct request *request, int option)
{
	switch (option) {
	case 'j':
		request->json_asked = true;
		return VG_SYMBOLIZE_TAKEN;
	case 'w':
		request->measures.weight_given = true;
		if (vg_weight_parse(optarg, &request->measures.weight))
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--weight", "a weight; use wall or cpu");
	case 'b':
		request->changes.by_total = strcmp(optarg, "total") == 0;
		if (request->changes.by_total || strcmp(optarg, "self") == 0)
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--by", "a time; use self or total");
	case 'n':
		if (vg_number_parse(optarg, 1, UINT64_MAX, &request->limit))
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--limit", "a number of rows; use 1 or more");
	case 'f':
		if (vg_number_percent(optarg, &request->changes.fail_above_percent))
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--fail-above", "a percentage; use 0 or more");
	case 'l':
		if (vg_number_percent(optarg, &request->changes.min_share_percent))
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--at-least", "a percentage; use 0 or more");
	}
	return vg_symbolize_option(&request->symbolize, request->command, usage, option);
}

/* Returns the index of "--" in argv, or argc if there is none.  getopt_long() does not report this index. */
static int divider_find(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i;
	}
	return argc;
}

int cmd_diff(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "weight", required_argument, NULL, 'w' },
		{ "by", required_argument, NULL, 'b' },
		{ "limit", required_argument, NULL, 'n' },
		{ "fail-above", required_argument, NULL, 'f' },
		{ "at-least", required_argument, NULL, 'l' },
		VG_SYMBOLIZE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .command = argv[0],
				   .changes = { .fail_above_percent = -1, .min_share_percent = 1 } };
	int divider = divider_find(argc, argv), option, status;
	char **a, **b;

	while ((option = getopt_long(divider, argv, "jw:b:n:f:l:s:h", options, NULL)) != -1) {
		status = option_parse(&request, option);
		if (status != VG_SYMBOLIZE_TAKEN)
			return status;
	}
	a = argv + optind;
	b = divider < argc ? argv + divider + 1 : a + 1;
	request.changes.runs_a = (uint32_t)(divider < argc ? divider - optind : 1);
	request.changes.runs_b = (uint32_t)(divider < argc ? argc - divider - 1 : 1);
	if (divider == argc && argc - optind != 2)
		return vg_command_usage_error(argv[0], usage, "expected two profiles, got %d; put -- between two lists",
					      argc - optind);
	if (request.changes.runs_a == 0 || request.changes.runs_b == 0)
		return vg_command_usage_error(argv[0], usage, "expected a profile on each side of --");
	status = request_run(&request, a, b);
	vg_symbolize_free(&request.symbolize);
	vg_changes_free(&request.changes);
	vg_measures_free(&request.measures);
	return status;
}
