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
#include "vgtool/commands/command.h"
#include "vgtool/output/json.h"
#include "vgtool/output/text.h"

static const char usage[] =
	"usage: vgtool diff [--json] [--weight wall|cpu] [--by self|total] [--share]\n"
	"                   [--limit N] [--fail-above PERCENT] [--at-least PERCENT] A B\n"
	"       vgtool diff [OPTION]... A... -- B...\n";

/* Default of --limit for text.  By default JSON has all rows. */
enum { TEXT_LIMIT = 20 };

/* With --fail-above, the exit status is the verdict.  So failures have other ones than in other commands. */
enum { EXIT_SLOWER = 1, EXIT_CANNOT_TELL = 2, EXIT_UNREADABLE = 3, EXIT_USAGE = 4 };

/* More profiles than this on each side are not recommended. */
enum { PROFILES_ADVISED_MAX = 1000 };

struct request {
	const char *command;
	const char *path;            /* of the profile that is being added */
	bool json_asked;
	uint64_t limit;              /* 0: the default */
	struct vg_measures measures;
	struct vg_changes changes;
};

static int profile_add(void *context, const struct vg_profile *profile, struct vg_err *err)
{
	struct request *request = context;

	return vg_measures_add(&request->measures, profile, request->path, err);
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
	case VG_MEASURE_OTHERS: return "others";
	}
	return "";
}

/* One row in the time by which rows are judged. */
struct judged_time {
	const struct vg_estimate *a, *b;
	const struct vg_estimate_change *by;
};

static struct judged_time judged_time(const struct vg_changes *changes, const struct vg_change *change)
{
	if (changes->by_total)
		return (struct judged_time){ &change->total_a, &change->total_b, &change->total };
	return (struct judged_time){ &change->self_a, &change->self_b, &change->self };
}

static void number_json(struct vg_json *json, const char *key, double value)
{
	vg_json_key(json, key);
	vg_json_real(json, value);
}

static void bool_json(struct vg_json *json, const char *key, bool value)
{
	vg_json_key(json, key);
	vg_json_bool(json, value);
}

static void side_json(struct vg_json *json, const char *key, const struct vg_estimate *a,
		      const struct vg_estimate *b, const struct vg_estimate_change *change)
{
	vg_json_key(json, key);
	vg_json_object_begin(json);
	number_json(json, "a", a->mean);
	number_json(json, "b", b->mean);
	number_json(json, "change", change->change);
	number_json(json, "percent", vg_change_percent(a, b));
	number_json(json, "margin", change->has_margin ? change->margin : NAN);
	vg_json_object_end(json);
}

static void name_json(struct vg_json *json, const struct vg_measure_row *row)
{
	vg_json_key_string(json, "type", type_text(row->type));
	vg_json_key_string(json, "name", row->name);
	vg_json_key_string(json, vg_measure_group(row) == VG_MEASURE_FUNCTIONS ? "module" : "kind", row->origin);
}

static void change_json(struct vg_json *json, const struct vg_change *change)
{
	vg_json_line(json);
	vg_json_object_begin(json);
	name_json(json, change->row);
	side_json(json, "self_ns", &change->self_a, &change->self_b, &change->self);
	if (change->row->type != VG_MEASURE_OTHERS)
		side_json(json, "total_ns", &change->total_a, &change->total_b, &change->total);
	number_json(json, "count_a", change->count_a);
	number_json(json, "count_b", change->count_b);
	bool_json(json, "judged", change->is_judged);
	bool_json(json, "slower", change->is_slower);
	bool_json(json, "unclear", change->is_unclear);
	number_json(json, "p", change->is_judged ? change->p : NAN);
	vg_json_object_end(json);
}

static const char *verdict_text(enum vg_verdict verdict)
{
	switch (verdict) {
	case VG_VERDICT_NO_CHANGE: return "no change";
	case VG_VERDICT_SLOWER: return "slower";
	case VG_VERDICT_CANNOT_TELL: return "cannot tell";
	}
	return "";
}

static void verdict_json(struct vg_json *json, const struct vg_changes *changes)
{
	vg_json_key(json, "verdict");
	if (changes->limit_percent < 0) {
		vg_json_null(json);
		return;
	}
	vg_json_object_begin(json);
	vg_json_key_string(json, "outcome", verdict_text(changes->verdict));
	number_json(json, "limit_percent", changes->limit_percent);
	vg_json_key_uint(json, "slower", changes->slower);
	number_json(json, "profiles_needed", changes->verdict == VG_VERDICT_CANNOT_TELL && changes->runs_needed > 0 ?
		    changes->runs_needed : NAN);
	vg_json_key(json, "decisive");
	if (changes->decisive != NULL) {
		vg_json_object_begin(json);
		name_json(json, changes->decisive->row);
		vg_json_object_end(json);
	} else {
		vg_json_null(json);
	}
	vg_json_object_end(json);
}

