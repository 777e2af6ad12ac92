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

static bool ends_in_sym(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".sym") == 0;
}

static bool ends_within_line(const char *path)
{
	struct vg_infile file;
	bool within;

	if (vg_infile_open(&file, path, NULL) != 0)
		return false;
	within = file.length > 0 && file.bytes[file.length - 1] != '\n';
	vg_infile_close(&file);
	return within;
}

/* A sentence about what was read, or "". */
static void problem_find(const struct vg_symbols *symbols, const char *path, const char *folder,
			 const char *code_id, struct vg_err *problem)
{
	problem->text[0] = '\0';
	if (symbols->bad_records > 0)
		vg_err_set(problem, 0, "%s: %llu damaged records, the first in line %llu", path,
			   (unsigned long long)symbols->bad_records,
			   (unsigned long long)symbols->first_bad_line);
	else if (ends_within_line(path))
		vg_err_set(problem, 0, "%s: it ends within a line: cut short", path);
	else if (folder != NULL && strcasecmp(folder, symbols->debug_id) != 0 &&
		 strcasecmp(folder, code_id) != 0)
		vg_err_set(problem, 0, "%s: it is of the module %s, and is not found there", path,
			   symbols->debug_id);
}

static int file_visit(const char *path, const char *folder, uint64_t bytes,
		      int (*visit)(void *, const struct vg_store_entry *), void *context)
{
	char code_id[2 * VG_BUILD_ID_MAX_BYTES + 1] = "";
	struct vg_store_entry entry = { .path = path, .name = "", .debug_id = "", .code_id = code_id,
					.bytes = bytes };
	struct vg_symbols symbols = { 0 };
	struct vg_err problem;
	int rc = vg_breakpad_read(&symbols, path, NULL, 0, &problem);

	if (rc == 0) {
		vg_hex_text(symbols.build_id, symbols.build_id_bytes, code_id);
		problem_find(&symbols, path, folder, code_id, &problem);
		entry.name = symbols.module_name;
		entry.debug_id = symbols.debug_id;
		entry.functions = symbols.functions.count;
		entry.publics = symbols.publics.count;
		for (size_t i = 0; i < symbols.functions.count; i++)
			entry.lines += symbols.functions.items[i].line_count;
	}
	entry.problem = problem.text[0] != '\0' ? problem.text : NULL;
	rc = visit(context, &entry);
	vg_symbols_free(&symbols);
	return rc;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The name of a file's directory; room is as long as the path. */
static const char *folder_of(const FTSENT *entry)
{
	return entry->fts_parent->fts_name;
}

/* What was named itself is one, or else is damaged. */
static bool is_symbol_file(const FTSENT *entry)
{
	if (entry->fts_level == 0)
		return entry->fts_info == FTS_F || entry->fts_info == FTS_DEFAULT;
	return entry->fts_info == FTS_F && entry->fts_level == LEVEL_FILE &&
	       ends_in_sym(entry->fts_name);
}

static int tree_visit(FTS *tree, int (*visit)(void *, const struct vg_store_entry *), void *context,
		      struct vg_err *err)
{
	int rc = 0, unread = 0;
	FTSENT *entry;

	while (rc == 0 && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_D && entry->fts_level >= LEVEL_FILE)
			fts_set(tree, entry, FTS_SKIP);
		/* The rest is listed all the same. */
		if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			unread = vg_err_sys(err, -entry->fts_errno, "cannot read %s", entry->fts_path);
		if (!is_symbol_file(entry))
			continue;
		rc = file_visit(entry->fts_accpath, entry->fts_level > 0 ? folder_of(entry) : NULL,
				(uint64_t)entry->fts_statp->st_size, visit, context);
	}
	return rc != 0 ? rc : unread;
}

int vg_store_list(const char *root,
		  int (*visit)(void *context, const struct vg_store_entry *entry), void *context,
		  struct vg_err *err)
{
	char *paths[] = { strdup(root), NULL };
	struct stat status;
	FTS *tree = NULL;
	int rc;

	if (paths[0] == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", root);
	if (stat(root, &status) != 0) {
		rc = vg_err_sys(err, -errno, "cannot read the store %s", root);
		goto out;
	}
	tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	if (tree == NULL) {
		rc = vg_err_sys(err, -errno, "cannot read the store %s", root);
		goto out;
	}
	rc = tree_visit(tree, visit, context, err);
out:
	if (tree != NULL)
		fts_close(tree);
	free(paths[0]);
	return rc;
}
