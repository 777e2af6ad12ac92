/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "vgtool/commands/diff_print.h"
#include "vgtool/commands/symbolize.h"

static const char usage[] =
	"usage: vgtool diff [--json] [--weight wall|cpu] [--by self|total] [--share]\n"
	"                   [--limit N] [--fail-above PERCENT] [--at-least PERCENT]\n"
	"                   [-s STORE]... [--unresolved] A B\n"
	"       vgtool diff [OPTION]... A... -- B...\n"
	"\n"
	"  -j, --json               print JSON\n"
	"  -w, --weight wall|cpu    the time to add up [cpu for cpu profiles, else wall]\n"
	"  -b, --by self|total      compare functions' own time, or with callees [self]\n"
	"  --share                  compare shares of the time, not times\n"
	"  -n, --limit N            rows: 1 or more [20; all in JSON]\n"
	"  -f, --fail-above PERCENT verdict about growth above this: more than 0 percent\n"
	"  -l, --at-least PERCENT   judge smaller functions together: 0 or more percent [1]\n"
	"  -s, --store STORE        also use symbols of this store or directory\n"
	"  --unresolved             show addresses in place of names\n"
	"  -h, --help               print this text\n";

/* With --fail-above, the exit status is the verdict. */
enum { EXIT_SLOWER = 1, EXIT_UNCLEAR = 2 };

enum { OPTION_SHARE = 256 };

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

/* Returns VG_SYMBOLIZE_TAKEN, or another status after a message or the usage. */
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
		return vg_command_bad_value(request->command, usage, "--weight", "wall or cpu");
	case 'b':
		request->changes.by_total = strcmp(optarg, "total") == 0;
		if (request->changes.by_total || strcmp(optarg, "self") == 0)
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--by", "self or total");
	case 'n':
		if (vg_number_parse(optarg, 1, UINT64_MAX, &request->limit))
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--limit", "1 or more rows");
	case 'f':
		if (vg_number_percent(optarg, &request->changes.limit_percent) && request->changes.limit_percent > 0)
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--fail-above", "more than 0 percent");
	case OPTION_SHARE:
		request->measures.by_share = true;
		return VG_SYMBOLIZE_TAKEN;
	case 'l':
		if (vg_number_percent(optarg, &request->changes.min_share_percent))
			return VG_SYMBOLIZE_TAKEN;
		return vg_command_bad_value(request->command, usage, "--at-least", "0 or more percent");
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
		{ "share", no_argument, NULL, OPTION_SHARE },
		{ "fail-above", required_argument, NULL, 'f' },
		{ "at-least", required_argument, NULL, 'l' },
		VG_SYMBOLIZE_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct request request = { .command = argv[0], .measures = { .for_diff = true },
				   .changes = { .limit_percent = -1, .min_share_percent = 1 } };
	int divider = divider_find(argc, argv), option, status;
	char **a, **b;

	while ((option = getopt_long(divider, argv, "jw:b:n:f:l:s:h", options, NULL)) != -1) {
		status = option_parse(&request, option);
		if (status != VG_SYMBOLIZE_TAKEN)
			return status == VG_EXIT_DONE ? VG_EXIT_DONE : VG_EXIT_DIFF_USAGE;
	}
	a = argv + optind;
	b = divider < argc ? argv + divider + 1 : a + 1;
	request.changes.runs_a = (uint32_t)(divider < argc ? divider - optind : 1);
	request.changes.runs_b = (uint32_t)(divider < argc ? argc - divider - 1 : 1);
	if (divider == argc && argc - optind != 2) {
		vg_command_usage_error(argv[0], usage, "expected two profiles, got %d; put -- between two lists",
				       argc - optind);
		return VG_EXIT_DIFF_USAGE;
	}
	if (request.changes.runs_a == 0 || request.changes.runs_b == 0) {
		vg_command_usage_error(argv[0], usage, "expected a profile on each side of --");
		return VG_EXIT_DIFF_USAGE;
	}
	status = request_run(&request, a, b);
	vg_symbolize_free(&request.symbolize);
	vg_changes_free(&request.changes);
	vg_measures_free(&request.measures);
	return status;
}
