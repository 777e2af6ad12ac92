/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "vgtool/analysis/thread_names.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/profiles.h"
#include "vgtool/commands/report_options.h"
#include "vgtool/output/text.h"
#include "vgtool/run/pager.h"
#include "vgtool/views/report_functions.h"
#include "vgtool/views/report_intervals.h"
#include "vgtool/views/report_threads.h"

static const char usage[] =
	"usage: vgtool report [--tree | --inverted | --callers NAME | --callees NAME]\n"
	"                     [--by function|line|module|file|thread|interval|process]\n"
	"                     [--match REGEX] [--thread THREAD] [--time A..B]\n"
	"                     [--on-cpu | --off-cpu] [--interval LABEL]\n"
	"                     [--weight wall|cpu] [--counter NAME] [--min PERCENT]\n"
	"                     [--limit N] [--json] [--no-pager]\n"
	"                     [-s STORE]... [--debuginfod] [--unresolved]\n"
	"                     [--no-instruction-frames] PROFILE...\n";

struct command {
	const char *name;            /* "vgtool report" */
	struct vg_profiles profiles;
	const struct vg_report_options *options;
	struct vg_symbolize *symbolize;
	struct vg_report report;
	struct vg_intervals intervals; /* only with --interval or --by interval */
	struct vg_perf_counts counts;  /* only with --counter */
};

/* ---- samples ---- */

static void filter_part(FILE *file, const char *what, const char *value)
{
	vg_print(file, "%s%s%s", ftell(file) > 0 ? ", " : "", what, value);
}

/* Returns what the filter says, for people.  NULL: no memory.  The caller frees it. */
static char *filter_text(const struct command *command)
{
	const struct vg_sample_filter *filter = &command->options->filter;
	size_t length;
	char *text = NULL;
	FILE *file = open_memstream(&text, &length);

	if (file == NULL)
		return NULL;
	if (filter->thread != NULL)
		filter_part(file, "thread ", filter->thread);
	if (command->options->time != NULL)
		filter_part(file, "seconds ", command->options->time);
	if (filter->state != VG_SAMPLE_ANY)
		filter_part(file, filter->state == VG_SAMPLE_ON_CPU ? "on a CPU" : "not on a CPU", "");
	if (command->options->interval != NULL)
		filter_part(file, "interval ", command->options->interval);
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

		count += vg_thread_matches(command->options->filter.thread, thread->tid, vg_profile_text(profile, thread->name));
	}
	return count;
}

/* Removes the samples that the filter does not select.  Returns 0, -ENOMEM, or -ESRCH if there is no such interval. */
static int samples_select(struct command *command)
{
	const struct vg_profile *profile = command->report.profile;
	unsigned char *keep = NULL;
	int rc = 0;

	if (command->options->interval != NULL || command->options->by == VG_REPORT_BY_INTERVAL)
		rc = vg_intervals_build(&command->intervals, profile);
	if (rc == 0 && command->options->interval != NULL)
		rc = vg_samples_in_interval(&command->intervals, command->options->interval, &keep);
	if (rc == 0 && keep == NULL) {
		keep = malloc(profile->samples.count + 1);
		if (keep == NULL)
			rc = -ENOMEM;
		else
			memset(keep, 1, profile->samples.count);
	}
	if (rc == 0)
		rc = vg_sample_filter_apply(&command->options->filter, profile,
					    !command->report.is_unresolved, keep);
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

	report->weight = command->options->weight_given ? command->options->weight :
			 vg_weight_default(report->profile);
	report->is_cpu_first = !command->options->weight_given && !report->is_json && report->counts == NULL &&
			       report->weight == VG_WEIGHT_WALL && vg_report_cpu_first(&sums);
	if (report->is_cpu_first)
		report->weight = VG_WEIGHT_CPU;
	report->unfiltered = report->counts != NULL ? all->weight :
			     report->weight == VG_WEIGHT_CPU ? all->cpu_ns : all->wall_ns;
}

static int view_write(struct command *command)
{
	if (command->options->view != NULL)
		return vg_report_tree(&command->report, &command->options->tree);
	if (command->options->by == VG_REPORT_BY_THREAD || command->options->by == VG_REPORT_BY_PROCESS)
		return vg_report_threads(&command->report, command->options->by == VG_REPORT_BY_PROCESS);
	if (command->options->by == VG_REPORT_BY_INTERVAL)
		return vg_report_intervals(&command->report, &command->intervals);
	return vg_report_functions(&command->report, (enum vg_frames_kind)command->options->by);
}

/* ---- one profile ---- */

/* Returns 0, or -ENODATA with a message if the profile lacks the perf counter.  Warns if some threads lack it. */
static int counter_build(struct command *command, struct vg_err *err)
{
	const struct vg_profile *profile = command->report.profile;
	uint64_t without;
	int rc = vg_perf_counter_check(profile, command->options->counter, command->profiles.title, &without, err);

	if (rc != 0)
		return rc;
	if (without > 0)
		vg_command_warn(command->name, "%s: perf counters could not be opened for %" PRIu64 " thread%s",
				command->profiles.title, without, vg_text_plural(without));
	command->report.counts = &command->counts;
	return vg_perf_counts_build(&command->counts, profile, vg_perf_counter_find(profile, command->options->counter));
}

