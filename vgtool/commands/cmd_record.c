/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/output_path.h"
#include "base/print.h"
#include "vgtool/commands/profiles.h"
#include "vgtool/commands/record_run.h"
#include "vgtool/commands/record_view.h"
#include "vgtool/commands/view_page.h"
#include "vgtool/output/text.h"
#include "vgtool/run/child.h"
#include "vgtool/run/mappings.h"

static const char usage[] =
	"usage: vgtool record [--children] [OPTION]... --pid PID[,PID]...\n"
	"       vgtool record [--children] [OPTION]... -- COMMAND [ARGUMENT]...\n";

struct record {
	const char *command;         /* "vgtool record" */
	struct vg_record_options options;
	bool several, made_out;      /* each process has a profile; its directory `out` is new */
	char *out;                   /* owned; path of the profile, or of the directory of several profiles */
	char *directory;             /* owned; temporary directory; NULL: -o was given */
	char *page;                  /* owned; path of the page of --view */
	struct vg_mappings mappings;
	struct vg_record_run run;
	bool on_terminal, shown;     /* standard error is a terminal; a line of progress is shown */
};

static const char *processes_plural(uint64_t count)
{
	return count == 1 ? "" : "es";
}

/* ---- the recording ---- */

static void progress_print(struct record *record)
{
	const struct vg_vignetted_status *sum = &record->run.sum;
	size_t live = record->run.live.count;
	struct vg_text elapsed, share;

	vg_record_run_sum(&record->run);
	record->shown = true;
	fputs("\r", stderr);
	vg_print(stderr, "%s: %s, %" PRIu64 " sample%s, ", record->command,
		 vg_text_ns(&elapsed, sum->elapsed_ms * 1000000), sum->samples, vg_text_plural(sum->samples));
	if (record->several)
		vg_print(stderr, "%zu process%s, ", live, processes_plural(live));
	vg_print(stderr, "%s of one CPU; Ctrl-C ends it", vg_text_percent(&share, sum->cpu_ms, sum->elapsed_ms));
	fputs("\033[K", stderr);
	fflush(stderr);
}

static void on_status(void *context, const struct vg_vignetted_status *status)
{
	struct record *record = context;

	if (!record->options.symbolize.unresolved && status->pid > 0 && !status->ended)
		vg_mappings_read(&record->mappings, status->pid);
	if (record->on_terminal && !status->ended && vg_descriptor_accepts(STDERR_FILENO, 0))
		progress_print(record);
}

/* "12 processes were too short to record" */
static void unrecorded_print(const struct record *record, uint64_t count, const char *why, const char *detail)
{
	if (count > 0)
		vg_command_warn(record->command, "%" PRIu64 " process%s %s%s", count, processes_plural(count), why,
				detail);
}

static void end_print(const struct record *record)
{
	const struct vg_record_run *run = &record->run;
	const struct vg_vignetted_status *sum = &run->sum;
	struct vg_text elapsed;

	vg_print(stderr, "%s: %s%s%" PRIu64 " sample%s of %" PRIu64 " thread%s", record->command,
		 record->directory == NULL ? record->out : "", record->directory == NULL ? ": " : "", sum->samples,
		 vg_text_plural(sum->samples), sum->threads, vg_text_plural(sum->threads));
	if (record->several)
		vg_print(stderr, " of %" PRIu64 " process%s", run->processes, processes_plural(run->processes));
	vg_print(stderr, " in %s", vg_text_ns(&elapsed, sum->elapsed_ms * 1000000));
	if (sum->lost > 0)
		vg_print(stderr, ", %" PRIu64 " lost", sum->lost);
	if (sum->skipped > 0)
		vg_print(stderr, ", %" PRIu64 " skipped on a busy machine", sum->skipped);
	if (*sum->reason != '\0')
		vg_print(stderr, " (%s)", sum->reason);
	fputc('\n', stderr);
	unrecorded_print(record, run->early, "were too short to record", "");
	unrecorded_print(record, run->failed, "could not be recorded; the first: ", run->failure);
	unrecorded_print(record, run->bounded, "were not recorded: too many at a time or in all", "");
	if (run->incomplete)
		vg_command_warn(record->command, "there were more than %d processes at a time; not all were followed",
				VG_DESCENDANTS_MAX);
}