static bool change_is_shown(struct vg_measure_limit *limit, const struct vg_changes *changes,
			    const struct vg_change *change)
{
	return vg_measure_shown(limit, change->row) || change->is_slower || change == changes->decisive;
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
	bool_json(&json, "by_share", request->measures.by_share);
	verdict_json(&json, changes);
	vg_json_key(&json, "changes");
	vg_json_array_begin(&json);
	for (size_t i = 0; i < changes->items.count && !ferror(stdout); i++) {
		if (change_is_shown(&limit, changes, &changes->items.items[i]))
			change_json(&json, &changes->items.items[i]);
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
	if (isnan(percent))
		snprintf(room->text, sizeof room->text, "new");
	else if (percent >= 1e6)
		snprintf(room->text, sizeof room->text, "> 1e6%%");
	else
		snprintf(room->text, sizeof room->text, "%+.1f%%", percent);
	return room->text;
}

static void name_text(const struct vg_change *change, const char *gap)
{
	vg_print(stdout, "%s", change->row->name);
	if (change->row->origin != NULL)
		vg_print(stdout, "%s[%s]", gap, change->row->origin);
	if (change->row->type == VG_MEASURE_DETACHED)
		vg_print(stdout, "%sdetached", gap);
}

/* `signed_ns(...) + (ns > 0)` leaves out the plus sign: only the column of the change has one. */
static void change_text(const struct vg_changes *changes, const struct vg_change *change)
{
	struct judged_time time = judged_time(changes, change);
	struct vg_text of_a, of_b, difference, margin, percent;

	vg_print(stdout, "%10s %10s %11s %10s %8s  ", signed_ns(&of_a, time.a->mean) + (time.a->mean > 0),
		 signed_ns(&of_b, time.b->mean) + (time.b->mean > 0), signed_ns(&difference, time.by->change),
		 time.by->has_margin ? signed_ns(&margin, time.by->margin) + (time.by->margin > 0) : "-",
		 percent_text(&percent, vg_change_percent(time.a, time.b)));
	name_text(change, "  ");
	if (change->is_slower)
		fputs("  <- slower", stdout);
	putchar('\n');
}

/* "NAME +12.3 % (95 % interval 8.0..16.6)", or with times if the row has no time in A. */
static void decisive_text(const struct vg_changes *changes)
{
	struct judged_time time = judged_time(changes, changes->decisive);
	double percent = vg_change_percent(time.a, time.b);
	double low = time.by->change - time.by->margin, high = time.by->change + time.by->margin;
	struct vg_text change, from, to;

	name_text(changes->decisive, " ");
	if (isnan(percent))
		vg_print(stdout, " is new, %s", signed_ns(&change, time.by->change));
	else
		vg_print(stdout, " %+.1f %%", percent);
	if (time.by->has_margin && isnan(percent))
		vg_print(stdout, " (95 %% interval %s..%s)", signed_ns(&from, low), signed_ns(&to, high));
	else if (time.by->has_margin)
		vg_print(stdout, " (95 %% interval %.1f..%.1f)", 100 * low / time.a->mean, 100 * high / time.a->mean);
}

static void advice_text(const struct vg_changes *changes)
{
	if (changes->runs_needed <= 0)
		fputs("record longer, or two profiles or more on each side", stdout);
	else if (changes->runs_needed > PROFILES_ADVISED_MAX)
		fputs("record longer, or use a higher limit", stdout);
	else
		vg_print(stdout, "record about %.0f profiles on each side", changes->runs_needed);
}

/* The last line of the output. */
static void verdict_line(const struct vg_changes *changes)
{
	switch (changes->verdict) {
	case VG_VERDICT_NO_CHANGE:
		vg_print(stdout, "verdict: no change above %g %%", changes->limit_percent);
		break;
	case VG_VERDICT_SLOWER:
		fputs("verdict: slower: ", stdout);
		decisive_text(changes);
		vg_print(stdout, ", limit %g %%", changes->limit_percent);
		if (changes->slower > 1)
			vg_print(stdout, "; %zu rows are slower", changes->slower);
		break;
	case VG_VERDICT_CANNOT_TELL:
		fputs("verdict: cannot tell: ", stdout);
		decisive_text(changes);
		vg_print(stdout, ", limit %g %%; ", changes->limit_percent);
		advice_text(changes);
		break;
	}
	putchar('\n');
}

static void changes_text(const struct request *request)
{
	const struct vg_changes *changes = &request->changes;
	struct vg_measure_limit limit = { .limit = request->limit > 0 ? request->limit : TEXT_LIMIT };
	uint64_t left_out = 0;

	vg_print(stdout, "%s time%s: A is the mean of %" PRIu32 " profile%s, B of %" PRIu32 "\n",
		 changes->by_total ? "total" : "self", request->measures.by_share ? ", scaled to equal sums" : "",
		 changes->runs_a, vg_text_plural(changes->runs_a), changes->runs_b);
	putchar('\n');
	vg_print(stdout, "%10s %10s %11s %10s %8s\n", "A", "B", "change", "+-95%", "");
	for (size_t i = 0; i < changes->items.count && !ferror(stdout); i++) {
		const struct vg_change *change = &changes->items.items[i];
		struct judged_time time = judged_time(changes, change);

		if (change->is_merged || (time.a->mean <= 0 && time.b->mean <= 0))
			continue;
		if (change_is_shown(&limit, changes, change))
			change_text(changes, change);
		else
			left_out++;
	}
	if (left_out > 0)
		vg_print(stdout, "%52s  ... and %" PRIu64 " more\n", "", left_out);
	if (changes->limit_percent >= 0)
		verdict_line(changes);
}

static int exit_status(const struct vg_changes *changes)
{
	if (changes->limit_percent < 0)
		return VG_EXIT_DONE;
	switch (changes->verdict) {
	case VG_VERDICT_NO_CHANGE: return VG_EXIT_DONE;
	case VG_VERDICT_SLOWER: return EXIT_SLOWER;
	case VG_VERDICT_CANNOT_TELL: return EXIT_CANNOT_TELL;
	}
	return EXIT_UNREADABLE;
}

static int request_run(struct request *request, char **a, char **b)
{
	struct vg_err err;
	int status, rc;

	if (vg_command_confine(request->command, &(struct vg_confinement){
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
	(request->json_asked ? changes_json : changes_text)(request);
	if (fflush(stdout) != 0 || ferror(stdout))
		return EXIT_UNREADABLE;        /* main() prints the message */
	return exit_status(&request->changes);
}

/* Returns VG_EXIT_DONE, or another status after a message. */
static int option_parse(struct request *request, int option)
{
	switch (option) {
	case 'j':
		request->json_asked = true;
		return VG_EXIT_DONE;
	case 'w':
		request->measures.weight_given = true;
		if (vg_weight_parse(optarg, &request->measures.weight))
			return VG_EXIT_DONE;
		return vg_command_bad_value(request->command, usage, "--weight", "a weight; use wall or cpu");
	case 'b':
		request->changes.by_total = strcmp(optarg, "total") == 0;
		if (request->changes.by_total || strcmp(optarg, "self") == 0)
			return VG_EXIT_DONE;
		return vg_command_bad_value(request->command, usage, "--by", "a time; use self or total");
	case 'n':
		if (vg_number_parse(optarg, 1, UINT64_MAX, &request->limit))
			return VG_EXIT_DONE;
		return vg_command_bad_value(request->command, usage, "--limit", "a number of rows; use 1 or more");
	case 'f':
		if (vg_number_percent(optarg, &request->changes.limit_percent) && request->changes.limit_percent > 0)
			return VG_EXIT_DONE;
		return vg_command_bad_value(request->command, usage, "--fail-above", "a percentage above 0");
	case 's':
		request->measures.by_share = true;
		return VG_EXIT_DONE;
	case 'l':
		if (vg_number_percent(optarg, &request->changes.min_share_percent))
			return VG_EXIT_DONE;
		return vg_command_bad_value(request->command, usage, "--at-least", "a percentage; use 0 or more");
	}
	return vg_command_usage(usage, VG_EXIT_USAGE);
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
		{ "share", no_argument, NULL, 's' },
		{ "fail-above", required_argument, NULL, 'f' },
		{ "at-least", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .command = argv[0], .measures = { .for_diff = true },
				   .changes = { .limit_percent = -1, .min_share_percent = 1 } };
	int divider = divider_find(argc, argv), option, status;
	char **a, **b;

	while ((option = getopt_long(divider, argv, "jw:b:n:sf:l:h", options, NULL)) != -1) {
		if (option == 'h')
			return vg_command_usage(usage, VG_EXIT_DONE);
		if (option_parse(&request, option) != VG_EXIT_DONE)
			return EXIT_USAGE;
	}
	a = argv + optind;
	b = divider < argc ? argv + divider + 1 : a + 1;
	request.changes.runs_a = (uint32_t)(divider < argc ? divider - optind : 1);
	request.changes.runs_b = (uint32_t)(divider < argc ? argc - divider - 1 : 1);
	if (divider == argc && argc - optind != 2) {
		vg_command_usage_error(argv[0], usage, "expected two profiles, got %d; put -- between two lists",
				       argc - optind);
		return EXIT_USAGE;
	}
	if (request.changes.runs_a == 0 || request.changes.runs_b == 0) {
		vg_command_usage_error(argv[0], usage, "expected a profile on each side of --");
		return EXIT_USAGE;
	}
	status = request_run(&request, a, b);
	vg_changes_free(&request.changes);
	vg_measures_free(&request.measures);
	return status;
}
