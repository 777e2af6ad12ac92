/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/print.h"
#include "vgtool/commands/command.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "symbols/binary.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/store/store.h"
#include "vgtool/commands/saving.h"

static const char usage[] =
	"usage: vgtool symbols [-o STORE] [-j N] [--no-cfi] [--debug-dir=DIR]... [--debuginfod]\n"
	"                      FILE|DIRECTORY...\n"
	"\n"
	"  -o, --output=STORE   keep the symbols as STORE/NAME/ID/NAME.sym; then directories may be\n"
	"                       given, in which everything that is an ELF file is read\n"
	"      --no-cfi         leave out how to walk the stack (STACK CFI records)\n"
	"      --debug-dir=DIR  look for debug files there too, before /usr/lib/debug; repeatable\n"
	"      --debuginfod     ask the servers of $DEBUGINFOD_URLS for debug files not found\n"
	"  -j, --jobs=N         read N files at a time (default: one for each CPU)\n"
	"  -h, --help           this text\n"
	"\n"
	"Without -o the symbols of one file go to standard output.\n";

struct run {
	const char *command;
	const char *store;      /* NULL: standard output */
	bool without_cfi;
	struct vg_symbols_search search;
	VG_ARRAY(const char *) debug_dirs;
	struct vg_saving saving;
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
	vg_print(stdout, "%s %s %zu functions, %zu lines, %zu publics from %s -> %s%s\n",
		 symbols->module_name, symbols->debug_id, symbols->functions.count,
		 lines_count(symbols), symbols->publics.count, symbols->source, path,
		 kept ? " (kept: it has more)" : "");
	if (symbols->bad_records > 0)
		vg_print(stdout, "%s: %llu damaged parts left out\n", symbols->module_name,
			 (unsigned long long)symbols->bad_records);
	if (symbols->unwinds_left_out > 0)
		vg_print(stdout, "%s: %llu rows of unwind information left out: STACK CFI cannot say them\n",
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

/* Stubs of the procedure linkage table are named after other files' functions. */
static bool is_stub(const char *name)
{
	static const char end[] = "@plt";
	size_t length = strlen(name);

	return length >= sizeof end && strcmp(name + length - (sizeof end - 1), end) == 0;
}

static bool has_functions(const struct vg_symbols *symbols)
{
	for (size_t i = 0; i < symbols->publics.count; i++) {
		if (!is_stub(vg_intern_text(&symbols->strings, symbols->publics.items[i].name)))
			return true;
	}
	return symbols->functions.count > 0;
}

static void file_do(struct run *run, const char *path, bool is_named)
{
	struct vg_symbols symbols = { .wants_unwinds = !run->without_cfi };
	struct vg_err err;
	int rc = vg_symbols_from_binary(&symbols, path, &run->search, &err);

	if (rc == -ENOEXEC && !is_named)
		return;
	if (rc != 0) {
		complain(run, &err);
		return;
	}
	if (symbols.absent.path != NULL)
		vg_command_warn_absent(run->command, path, &symbols.absent);
	symbols_put(run, &symbols);
	/* In a directory there may be libraries of data. */
	if (is_named && run->status == VG_EXIT_DONE && !has_functions(&symbols)) {
		vg_err_set(&err, -ENODATA, "%s: no function in it has a name: it is stripped, and no debug file of "
			   "it was found", path);
		complain(run, &err);
	}
	vg_symbols_free(&symbols);
}

/* What is asked of servers needs sockets and threads.  Debug information may be anywhere: files of
 * split DWARF lie where the compiler was called. */
static int run_confine(const struct run *run, struct vg_err *err)
{
	const char *everywhere = "/";

	return run->search.debuginfod ? 0 : vg_reader_confine(&(struct vg_confinement){
		.paths = &everywhere, .path_count = 1, .writes = run->store,
	}, err);
}

static void confined_do(struct run *run, const char *path, bool is_named)
{
	struct vg_err err;

	if (run_confine(run, &err) != 0)
		complain(run, &err);
	else
		file_do(run, path, is_named);
}

/* In a process of its own. */
static int file_save(void *context, const char *path, bool is_named)
{
	struct run *run = context;

	run->status = VG_EXIT_DONE;
	confined_do(run, path, is_named);
	return run->status;
}

static void directory_do(struct run *run, const char *directory);

static void complain_of(struct run *run, int code, const char *what, const char *path)
{
	struct vg_err err;

	vg_err_sys(&err, code, "%s%.200s%s", what, path, strlen(path) > 200 ? "..." : "");
	complain(run, &err);
}

static void file_add(struct run *run, const char *path, off_t bytes, bool is_named)
{
	if (vg_saving_add(&run->saving, path, bytes, is_named) != 0)
		complain_of(run, -ENOMEM, "cannot read ", path);
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
		file_add(run, path, status.st_size, false);
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

static void store_fill(struct run *run, char **paths, int count)
{
	struct vg_err err;

	for (int i = 0; i < count; i++) {
		struct stat status;

		if (is_directory(paths[i]))
			directory_do(run, paths[i]);
		else
			file_add(run, paths[i], stat(paths[i], &status) == 0 ? status.st_size : 0, true);
	}
	run->saving.command = run->command;
	run->saving.save = file_save;
	run->saving.context = run;
	if (vg_saving_run(&run->saving, &err) != 0)
		complain(run, &err);
	if (run->saving.failures > 0)
		run->status = VG_EXIT_FAILED;
	vg_saving_free(&run->saving);
}

enum { OPTION_NO_CFI = 256, OPTION_DEBUG_DIR, OPTION_DEBUGINFOD };

/* True when the options make sense so far; else run->status is what to exit with. */
static bool options_parse(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "no-cfi", no_argument, NULL, OPTION_NO_CFI },
		{ "debug-dir", required_argument, NULL, OPTION_DEBUG_DIR },
		{ "debuginfod", no_argument, NULL, OPTION_DEBUGINFOD },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *directory;
	struct vg_err err;
	uint64_t jobs;
	int option;

	while ((option = getopt_long(argc, argv, "o:j:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			run->store = optarg;
			if (*optarg != '\0')
				break;
			run->status = vg_command_misused(run->command, usage,
							 "-o takes the name of a store");
			return false;
		case 'j':
			if (vg_number_parse(optarg, 1, VG_SAVING_JOBS_MAX, &jobs)) {
				run->saving.jobs = (unsigned)jobs;
				break;
			}
			run->status = vg_command_misused(run->command, usage,
							 "-j takes a number from 1 to 1024");
			return false;
		case OPTION_NO_CFI:
			run->without_cfi = true;
			break;
		case OPTION_DEBUG_DIR:
			directory = optarg;
			if (is_directory(directory) && vg_array_push(&run->debug_dirs, &directory) == 0)
				break;
			complain_of(run, is_directory(directory) ? -ENOMEM : -ENOTDIR,
				    "--debug-dir=", directory);
			return false;
		case OPTION_DEBUGINFOD:
			run->search.debuginfod = true;
			if (vg_symbols_debuginfod_check(&err) == 0)
				break;
			complain(run, &err);
			return false;
		default:
			run->status = vg_command_help(usage, option);
			return false;
		}
	}
	run->search.debug_dirs = run->debug_dirs.items;
	run->search.debug_dir_count = run->debug_dirs.count;
	return true;
}

static int files_do(struct run *run, int count, char **files)
{
	if (count == 0)
		return vg_command_misused(run->command, usage, "a file is missing");
	if (run->store == NULL && (count > 1 || is_directory(files[0])))
		return vg_command_misused(run->command, usage,
					  "a directory, or more than one file, needs a store (-o)");
	if (!run->search.debuginfod)
		vg_command_confine_warn(run->command);
	if (run->store == NULL)
		confined_do(run, files[0], true);
	else
		store_fill(run, files, count);
	return run->status;
}

int cmd_symbols(int argc, char **argv)
{
	struct run run = { .command = argv[0], .status = VG_EXIT_DONE };

	if (options_parse(&run, argc, argv))
		run.status = files_do(&run, argc - optind, argv + optind);
	vg_array_free(&run.debug_dirs);
	return run.status;
}
