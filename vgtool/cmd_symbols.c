/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/cmd_symbols.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/binary.h"
#include "symbols/breakpad.h"
#include "symbols/store.h"

#define PATH_MAX_CHARS 4096

static const char usage[] = "usage: vgtool symbols [-o STORE] FILE|DIRECTORY...\n";

static const char help[] =
	"Writes the symbols of ELF files in Breakpad's text format: to a store, or, of one file,\n"
	"to standard output.\n"
	"\n"
	"  -o, --output=STORE   keep them as STORE/NAME/ID/NAME.sym; may be given directories,\n"
	"                       in which everything that is an ELF file is read\n"
	"  -h, --help           this text\n";

struct run {
	const char *store;      /* NULL: standard output */
	unsigned failures;
};

static void complain(struct run *run, const char *sentence)
{
	fprintf(stderr, "vgtool symbols: %s\n", sentence);
	run->failures++;
}

static void progress_print(const struct vg_symbols *symbols, const char *path, bool kept)
{
	printf("%s %s %zu functions, %zu lines, %zu publics from %s -> %s%s\n",
	       symbols->module_name, symbols->debug_id, symbols->functions.count,
	       symbols->lines.count, symbols->publics.count, symbols->source, path,
	       kept ? " (kept: it has more)" : "");
	if (symbols->bad_records > 0)
		printf("%s: %llu damaged parts left out\n", symbols->module_name,
		       (unsigned long long)symbols->bad_records);
}

static void symbols_put(struct run *run, const struct vg_symbols *symbols)
{
	struct vg_err err;
	char *path;
	int rc;

	if (run->store == NULL) {
		if (vg_breakpad_write(symbols, stdout, &err) != 0)
			complain(run, err.text);
		return;
	}
	rc = vg_store_add(run->store, symbols, &path, &err);
	if (rc < 0) {
		complain(run, err.text);
		return;
	}
	progress_print(symbols, path, rc == 1);
	free(path);
}

static void file_do(struct run *run, const char *path, bool is_named)
{
	struct vg_symbols symbols = { 0 };
	struct vg_err err;
	int rc = vg_symbols_from_binary(&symbols, path, &err);

	if (rc == -ENOEXEC && !is_named)
		return;
	if (rc != 0) {
		complain(run, err.text);
		return;
	}
	symbols_put(run, &symbols);
	vg_symbols_free(&symbols);
}

static void directory_do(struct run *run, const char *directory);

/* Symbolic links are not followed: they would lead round in circles, or out. */
static void entry_do(struct run *run, const char *path)
{
	struct stat status;

	if (lstat(path, &status) != 0) {
		char sentence[PATH_MAX_CHARS + 100];

		snprintf(sentence, sizeof sentence, "cannot examine %s: %s", path, strerror(errno));
		complain(run, sentence);
	} else if (S_ISDIR(status.st_mode)) {
		directory_do(run, path);
	} else if (S_ISREG(status.st_mode)) {
		file_do(run, path, false);
	}
}

static int is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void directory_do(struct run *run, const char *directory)
{
	char path[PATH_MAX_CHARS];
	struct dirent **entries;
	int count = scandir(directory, &entries, is_entry, alphasort);

	if (count < 0) {
		snprintf(path, sizeof path, "cannot read directory %.3900s: %s", directory,
			 strerror(errno));
		complain(run, path);
		return;
	}
	for (int i = 0; i < count; i++) {
		int length = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);

		/* Also what ends a tree that is too deep. */
		if (length < (int)sizeof path)
			entry_do(run, path);
		else
			complain(run, "a path is too long");
		free(entries[i]);
	}
	free(entries);
}

static void argument_do(struct run *run, const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		directory_do(run, path);
	else
		file_do(run, path, true);
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
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct run run = { NULL, 0 };
	int option;

	optind = 0; /* glibc: start anew, whatever was parsed before */
	opterr = 0;
	while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		if (option == 'h') {
			printf("%s\n%s", usage, help);
			return 0;
		}
		if (option != 'o' || *optarg == '\0')
			goto misuse;
		run.store = optarg;
	}
	if (optind == argc)
		goto misuse;
	if (run.store == NULL && (argc - optind > 1 || is_directory(argv[optind]))) {
		fputs("vgtool symbols: more than one file needs a store (-o)\n", stderr);
		goto misuse;
	}
	for (; optind < argc; optind++)
		argument_do(&run, argv[optind]);
	if (fflush(stdout) != 0)
		complain(&run, "cannot write to standard output");
	return run.failures > 0 ? 1 : 0;
misuse:
	fputs(usage, stderr);
	return 2;
}