static int failure_explain(const struct command *command, int rc, struct vg_err *err)
{
	if (rc == -ESRCH)
		return vg_err_set(err, rc, "%s: no interval %s", command->profiles.title, command->options->interval);
	if (rc == -ENOENT)
		return vg_err_set(err, rc, "%s: %s: no function matches %s", command->profiles.title,
				  command->options->view, command->options->tree.name);
	if (rc == -ENODATA)
		return vg_err_set(err, rc, "%s: %s: no sample is in a function that matches %s",
				  command->profiles.title, command->options->view, command->options->tree.name);
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
		return vg_err_set(err, -ENODATA, "%s: the filter leaves no samples: %s", command->profiles.title,
				  report->filter);
	weight_choose(command, &all);
	return failure_explain(command, view_write(command), err);
}

static int profile_report(void *context, struct vg_profile *profile, struct vg_err *err)
{
	struct command *command = context;
	struct vg_report *report = &command->report;
	bool is_filtered = vg_sample_filter_is_set(&command->options->filter) || command->options->interval != NULL;
	char *filter = is_filtered ? filter_text(command) : NULL;
	int rc = is_filtered && filter == NULL ? -ENOMEM :
		 vg_symbolize_profile(command->symbolize, command->name, profile, err);

	report->profile = profile;
	report->filter = filter;
	if (rc == 0 && command->options->filter.thread != NULL) {
		size_t count = threads_selected(command);

		report->is_one_thread = count == 1;
		if (count == 0)
			rc = vg_err_set(err, -ESRCH, "%s: no thread %s", command->profiles.title,
					command->options->filter.thread);
	}
	if (rc == 0 && command->options->counter != NULL)
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
static int report_print(void *context)
{
	struct command *command = context;
	int status = vg_symbolize_confine(command->symbolize, command->name, (struct vg_confinement){
		.paths = command->profiles.paths.items, .path_count = command->profiles.paths.count });

	if (status != VG_EXIT_DONE)
		return status;
	return vg_profiles_use(command->name, &command->profiles, profile_report, command);
}

/* The user has never seen the path of a temporary profile. */
static int recording_title(struct vg_profiles *profiles, struct vg_err *err)
{
	free(profiles->title);
	profiles->title = strdup("the recording");
	return profiles->title != NULL ? 0 : vg_err_sys(err, -ENOMEM, "cannot report the recording");
}

int vg_report_run(const char *name, const char *const *paths, size_t path_count,
		  const struct vg_report_options *options, struct vg_symbolize *symbolize)
{
	struct command command = { .name = name, .options = options, .symbolize = symbolize };
	struct vg_report *report = &command.report;
	const char *pager = NULL;
	struct vg_err err;
	int status = VG_EXIT_DONE;

	if (vg_profiles_list(&command.profiles, paths, path_count, &err) != 0 ||
	    (options->is_temporary && recording_title(&command.profiles, &err) != 0))
		status = vg_command_fail(name, &err);
	report->limit = options->limit;
	report->is_json = options->is_json;
	report->is_temporary = options->is_temporary;
	report->is_one_thread = options->is_one_thread;
	report->is_unresolved = symbolize->unresolved;
	vg_terminal_read(&report->terminal);
	vg_json_open(&report->json, stdout);
	if (report->terminal.is_terminal && !report->is_json && !options->no_pager)
		pager = vg_pager_command();
	if (status == VG_EXIT_DONE)
		status = pager != NULL ? vg_pager_run(pager, report_print, &command, &err) : report_print(&command);
	if (status < 0)
		status = vg_command_fail(name, &err);
	vg_profiles_free(&command.profiles);
	return status;
}

/* ---- options ---- */

enum { OPTIONS = VG_REPORT_OPTIONS + VG_SYMBOLIZE_TABLE_OPTIONS + 1 };

struct request {
	struct vg_report_options report;
	struct vg_symbolize symbolize;
};

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct request *request = context;
	int rc = vg_report_option_set(&request->report, value, err);

	return rc != 0 ? rc : vg_symbolize_set(&request->symbolize, value, err);
}

int cmd_report(int argc, char **argv)
{
	struct vg_option options[OPTIONS] = { [VG_REPORT_OPTIONS] = VG_SYMBOLIZE_TABLE, VG_OPTION_HELP };
	struct request request = { .report = VG_REPORT_OPTIONS_DEFAULT };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &request };
	struct vg_err err;
	int status;

	memcpy(options, vg_report_option_table, sizeof vg_report_option_table);
	status = vg_command_line_read(&line, argc, argv);
	if (status == VG_COMMAND_LINE_READ) {
		if (vg_report_options_check(&request.report, &err) != 0)
			status = vg_command_usage_error(argv[0], usage, "%s", err.text);
		else if (argc - optind < 1)
			status = vg_command_usage_error(argv[0], usage, "expected a PROFILE");
		else
			status = vg_report_run(argv[0], (const char *const *)argv + optind, (size_t)(argc - optind),
					       &request.report, &request.symbolize);
	}
	vg_report_options_free(&request.report);
	vg_symbolize_free(&request.symbolize);
	return status;
}
