/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_binary.h"

#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <sys/stat.h>

#include "symbols/elf/elf_image.h"
#include "symbols/table/debug_id.h"

/* Limits for the walk.  A directory with all packages of a distribution has fewer files and fewer levels. */
enum { FILES_MAX = 4000000, LEVELS_MAX = 64 };

/* True for a .sym file, which is no ELF file and need not be opened. */
static bool has_sym_suffix(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && strcmp(path + length - 4, ".sym") == 0;
}

/* Closes the image.  open_rc: the result of opening it. */
static int image_build_id(struct vg_elf_image *image, int open_rc, bool wants_code,
			  unsigned char id[VG_BUILD_ID_MAX_BYTES], size_t *bytes, bool *is_preferred)
{
	GElf_Shdr header;

	if (open_rc != 0)
		return open_rc == -ENOMEM ? open_rc : -ENOENT;
	*bytes = vg_elf_build_id(image, id);
	*is_preferred = *bytes > 0 && (wants_code ? vg_elf_section(image, ".text", &header) != NULL :
						    vg_elf_has_dwarf(image));
	vg_elf_image_close(image);
	return *bytes > 0 ? 0 : -ENOENT;
}

/* Returns 0; -ENOENT: no ELF file, or no build id; -ENOMEM. */
static int build_id_read(const char *path, bool wants_code, unsigned char id[VG_BUILD_ID_MAX_BYTES], size_t *bytes,
			 bool *is_preferred)
{
	struct vg_elf_image image;
	int rc = vg_elf_image_open(&image, path, NULL);

	return image_build_id(&image, rc, wants_code, id, bytes, is_preferred);
}

int vg_store_binary_build_id(int fd, const char *path, unsigned char id[VG_BUILD_ID_MAX_BYTES], size_t *bytes)
{
	bool is_preferred;
	struct vg_elf_image image;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), rc;

	if (copy < 0)
		return -ENOENT;
	rc = vg_elf_image_open_descriptor(&image, copy, path, NULL);
	return image_build_id(&image, rc, false, id, bytes, &is_preferred);
}

static int file_add(struct vg_store_binaries *binaries, const char *path)
{
	struct vg_store_binary binary = { 0 };
	unsigned char id[VG_BUILD_ID_MAX_BYTES];
	uint32_t index;
	size_t bytes;
	char *copy;
	int rc;

	if (has_sym_suffix(path))
		return 0;
	rc = build_id_read(path, binaries->wants_code, id, &bytes, &binary.is_preferred);
	if (rc != 0)
		return rc == -ENOMEM ? rc : 0;
	rc = vg_array_reserve(&binaries->items, 1);
	copy = strdup(path);
	if (rc == 0)
		rc = copy == NULL ? -ENOMEM : vg_intern(&binaries->ids, id, bytes, &index);
	if (rc < 0) {
		free(copy);
		return rc;
	}
	if (rc == 1) {
		binaries->items.items[binaries->items.count++] = binary;
	} else if (!binary.is_preferred || binaries->items.items[index].is_preferred) {
		free(copy);
		return 0;
	}
	free(binaries->items.items[index].path);
	binaries->items.items[index] = (struct vg_store_binary){ copy, binary.is_preferred };
	/* cppcheck-suppress memleak ; it is in the array */
	return 0;
}

static int tree_add(struct vg_store_binaries *binaries, FTS *tree)
{
	size_t files = 0;
	FTSENT *entry;
	int rc = 0;

	while (rc == 0 && files < FILES_MAX && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_D && entry->fts_level > LEVELS_MAX)
			fts_set(tree, entry, FTS_SKIP);
		if (entry->fts_info != FTS_F)
			continue;
		files++;
		rc = file_add(binaries, entry->fts_path);
	}
	return rc;
}

static int roots_walk(struct vg_store_binaries *binaries, const char *const *roots,
		      size_t root_count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < root_count; i++) {
		char *paths[] = { strdup(roots[i]), NULL };
		FTS *tree = paths[0] == NULL ? NULL :
			    fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);

		if (tree != NULL) {
			rc = tree_add(binaries, tree);
			fts_close(tree);
		} else if (paths[0] == NULL || errno == ENOMEM) {
			rc = -ENOMEM;
		}
		free(paths[0]);
	}
	return rc;
}

/* Searches <root>/.build-id/xx/yyyy.debug, where distributions put links to their debug files. */
static int build_id_tree_find(const char *root, bool wants_code, const unsigned char *build_id, size_t build_id_bytes,
			      char **path_out, bool *is_preferred)
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];
	unsigned char id[VG_BUILD_ID_MAX_BYTES];
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
	rc = build_id_read(path, wants_code, id, &bytes, is_preferred);
	if (rc == 0 && (bytes != build_id_bytes || memcmp(id, build_id, bytes) != 0))
		rc = -ENOENT;
	if (rc == 0)
		*path_out = path;
	else
		free(path);
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
static int build_id_trees_find(const char *const *roots, size_t root_count, bool wants_code,
			       const unsigned char *build_id, size_t build_id_bytes, char **path_out,
			       bool *is_preferred)
{
	bool path_is_preferred;
	char *path;
	int rc = 0;

	for (size_t i = 0; i < root_count && (*path_out == NULL || !*is_preferred); i++) {
		rc = build_id_tree_find(roots[i], wants_code, build_id, build_id_bytes, &path, &path_is_preferred);
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
	rc = build_id_trees_find(roots, root_count, binaries->wants_code, build_id, build_id_bytes, path_out,
				 is_preferred);
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
