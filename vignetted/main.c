/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/number.h"
#include "base/outfile.h"
#include "base/print.h"
#include "libvgctl/wire.h"
#include "vignetted/serve/confine.h"
#include "vignetted/serve/control.h"
#include "vignetted/serve/finisher.h"
#include "vignetted/serve/launch.h"
#include "vignetted/serve/loop.h"
#include "vignetted/serve/status.h"

enum { EXIT_USAGE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

struct arguments {
	struct vg_session_options session;
	const char *output;
	pid_t pid;                   /* 0: launch `command` instead */
	char *const *command;
	bool serve;
	bool rate_given, budget_given;
	struct vg_status status;
};

static const char usage[] =
	"usage: vignetted --pid PID -o FILE [options]\n"
	"       vignetted -o FILE [options] -- COMMAND [ARGUMENT ...]\n"
	"options: --rate HZ  --duration SECONDS  --mode wall|cpu  --budget PERCENT  --perf-map\n"
	"         --thread-names  --capture auto|stop  --max-frames N  --max-size BYTES\n"
	"         --max-memory BYTES  --max-threads N  --max-modules N  --max-name BYTES\n"
	"         --status-fd N\n"
	"         --counter NAME (up to four: page-faults, context-switches, instructions:u, ...)\n";

/* Returns 0, or the exit status after a message. */
static int counter_parse(struct arguments *arguments, const char *text)
{
	struct vg_err err;

	if (vg_counters_parse(text, arguments->session.counters, &err) == 0)
		return 0;
	vg_print(stderr, "vignetted: --counter %s: %s\n", text, err.text);
	return EXIT_USAGE;
}

/* What each option expects as its value. */
static const struct {
	char option;
	const char *name, *expected;
} expectations[] = {
	{ 'p', "--pid", "must be a process id" },
	{ 'o', "--output", "must be the name of a file" },
	{ 'r', "--rate", "must be a whole number of samples per second, 1 to 10000" },
	{ 'b', "--budget", "must be a whole number of percent, 0 to 100" },
	{ 'd', "--duration", "must be a whole number of seconds, 1 to 1073741824" },
	{ 'm', "--mode", "must be wall or cpu" },
	{ 'f', "--max-frames", "must be 1 to 65536 frames" },
	{ 's', "--max-size", "must be a whole number of bytes, 65536 or more" },
	{ 'M', "--max-memory", "must be a whole number of bytes, 33554432 or more" },
	{ 't', "--max-threads", "must be 1 to 4294967294 threads" },
	{ 'l', "--max-modules", "must be 1 to 4294967294 modules" },
	{ 'n', "--max-name", "must be 16 to 16384 bytes" },
	{ 'c', "--capture", "must be auto or stop" },
	{ 'F', "--status-fd", "must be an open descriptor, 3 or more" },
};
_Static_assert(VG_MEMORY_MIN_BYTES == 33554432 && VG_NAME_MIN_BYTES == 16 && VG_NAME_MAX_BYTES == 16384,
	       "messages have these bounds");

static void expectation_print(int option, const char *text)
{
	for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
		if (expectations[i].option == option)
			vg_print(stderr, "vignetted: %s %s: %s\n", expectations[i].name, text,
				 expectations[i].expected);
	}
}

