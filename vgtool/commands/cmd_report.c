/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/print.h"
#include "vgtool/analysis/sample_filter.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/commands/command.h"
#include "vgtool/output/text.h"
#include "vgtool/run/pager.h"
#include "vgtool/views/report_functions.h"
#include "vgtool/views/report_intervals.h"
#include "vgtool/views/report_threads.h"
#include "vgtool/views/report_tree.h"

static const char usage[] =
	"usage: vgtool report [--tree | --inverted | --callers NAME | --callees NAME]\n"
	"                     [--by function|line|module|file|thread|interval]\n"
	"                     [--match REGEX] [--thread THREAD] [--time A..B]\n"
	"                     [--on-cpu | --off-cpu] [--interval LABEL]\n"
	"                     [--weight wall|cpu] [--counter NAME] [--min PERCENT]\n"
	"                     [--limit N] [--json] [--no-pager] PROFILE\n"
	"\n"
	"  --tree                 callees below each function, from the roots\n"
	"  --inverted             callers below each function, from the leaves\n"
	"  --callers NAME         the functions that call this function\n"
	"  --callees NAME         the functions that this function calls\n"
	"  -b, --by KIND          one row for each KIND [function]\n"
	"  --match REGEX          only stacks with a function that matches\n"
	"  -t, --thread THREAD    only this thread: its name or id\n"
	"  --time A..B            only this time, in seconds from the begin\n"
	"  --on-cpu, --off-cpu    only samples with CPU time, or only without\n"
	"  -i, --interval LABEL   only intervals with this label\n"
	"  -w, --weight wall|cpu  the time to add up [the CPU time if threads idle]\n"
	"  -c, --counter NAME     add up this perf counter instead of time\n"
	"  --min PERCENT          least share of a row of a tree: 0 to 100 [0.5]\n"
	"  -n, --limit N          rows: 1 or more\n"
	"  -j, --json             print JSON\n"
	"  --no-pager             do not start $PAGER\n"
	"  -h, --help             print this text\n";

enum { OPTION_TREE = 256, OPTION_INVERTED, OPTION_CALLERS, OPTION_CALLEES, OPTION_MIN, OPTION_MATCH, OPTION_TIME,
       OPTION_ON_CPU, OPTION_OFF_CPU, OPTION_NO_PAGER };

enum by { BY_FUNCTION, BY_LINE, BY_MODULE, BY_FILE, BY_THREAD, BY_INTERVAL, BY_COUNT };

static const char *const by_names[] = { "function", "line", "module", "file", "thread", "interval" };

_Static_assert((int)BY_LINE == VG_ROW_LINE && (int)BY_MODULE == VG_ROW_MODULE && (int)BY_FILE == VG_ROW_FILE,
	       "enum by begins with enum vg_row_kind");

struct command {
	const char *name;            /* "vgtool report" */
	const char *path;            /* of the profile */
	struct vg_report report;
	struct vg_report_tree tree;
	const char *view;            /* the option that chose a tree; NULL: a table */
	enum by by;
	struct vg_sample_filter filter;
	const char *time;            /* the value of --time, for messages */
	const char *interval;        /* show only samples in intervals with this label; NULL: all */
	const char *counter;         /* show this perf counter in place of time; NULL: time */
	struct vg_intervals intervals; /* only with --interval or --by interval */
	struct vg_perf_counts counts;  /* only with --counter */
	bool weight_given, no_pager;
};

/* ---- samples ---- */

static void filter_part(FILE *file, const char *what, const char *value)
{
	vg_print(file, "%s%s%s", ftell(file) > 0 ? ", " : "", what, value);
}

