/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/output_path.h"
#include "base/print.h"
#include "vgtool/commands/record_options.h"
#include "vgtool/output/text.h"
#include "vgtool/run/child.h"
#include "vgtool/run/mappings.h"
#include "vgtool/run/vignetted_run.h"

static const char usage[] =
	"usage: vgtool record [OPTION]... --pid PID\n"
	"       vgtool record [OPTION]... -- COMMAND [ARGUMENT]...\n";

struct record {
	const char *command;         /* "vgtool record" */
	struct vg_record_options options;
	char *out;                   /* owned; path of the profile */
	char *directory;             /* owned; temporary directory of the profile; NULL: -o was given */
	VG_ARRAY(char *) arguments;  /* of vignetted; owned array, borrowed strings */
	struct vg_mappings mappings;
	struct vg_vignetted helper;
	bool on_terminal, shown;     /* standard error is a terminal; a line of progress is shown */
};

/* ---- the recording ---- */

static void on_status(void *context, const struct vg_vignetted_status *status)
{
	struct record *record = context;
	struct vg_text elapsed, share;

	if (!status->ended && status->pid > 0 && !record->options.symbolize.unresolved)
		vg_mappings_read(&record->mappings, status->pid);
	if (!record->on_terminal || !vg_descriptor_accepts(STDERR_FILENO, 0))
		return;
	if (status->ended) {
		if (record->shown)
			fputs("\r\033[K", stderr);
		return;
	}
	record->shown = true;
	fputs("\r", stderr);
	vg_print(stderr, "%s: %s, %" PRIu64 " sample%s, %s of one CPU; Ctrl-C ends it", record->command,
		 vg_text_ns(&elapsed, status->elapsed_ms * 1000000), status->samples,
		 vg_text_plural(status->samples), vg_text_percent(&share, status->cpu_ms, status->elapsed_ms));
	fputs("\033[K", stderr);
	fflush(stderr);
}

static void end_print(const struct record *record)
{
	const struct vg_vignetted_status *status = &record->helper.status;
	struct vg_text elapsed;

	vg_print(stderr, "%s: %s%s%" PRIu64 " sample%s of %" PRIu64 " thread%s in %s", record->command,
		 record->directory == NULL ? record->out : "", record->directory == NULL ? ": " : "", status->samples,
		 vg_text_plural(status->samples), status->threads, vg_text_plural(status->threads),
		 vg_text_ns(&elapsed, status->elapsed_ms * 1000000));
	if (status->lost > 0)
		vg_print(stderr, ", %" PRIu64 " lost", status->lost);
	if (status->skipped > 0)
		vg_print(stderr, ", %" PRIu64 " skipped on a busy machine", status->skipped);
	vg_print(stderr, " (%s)\n", status->reason);
}

static int argument_add(struct record *record, const char *argument)
{
	return vg_array_push(&record->arguments, (char **)&argument);
}

/* The first three are the program, --status-fd and its value. */
static int arguments_build(struct record *record, const char *helper)
{
	char **argv = record->options.command;
	int rc = argument_add(record, helper);

	if (rc == 0)
		rc = argument_add(record, "--status-fd");
	if (rc == 0)
		rc = argument_add(record, "");
	if (rc == 0)
		rc = argument_add(record, "-o");
	if (rc == 0)
		rc = argument_add(record, record->out);
	if (rc == 0 && !record->options.no_perf_map && vg_vignetted_perf_map_wanted(record->options.pid))
		rc = argument_add(record, "--perf-map");
	for (size_t i = 0; rc == 0 && i < record->options.forwarded.count; i++)
		rc = argument_add(record, record->options.forwarded.items[i]);
	if (rc == 0 && *argv != NULL)
		rc = argument_add(record, "--");
	for (; rc == 0 && *argv != NULL; argv++)
		rc = argument_add(record, *argv);
	return rc == 0 ? argument_add(record, NULL) : rc;
}

static int out_prepare(struct record *record, struct vg_err *err)
{
	const char *parent = getenv("TMPDIR");

	if (record->options.out != NULL) {
		if (strcmp(record->options.out, "-") == 0 || vg_output_path_is_special(record->options.out))
			return vg_err_set(err, -EINVAL, "-o %s: must be a regular file, which record can read again",
					  record->options.out);
		record->out = strdup(record->options.out);
		return record->out != NULL ? 0 : vg_err_sys(err, -ENOMEM, "%s", record->options.out);
	}
	if (asprintf(&record->directory, "%s/vgtool.XXXXXX", parent != NULL && *parent != '\0' ? parent : "/tmp") < 0) {
		record->directory = NULL;
		return vg_err_sys(err, -ENOMEM, "cannot create a temporary directory");
	}
	if (mkdtemp(record->directory) == NULL) {
		int rc = vg_err_sys(err, -errno, "%s: cannot create a temporary directory", record->directory);

		free(record->directory);
		record->directory = NULL;
		return rc;
	}
	if (asprintf(&record->out, "%s/record.vgp", record->directory) < 0) {
		record->out = NULL;
		return vg_err_sys(err, -ENOMEM, "cannot create a temporary file");
	}
	return 0;
}