/* Returns false if the value is not what the option expects. */
static bool option_parse(struct arguments *arguments, int option, const char *text)
{
	struct vg_session_options *session = &arguments->session;
	uint64_t value = 0;
	bool good = true;

	switch (option) {
	case 'p':
		good = vg_number_parse(text, 1, INT32_MAX, &value);
		arguments->pid = (pid_t)value;
		return good;
	case 'o':
		arguments->output = text;
		return *text != '\0';
	case 'r':
		good = vg_number_parse(text, 1, 10000, &value);
		session->period_ns = good ? 1000000000 / value : 0;
		arguments->rate_given = true;
		return good;
	case 'b':
		arguments->budget_given = true;
		return vg_number_ppm(text, &session->budget_ppm);
	case 'd':
		good = vg_number_parse(text, 1, 1u << 30, &value);
		session->max_duration_ns = value * 1000000000;
		return good;
	case 'm':
		session->cpu_mode = strcmp(text, "cpu") == 0;
		return session->cpu_mode || strcmp(text, "wall") == 0;
	case 'f':
		good = vg_number_parse(text, 1, 65536, &value);
		session->max_frames = (uint32_t)value;
		return good;
	case 's':
		good = vg_number_parse(text, 65536, UINT64_MAX, &value);
		session->max_file_bytes = value;
		return good;
	case 'M':
		return vg_number_parse(text, VG_MEMORY_MIN_BYTES, UINT64_MAX, &session->max_memory_bytes);
	case 't':
		good = vg_number_parse(text, 1, UINT32_MAX - 1, &value);
		session->max_threads = (uint32_t)value;
		return good;
	case 'l':
		good = vg_number_parse(text, 1, UINT32_MAX - 1, &value);
		session->max_modules = (uint32_t)value;
		return good;
	case 'n':
		good = vg_number_parse(text, VG_NAME_MIN_BYTES, VG_NAME_MAX_BYTES, &value);
		session->max_name_bytes = (uint32_t)value;
		return good;
	case 'P':
		session->perf_map = true;
		return true;
	case 'T':
		session->thread_names = true;
		return true;
	case 'c':
		session->stop_always = strcmp(text, "stop") == 0;
		return session->stop_always || strcmp(text, "auto") == 0;
	case 'F':
		return vg_number_parse(text, 3, INT32_MAX, &value) && vg_status_open(&arguments->status, (int)value) == 0;
	case 'S':
		arguments->serve = true;
		return true;
	}
	return false;
}

/* Returns EXIT_SUCCESS to continue, -1 to exit with success, or EXIT_USAGE after a message. */
static int arguments_parse(struct arguments *arguments, int argc, char **argv)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "output", required_argument, NULL, 'o' },
		{ "rate", required_argument, NULL, 'r' },
		{ "budget", required_argument, NULL, 'b' },
		{ "duration", required_argument, NULL, 'd' },
		{ "mode", required_argument, NULL, 'm' },
		{ "max-frames", required_argument, NULL, 'f' },
		{ "max-size", required_argument, NULL, 's' },
		{ "max-memory", required_argument, NULL, 'M' },
		{ "max-threads", required_argument, NULL, 't' },
		{ "max-modules", required_argument, NULL, 'l' },
		{ "max-name", required_argument, NULL, 'n' },
		{ "perf-map", no_argument, NULL, 'P' },
		{ "thread-names", no_argument, NULL, 'T' },
		{ "counter", required_argument, NULL, 'C' },
		{ "capture", required_argument, NULL, 'c' },
		{ "status-fd", required_argument, NULL, 'F' },
		{ "serve", no_argument, NULL, 'S' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "+p:o:h", options, &index)) != -1) {
		if (option == 'h')
			return fputs(usage, stdout) < 0 ? EXIT_USAGE : -1;
		if (option == 'V')
			return puts("vignetted " PACKAGE_VERSION) < 0 ? EXIT_USAGE : -1;
		if (option == '?') {
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
		if (option == 'C' && counter_parse(arguments, optarg) != 0)
			return EXIT_USAGE;
		if (option != 'C' && !option_parse(arguments, option, optarg)) {
			expectation_print(option, optarg);
			return EXIT_USAGE;
		}
	}
	arguments->command = optind < argc ? argv + optind : NULL;
	if (arguments->rate_given && !arguments->budget_given)
		arguments->session.budget_ppm = 0;
	if (arguments->serve || (arguments->output != NULL &&
				 (arguments->pid != 0) != (arguments->command != NULL)))
		return EXIT_SUCCESS;
	vg_print(stderr, "vignetted: %s\n", arguments->output == NULL ? "no output file; use -o FILE" :
		 arguments->command != NULL ? "both --pid and a command; use one of them" :
					      "nothing to record; use --pid PID, or a command after --");
	fputs(usage, stderr);
	return EXIT_USAGE;
}

