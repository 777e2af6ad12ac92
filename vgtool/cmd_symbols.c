/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/command.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbols/binary.h"
#include "symbols/breakpad.h"
#include "symbols/store.h"

static const char usage[] =
	"usage: vgtool symbols [-o STORE] FILE|DIRECTORY...\n"
	"\n"
	"  -o, --output=STORE   keep the symbols as STORE/NAME/ID/NAME.sym; then directories may be\n"
	"                       given, in which everything that is an ELF file is read\n"
	"      --no-cfi         leave out how to walk the stack (STACK CFI records)\n"
	"  -h, --help           this text\n"
	"\n"
	"Without -o the symbols of one file go to standard output.\n";

struct run {
	const char *command;
	const char *store;      /* NULL: standard output */
	bool without_cfi;
	enum vg_exit status;
};

static void complain(struct run *run, const struct vg_err *err)
{
	run->status = vg_command_fail(run->command, err);
}

/* Not all in the array: those of functions that occurred twice are left over. */
static size_t lines_count(const struct vg_symbols *symbols)
{
	size_t count = 0;

	for (size_t i = 0; i < symbols->functions.count; i++)
		count += symbols->functions.items[i].line_count;
	return count;
}

static void progress_print(const struct vg_symbols *symbols, const char *path, bool kept)
{
	printf("%s %s %zu functions, %zu lines, %zu publics from %s -> %s%s\n",
	       symbols->module_name, symbols->debug_id, symbols->functions.count,
	       lines_count(symbols), symbols->publics.count, symbols->source, path,
	       kept ? " (kept: it has more)" : "");
	if (symbols->bad_records > 0)
		printf("%s: %llu damaged parts left out\n", symbols->module_name,
		       (unsigned long long)symbols->bad_records);
	if (symbols->unwinds_left_out > 0)
		printf("%s: %llu rows of unwind information left out: STACK CFI cannot say them\n",
		       symbols->module_name, (unsigned long long)symbols->unwinds_left_out);
}

static void symbols_put(struct run *run, const struct vg_symbols *symbols)
{
	struct vg_err err;
	char *path;
	int rc;

	if (run->store == NULL) {
		if (vg_breakpad_write(symbols, stdout, &err) != 0) {
			complain(run, &err);
			clearerr(stdout);       /* said once is enough */
		}
		return;
	}
	rc = vg_store_add(run->store, symbols, &path, &err);
	if (rc < 0) {
		complain(run, &err);
		return;
	}
	progress_print(symbols, path, rc == 1);
	free(path);
}

static void file_do(struct run *run, const char *path, bool is_named)
{
	struct vg_symbols symbols = { .wants_unwinds = !run->without_cfi };
	struct vg_err err;
	int rc = vg_symbols_from_binary(&symbols, path, &err);

	if (rc == -ENOEXEC && !is_named)
		return;
	if (rc != 0) {
		complain(run, &err);
		return;
	}
	symbols_put(run, &symbols);
	vg_symbols_free(&symbols);
}

static void directory_do(struct run *run, const char *directory);

static void complain_of(struct run *run, int code, const char *what, const char *path)
{
	struct vg_err err;

	vg_err_sys(&err, code, "%s%.200s%s", what, path, strlen(path) > 200 ? "..." : "");
	complain(run, &err);
}

/* Symbolic links are not followed: they would lead round in circles, or out. */
static void entry_do(struct run *run, const char *path)
{
	struct stat status;

	/* Also what ends a tree that is too deep. */
	if (lstat(path, &status) != 0)
		complain_of(run, -errno, "cannot examine ", path);
	else if (S_ISDIR(status.st_mode))
		directory_do(run, path);
	else if (S_ISREG(status.st_mode))
		file_do(run, path, false);
}

static int is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* A path may hold two thousand directories: the paths are not kept on the stack. */
static void directory_do(struct run *run, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_entry, alphasort);

	if (count < 0) {
		complain_of(run, -errno, "cannot read directory ", directory);
		return;
	}
	for (int i = 0; i < count; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0) {
			complain_of(run, -ENOMEM, "cannot read directory ", directory);
		} else {
			entry_do(run, path);
			free(path);
		}
		free(entries[i]);
	}
	free(entries);
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int cmd_symbols(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "no-cfi", no_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct run run = { .command = argv[0], .status = VG_EXIT_DONE };
	int option;

	while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		if (option == 'h')
			return vg_command_usage(usage, VG_EXIT_DONE);
		if (option == 'C') {
			run.without_cfi = true;
			continue;
		}
		if (option != 'o')
			return vg_command_usage(usage, VG_EXIT_USAGE);
		if (*optarg == '\0')
			return vg_command_misused(run.command, usage, "-o takes the name of a store");
		run.store = optarg;
	}
	if (optind == argc)
		return vg_command_misused(run.command, usage, "a file is missing");
	if (run.store == NULL && (argc - optind > 1 || is_directory(argv[optind])))
		return vg_command_misused(run.command, usage,
					  "a directory, or more than one file, needs a store (-o)");
	for (; optind < argc; optind++) {
		if (is_directory(argv[optind]))
			directory_do(&run, argv[optind]);
		else
			file_do(&run, argv[optind], true);
	}
	return run.status;
}
