/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/outfile.h"
#include "base/print.h"
#include "libvgctl/wire.h"
#include "vignetted/serve/arguments.h"
#include "vignetted/serve/check.h"
#include "vignetted/serve/confine.h"
#include "vignetted/serve/control.h"
#include "vignetted/serve/finisher.h"
#include "vignetted/serve/launch.h"
#include "vignetted/serve/loop.h"
#include "vignetted/serve/output_name.h"
#include "vignetted/serve/status.h"

enum { EXIT_USAGE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/* With --status-fd, the program that started us prints the summary. */
static void summary_print(const char *output, struct vg_status *status)
{
	const struct vg_recording *recording = status->recording;
	const struct vg_recorder *recorder = &recording->recorder;
	uint64_t skipped = recorder->losses.samples[VG_LOSS_TICK_SKIPPED], lost = vg_recorder_lost(recorder) - skipped;

	if (status->fd >= 0) {
		vg_status_end(status, lost, skipped);
		return;
	}
	vg_print(stderr, "vignetted: %s: %llu %s of %u %s, %llu bytes", output,
		 (unsigned long long)recorder->samples, recorder->samples == 1 ? "sample" : "samples",
		 recorder->threads, recorder->threads == 1 ? "thread" : "threads",
		 (unsigned long long)recorder->writer.file_bytes);
	if (lost > 0)
		vg_print(stderr, ", %llu lost", (unsigned long long)lost);
	/* Skipped samples are no defect of the profile: their time is in later samples. */
	if (skipped > 0)
		vg_print(stderr, ", %llu skipped on a busy machine", (unsigned long long)skipped);
	vg_print(stderr, " (%s)\n", recording->ended);
}

/* Returns the exit status of our own child.  The tracer may have reaped it already. */
static int command_status(struct vg_session *session)
{
	int status = session->tracer.command_status;

	if (!session->tracer.command_ended &&
	    waitpid(session->target.pid, &status, WNOHANG) != session->target.pid)
		return EXIT_SUCCESS;     /* the command continues */
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int fail(const struct vg_err *err)
{
	vg_print(stderr, "vignetted: %s\n", err->text);
	return EXIT_FAILURE;
}

/* The finisher's action (serve/finisher.h).  If the helper was killed, its file stays as it is. */
static int file_finish(void *context, enum vg_finish action, struct vg_err *err)
{
	struct vg_outfile *file = context;

	if (action == VG_FINISH_KEEP)
		return vg_outfile_commit(file, err);
	if (action == VG_FINISH_DROP)
		vg_outfile_abandon(file);
	return 0;
}

/* Opens the target, confines the helper, and only then reads the target. */
static int session_begin(struct vg_session *session, const struct vg_arguments *arguments, int fd,
			 struct vg_recording **recording, struct vg_err *err)
{
	int rc = vg_session_open(session, &arguments->session, arguments->pid, arguments->command != NULL, err);

	if (rc != 0)
		return rc;
	if (vg_confine(false, session->max_memory_bytes, err) != 0) {
		fail(err);               /* a warning only */
		session->unconfined = true;
	}
	rc = vg_session_start(session, &arguments->session, err);
	return rc != 0 ? rc : vg_session_begin(session, &arguments->session, fd, recording, err);
}

static bool progress_show(void *status)
{
	vg_status_show(status);
	return true;
}

/* Records until the recording ends, and completes the file. */
static int session_run(const struct vg_arguments *arguments, int signals, const struct vg_outfile *file,
		       struct vg_finisher *finisher)
{
	static struct vg_session session;
	struct vg_recording *recording = NULL;
	struct vg_status status;
	struct vg_loop_sockets sockets = { .until_recordings_end = true, .on_turn = progress_show,
					   .context = &status };
	struct vg_err err;
	int rc, rename_rc, ended_by;

	vg_status_open(&status, arguments->status_fd, arguments->quiet);
	rc = session_begin(&session, arguments, file->fd, &recording, &err);
	if (rc != 0) {
		vg_session_close(&session);
		vg_finisher_ask(finisher, VG_FINISH_DROP, NULL);
		return fail(&err);
	}
	vg_status_begin(&status, recording, session.target.pid);
	ended_by = vg_loop_run(&session, signals, &sockets);
	vg_status_hide(&status);
	rc = vg_session_end(&session, recording, "interrupted by a signal");
	if (rc != 0)
		vg_err_sys(&err, rc, "%s: the profile is incomplete", file->path);
	/* Keep an incomplete profile too. */
	rename_rc = vg_finisher_ask(finisher, VG_FINISH_KEEP, rc == 0 ? &err : NULL);
	if (rc != 0 || rename_rc != 0) {
		rc = fail(&err);
	} else {
		summary_print(file->path, &status);
		if (recording->recorder.samples == 0 &&
		    vg_recorder_lost(&recording->recorder) > 0) {
			vg_err_set(&err, 0, "%s: no samples: all were lost", file->path);
			rc = fail(&err);
		}
		/* A program that ends early may have one sample, which is lost. Its status must not depend on that. */
		if (arguments->command != NULL && ended_by == 0)
			rc = command_status(&session);
	}
	vg_session_close(&session);
	return rc;
}

/* Opens the profile, and starts the process that renames it. */
static int output_open(struct vg_outfile *file, struct vg_finisher *finisher, const struct vg_arguments *arguments,
		       struct vg_err *err)
{
	int rc = vg_output_is_directory(arguments->output) ?
		 vg_output_name_open(file, arguments->output, arguments->pid, err) :
		 vg_outfile_open(file, arguments->output, err);

	if (rc != 0)
		return rc;
	rc = vg_finisher_start(finisher, file_finish, file, err);
	if (rc != 0)
		vg_outfile_abandon(file);
	return rc;
}

/* Returns 0, or the exit status after a message. */
static int command_launch(struct vg_arguments *arguments)
{
	struct vg_err err;
	int rc;

	if (arguments->command == NULL)
		return 0;
	rc = vg_launch(arguments->command, &arguments->pid, &err);
	if (rc == 0)
		return 0;
	fail(&err);
	return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/* Checks the directory before the command is started.  The profile itself is created later, because its default name
 * contains the command's pid. */
static int directory_check(const char *directory, struct vg_err *err)
{
	if (access(directory ?: ".", W_OK | X_OK) == 0)
		return 0;
	return directory == NULL ?
	       vg_err_sys(err, -errno, "the profile cannot be created in the current directory; use -o FILE") :
	       vg_err_sys(err, -errno, "%s: the profile cannot be created in this directory", directory);
}

static int record(struct vg_arguments *arguments, int signals)
{
	bool launch_first = vg_output_is_directory(arguments->output);
	struct vg_outfile file = VG_OUTFILE_CLOSED;
	struct vg_finisher finisher = VG_FINISHER_NONE;
	struct vg_err err;
	int rc, status = 0;

	/* The command and the output are found with the rights of the user, who may not search all directories. */
	vg_search_capability_set(false);
	if (arguments->session.kernel && vg_check_kernel(&err) != 0)
		return fail(&err);
	if (launch_first && directory_check(arguments->output, &err) != 0)
		return fail(&err);
	if (launch_first)
		status = command_launch(arguments);
	if (status != 0)
		return status;
	rc = output_open(&file, &finisher, arguments, &err);
	if (rc != 0)
		return fail(&err);
	if (!launch_first)
		status = command_launch(arguments);
	vg_search_capability_set(true);
	if (status != 0)
		vg_finisher_ask(&finisher, VG_FINISH_DROP, NULL);
	else
		status = session_run(arguments, signals, &file, &finisher);
	vg_outfile_close_copy(&file);
	return status;
}

static int run(struct vg_arguments *arguments)
{
	struct vg_err err;
	bool possible;
	int signals;

	switch (arguments->request) {
	case VG_REQUEST_HELP:
		vg_arguments_help(stdout);
		return EXIT_SUCCESS;
	case VG_REQUEST_VERSION:
		puts("vignetted " PACKAGE_VERSION);
		return EXIT_SUCCESS;
	case VG_REQUEST_CHECK:
		if (vg_check_print(arguments->pid, &possible, &err) != 0)
			return fail(&err);
		return possible ? EXIT_SUCCESS : EXIT_FAILURE;
	case VG_REQUEST_RECORD: case VG_REQUEST_SERVE:
		break;
	}
	/* Before the first descriptor of our own is opened, which could get this number. */
	if (arguments->status_fd >= 0 && vg_status_check(arguments->status_fd, &err) != 0)
		return fail(&err);
	signals = vg_loop_signals();
	if (signals < 0) {
		vg_print(stderr, "vignetted: cannot wait for signals with sigprocmask and signalfd: %s\n",
			 vg_errno_text(signals));
		return EXIT_FAILURE;
	}
	if (arguments->request != VG_REQUEST_SERVE)
		return record(arguments, signals);
	/* Standard error is the host's socket (libvgctl/spawn.c).  After HELLO only messages may be sent there. */
	dup2(STDIN_FILENO, STDERR_FILENO);
	return vg_control_serve(VG_WIRE_FD, signals);
}

int main(int argc, char **argv)
{
	struct vg_arguments arguments;
	struct vg_err err;
	int status;

	if (vg_arguments_parse(&arguments, argc, argv, &err) != 0) {
		vg_print(stderr, "vignetted: %s\n", err.text);
		fputs("vignetted --help lists the options\n", stderr);
		return EXIT_USAGE;
	}
	status = run(&arguments);
	return fflush(stdout) != 0 && status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}