/* With --status-fd, the program that started us prints the summary. */
static void summary_print(const struct vg_recording *recording, const char *output, struct vg_status *status)
{
	const struct vg_recorder *recorder = &recording->recorder;
	uint64_t skipped = recorder->lost[VG_LOSS_TICK_SKIPPED], lost = vg_recorder_lost(recorder) - skipped;

	if (status->fd >= 0) {
		vg_status_end(status, &(struct vg_status_end){
			.samples = recorder->samples, .threads = recorder->threads,
			.bytes = recorder->writer.file_bytes, .lost = lost, .skipped = skipped,
			.reason = recording->ended });
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
static int session_begin(struct vg_session *session, const struct arguments *arguments, int fd,
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

struct turn {
	struct vg_status *status;
	const struct vg_recording *recording;
};

static bool status_turn(void *context)
{
	const struct turn *turn = context;

	vg_status_progress(turn->status, turn->recording->recorder.samples);
	return true;
}

/* Records until the recording ends, and completes the file. */
static int session_run(struct arguments *arguments, int signals, int fd, struct vg_finisher *finisher)
{
	static struct vg_session session;
	struct vg_recording *recording = NULL;
	struct turn turn = { .status = &arguments->status };
	struct vg_loop_sockets sockets = { .until_recordings_end = true, .on_turn = status_turn, .context = &turn };
	struct vg_err err;
	int rc, rename_rc, ended_by;

	rc = session_begin(&session, arguments, fd, &recording, &err);
	if (rc != 0) {
		vg_session_close(&session);
		vg_finisher_ask(finisher, VG_FINISH_DROP, NULL);
		return fail(&err);
	}
	turn.recording = recording;
	vg_status_begin(&arguments->status, session.target.pid);
	ended_by = vg_loop_run(&session, signals, &sockets);
	rc = vg_session_end(&session, recording, "interrupted by a signal");
	if (rc != 0)
		vg_err_sys(&err, rc, "%s: the profile is incomplete", arguments->output);
	/* Keep an incomplete profile too. */
	rename_rc = vg_finisher_ask(finisher, VG_FINISH_KEEP, rc == 0 ? &err : NULL);
	if (rc != 0 || rename_rc != 0) {
		rc = fail(&err);
	} else {
		summary_print(recording, arguments->output, &arguments->status);
		if (recording->recorder.samples == 0 &&
		    vg_recorder_lost(&recording->recorder) > 0) {
			vg_err_set(&err, 0, "%s: no samples: all were lost", arguments->output);
			rc = fail(&err);
		} else if (arguments->command != NULL && ended_by == 0)
			rc = command_status(&session);
	}
	vg_session_close(&session);
	return rc;
}

static int record(struct arguments *arguments, int signals)
{
	struct vg_outfile file;
	struct vg_finisher finisher = VG_FINISHER_NONE;
	struct vg_err err;
	int rc = vg_outfile_open(&file, arguments->output, &err);

	if (rc == 0) {
		rc = vg_finisher_start(&finisher, file_finish, &file, &err);
		if (rc != 0)
			vg_outfile_abandon(&file);
	}
	if (rc != 0)
		return fail(&err);
	if (arguments->command != NULL) {
		rc = vg_launch(arguments->command, &arguments->pid, &err);
		if (rc != 0) {
			fail(&err);
			vg_finisher_ask(&finisher, VG_FINISH_DROP, NULL);
			vg_outfile_close_copy(&file);
			return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
		}
	}
	rc = session_run(arguments, signals, file.fd, &finisher);
	vg_outfile_close_copy(&file);
	return rc;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .session = {
		.period_ns = 1000000000 / 99,
		.max_file_bytes = UINT64_C(256) << 20,
		.max_frames = 16384,
		.budget_ppm = 10000,
		.events_fd = -1,
	}, .status = { .fd = -1 } };
	int signals, rc;

	rc = arguments_parse(&arguments, argc, argv);
	if (rc != EXIT_SUCCESS)
		return rc < 0 ? EXIT_SUCCESS : rc;
	signals = vg_loop_signals();
	if (signals < 0) {
		vg_print(stderr, "vignetted: cannot block signals: %s\n", vg_errno_text(signals));
		return EXIT_FAILURE;
	}
	return arguments.serve ? vg_control_serve(VG_WIRE_FD, signals) : record(&arguments, signals);
}
