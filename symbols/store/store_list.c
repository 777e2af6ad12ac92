/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_list.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/infile.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/table/debug_id.h"

/* <root>/<name>/<id>/<file> */
enum { LEVEL_FILE = 3 };

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), suffix_length = strlen(suffix);

	return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static bool is_truncated(const char *path)
{
	struct vg_infile file;
	bool truncated;

	if (vg_infile_open(&file, path, NULL) != 0)
		return false;
	truncated = file.length > 0 && file.bytes[file.length - 1] != '\n';
	vg_infile_close(&file);
	return truncated;
}

/* Sets `problem` to a sentence about the file, or to "". */
static void problem_find(const struct vg_symbols *symbols, const char *path, const char *id_directory,
			 const char *code_id, struct vg_err *problem)
{
	problem->text[0] = '\0';
	if (symbols->bad_records > 0)
		vg_err_set(problem, 0, "%s: %llu damaged record%s, the first in line %llu", path,
			   (unsigned long long)symbols->bad_records, symbols->bad_records == 1 ? "" : "s",
			   (unsigned long long)symbols->first_bad_line);
	else if (is_truncated(path))
		vg_err_set(problem, 0, "%s: truncated: its last line has no line end", path);
	else if (id_directory != NULL && strcasecmp(id_directory, symbols->debug_id) != 0 &&
		 strcasecmp(id_directory, code_id) != 0)
		vg_err_set(problem, 0, "%s: in the wrong directory: its MODULE record has the id %s", path,
			   symbols->debug_id);
}

struct listing {
	int (*visit)(void *context, const struct vg_store_entry *entry);
	void *context;
};

/* Reads one file for vg_store_list(). */
static int file_visit(void *context, const char *path, const char *id_directory, const struct stat *status)
{
	const struct listing *listing = context;
	char code_id[2 * VG_BUILD_ID_MAX_BYTES + 1] = "";
	struct vg_store_entry entry = { .path = path, .name = "", .debug_id = "", .code_id = code_id,
					.bytes = (uint64_t)status->st_size };
	struct vg_symbols symbols = { 0 };
	struct vg_err problem;
	int rc = vg_breakpad_read(&symbols, path, NULL, 0, &problem);

	/* vg_store_prune() has removed the file meanwhile. */
	if (rc == -ENOENT && id_directory != NULL)
		return 0;
	if (rc == 0) {
		vg_hex_text(symbols.build_id, symbols.build_id_bytes, code_id);
		problem_find(&symbols, path, id_directory, code_id, &problem);
		entry.name = symbols.module_name;
		entry.debug_id = symbols.debug_id;
		entry.functions = symbols.functions.count;
		entry.public_symbols = symbols.linker_symbols.count;
		for (size_t i = 0; i < symbols.functions.count; i++)
			entry.lines += symbols.functions.items[i].line_count;
	}
	entry.problem = problem.text[0] != '\0' ? problem.text : NULL;
	rc = listing->visit(listing->context, &entry);
	vg_symbols_free(&symbols);
	return rc;
}

static int entry_compare(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The name of the directory that the file is in. */
static const char *parent_name(const FTSENT *entry)
{
	return entry->fts_parent->fts_name;
}

/* A root that is a file is visited whatever its name is.  Other files need the suffix. */
static bool is_wanted(const FTSENT *entry, const char *suffix)
{
	if (entry->fts_level == 0)
		return entry->fts_info == FTS_F || entry->fts_info == FTS_DEFAULT;
	return entry->fts_info == FTS_F && entry->fts_level == LEVEL_FILE &&
	       has_suffix(entry->fts_name, suffix);
}

static int tree_visit(FTS *tree, const char *suffix,
		      int (*visit)(void *, const char *, const char *, const struct stat *), void *context,
		      struct vg_err *err)
{
	int rc = 0, walk_rc = 0;
	FTSENT *entry;

	while (rc == 0 && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_D && entry->fts_level >= LEVEL_FILE)
			fts_set(tree, entry, FTS_SKIP);
		/* The walk continues with the other directories.  ENOENT: vg_store_prune() has removed the directory
		 * meanwhile. */
		if ((entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) && entry->fts_errno != ENOENT)
			walk_rc = vg_err_sys(err, -entry->fts_errno, "%s: cannot read", entry->fts_path);
		if (!is_wanted(entry, suffix))
			continue;
		rc = visit(context, entry->fts_accpath, entry->fts_level > 0 ? parent_name(entry) : NULL,
			   entry->fts_statp);
	}
	return rc != 0 ? rc : walk_rc;
}

int vg_store_walk(const char *root, const char *suffix,
		  int (*visit)(void *context, const char *path, const char *id, const struct stat *status),
		  void *context, struct vg_err *err)
{
	char *paths[] = { strdup(root), NULL };
	struct stat status;
	FTS *tree = NULL;
	int rc;

	if (paths[0] == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", root);
	if (stat(root, &status) != 0) {
		rc = vg_err_sys(err, -errno, "%s: cannot read the symbol store", root);
		goto out;
	}
	tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, entry_compare);
	if (tree == NULL) {
		rc = vg_err_sys(err, -errno, "%s: cannot read the symbol store", root);
		goto out;
	}
	rc = tree_visit(tree, suffix, visit, context, err);
out:
	if (tree != NULL)
		fts_close(tree);
	free(paths[0]);
	return rc;
}

int vg_store_list(const char *root,
		  int (*visit)(void *context, const struct vg_store_entry *entry), void *context,
		  struct vg_err *err)
{
	struct listing listing = { visit, context };

	return vg_store_walk(root, ".sym", file_visit, &listing, err);
}