/* ---- the profiles ---- */

/* Other files in the directory could be taken for profiles of this recording, and another user to whom it belongs could
 * replace them. */
static int directory_make(const char *path, bool *made, struct vg_err *err)
{
	struct dirent **entries;
	struct stat status;
	int count;

	if (mkdir(path, 0700) == 0) {
		*made = true;
		return 0;
	}
	if (errno != EEXIST)
		return vg_err_sys(err, -errno, "-o %s: cannot create the directory", path);
	if (vg_output_path_check_directory(path, err) == -EACCES)
		return -EACCES;
	if (stat(path, &status) == 0 && !vg_output_path_owner_is_trusted(status.st_uid))
		return vg_err_set(err, -EACCES, "-o %s: belongs to another user (uid %u); use a new directory", path,
				  status.st_uid);
	count = scandir(path, &entries, NULL, NULL);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
	return count == 2 ? 0 :  /* . and .. */
	       vg_err_set(err, -EINVAL, "-o %s: must be a new or empty directory, for one profile of each process",
			  path);
}

/* Whether other users cannot replace what we create in the directory, which is opened by its name again.  Our own group
 * is trusted: many systems give each user a group. */
static bool is_safe_parent(const char *directory)
{
	mode_t others = S_IWOTH;
	struct stat status;

	if (stat(directory, &status) != 0 || access(directory, W_OK | X_OK) != 0)
		return false;
	if (status.st_gid != getegid())
		others |= S_IWGRP;
	return ((status.st_mode & others) == 0 || (status.st_mode & S_ISVTX) != 0) &&
	       vg_output_path_owner_is_trusted(status.st_uid);
}

/* The /tmp of some containers is writable for all and has no sticky bit. */
static const char *temporary_parent(void)
{
	const char *const parents[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };

	for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
		if (parents[i] != NULL && is_safe_parent(parents[i]))
			return parents[i];
	}
	return NULL;
}

static int temporary_make(struct record *record, struct vg_err *err)
{
	const char *parent = temporary_parent();

	if (parent == NULL)
		return vg_err_set(err, -EACCES, "no directory for a temporary file in which other users cannot replace "
				  "it; set TMPDIR, or use -o FILE");
	if (asprintf(&record->directory, "%s/vgtool.XXXXXX", parent) < 0) {
		record->directory = NULL;
		return vg_err_sys(err, -ENOMEM, "cannot create a temporary directory");
	}
	if (mkdtemp(record->directory) == NULL) {
		int rc = vg_err_sys(err, -errno, "%s: cannot create a temporary directory", record->directory);

		free(record->directory);
		record->directory = NULL;
		return rc;
	}
	if (asprintf(&record->out, "%s%s", record->directory, record->several ? "" : "/record.vgp") < 0) {
		record->out = NULL;
		return vg_err_sys(err, -ENOMEM, "cannot create a temporary file");
	}
	return 0;
}

static int out_prepare(struct record *record, struct vg_err *err)
{
	const char *out = record->options.out;

	if (out == NULL)
		return temporary_make(record, err);
	if (!record->several && (strcmp(out, "-") == 0 || vg_output_path_is_special(out)))
		return vg_err_set(err, -EINVAL, "-o %s: must be a regular file, which record can read again", out);
	record->out = strdup(out);
	if (record->out == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", out);
	return record->several ? directory_make(out, &record->made_out, err) : 0;
}

/* A vignetted or resolve step that was killed leaves a file with another name, so all files are removed. */
static void temporary_remove(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN)
			unlinkat(dirfd(directory), entry->d_name, 0);
	}
	if (directory != NULL)
		closedir(directory);
	rmdir(path);
}

