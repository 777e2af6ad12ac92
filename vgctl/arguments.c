/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgctl/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/option_table.h"
#include "base/print.h"

static const char usage[] =
	"usage: vgctl [--directory DIR] list\n"
	"       vgctl [--directory DIR] status PID\n"
	"       vgctl [--directory DIR] begin PID -o FILE [OPTION]...\n"
	"       vgctl [--directory DIR] end PID [ID]\n"
	"       vgctl [--directory DIR] dump PID FILE [ID]\n"
	"       vgctl [--directory DIR] mark PID LABEL\n";

static const struct vg_option options[] = {
	{ 'D', "directory", VG_OPTION_TEXT, "DIR", 0, sizeof ((struct vg_arguments *)NULL)->directory - 1,
	  "a path of at most 4095 bytes", NULL, "the directory of the helpers' sockets", 0 },
	{ 'o', "output", VG_OPTION_TEXT, "FILE", 0, 0, "the path of a file", NULL, "write this profile", 1 },
	{ 'i', "thread", VG_OPTION_NUMBER, "TID", 1, INT32_MAX, "(the id of a thread)", NULL,
	  "sample only this thread", 0 },
	{ 'r', "rate", VG_OPTION_NUMBER, "HZ", 1, 10000, "samples per second", "99",
	  "samples of a thread per second", 0 },
	{ 'm', "mode", VG_OPTION_WORD, "wall|cpu", 0, 0, NULL, "wall", "record all time, or CPU time only", 0 },
	{ 'b', "budget", VG_OPTION_SHARE, "PERCENT", 0, 0, NULL, "1", "limit the cost by a lower rate", 0 },
	{ 'd', "duration", VG_OPTION_TIME, "TIME", 1000000, UINT64_C(1000000000) << 30, NULL, "24h",
	  "end after this time", 0 },
	{ 's', "max-size", VG_OPTION_SIZE, "SIZE", 65536, UINT64_MAX, NULL, "256M", "end at this file size", 0 },
	{ 'f', "max-frames", VG_OPTION_NUMBER, "N", 1, 65536, "frames", "16384", "frames of a stack", 0 },
	{ 'F', "flight", VG_OPTION_TIME, "TIME", 1000000000, VG_WIRE_FLIGHT_MAX_NS, NULL, NULL,
	  "keep only the last TIME, in memory", 0 },
	{ 'M', "flight-memory", VG_OPTION_SIZE, "SIZE", 1 << 20, UINT64_MAX, NULL, "64M",
	  "memory for --flight", 0 },
	{ 'C', "counter", VG_OPTION_TEXT, "NAME", 0, 0, "the name of a perf counter", NULL,
	  "also count this event (up to 4 such options)", 0 },
	{ 'T', "thread-names", VG_OPTION_FLAG, .help = "record the names of threads" },
	{ 'P', "perf-map", VG_OPTION_FLAG, .help = "record the names of JIT code in /tmp/perf-PID.map" },
	VG_OPTION_HELP,
	VG_OPTION_VERSION,
};

enum { OPTIONS = sizeof options / sizeof *options };

int vg_arguments_fail(const struct vg_err *err)
{
	vg_print(stderr, "vgctl: %s\n", err->text);
	return EXIT_FAILURE;
}

int vg_arguments_usage(void)
{
	fputs(usage, stderr);
	return EXIT_USAGE;
}

static void help_print(void)
{
	fputs(usage, stdout);
	fputs("\n", stdout);
	vg_option_help(options, OPTIONS, stdout);
	fputs("\nTIME: seconds, or a number with ms, s, m, h or d.  SIZE: bytes, or a number\n"
	      "with K, M or G.  All options but --directory are for begin; see vgctl(1)\n", stdout);
}

static int option_set(struct vg_arguments *arguments, const struct vg_option_value *value, struct vg_err *err)
{
	struct vg_wire_begin *begin = &arguments->begin;
	uint64_t number = value->number;

	switch (value->key) {
	case 'D': strcpy(arguments->directory, value->text); break; /* its length is checked */
	case 'o': arguments->output = value->text; break;
	case 'i': begin->thread = (uint32_t)number; break;
	case 'r': begin->period_ns = 1000000000 / number; break;
	case 'm': begin->cpu_mode = number == 1; break;
	case 'b': begin->budget_ppm = (uint32_t)number; break;
	case 'd': begin->max_duration_ns = number; break;
	case 's': begin->max_file_bytes = number; break;
	case 'f': begin->max_frames = (uint32_t)number; break;
	case 'F': begin->flight_ns = number; break;
	case 'M': begin->flight_memory_bytes = number; break;
	case 'T': begin->thread_names = 1; break;
	case 'P': begin->perf_map = 1; break;
	case 'C': {
		struct vg_err why;
		int rc = vg_counters_parse(value->text, begin->counters, &why);

		return rc == 0 ? 0 : vg_err_set(err, -EINVAL, "--%s", why.text);
	}
	}
	return 0;
}

/* Returns 0, or -EINVAL with err set. */
static int combination_check(struct vg_arguments *arguments, const bool given[128], struct vg_err *err)
{
	if (given['r'] && !given['b'])
		arguments->begin.budget_ppm = 0;
	if ((given['d'] || given['s']) && given['F'])
		return vg_err_set(err, -EINVAL, "--flight: cannot be combined with --duration or --max-size; use "
				  "--flight-memory instead of --max-size");
	if (given['M'] && !given['F'])
		return vg_err_set(err, -EINVAL, "--flight-memory: needs --flight");
	return 0;
}

int vg_arguments_options(struct vg_arguments *arguments, int argc, char **argv)
{
	struct vg_option_reader reader = { .options = options, .count = OPTIONS, .argc = argc, .argv = argv };
	struct vg_option_value value;
	bool given[128] = { false };
	struct vg_err err;
	int rc;

	while ((rc = vg_option_next(&reader, &value, &err)) > 0) {
		if (value.key == 'h')
			return help_print(), -1;
		if (value.key == 'V')
			return puts("vgctl " PACKAGE_VERSION) < 0 ? EXIT_USAGE : -1;
		given[value.key & 127] = true;
		rc = option_set(arguments, &value, &err);
		if (rc != 0)
			break;
	}
	if (rc == 0)
		rc = combination_check(arguments, given, &err);
	if (rc == 0)
		return EXIT_SUCCESS;
	vg_arguments_fail(&err);
	fputs("vgctl --help lists the options\n", stderr);
	return EXIT_USAGE;
}
