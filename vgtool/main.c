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
	{ "info", cmd_info, "what was recorded, what it cost, what was lost" },
	{ "report", cmd_report, "the hottest functions" },
	{ "summary", cmd_summary, "times of the program's own intervals, by label" },
	{ "diff", cmd_diff, "what became slower, between profiles before and after" },
	{ "aggregate", cmd_aggregate, "sums over many profiles, and how they spread" },
	{ "symbols", cmd_symbols, "save the symbols of binaries for later" },
	{ "store", cmd_store, "list what a store of symbols holds" },
	{ "missing", cmd_missing, "which modules of profiles have no symbols" },
	{ "resolve", cmd_resolve, "put the names of functions into profiles" },
	{ "speedscope", cmd_speedscope, "write the file that Speedscope opens" },
	{ "chrome", cmd_chrome, "write trace events, for Perfetto and the Firefox Profiler" },
	{ "folded", cmd_folded, "write folded stacks, as flamegraph.pl reads them" },
	{ "recover", cmd_recover, "write what is good of a damaged profile" },
	{ "audit", cmd_audit, "every string in a profile, and which may tell of somebody" },
	{ "dump", cmd_dump, "every record of a profile, one line of JSON each" },
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int usage(FILE *file)
{
	fputs("usage: vgtool COMMAND [ARGUMENT...]\n"
	      "       vgtool COMMAND --help\n"
	      "       vgtool --version\n\n", file);
	for (size_t i = 0; i < COMMANDS; i++)
		vg_print(file, "  %-12s%s\n", commands[i].name, commands[i].help);
	return file == stdout ? VG_EXIT_DONE : VG_EXIT_USAGE;
}

/* A view that did not reach its reader whole is a failure, whatever the command thought. */
static int stdout_finish(const char *name, int status)
{
	bool failed = ferror(stdout) != 0;

	errno = EIO;
	if (fflush(stdout) != 0 || failed) {
		vg_print(stderr, "%s: cannot write standard output: %s\n", name, strerror(errno));
		return status == VG_EXIT_DONE ? VG_EXIT_FAILED : status;
	}
	return status;
}

/* Files are mapped: what is cut off behind our back, or cannot be read from the disk, is found out
 * at some load from memory.  Only write(2) and _exit(2) may be called here. */
static void on_bus_error(int signal)
{
	static const char sentence[] =
		"vgtool: a file was cut short, or could not be read, while it was in use\n";
	ssize_t written = write(STDERR_FILENO, sentence, sizeof sentence - 1);

	(void)signal;
	(void)written;
	_exit(VG_EXIT_FAILED);
}

static int command_run(const struct command *command, int argc, char **argv)
{
	struct sigaction bus_error = { .sa_handler = on_bus_error };
	char name[32];

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
	vg_print(stderr, "vgtool: there is no command %s\n", argv[1]);
	return usage(stderr);
}
