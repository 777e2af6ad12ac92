/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/diff_print.h"
#include "vgtool/commands/symbolize.h"

static const char usage[] =
	"usage: vgtool diff [--json] [--weight wall|cpu] [--by self|total] [--share]\n"
	"                   [--exclude REGEX]... [--limit N] [--fail-above PERCENT]\n"
	"                   [--at-least PERCENT] [-s STORE]... [--debuginfod]\n"
	"                   [--unresolved] [--no-instruction-frames] A B\n"
	"       vgtool diff [OPTION]... A... -- B...\n";

/* With --fail-above, the exit status is the verdict. */
enum { EXIT_SLOWER = 1, EXIT_UNCLEAR = 2 };

struct request {
	const char *command;
	const char *path;            /* of the profile that is being added */
	bool json_asked;
	uint64_t limit;              /* 0: the default */
	struct vg_symbolize symbolize;
	struct vg_measures measures;
	struct vg_changes changes;
};

/* The time of labels alone can be compared, but not judged: the row of all samples would seem to have become faster. */
static bool run_has_time(const struct request *request, const struct vg_measure_run *run)
{
	return run->all_ns > 0 || (run->labels_ns > 0 && request->changes.limit_percent < 0);
}

static int profile_add(void *context, struct vg_profile *profile, struct vg_err *err)
{
	struct request *request = context;
	struct vg_measures *measures = &request->measures;
	int rc = vg_symbolize_profile(&request->symbolize, request->command, profile, err);

	if (rc == 0)
		rc = vg_measures_add(measures, profile, request->path, err);
	if (rc == 0 && !run_has_time(request, &measures->by_run.items[measures->runs - 1]))
		rc = vg_err_set(err, -EINVAL, "%s: has no time to compare", request->path);
	return rc;
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

static int exit_status(const struct vg_changes *changes)
{
	if (changes->limit_percent < 0)
		return VG_EXIT_DONE;
	switch (changes->verdict) {
	case VG_VERDICT_NO_CHANGE: return VG_EXIT_DONE;
	case VG_VERDICT_SLOWER: return EXIT_SLOWER;
	case VG_VERDICT_UNCLEAR: return EXIT_UNCLEAR;
	}
	return VG_EXIT_DIFF_FAILED;
}

static int request_run(struct request *request, char **a, char **b)
{
	struct vg_err err;
	int status, rc;

	if (vg_symbolize_confine(&request->symbolize, request->command, (struct vg_confinement){
		.paths = (const char *const *)a, .path_count = request->changes.runs_a,
		.more = (const char *const *)b, .more_path_count = request->changes.runs_b,
	}) != VG_EXIT_DONE)
		return VG_EXIT_DIFF_FAILED;
	status = profiles_add(request, a, (int)request->changes.runs_a);
	if (status == VG_EXIT_DONE)
		status = profiles_add(request, b, (int)request->changes.runs_b);
	if (status != VG_EXIT_DONE)
		return VG_EXIT_DIFF_FAILED;
	rc = vg_measures_finish(&request->measures);
	if (rc == 0)
		rc = vg_changes_build(&request->changes, &request->measures);
	if (rc != 0) {
		vg_err_sys(&err, rc, "cannot compare the profiles");
		vg_command_fail(request->command, &err);
		return VG_EXIT_DIFF_FAILED;
	}
	(request->json_asked ? vg_diff_json : vg_diff_text)(&request->changes, &request->measures, request->limit);
	if (fflush(stdout) != 0 || ferror(stdout))
		return VG_EXIT_DIFF_FAILED;        /* main() prints the message */
	return exit_status(&request->changes);
}

enum { SHARE = 256, EXCLUDE };

static const struct vg_option options[] = {
	VG_OPTION_JSON,
	VG_OPTION_WEIGHT("the profile's mode"),
	{ 'b', "by", VG_OPTION_WORD, "self|total", .by_default = "self",
	  .help = "compare functions' own time, or with callees", .is_short = 1 },
	{ SHARE, "share", VG_OPTION_FLAG, .help = "compare shares of the time, not times" },
	{ EXCLUDE, "exclude", VG_OPTION_TEXT, "REGEX", .unit = "a regular expression",
	  .help = "leave out functions and labels that match" },
	VG_OPTION_LIMIT,
	{ 'f', "fail-above", VG_OPTION_TEXT, "PERCENT", .unit = "more than 0 percent",
	  .help = "verdict about growth above this: more than 0", .is_short = 1 },
	{ 'l', "at-least", VG_OPTION_TEXT, "PERCENT", .unit = "0 or more percent", .by_default = "1",
	  .help = "judge smaller functions together: 0 or more", .is_short = 1 },
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int exclude_add(struct vg_exclusion *exclusion, const char *text, struct vg_err *err)
{
	char problem[128];
	regex_t none = { 0 };
	int rc = vg_exclusion_add(exclusion, text);

	if (rc <= 0)
		return rc == 0 ? 0 : vg_err_sys(err, rc, "--exclude: cannot add %.100s", text);
	regerror(rc, &none, problem, sizeof problem);
	return vg_err_set(err, -EINVAL, "--exclude: %.100s is not a regular expression: %s", text, problem);
}

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;
	struct vg_changes *changes = &request->changes;

	switch (value->key) {
	case 'j': request->json_asked = true; break;
	case 'w':
		request->measures.weight_given = true;
		request->measures.weight = (enum vg_weight)value->number;
		break;
	case 'b': changes->by_total = value->number == 1; break;
	case SHARE: request->measures.by_share = true; break;
	case EXCLUDE: return exclude_add(&request->measures.exclusion, value->text, err);
	case 'n': request->limit = value->number; break;
	case 'f':
		if (vg_number_percent(value->text, &changes->limit_percent) && changes->limit_percent > 0)
			break;
		return vg_err_set(err, -EINVAL, "--fail-above %s: must be more than 0 percent", value->text);
	case 'l':
		if (vg_number_percent(value->text, &changes->min_share_percent))
			break;
		return vg_err_set(err, -EINVAL, "--at-least %s: must be 0 or more percent", value->text);
	}
	return vg_symbolize_set(&request->symbolize, value, err);
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
	struct request request = { .command = argv[0], .measures = { .for_diff = true },
				   .changes = { .limit_percent = -1, .min_share_percent = 1 } };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	int divider = divider_find(argc, argv), status = vg_command_line_read(&line, divider, argv);
	char **a = argv + optind, **b = divider < argc ? argv + divider + 1 : a + 1;

	request.changes.runs_a = (uint32_t)(divider < argc ? divider - optind : 1);
	request.changes.runs_b = (uint32_t)(divider < argc ? argc - divider - 1 : 1);
	if (status == VG_COMMAND_LINE_READ && divider == argc && argc - optind != 2)
		status = vg_command_usage_error(argv[0], usage, "expected two profiles, got %d; "
						"put -- between two lists", argc - optind);
	else if (status == VG_COMMAND_LINE_READ && (request.changes.runs_a == 0 || request.changes.runs_b == 0))
		status = vg_command_usage_error(argv[0], usage, "expected a profile on each side of --");
	if (status == VG_COMMAND_LINE_READ)
		status = request_run(&request, a, b);
	else if (status == VG_EXIT_USAGE)
		status = VG_EXIT_DIFF_USAGE;
	vg_symbolize_free(&request.symbolize);
	vg_changes_free(&request.changes);
	vg_measures_free(&request.measures);
	return status;
}
