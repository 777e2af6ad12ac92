/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "vgtool/commands/command.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "record", cmd_record, "record a process or a command, and show where its time went" },
	{ "top", cmd_top, "show where the time of a process goes now, on the terminal" },
	{ "info", cmd_info, "show what was recorded, what it cost and what was lost" },
	{ "report", cmd_report, "show the functions that took the most time" },
	{ "annotate", cmd_annotate, "show the time of each source line or instruction of a function" },
	{ "summary", cmd_summary, "show times of the program's intervals, by label" },
	{ "diff", cmd_diff, "compare profiles before and after a change" },
	{ "aggregate", cmd_aggregate, "add up many profiles and show how they vary" },
	{ "symbols", cmd_symbols, "save the symbols of binaries in a symbol store" },
	{ "store", cmd_store, "list the symbol files of a symbol store" },
	{ "missing", cmd_missing, "list modules of profiles that have no symbols" },
	{ "resolve", cmd_resolve, "add function names to profiles" },
	{ "view", cmd_view, "write a page with flame graphs, for any browser" },
	{ "flamegraph", cmd_flamegraph, "write a flame graph as an SVG picture" },
	{ "speedscope", cmd_speedscope, "write a profile for Speedscope" },
	{ "firefox", cmd_firefox, "write a profile for the Firefox Profiler" },
	{ "chrome", cmd_chrome, "write trace events for Perfetto and the Firefox Profiler" },
	{ "pprof", cmd_pprof, "write a profile for pprof" },
	{ "folded", cmd_folded, "write folded stacks for flamegraph.pl" },
	{ "cut", cmd_cut, "copy the part of a profile that is in a time range" },
	{ "recover", cmd_recover, "copy the intact chunks of a damaged profile" },
	{ "audit", cmd_audit, "list all strings, and mark those that may identify a person" },
	{ "dump", cmd_dump, "print every record of a profile as a line of JSON" },
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* Exit status if main.c and not the command reports the failure: a mapped input file can no longer be read, or standard
 * output cannot be written. */
static volatile sig_atomic_t failed_status = VG_EXIT_FAILED;

static int usage(FILE *file)
{
	fputs("usage: vgtool COMMAND [ARGUMENT...]\n"
	      "       vgtool COMMAND --help\n"
	      "       vgtool --version\n\n", file);
	for (size_t i = 0; i < COMMANDS; i++)
		vg_print(file, "  %-12s%s\n", commands[i].name, commands[i].help);
	return file == stdout ? VG_EXIT_DONE : VG_EXIT_USAGE;
}

/* Reports a failed write to standard output, even if the command did not check for it.  Returns the exit
 * status. */
static int stdout_finish(const char *name, int status)
{
	bool failed = ferror(stdout) != 0;

	errno = EIO;
	if (fflush(stdout) != 0 || failed) {
		vg_print(stderr, "%s: standard output: cannot write: %s\n", name, strerror(errno));
		return status == VG_EXIT_DONE ? failed_status : status;
	}
	return status;
}

/* Input files are mapped.  If another process truncates such a file, or the disk fails, a load from the
 * mapping raises SIGBUS.  The handler may call only async-signal-safe functions that the seccomp filter
 * allows, such as write(2) and _exit(2). */
static void on_bus_error(int signal)
{
	static const char sentence[] =
		"vgtool: an input file was truncated or could not be read while it was in use\n";
	ssize_t written = write(STDERR_FILENO, sentence, sizeof sentence - 1);

	(void)signal;
	(void)written;
	_exit(failed_status);
}

static int command_run(const struct command *command, int argc, char **argv)
{
	struct sigaction bus_error = { .sa_handler = on_bus_error };
	char name[32];

	if (command->run == cmd_diff)
		failed_status = VG_EXIT_DIFF_FAILED;
	sigaction(SIGBUS, &bus_error, NULL);
	snprintf(name, sizeof name, "vgtool %s", command->name);
	argv[0] = name;
	return stdout_finish(name, command->run(argc, argv));
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return stdout_finish("vgtool", usage(stdout));
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		vg_print(stdout, "vgtool %s\n", vg_command_version());
		return stdout_finish("vgtool", VG_EXIT_DONE);
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return command_run(&commands[i], argc - 1, argv + 1);
	}
	vg_print(stderr, "vgtool: %s is not a command\n", argv[1]);
	return usage(stderr);
}
