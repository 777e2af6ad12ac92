/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/top_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/number.h"
#include "vgtool/commands/record_options.h"
#include "vgtool/run/vignetted_run.h"

static const char usage[] =
	"usage: vgtool top [--rate HZ] [--mode wall|cpu] [--window TIME]\n"
	"                  [--budget PERCENT] [--capture auto|stop] [--max-size SIZE]\n"
	"                  [--no-perf-map] [-s STORE]... [--debuginfod] [--unresolved]\n"
	"                  [--no-instruction-frames] PID\n";

/* The keys of options of vignetted are FORWARDED or more. */
enum { WINDOW = 256, NO_PERF_MAP, FORWARDED };

static const uint64_t WINDOW_NS = UINT64_C(10000000000);

/* vignetted checks the values of its options, because only vignetted knows their bounds. */
static const struct vg_option table[] = {
	VG_RECORD_OPTION_RATE(FORWARDED),
	{ FORWARDED + 1, "mode", VG_OPTION_TEXT, "wall|cpu", .unit = "wall or cpu", .by_default = "cpu",
	  .help = "show all time, or CPU time only" },
	VG_RECORD_OPTION_BUDGET(FORWARDED + 2),
	VG_RECORD_OPTION_CAPTURE(FORWARDED + 3),
	{ FORWARDED + 4, "max-size", VG_OPTION_TEXT, "SIZE", .unit = "a number of bytes", .by_default = "16M",
	  .help = "begin again after a profile of this size" },
	{ WINDOW, "window", VG_OPTION_TIME, "TIME", UINT64_C(1000000000), UINT64_C(3600000000000), NULL, "10",
	  "show the latest seconds", 0 },
	{ NO_PERF_MAP, "no-perf-map", VG_OPTION_FLAG, .help = "do not read the names of JIT code" },
	VG_SYMBOLIZE_TABLE,
	VG_OPTION_HELP,
};

enum { COUNT = sizeof table / sizeof *table };

static int arguments_add(struct vg_top_options *options, const char *const *arguments)
{
	int rc = 0;

	for (; rc == 0 && *arguments != NULL; arguments++)
		rc = vg_array_push(&options->arguments, arguments);
	return rc;
}

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	static const char *const names[] = { "--rate", "--mode", "--budget", "--capture", "--max-size" };
	struct vg_top_options *options = context;

	if (value->key >= FORWARDED) {
		const char *name = names[value->key - FORWARDED];

		return arguments_add(options, (const char *const[]){ name, value->text, NULL }) == 0 ? 0 :
		       vg_err_sys(err, -ENOMEM, "%s", name);
	}
	if (value->key == WINDOW)
		options->window_ns = value->number;
	options->no_perf_map = options->no_perf_map || value->key == NO_PERF_MAP;
	return vg_symbolize_set(&options->symbolize, value, err);
}

static int arguments_end(struct vg_top_options *options, const char *pid)
{
	const char *end = NULL;
	int rc = arguments_add(options, (const char *const[]){ "--pid", pid, NULL });

	if (rc == 0 && !options->no_perf_map && vg_vignetted_perf_map_wanted(options->pid))
		rc = arguments_add(options, (const char *const[]){ "--perf-map", NULL });
	return rc == 0 ? vg_array_push(&options->arguments, &end) : rc;
}

/* Takes the arguments after the options.  Returns 0, or a negative errno with a message in err. */
static int pid_take(struct vg_top_options *options, int argc, char **argv, struct vg_err *err)
{
	uint64_t pid;
	int rc;

	if (argc - optind != 1)
		return vg_err_set(err, -EINVAL, "expected one PID, got %d", argc - optind);
	if (!vg_number_parse(argv[optind], 1, INT32_MAX, &pid))
		return vg_err_set(err, -EINVAL, "%.100s: must be the id of a process", argv[optind]);
	options->pid = (pid_t)pid;
	rc = arguments_end(options, argv[optind]);
	return rc == 0 ? 0 : vg_err_sys(err, rc, "cannot start vignetted");
}

int vg_top_options_read(struct vg_top_options *options, int argc, char **argv)
{
	/* The program and the value of --status-fd are set later.  Of an option that is given twice, vignetted uses the
	 * second. */
	static const char *const first[] = { "", "--status-fd", "", "-o", "/dev/stdout", "--mode", "cpu",
					     "--max-size", "16M", NULL };
	const struct vg_command_line line = { usage, table, COUNT, option_set, options };
	struct vg_err err;
	int rc = arguments_add(options, first), status;

	if (rc != 0) {
		vg_err_sys(&err, rc, "cannot start vignetted");
		return vg_command_fail(argv[0], &err);
	}
	options->window_ns = WINDOW_NS;
	status = vg_command_line_read(&line, argc, argv);
	if (status == VG_COMMAND_LINE_READ && pid_take(options, argc, argv, &err) != 0)
		status = vg_command_usage_error(argv[0], usage, "%s", err.text);
	return status;
}

void vg_top_options_free(struct vg_top_options *options)
{
	vg_array_free(&options->arguments);
	vg_symbolize_free(&options->symbolize);
}
