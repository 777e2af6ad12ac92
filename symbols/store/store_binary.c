/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_binary.h"

#include <stdio.h>
#include <unistd.h>

#include "symbols/store/store_files.h"
#include "symbols/store/store_index.h"
#include "symbols/table/debug_id.h"

static bool is_wanted(const struct vg_store_binaries *binaries, uint32_t contents)
{
	return (contents & (binaries->wants_code ? VG_STORE_FILE_CODE : VG_STORE_FILE_DWARF)) != 0;
}

/* Takes ownership of `path`. */
static int binary_add(struct vg_store_binaries *binaries, char *path, const unsigned char *id, size_t id_bytes,
		      uint32_t contents)
{
	struct vg_store_binary binary = { path, is_wanted(binaries, contents) };
	uint32_t index;
	int rc = vg_array_reserve(&binaries->items, 1);

	if (rc == 0)
		rc = path == NULL ? -ENOMEM : vg_intern(&binaries->ids, id, id_bytes, &index);
	if (rc == 1) {
		binaries->items.items[binaries->items.count++] = binary;
		return 0;
	}
	if (rc == 0 && binary.is_preferred && !binaries->items.items[index].is_preferred) {
		free(binaries->items.items[index].path);
		binaries->items.items[index] = binary;
		return 0;
	}
	free(path);
	return rc;
}

static int file_visit(void *context, const char *path, const char *relative, const struct stat *status)
{
	unsigned char id[VG_BUILD_ID_MAX_BYTES];
	uint32_t contents;
	size_t bytes;
	int rc = S_ISDIR(status->st_mode) ? -ENOENT : vg_store_file_build_id(path, id, &bytes, &contents);

	(void)relative;
	if (rc == 0)
		rc = binary_add(context, strdup(path), id, bytes, contents);
	return rc == -ENOENT ? 0 : rc;
}

/* A root and the binaries to which its index is added. */
struct indexed_root {
	struct vg_store_binaries *binaries;
	const char *path;
};

static int entry_visit(void *context, const struct vg_store_index_entry *entry)
{
	const struct indexed_root *root = context;
	char *path;

	if (asprintf(&path, "%s/%s", root->path, entry->path) < 0)
		path = NULL;
	return binary_add(root->binaries, path, entry->id, entry->id_bytes, entry->contents);
}

/* Returns 0; -ENOENT or -EBADMSG: no index; or -ENOMEM. */
static int index_add(struct vg_store_binaries *binaries, const char *root, size_t number)
{
	struct indexed_root indexed = { binaries, root };
	int fd = binaries->open_index != NULL ? binaries->open_index(binaries->context, number) : -ENOENT, rc;

	if (fd < 0)
		return -ENOENT;
	rc = vg_store_index_read(fd, entry_visit, &indexed);
	close(fd);
	return rc;
}

static int roots_walk(struct vg_store_binaries *binaries, const char *const *roots, size_t root_count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < root_count; i++) {
		rc = index_add(binaries, roots[i], i);
		if (rc == -ENOENT || rc == -EBADMSG)
			rc = vg_store_files_walk(roots[i], file_visit, binaries);
	}
	return rc;
}

/* Searches <root>/.build-id/xx/yyyy.debug, where distributions put links to their debug files. */
static int build_id_tree_find(const struct vg_store_binaries *binaries, const char *root, const unsigned char *build_id,
			      size_t build_id_bytes, char **path_out, bool *is_preferred)
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];
	unsigned char id[VG_BUILD_ID_MAX_BYTES];
	uint32_t contents;
	size_t bytes;
	char *path;
	int rc;

	vg_hex_text(build_id, build_id_bytes, hex);
	for (char *digit = hex; *digit != '\0'; digit++) {
		if (*digit >= 'A')
			*digit = (char)(*digit - 'A' + 'a');
	}
	if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2) < 0)
		return -ENOMEM;
	rc = vg_store_file_build_id(path, id, &bytes, &contents);
	if (rc == 0 && (bytes != build_id_bytes || memcmp(id, build_id, bytes) != 0))
		rc = -ENOENT;
	if (rc == 0) {
		*path_out = path;
		*is_preferred = is_wanted(binaries, contents);
	} else {
		free(path);
	}
	return rc;
}

/* Takes ownership of `path`, and keeps it if it is better than *best.  Returns 0 or -ENOMEM. */
static int path_keep_better(char *path, bool path_is_preferred, char **best, bool *is_preferred)
{
	if (path == NULL)
		return -ENOMEM;
	if (*best != NULL && (*is_preferred || !path_is_preferred)) {
		free(path);
		return 0;
	}
	free(*best);
	*best = path;
	*is_preferred = path_is_preferred;
	return 0;
}

/* Returns 0 or -ENOMEM.  *path_out stays NULL if no root has the file. */
static int build_id_trees_find(const struct vg_store_binaries *binaries, const char *const *roots, size_t root_count,
			       const unsigned char *build_id, size_t build_id_bytes, char **path_out,
			       bool *is_preferred)
{
	bool path_is_preferred;
	char *path;
	int rc = 0;

	for (size_t i = 0; i < root_count && (*path_out == NULL || !*is_preferred); i++) {
		rc = build_id_tree_find(binaries, roots[i], build_id, build_id_bytes, &path, &path_is_preferred);
		if (rc == 0)
			rc = path_keep_better(path, path_is_preferred, path_out, is_preferred);
		if (rc != 0 && rc != -ENOENT)
			return rc;
	}
	return 0;
}

int vg_store_find_binary(struct vg_store_binaries *binaries, const char *const *roots,
			 size_t root_count, const unsigned char *build_id, size_t build_id_bytes,
			 char **path_out, bool *is_preferred)
{
	const struct vg_store_binary *found;
	uint32_t index;
	int rc;

	*path_out = NULL;
	if (build_id_bytes < 2 || build_id_bytes > VG_BUILD_ID_MAX_BYTES)
		return -ENOENT;
	rc = build_id_trees_find(binaries, roots, root_count, build_id, build_id_bytes, path_out, is_preferred);
	if (rc == 0 && !binaries->walked && (*path_out == NULL || !*is_preferred)) {
		rc = roots_walk(binaries, roots, root_count);
		binaries->walked = rc == 0;
	}
	if (rc == 0 && vg_intern_find(&binaries->ids, build_id, build_id_bytes, &index)) {
		found = &binaries->items.items[index];
		rc = path_keep_better(strdup(found->path), found->is_preferred, path_out, is_preferred);
	}
	if (rc != 0) {
		free(*path_out);
		*path_out = NULL;
		return rc;
	}
	return *path_out != NULL ? 0 : -ENOENT;
}

void vg_store_binaries_free(struct vg_store_binaries *binaries)
{
	if (binaries == NULL)
		return;
	for (size_t i = 0; i < binaries->items.count; i++)
		free(binaries->items.items[i].path);
	vg_array_free(&binaries->items);
	vg_intern_free(&binaries->ids);
	binaries->walked = false;
}