static void out_free(struct record *record)
{
	if (record->directory != NULL)
		temporary_remove(record->directory);
	else if (record->made_out)
		rmdir(record->out);  /* if it is empty */
	free(record->directory);
	free(record->out);
	free(record->page);
}

static int recording_run(struct record *record, struct vg_err *err)
{
	char *program = NULL;
	int rc = vg_vignetted_find(&program, err);

	if (rc == 0)
		rc = out_prepare(record, err);
	record->run = (struct vg_record_run){ .options = &record->options, .program = program, .out = record->out,
					      .on_status = on_status, .context = record };
	if (rc == 0)
		rc = vg_record_run(&record->run, err);
	if (record->shown)
		fputs("\r\033[K", stderr);
	free(program);
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
	struct vg_profiles profiles = { 0 };
	struct vg_err err;
	int status = VG_EXIT_FAILED;

	if (vg_profiles_list(&profiles, (const char *const *)&record->out, 1, &err) != 0)
		vg_command_fail(record->command, &err);
	else
		status = vg_resolve_in_place(record->command, &record->options.symbolize,
					     (char **)profiles.paths.items, profiles.paths.count, record->out);
	vg_profiles_free(&profiles);
	return status;
}

static int view_step(struct record *record)
{
	return vg_view_page_run(record->command, record->out, record->page, &record->options.symbolize);
}

static int report_step(struct record *record)
{
	record->options.report.is_temporary = record->options.out == NULL;
	record->options.report.is_one_thread = record->options.thread != NULL;
	return vg_report_run(record->command, (const char *const *)&record->out, 1, &record->options.report,
			     &record->options.symbolize);
}

/* Returns the exit status of the first step that failed; without a failure that of vignetted, which is the
 * command's. */
static int steps_run(struct record *record)
{
	int resolved = VG_EXIT_DONE, viewed = VG_EXIT_DONE, status;

	record->options.symbolize.broker = (struct vg_broker){ .offers = record->mappings.offers.items,
							       .offer_count = record->mappings.offers.count };
	/* Several profiles that are not kept are symbolized together, by the report. */
	if (!record->options.symbolize.unresolved && !(record->several && record->directory != NULL))
		resolved = step_run(record, resolve_step);
	if (resolved > 128)
		return resolved;
	/* Before the report, which may wait in a pager. */
	if (record->page != NULL)
		viewed = step_run(record, view_step);
	if (viewed > 128)
		return viewed;
	if (record->page != NULL && viewed == VG_EXIT_DONE)
		vg_record_view_open(record->command, record->page);
	status = step_run(record, report_step);
	if (status == VG_EXIT_DONE)
		status = resolved != VG_EXIT_DONE ? resolved : viewed;
	return status != VG_EXIT_DONE ? status : record->run.exit_status;
}

static int record_run(struct record *record)
{
	const struct vg_record_run *run = &record->run;
	struct vg_err err;

	record->several = vg_record_options_several(&record->options);
	record->on_terminal = !record->options.quiet && isatty(STDERR_FILENO) == 1 &&
			      tcgetpgrp(STDERR_FILENO) == getpgrp();
	vg_child_signals();
	if (record->options.view && (record->page = vg_record_view_path(&record->options)) == NULL)
		return VG_EXIT_FAILED;
	if (vg_symbolize_check(&record->options.symbolize, &err) != 0 ||
	    (record->page != NULL && vg_record_view_check(record->page, &err) != 0) || recording_run(record, &err) != 0)
		return vg_command_fail(record->command, &err);
	if (!run->sum.ended && run->exit_status != 0)
		return run->exit_status;
	if (run->sum.ended)
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
	out_free(&record);
	vg_mappings_free(&record.mappings);
	vg_record_options_free(&record.options);
	return status;
}