/* Returns what the filter says, for people.  NULL: no memory.  The caller frees it. */
static char *filter_text(const struct command *command)
{
	const struct vg_sample_filter *filter = &command->filter;
	size_t length;
	char *text = NULL;
	FILE *file = open_memstream(&text, &length);

	if (file == NULL)
		return NULL;
	if (filter->thread != NULL)
		filter_part(file, "thread ", filter->thread);
	if (command->time != NULL)
		filter_part(file, "seconds ", command->time);
	if (filter->state != VG_SAMPLE_ANY)
		filter_part(file, filter->state == VG_SAMPLE_ON_CPU ? "on a CPU" : "not on a CPU", "");
	if (command->interval != NULL)
		filter_part(file, "interval ", command->interval);
	if (filter->function != NULL)
		filter_part(file, "functions that match ", filter->function);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

/* Returns the number of threads that --thread selects. */
static size_t threads_selected(const struct command *command)
{
	const struct vg_profile *profile = command->report.profile;
	size_t count = 0;

	for (size_t t = 0; t < profile->threads.count; t++) {
		const struct vg_thread *thread = &profile->threads.items[t];

		count += vg_thread_matches(command->filter.thread, thread->tid, vg_profile_text(profile, thread->name));
	}
	return count;
}

/* Removes the samples that the filter does not select.  Returns 0, -ENOMEM, or -ESRCH if there is no such interval. */
static int samples_select(struct command *command)
{
	const struct vg_profile *profile = command->report.profile;
	unsigned char *keep = NULL;
	int rc = 0;

	if (command->interval != NULL || command->by == BY_INTERVAL)
		rc = vg_intervals_build(&command->intervals, profile);
	if (rc == 0 && command->interval != NULL)
		rc = vg_samples_in_interval(&command->intervals, command->interval, &keep);
	if (rc == 0 && keep == NULL) {
		keep = malloc(profile->samples.count + 1);
		if (keep == NULL)
			rc = -ENOMEM;
		else
			memset(keep, 1, profile->samples.count);
	}
	if (rc == 0)
		rc = vg_sample_filter_apply(&command->filter, profile, keep);
	if (rc == 0)
		vg_thread_samples_keep(&command->report.threads, profile, keep);
	free(keep);
	return rc;
}

/* Chooses the weight.  JSON is for programs: its default depends on how the profile was recorded, and not on what was
 * recorded. */
static void weight_choose(struct command *command, const struct vg_report_sums *all)
{
	struct vg_report *report = &command->report;
	struct vg_report_sums sums = vg_report_sums(report);

	if (!command->weight_given)
		report->weight = vg_weight_default(report->profile);
	report->is_cpu_first = !command->weight_given && !report->is_json && report->counts == NULL &&
			       report->weight == VG_WEIGHT_WALL && vg_report_cpu_first(&sums);
	if (report->is_cpu_first)
		report->weight = VG_WEIGHT_CPU;
	report->unfiltered = report->counts != NULL ? all->weight :
			     report->weight == VG_WEIGHT_CPU ? all->cpu_ns : all->wall_ns;
}

static int view_write(struct command *command)
{
	if (command->view != NULL)
		return vg_report_tree(&command->report, &command->tree);
	if (command->by == BY_THREAD)
		return vg_report_threads(&command->report);
	if (command->by == BY_INTERVAL)
		return vg_report_intervals(&command->report, &command->intervals);
	return vg_report_functions(&command->report, (enum vg_row_kind)command->by);
}

/* ---- one profile ---- */

/* Returns 0, or -ENODATA with a message if the profile lacks the perf counter.  Warns if some threads lack it. */
static int counter_build(struct command *command, struct vg_err *err)
{
	const struct vg_profile *profile = command->report.profile;
	uint64_t without;
	int rc = vg_perf_counter_check(profile, command->counter, command->path, &without, err);

	if (rc != 0)
		return rc;
	if (without > 0)
		vg_command_warn(command->name, "%s: perf counters could not be opened for %" PRIu64 " thread%s",
				command->path, without, vg_text_plural(without));
	command->report.counts = &command->counts;
	return vg_perf_counts_build(&command->counts, profile, vg_perf_counter_find(profile, command->counter));
}

static int failure_explain(const struct command *command, int rc, struct vg_err *err)
{
	if (rc == -ESRCH)
		return vg_err_set(err, rc, "%s: no interval %s", command->path, command->interval);
	if (rc == -ENOENT)
		return vg_err_set(err, rc, "%s: %s: no function matches %s", command->path, command->view,
				  command->tree.name);
	return rc;
}

static int samples_report(struct command *command, struct vg_err *err)
{
	struct vg_report *report = &command->report;
	struct vg_report_sums all, sums;
	int rc = vg_thread_samples_build(&report->threads, report->profile, -1);

	if (rc != 0)
		return rc;
	all = vg_report_sums(report);
	rc = samples_select(command);
	if (rc != 0)
		return failure_explain(command, rc, err);
	sums = vg_report_sums(report);
	if (report->filter != NULL && sums.samples == 0 && all.samples > 0)
		return vg_err_set(err, -ENODATA, "%s: the filter leaves no samples: %s", command->path, report->filter);
	weight_choose(command, &all);
	return failure_explain(command, view_write(command), err);
}

static int profile_report(void *context, const struct vg_profile *profile, struct vg_err *err)
{
	struct command *command = context;
	struct vg_report *report = &command->report;
	bool is_filtered = vg_sample_filter_is_set(&command->filter) || command->interval != NULL;
	char *filter = is_filtered ? filter_text(command) : NULL;
	int rc = is_filtered && filter == NULL ? -ENOMEM : 0;

	report->profile = profile;
	report->filter = filter;
	if (rc == 0 && command->filter.thread != NULL) {
		size_t count = threads_selected(command);

		report->is_one_thread = count == 1;
		if (count == 0)
			rc = vg_err_set(err, -ESRCH, "%s: no thread %s", command->path, command->filter.thread);
	}
	if (rc == 0 && command->counter != NULL)
		rc = counter_build(command, err);
	if (rc == 0)
		rc = samples_report(command, err);
	vg_intervals_free(&command->intervals);
	vg_perf_counts_free(&command->counts);
	vg_thread_samples_free(&report->threads);
	free(filter);
	report->profile = NULL;
	report->filter = NULL;
	return rc;
}

/* Runs in a child if there is a pager. */
static int report_run(void *context)
{
	struct command *command = context;
	int status = vg_command_confine_to(command->name, command->path, NULL);

	if (status != VG_EXIT_DONE)
		return status;
	return vg_command_with_profile(command->name, command->path, profile_report, command);
}

static int report_show(struct command *command)
{
	const struct vg_report *report = &command->report;
	bool is_paged = report->terminal.is_terminal && !report->is_json && !command->no_pager;
	const char *pager = is_paged ? vg_pager_command() : NULL;
	struct vg_err err;
	int status;

	if (pager == NULL)
		return report_run(command);
	status = vg_pager_run(pager, report_run, command, &err);
	return status >= 0 ? status : vg_command_fail(command->name, &err);
}

/* ---- options ---- */

static int by_parse(struct command *command)
{
	for (command->by = 0; command->by < BY_COUNT; command->by++) {
		if (strcmp(optarg, by_names[command->by]) == 0)
			return VG_EXIT_DONE;
	}
	return vg_command_bad_value(command->name, usage, "--by",
				    "function, line, module, file, thread or interval");
}

static int view_parse(struct command *command, const char *option, bool to_callers, const char *name)
{
	if (command->view != NULL)
		return vg_command_usage_error(command->name, usage, "%s: cannot be combined with %s", option,
					      command->view);
	command->view = option;
	command->tree.to_callers = to_callers;
	command->tree.name = name;
	return VG_EXIT_DONE;
}

static int state_parse(struct command *command, enum vg_sample_state state)
{
	if (command->filter.state != VG_SAMPLE_ANY && command->filter.state != state)
		return vg_command_usage_error(command->name, usage, "--on-cpu, --off-cpu: use only one of them");
	command->filter.state = state;
	return VG_EXIT_DONE;
}

static int match_parse(struct command *command)
{
	char problem[128];
	int rc;

	if (command->filter.function != NULL)
		return vg_command_usage_error(command->name, usage, "--match: use it only once");
	rc = regcomp(&command->filter.regex, optarg, REG_EXTENDED | REG_NOSUB);
	if (rc != 0) {
		regerror(rc, &command->filter.regex, problem, sizeof problem);
		return vg_command_usage_error(command->name, usage, "--match: %s is not a regular expression: %s",
					      optarg, problem);
	}
	command->filter.function = optarg;
	return VG_EXIT_DONE;
}

static int value_parse(struct command *command, int option)
{
	switch (option) {
	case 'n':
		if (vg_number_parse(optarg, 1, UINT64_MAX, &command->report.limit))
			return VG_EXIT_DONE;
		return vg_command_bad_value(command->name, usage, "--limit", "1 or more rows");
	case 'w':
		command->weight_given = true;
		if (vg_weight_parse(optarg, &command->report.weight))
			return VG_EXIT_DONE;
		return vg_command_bad_value(command->name, usage, "--weight", "wall or cpu");
	case OPTION_MIN:
		if (vg_number_ppm(optarg, &command->tree.least_ppm))
			return VG_EXIT_DONE;
		return vg_command_bad_value(command->name, usage, "--min", "0 to 100 percent");
	default:
		command->time = optarg;
		if (vg_time_range_parse(optarg, &command->filter.begin_ns, &command->filter.end_ns))
			return VG_EXIT_DONE;
		return vg_command_bad_value(command->name, usage, "--time",
					    "a range of seconds: A..B, A.. or ..B");
	}
}

static int option_parse(struct command *command, int option)
{
	switch (option) {
	case 'j':
		command->report.is_json = true;
		return VG_EXIT_DONE;
	case 't':
		command->filter.thread = optarg;
		return VG_EXIT_DONE;
	case 'c':
		command->counter = optarg;
		return VG_EXIT_DONE;
	case 'i':
		command->interval = optarg;
		return VG_EXIT_DONE;
	case 'b':
		return by_parse(command);
	case OPTION_TREE:
		return view_parse(command, "--tree", false, NULL);
	case OPTION_INVERTED:
		return view_parse(command, "--inverted", true, NULL);
	case OPTION_CALLERS:
		return view_parse(command, "--callers", true, optarg);
	case OPTION_CALLEES:
		return view_parse(command, "--callees", false, optarg);
	case OPTION_MATCH:
		return match_parse(command);
	case OPTION_ON_CPU:
		return state_parse(command, VG_SAMPLE_ON_CPU);
	case OPTION_OFF_CPU:
		return state_parse(command, VG_SAMPLE_OFF_CPU);
	case OPTION_NO_PAGER:
		command->no_pager = true;
		return VG_EXIT_DONE;
	default:
		return value_parse(command, option);
	}
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
		{ "tree", no_argument, NULL, OPTION_TREE },
		{ "inverted", no_argument, NULL, OPTION_INVERTED },
		{ "callers", required_argument, NULL, OPTION_CALLERS },
		{ "callees", required_argument, NULL, OPTION_CALLEES },
		{ "min", required_argument, NULL, OPTION_MIN },
		{ "match", required_argument, NULL, OPTION_MATCH },
		{ "time", required_argument, NULL, OPTION_TIME },
		{ "on-cpu", no_argument, NULL, OPTION_ON_CPU },
		{ "off-cpu", no_argument, NULL, OPTION_OFF_CPU },
		{ "no-pager", no_argument, NULL, OPTION_NO_PAGER },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct command command = { .name = argv[0], .filter.end_ns = UINT64_MAX, .tree.least_ppm = 5000 };
	int option, status = VG_EXIT_DONE;

	while (status == VG_EXIT_DONE && (option = getopt_long(argc, argv, "jt:n:w:c:i:b:h", options, NULL)) != -1) {
		if (option == 'h' || option == '?')
			return vg_command_help(usage, option);
		status = option_parse(&command, option);
	}
	if (status == VG_EXIT_DONE && command.view != NULL && command.by >= BY_THREAD)
		status = vg_command_usage_error(argv[0], usage, "%s: --by %s has no tree", command.view,
						by_names[command.by]);
	if (status == VG_EXIT_DONE && argc - optind != 1)
		status = vg_command_usage_error(argv[0], usage, "expected one PROFILE, got %d", argc - optind);
	if (status == VG_EXIT_DONE) {
		command.path = argv[optind];
		command.tree.kind = (enum vg_row_kind)command.by;
		vg_terminal_read(&command.report.terminal);
		vg_json_open(&command.report.json, stdout);
		status = report_show(&command);
	}
	if (command.filter.function != NULL)
		regfree(&command.filter.regex);
	return status;
}
