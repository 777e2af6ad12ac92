/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgctl/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/number.h"
#include "base/print.h"

static const char usage[] =
	"usage: vgctl [--directory DIR] list\n"
	"       vgctl [--directory DIR] status PID\n"
	"       vgctl [--directory DIR] begin PID -o FILE [--rate HZ] [--mode wall|cpu]\n"
	"             [--budget PERCENT] [--duration SECONDS] [--max-size BYTES]\n"
	"             [--max-frames N] [--thread-names] [--perf-map] [--counter NAME]...\n"
	"             [--flight SECONDS] [--flight-memory BYTES]\n"
	"       vgctl [--directory DIR] end PID [ID]\n"
	"       vgctl [--directory DIR] dump PID FILE [ID]\n"
	"       vgctl [--directory DIR] mark PID LABEL\n";

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

static bool option_parse(struct vg_arguments *arguments, int option, const char *text)
{
	struct vg_wire_begin *begin = &arguments->begin;
	uint64_t value = 0;

	switch (option) {
	case 'D':
		return snprintf(arguments->directory, sizeof arguments->directory, "%s", text) <
		       (int)sizeof arguments->directory && *text != '\0';
	case 'o':
		arguments->output = text;
		return *text != '\0';
	case 'r':
		arguments->rate_given = vg_number_parse(text, 1, 10000, &value);
		begin->period_ns = arguments->rate_given ? 1000000000 / value : 0;
		return arguments->rate_given;
	case 'm':
		begin->cpu_mode = strcmp(text, "cpu") == 0;
		return begin->cpu_mode != 0 || strcmp(text, "wall") == 0;
	case 'b':
		return arguments->budget_given = vg_number_ppm(text, &begin->budget_ppm);
	case 'd':
		if (!vg_number_parse(text, 1, 1u << 30, &value))
			return false;
		begin->max_duration_ns = value * 1000000000;
		return arguments->limit_given = true;
	case 's':
		arguments->limit_given = true;
		return vg_number_parse(text, 65536, UINT64_MAX, &begin->max_file_bytes);
	case 'f':
		if (!vg_number_parse(text, 1, 65536, &value))
			return false;
		begin->max_frames = (uint32_t)value;
		return true;
	case 'F':
		if (!vg_number_parse(text, 1, VG_WIRE_FLIGHT_MAX_NS / 1000000000, &value))
			return false;
		begin->flight_ns = value * 1000000000;
		return true;
	case 'M':
		return vg_number_parse(text, 1 << 20, UINT64_MAX, &begin->flight_memory_bytes);
	case 'T':
		begin->thread_names = 1;
		return true;
	case 'P':
		begin->perf_map = 1;
		return true;
	}
	return false;
}

/* Prints the error for an option whose value option_parse() has refused. */
static void option_complain(int option, const char *text)
{
	static const struct { int option; const char *name, *expected; } values[] = {
		{ 'D', "directory", "use a path of at most 4095 bytes" },
		{ 'o', "output", "use the path of a file" },
		{ 'r', "rate", "use 1 to 10000 samples per second" },
		{ 'm', "mode", "use wall or cpu" },
		{ 'b', "budget", "use 0 to 100 percent" },
		{ 'd', "duration", "use 1 to 1073741824 seconds" },
		{ 's', "max-size", "use at least 65536 bytes" },
		{ 'f', "max-frames", "use 1 to 65536 frames" },
		{ 'F', "flight", "use 1 to 86400 seconds" },
		{ 'M', "flight-memory", "use at least 1048576 bytes" },
	};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		if (values[i].option == option)
			vg_print(stderr, "vgctl: --%s: '%s' is not valid; %s\n", values[i].name, text,
				 values[i].expected);
	}
}

static int counter_parse(struct vg_arguments *arguments, const char *text)
{
	struct vg_err err;

	if (vg_counters_parse(text, arguments->begin.counters, &err) == 0)
		return EXIT_SUCCESS;
	vg_print(stderr, "vgctl: --counter: %s\n", err.text);
	return EXIT_USAGE;
}

int vg_arguments_options(struct vg_arguments *arguments, int argc, char **argv)
{
	static const struct option options[] = {
		{ "directory", required_argument, NULL, 'D' },
		{ "output", required_argument, NULL, 'o' },
		{ "rate", required_argument, NULL, 'r' },
		{ "mode", required_argument, NULL, 'm' },
		{ "budget", required_argument, NULL, 'b' },
		{ "duration", required_argument, NULL, 'd' },
		{ "max-size", required_argument, NULL, 's' },
		{ "max-frames", required_argument, NULL, 'f' },
		{ "flight", required_argument, NULL, 'F' },
		{ "flight-memory", required_argument, NULL, 'M' },
		{ "thread-names", no_argument, NULL, 'T' },
		{ "perf-map", no_argument, NULL, 'P' },
		{ "counter", required_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "o:h", options, &index)) != -1) {
		if (option == 'h')
			return fputs(usage, stdout) < 0 ? EXIT_USAGE : -1;
		if (option == 'V')
			return puts("vgctl " PACKAGE_VERSION) < 0 ? EXIT_USAGE : -1;
		if (option == '?')
			return vg_arguments_usage();
		if (option == 'C' && counter_parse(arguments, optarg) != EXIT_SUCCESS)
			return EXIT_USAGE;
		if (option != 'C' && !option_parse(arguments, option, optarg)) {
			option_complain(option, optarg);
			return EXIT_USAGE;
		}
	}
	if (arguments->rate_given && !arguments->budget_given)
		arguments->begin.budget_ppm = 0;
	if (arguments->limit_given && arguments->begin.flight_ns != 0) {
		vg_print(stderr, "vgctl: --flight: cannot be combined with --duration or --max-size; use "
			 "--flight-memory instead of --max-size\n");
		return vg_arguments_usage();
	}
	if (arguments->begin.flight_memory_bytes != 0 && arguments->begin.flight_ns == 0) {
		vg_print(stderr, "vgctl: --flight-memory: needs --flight\n");
		return vg_arguments_usage();
	}
	return EXIT_SUCCESS;
}
