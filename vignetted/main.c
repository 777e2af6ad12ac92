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

enum { EXIT_USAGE = 2, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

struct arguments {
	struct vg_session_options session;
	const char *output;
	pid_t pid;                   /* 0: a command is to be launched */
	char *const *command;
	bool serve;
	bool rate_given, budget_given;
};

static const char usage[] =
	"usage: vignetted --pid PID -o FILE [options]\n"
	"       vignetted -o FILE [options] -- COMMAND [ARGUMENT ...]\n"
	"options: --rate HZ  --duration SECONDS  --mode wall|cpu  --budget PERCENT  --perf-map\n"
	"         --thread-names  --capture auto|stop  --max-frames N  --max-size BYTES\n"
	"         --max-memory BYTES  --max-threads N  --max-modules N  --max-name BYTES\n"
	"         --counter NAME (up to four: page-faults, context-switches, instructions:u, ...)\n";

/* 0 or the exit status, with the reason printed. */
static int counter_parse(struct arguments *arguments, const char *text)
{
	struct vg_err err;

	if (vg_counters_parse(text, arguments->session.counters, &err) == 0)
		return 0;
	vg_print(stderr, "vignetted: %s\n", err.text);
	return EXIT_USAGE;
}

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
		return vg_number_parse(text, VG_MEMORY_LEAST_BYTES, UINT64_MAX, &session->max_memory_bytes);
	case 't':
		good = vg_number_parse(text, 1, UINT32_MAX - 1, &value);
		session->max_threads = (uint32_t)value;
		return good;
	case 'l':
		good = vg_number_parse(text, 1, UINT32_MAX - 1, &value);
		session->max_modules = (uint32_t)value;
		return good;
	case 'n':
		good = vg_number_parse(text, VG_NAME_LEAST_BYTES, VG_NAME_MAX_BYTES, &value);
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
	case 'S':
		arguments->serve = true;
		return true;
	}
	return false;
}

/* EXIT_SUCCESS to go on, -1 to stop with success, or EXIT_USAGE with the reason printed. */
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
			vg_print(stderr, "vignetted: %s is out of range or not a value for that option\n",
				 optarg);
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	arguments->command = optind < argc ? argv + optind : NULL;
	if (arguments->rate_given && !arguments->budget_given)
		arguments->session.budget_ppm = 0;
	if (arguments->serve || (arguments->output != NULL &&
				 (arguments->pid != 0) != (arguments->command != NULL)))
		return EXIT_SUCCESS;
	fputs(usage, stderr);
	return EXIT_USAGE;
}

static void summary_print(const struct vg_recording *recording, const char *output)
{
	const struct vg_recorder *recorder = &recording->recorder;
	uint64_t lost = vg_recorder_lost(recorder);

	vg_print(stderr, "vignetted: %s: %llu %s of %u %s, %llu bytes", output,
		 (unsigned long long)recorder->samples, recorder->samples == 1 ? "sample" : "samples",
		 recorder->threads, recorder->threads == 1 ? "thread" : "threads",
		 (unsigned long long)recorder->writer.file_bytes);
	if (lost > 0)
		vg_print(stderr, ", %llu lost", (unsigned long long)lost);
	vg_print(stderr, " (%s)\n", recording->ended);
}

/* The end of our own child, which the tracer may have seen already. */
static int command_status(struct vg_session *session)
{
	int status = session->tracer.command_status;

	if (!session->tracer.command_ended &&
	    waitpid(session->target.pid, &status, WNOHANG) != session->target.pid)
		return EXIT_SUCCESS;     /* it goes on without us */
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int fail(const struct vg_err *err)
{
	vg_print(stderr, "vignetted: %s\n", err->text);
	return EXIT_FAILURE;
}

/* The finisher's part: see vignetted/serve/finisher.h.  The file of a helper that was killed stays as it is. */
static int file_finish(void *context, enum vg_finish what, struct vg_err *err)
{
	struct vg_outfile *file = context;

	if (what == VG_FINISH_KEEP)
		return vg_outfile_commit(file, err);
	if (what == VG_FINISH_DROP)
		vg_outfile_abandon(file);
	return 0;
}

/* The target is opened, the helper is confined, and only then the target is read. */
static int session_begin(struct vg_session *session, const struct arguments *arguments, int fd,
			 struct vg_recording **recording, struct vg_err *err)
{
	int rc = vg_session_open(session, &arguments->session, arguments->pid, arguments->command != NULL, err);

	if (rc != 0)
		return rc;
	if (vg_confine(false, session->max_memory_bytes, err) != 0) {
		fail(err);               /* worth knowing, and no reason not to record */
		session->unconfined = true;
	}
	rc = vg_session_start(session, &arguments->session, err);
	return rc != 0 ? rc : vg_session_begin(session, &arguments->session, fd, recording, err);
}

/* Records until something ends it, and completes the file. */
static int session_run(const struct arguments *arguments, int signals, int fd, struct vg_finisher *finisher)
{
	static struct vg_session session;
	struct vg_recording *recording = NULL;
	struct vg_err err;
	int rc, kept, ended_by;

	rc = session_begin(&session, arguments, fd, &recording, &err);
	if (rc != 0) {
		vg_session_close(&session);
		vg_finisher_ask(finisher, VG_FINISH_DROP, NULL);
		return fail(&err);
	}
	ended_by = vg_loop_run(&session, signals, NULL);
	rc = vg_session_end(&session, recording, "interrupted by a signal");
	if (rc != 0)
		vg_err_sys(&err, rc, "%s is not whole", arguments->output);
	/* What was written is worth having in any case. */
	kept = vg_finisher_ask(finisher, VG_FINISH_KEEP, rc == 0 ? &err : NULL);
	if (rc != 0 || kept != 0) {
		rc = fail(&err);
	} else {
		summary_print(recording, arguments->output);
		if (recording->recorder.samples == 0 &&
		    vg_recorder_lost(&recording->recorder) > 0) {
			vg_err_set(&err, 0, "%s holds no sample: all were lost", arguments->output);
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
			vg_outfile_forget(&file);
			return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
		}
	}
	rc = session_run(arguments, signals, file.fd, &finisher);
	vg_outfile_forget(&file);
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
	} };
	int signals, rc;

	rc = arguments_parse(&arguments, argc, argv);
	if (rc != EXIT_SUCCESS)
		return rc < 0 ? EXIT_SUCCESS : rc;
	signals = vg_loop_signals();
	if (signals < 0) {
		vg_print(stderr, "vignetted: cannot block signals: %s\n", vg_err_words(signals));
		return EXIT_FAILURE;
	}
	return arguments.serve ? vg_control_serve(VG_WIRE_FD, signals) : record(&arguments, signals);
}