/* vignetted or the resolve step leaves this file if it was killed. */
static void part_remove(const char *out)
{
	char *part;

	if (asprintf(&part, "%s.part", out) < 0)
		return;
	unlink(part);
	free(part);
}

static void out_remove(struct record *record)
{
	if (record->directory != NULL) {
		if (record->out != NULL) {
			part_remove(record->out);
			unlink(record->out);
		}
		rmdir(record->directory);
	}
	free(record->directory);
	free(record->out);
}

static int recording_run(struct record *record, struct vg_err *err)
{
	char *helper = NULL;
	int rc = vg_vignetted_find(&helper, err);

	if (rc == 0)
		rc = out_prepare(record, err);
	if (rc == 0 && arguments_build(record, helper) != 0)
		rc = vg_err_sys(err, -ENOMEM, "cannot start vignetted");
	record->helper.on_status = on_status;
	record->helper.context = record;
	if (rc == 0)
		rc = vg_vignetted_run(&record->helper, record->arguments.items, err);
	free(helper);
	return rc;
}

/* ---- what follows the recording ---- */

/* Each step is confined, and so runs in a process of its own.  Returns its exit status, 128 + signal if a signal ended
 * it.  Prints a message if the step crashed. */
static int step_run(struct record *record, int (*step)(struct record *record))
{
	int status;
	pid_t child;

	fflush(stdout);
	fflush(stderr);
	child = vg_child_fork();
	if (child < 0) {
		vg_command_warn(record->command, "cannot create a process");
		return VG_EXIT_FAILED;
	}
	if (child == 0) {
		status = step(record);
		if (fflush(stdout) != 0 || ferror(stdout)) {
			vg_command_warn(record->command, "standard output: cannot write");
			status = VG_EXIT_FAILED;
		}
		_exit(status);
	}
	status = vg_child_wait(child);
	/* A reader of our output, such as head(1), has read enough. */
	if (status == 128 + SIGPIPE)
		return VG_EXIT_DONE;
	if (status > 128 && status != 128 + SIGINT && status != 128 + SIGTERM && status != 128 + SIGHUP)
		vg_command_warn(record->command, "the process that read the profile crashed: %s",
				strsignal(status - 128));
	return status;
}

/* Writes the function names into the profile, because the files may be gone or replaced when it is read again. */
static int resolve_step(struct record *record)
{
	return vg_resolve_in_place(record->command, &record->options.symbolize, record->out);
}

static int report_step(struct record *record)
{
	record->options.report.is_temporary = record->options.out == NULL;
	return vg_report_run(record->command, (const char *const *)&record->out, 1, &record->options.report,
			     &record->options.symbolize);
}

/* Returns the exit status of the first step that failed; without a failure that of vignetted, which is the
 * command's. */
static int steps_run(struct record *record)
{
	int resolved = VG_EXIT_DONE, status;

	record->options.symbolize.broker = (struct vg_broker){ .offers = record->mappings.offers.items,
							       .offer_count = record->mappings.offers.count };
	if (!record->options.symbolize.unresolved)
		resolved = step_run(record, resolve_step);
	if (resolved > 128)
		return resolved;
	status = step_run(record, report_step);
	if (status == VG_EXIT_DONE)
		status = resolved;
	return status != VG_EXIT_DONE ? status : record->helper.exit_status;
}

static int record_run(struct record *record)
{
	struct vg_err err;

	record->on_terminal = !record->options.quiet && isatty(STDERR_FILENO) == 1 &&
			      tcgetpgrp(STDERR_FILENO) == getpgrp();
	vg_child_signals();
	if (vg_symbolize_check(&record->options.symbolize, &err) != 0 || recording_run(record, &err) != 0)
		return vg_command_fail(record->command, &err);
	if (!record->helper.status.ended && record->helper.exit_status != 0)
		return record->helper.exit_status;
	if (record->helper.status.ended)
		end_print(record);
	return steps_run(record);
}

static void help_print(void)
{
	fputs(usage, stdout);
	putchar('\n');
	vg_record_help(stdout);
}

int cmd_record(int argc, char **argv)
{
	struct record record = { .command = argv[0], .options = VG_RECORD_OPTIONS_DEFAULT };
	struct vg_err err;
	int status = VG_EXIT_DONE;

	if (vg_record_options_parse(&record.options, argc, argv, &err) != 0)
		status = vg_command_usage_error(argv[0], usage, "%s", err.text);
	else if (record.options.help)
		help_print();
	else
		status = record_run(&record);
	out_remove(&record);
	vg_mappings_free(&record.mappings);
	vg_array_free(&record.arguments);
	vg_record_options_free(&record.options);
	return status;
}
