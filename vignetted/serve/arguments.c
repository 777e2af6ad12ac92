/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/serve/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/option_table.h"

static const struct vg_option options[] = {
	{ 'p', "pid", VG_OPTION_NUMBER, "PID", 1, INT32_MAX, "(the id of a process)", NULL,
	  "record the process with this id", 1 },
	{ 'i', "thread", VG_OPTION_NUMBER, "TID", 1, INT32_MAX, "(the id of a thread)", NULL,
	  "sample only this thread", 0 },
	{ 'o', "output", VG_OPTION_TEXT, "FILE", 0, 0, "the name of a file", NULL,
	  "write this profile [PROGRAM.PID.vgp]", 1 },
	{ 'r', "rate", VG_OPTION_NUMBER, "HZ", 1, 10000, "samples per second", "99",
	  "samples of a thread per second", 0 },
	{ 'd', "duration", VG_OPTION_TIME, "TIME", 1000000, UINT64_C(1000000000) << 30, NULL, "none",
	  "stop after this time", 0 },
	{ 'm', "mode", VG_OPTION_WORD, "wall|cpu", 0, 0, NULL, "wall", "record all time, or CPU time only", 0 },
	{ 'b', "budget", VG_OPTION_SHARE, "PERCENT", 0, 0, NULL, "1", "limit the cost by a lower rate", 0 },
	{ 'c', "capture", VG_OPTION_WORD, "auto|stop", 0, 0, NULL, "auto", "use timers, or only stop threads", 0 },
	{ 'C', "counter", VG_OPTION_TEXT, "NAME", 0, 0, "the name of a perf counter", NULL,
	  "also count this event (up to 4 such options)", 0 },
	{ 'T', "thread-names", VG_OPTION_FLAG, .help = "record the names of threads" },
	{ 'P', "perf-map", VG_OPTION_FLAG, .help = "record the names of JIT code in /tmp/perf-PID.map" },
	{ 'K', "kernel", VG_OPTION_FLAG, .help = "also record the functions of the kernel" },
	{ 's', "max-size", VG_OPTION_SIZE, "SIZE", 65536, UINT64_MAX, NULL, "256M", "stop at this file size", 0 },
	{ 'M', "max-memory", VG_OPTION_SIZE, "SIZE", VG_MEMORY_MIN_BYTES, UINT64_MAX, NULL, "1G",
	  "memory of vignetted", 0 },
	{ 'f', "max-frames", VG_OPTION_NUMBER, "N", 1, 65536, "frames", "16384", "frames of a stack", 0 },
	{ 't', "max-threads", VG_OPTION_NUMBER, "N", 1, UINT32_MAX - 1, "threads", "16384", "threads", 0 },
	{ 'q', "quiet", VG_OPTION_FLAG, .help = "show no progress on the terminal" },
	{ 'F', "status-fd", VG_OPTION_NUMBER, "N", 3, INT32_MAX, "(an open descriptor)", NULL,
	  "write the progress to it", 0 },
	{ 'k', "check", VG_OPTION_FLAG, .help = "say whether PID, or a command, can be recorded" },
	{ 'S', "serve", VG_OPTION_FLAG, .help = NULL },
	VG_OPTION_HELP,
	VG_OPTION_VERSION,
};

enum { OPTIONS = sizeof options / sizeof *options };

static const char usage[] =
	"usage: vignetted --pid PID [-o FILE] [OPTION]...\n"
	"       vignetted [-o FILE] [OPTION]... -- COMMAND [ARGUMENT]...\n"
	"       vignetted --check [PID]\n\n";
void vg_arguments_help(FILE *file)
{
	fputs(usage, file);
	vg_option_help(options, OPTIONS, file);
	fputs("\nTIME: seconds, or a number with ms, s, m, h or d.  SIZE: bytes, or a number\n"
	      "with K, M or G.  vignetted(8) describes all options\n", file);
}

