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

#include "base/output_path.h"
#include "symbols/binary.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/store/store.h"
#include "vgtool/commands/command_line.h"
#include "vgtool/commands/symbol_saver.h"
#include "vgtool/output/text.h"
#include "vgtool/run/broker.h"

static const char usage[] = "usage: vgtool symbols [-o STORE] [OPTION]... FILE|DIRECTORY...\n";

struct run {
	const char *command;
	const char *store;      /* NULL: standard output */
	bool without_cfi;
	bool debuginfod;
	bool debuginfod_failed; /* a server could not be asked for a debug file */
	struct vg_servers servers;
	int socket;             /* to the broker; 0: none */
	struct vg_symbols_search search;
	VG_ARRAY(const char *) debug_dirs;
	struct vg_symbol_saver saver;
	enum vg_exit status;
};

static void complain(struct run *run, const struct vg_err *err)
{
	run->status = vg_command_fail(run->command, err);
}

/* Lines of all functions.  symbols->lines also has the lines of duplicate functions that were removed. */
static size_t lines_count(const struct vg_symbols *symbols)
{
	size_t count = 0;

	for (size_t i = 0; i < symbols->functions.count; i++)
		count += symbols->functions.items[i].line_count;
	return count;
}

/* kept: the file at the path has more symbols and was not replaced. */
static void progress_print(const struct vg_symbols *symbols, const char *path, bool kept)
{
	vg_print(stdout, "%s %s %zu functions, %zu lines, %zu public symbols from %s -> %s%s\n",
		 symbols->module_name, symbols->debug_id, symbols->functions.count,
		 lines_count(symbols), symbols->linker_symbols.count, symbols->source, path,
		 kept ? " (kept: the existing file has more symbols)" : "");
	if (symbols->bad_records > 0)
		vg_print(stdout, "%s: %llu damaged parts left out\n", symbols->module_name,
			 (unsigned long long)symbols->bad_records);
	if (symbols->cfi_rows_left_out > 0)
		vg_print(stdout, "%s: %llu rows of unwind information left out: STACK CFI cannot express them\n",
			 symbols->module_name, (unsigned long long)symbols->cfi_rows_left_out);
}