static int value_set(struct vg_arguments *arguments, const struct vg_option_value *value, struct vg_err *err)
{
	struct vg_session_options *session = &arguments->session;
	uint64_t number = value->number;

	switch (value->key) {
	case 'p': arguments->pid = (pid_t)number; break;
	case 'i': session->thread = (pid_t)number; break;
	case 'o': arguments->output = value->text; break;
	case 'r': session->period_ns = 1000000000 / number; break;
	case 'b': session->budget_ppm = (uint32_t)number; break;
	case 'd': session->max_duration_ns = number; break;
	case 'm': session->cpu_mode = number == 1; break;
	case 'c': session->stop_always = number == 1; break;
	case 'f': session->max_frames = (uint32_t)number; break;
	case 's': session->max_file_bytes = number; break;
	case 'M': session->max_memory_bytes = number; break;
	case 't': session->max_threads = (uint32_t)number; break;
	case 'F': arguments->status_fd = (int)number; break;
	case 'C': {
		struct vg_err why;
		int rc = vg_counters_parse(value->text, session->counters, &why);

		return rc == 0 ? 0 : vg_err_set(err, -EINVAL, "--%s", why.text);
	}
	case 'T': session->thread_names = true; break;
	case 'P': session->perf_map = true; break;
	case 'K': session->kernel = true; break;
	case 'q': arguments->quiet = true; break;
	case 'k': arguments->request = VG_REQUEST_CHECK; break;
	case 'S': arguments->request = VG_REQUEST_SERVE; break;
	case 'h': arguments->request = VG_REQUEST_HELP; break;
	case 'V': arguments->request = VG_REQUEST_VERSION; break;
	}
	return 0;
}

/* --check takes the process as --pid or as an argument. */
static int check_target(struct vg_arguments *arguments, int argc, char **argv, struct vg_err *err)
{
	struct vg_option_value value = { .key = 'p' };
	int rc;

	arguments->command = NULL;
	if (optind == argc)
		return 0;
	if (arguments->pid != 0 || argc - optind > 1)
		return vg_err_set(err, -EINVAL, "--check: more than one process; use one PID");
	value.text = argv[optind];
	rc = vg_option_check(&options[0], &value, err);
	arguments->pid = (pid_t)value.number;
	return rc;
}

static int request_check(struct vg_arguments *arguments, int argc, char **argv, struct vg_err *err)
{
	if (arguments->request == VG_REQUEST_CHECK)
		return check_target(arguments, argc, argv, err);
	if (arguments->request != VG_REQUEST_RECORD)
		return 0;
	if (arguments->pid == 0 && arguments->command == NULL)
		return vg_err_set(err, -EINVAL, "nothing to record; use --pid PID, or a command after --");
	if (arguments->pid != 0 && arguments->command != NULL)
		return vg_err_set(err, -EINVAL, "both --pid and a command; use one of them");
	if (arguments->session.thread != 0 && arguments->command != NULL)
		return vg_err_set(err, -EINVAL, "both --thread and a command; use --thread with --pid, because the "
				  "threads of a command have no ids before it runs");
	if (arguments->session.kernel && arguments->session.stop_always)
		return vg_err_set(err, -EINVAL, "both --kernel and --capture stop; only timers sample the kernel");
	return 0;
}

int vg_arguments_parse(struct vg_arguments *arguments, int argc, char **argv, struct vg_err *err)
{
	struct vg_option_reader reader = { .options = options, .count = OPTIONS, .argc = argc, .argv = argv,
					   .options_first = true };
	struct vg_option_value value = { .text = NULL };
	bool rate_given = false, budget_given = false;
	int rc;

	*arguments = (struct vg_arguments){ .session = {
		.period_ns = 1000000000 / 99,
		.max_file_bytes = UINT64_C(256) << 20,
		.max_frames = 16384,
		.budget_ppm = 10000,
		.events_fd = -1,
	}, .status_fd = -1 };
	while ((rc = vg_option_next(&reader, &value, err)) > 0) {
		rate_given |= value.key == 'r';
		budget_given |= value.key == 'b';
		rc = value_set(arguments, &value, err);
		/* Do not complain about what follows --help. */
		if (rc != 0 || arguments->request == VG_REQUEST_HELP || arguments->request == VG_REQUEST_VERSION)
			return rc;
	}
	if (rc != 0 && value.key == 'p' && strchr(value.text, ',') != NULL)
		return vg_err_set(err, rc, "--pid %.100s: more than one process; use vgtool record", value.text);
	if (rc != 0)
		return rc;
	if (rate_given && !budget_given)
		arguments->session.budget_ppm = 0;
	arguments->command = optind < argc ? argv + optind : NULL;
	return request_check(arguments, argc, argv, err);
}