static void symbols_write(struct run *run, const struct vg_symbols *symbols)
{
	struct vg_err err;
	char *path;
	int rc;

	if (run->store == NULL) {
		if (vg_breakpad_write(symbols, stdout, &err) != 0) {
			complain(run, &err);
			clearerr(stdout);       /* otherwise main() would report the failure again */
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

/* A stub of the procedure linkage table has the name of a function in another file. */
static bool is_stub(const char *name)
{
	static const char end[] = "@plt";
	size_t length = strlen(name);

	return length >= sizeof end && strcmp(name + length - (sizeof end - 1), end) == 0;
}

static size_t names_count(const struct vg_symbols *symbols)
{
	size_t count = symbols->functions.count;

	for (size_t i = 0; i < symbols->linker_symbols.count; i++)
		count += !is_stub(vg_intern_text(&symbols->strings, symbols->linker_symbols.items[i].name));
	return count;
}

/* Not called for the files of a directory: the line that is printed for each of these files already names .dynsym as
 * the source. */
static void stripped_warn(const struct run *run, const char *path, const struct vg_symbols *symbols)
{
	size_t names = names_count(symbols);

	if (symbols->missing_file.exported_only && names > 0)
		vg_command_warn(run->command, "%s: stripped: %zu function%s from its dynamic symbol table; for the "
				"other names use the unstripped file, or give its debug file by --debug-dir", path,
				names, vg_text_plural(names));
}

static void file_convert(struct run *run, const char *path, bool is_named)
{
	struct vg_symbols symbols = { .wants_cfi = !run->without_cfi };
	struct vg_err err;
	int rc = vg_symbols_from_binary(&symbols, path, &run->search, &err);

	if (rc == -ENOEXEC && !is_named)
		return;
	if (rc != 0) {
		complain(run, &err);
		return;
	}
	/* The file may have no functions only because a server does not answer. */
	if (run->debuginfod_failed && symbols.functions.count == 0) {
		vg_err_set(&err, -EIO, "%s: debuginfod: a server could not be asked for its debug file", path);
		complain(run, &err);
		vg_symbols_free(&symbols);
		return;
	}
	if (symbols.missing_file.path != NULL)
		vg_command_warn_missing_file(run->command, path, &symbols.missing_file);
	if (is_named)
		stripped_warn(run, path, &symbols);
	symbols_write(run, &symbols);
	/* A library without functions is an error only if the user named it.  A directory may contain such
	 * libraries. */
	if (is_named && run->status == VG_EXIT_DONE && names_count(&symbols) == 0) {
		vg_err_set(&err, -ENODATA, "%s: no function has a name; the file is stripped, and its debug file was "
			   "not found", path);
		complain(run, &err);
	}
	vg_symbols_free(&symbols);
}

static int debug_file_open(void *context, const unsigned char *build_id, size_t build_id_bytes, char **path)
{
	struct run *run = context;
	int fd = vg_broker_ask_debug_file(run->socket, build_id, build_id_bytes, path);

	run->debuginfod_failed |= fd == -EIO;
	return fd;
}

/* The rest of the command runs in a child process. */
static int broker_start(struct run *run, struct vg_err *err)
{
	const struct vg_broker broker = { .servers = &run->servers };
	int rc = vg_servers_open(&run->servers, run->command, err);

	if (rc == 0)
		rc = vg_servers_add_debuginfod(&run->servers, err);
	if (rc == 0)
		rc = vg_broker_start(&broker, &run->socket, err);
	run->search.open = debug_file_open;
	run->search.open_context = run;
	return rc;
}

/* A confined process can read all files, because debug information can be anywhere: split DWARF names files in the
 * directory of the compilation. */
static int run_confine(struct run *run, struct vg_err *err)
{
	const char *everywhere = "/";
	int rc = run->debuginfod ? broker_start(run, err) : 0;

	return rc != 0 ? rc : vg_reader_confine(&(struct vg_confinement){
		.paths = &everywhere, .path_count = 1, .writes = run->store, .broker = run->socket,
	}, err);
}

static void file_convert_confined(struct run *run, const char *path, bool is_named)
{
	struct vg_err err;

	if (run_confine(run, &err) != 0)
		complain(run, &err);
	else
		file_convert(run, path, is_named);
}

/* Called in a child process.  Returns the exit status. */
static int file_save(void *context, const char *path, bool is_named)
{
	struct run *run = context;

	run->status = VG_EXIT_DONE;
	file_convert_confined(run, path, is_named);
	return run->status;
}

static void directory_add(struct run *run, const char *directory);

static void complain_path(struct run *run, int code, const char *problem, const char *path)
{
	struct vg_err err;

	vg_err_sys(&err, code, "%.200s%s: %s", path, strlen(path) > 200 ? "..." : "", problem);
	complain(run, &err);
}

static void file_add(struct run *run, const char *path, off_t bytes, bool is_named)
{
	if (vg_symbol_saver_add(&run->saver, path, bytes, is_named) != 0)
		complain_path(run, -ENOMEM, "cannot read", path);
}

/* Ignores symbolic links, which can lead in circles or out of the directory. */
static void entry_add(struct run *run, const char *path)
{
	struct stat status;

	/* ENAMETOOLONG ends the recursion in a tree that is too deep. */
	if (lstat(path, &status) != 0)
		complain_path(run, -errno, "cannot examine", path);
	else if (S_ISDIR(status.st_mode))
		directory_add(run, path);
	else if (S_ISREG(status.st_mode))
		file_add(run, path, status.st_size, false);
}

static int is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Adds the files of a directory and its subdirectories.  Can recurse 2000 times before a path exceeds
 * PATH_MAX.  So the paths are on the heap and not on the stack. */
static void directory_add(struct run *run, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_entry, alphasort);

	if (count < 0) {
		complain_path(run, -errno, "cannot read the directory", directory);
		return;
	}
	for (int i = 0; i < count; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0) {
			complain_path(run, -ENOMEM, "cannot read the directory", directory);
		} else {
			entry_add(run, path);
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
			directory_add(run, paths[i]);
		else
			file_add(run, paths[i], stat(paths[i], &status) == 0 ? status.st_size : 0, true);
	}
	run->saver.command = run->command;
	run->saver.save = file_save;
	run->saver.context = run;
	if (vg_symbol_saver_run(&run->saver, &err) != 0)
		complain(run, &err);
	if (run->saver.failures > 0)
		run->status = VG_EXIT_FAILED;
	vg_symbol_saver_free(&run->saver);
}

/* Returns 0, or a negative errno with a message in err. */
static int search_prepare(struct run *run, struct vg_err *err)
{
	run->search.debug_dirs = run->debug_dirs.items;
	run->search.debug_dir_count = run->debug_dirs.count;
	for (size_t i = 0; i < run->debug_dirs.count; i++) {
		if (!is_directory(run->debug_dirs.items[i]))
			return vg_err_sys(err, -ENOTDIR, "--debug-dir %.200s", run->debug_dirs.items[i]);
	}
	return run->debuginfod ? vg_servers_debuginfod_check(err) : 0;
}

enum { NO_CFI = 256, DEBUG_DIR, DEBUGINFOD };

static const struct vg_option options[] = {
	{ 'o', "output", VG_OPTION_TEXT, "STORE", .unit = "the name of a symbol store",
	  .by_default = "standard output", .help = "write STORE/NAME/ID/NAME.sym", .is_short = 1 },
	{ NO_CFI, "no-cfi", VG_OPTION_FLAG, .help = "leave out unwind information (STACK CFI records)" },
	{ DEBUG_DIR, "debug-dir", VG_OPTION_TEXT, "DIR", .unit = "a directory",
	  .help = "search DIR for debug files, too; repeatable" },
	{ DEBUGINFOD, "debuginfod", VG_OPTION_FLAG, .help = "ask the servers of $DEBUGINFOD_URLS for debug files" },
	{ 'j', "jobs", VG_OPTION_NUMBER, "N", 1, VG_SYMBOL_SAVER_JOBS_MAX, "files at a time", "the number of CPUs",
	  "files at a time", 1 },
	VG_OPTION_HELP,
};

enum { OPTIONS = sizeof options / sizeof *options };

static int option_set(void *context, const struct vg_option_value *value, struct vg_err *err)
{
	struct run *run = context;

	switch (value->key) {
	case 'o': run->store = value->text; break;
	case NO_CFI: run->without_cfi = true; break;
	case DEBUG_DIR:
		if (vg_array_push(&run->debug_dirs, &value->text) != 0)
			return vg_err_sys(err, -ENOMEM, "cannot add the directory %s", value->text);
		break;
	case DEBUGINFOD: run->debuginfod = true; break;
	case 'j': run->saver.jobs = (unsigned)value->number; break;
	}
	return 0;
}

static int files_convert(struct run *run, int count, char **files)
{
	struct vg_err err;

	if (count == 0)
		return vg_command_usage_error(run->command, usage, "expected a FILE or DIRECTORY");
	if (run->store == NULL && (count > 1 || is_directory(files[0])))
		return vg_command_usage_error(run->command, usage,
					      "a directory or several files need a symbol store; use -o STORE");
	if (run->store != NULL && vg_output_path_check_directory(run->store, &err) == -EACCES)
		return vg_command_fail(run->command, &err);
	vg_command_confine_warn(run->command);
	if (run->store == NULL)
		file_convert_confined(run, files[0], true);
	else
		store_fill(run, files, count);
	return run->status;
}

int cmd_symbols(int argc, char **argv)
{
	struct run run = { .command = argv[0], .status = VG_EXIT_DONE };
	const struct vg_command_line line = { usage, options, OPTIONS, option_set, &run };
	struct vg_err err;
	int status = vg_command_line_read(&line, argc, argv);

	if (status == VG_COMMAND_LINE_READ) {
		if (search_prepare(&run, &err) != 0)
			status = vg_command_fail(argv[0], &err);
		else
			status = files_convert(&run, argc - optind, argv + optind);
	}
	vg_array_free(&run.debug_dirs);
	vg_servers_free(&run.servers);
	return status;
}
