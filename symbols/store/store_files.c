/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/elf_image.h"

/* Limits for the walk.  A directory with all packages of a distribution has fewer files and fewer levels. */
enum { FILES_MAX = 4000000, LEVELS_MAX = 64 };

/* True for a .sym file, which is no ELF file and need not be opened. */
static bool has_sym_suffix(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && strcmp(path + length - 4, ".sym") == 0;
}

/* The part of a path below `root`, without slashes at its begin. */
static const char *below(const char *path, size_t root_length)
{
	path += root_length;
	return path + strspn(path, "/");
}

int vg_store_files_walk(const char *root,
			int (*visit)(void *context, const char *path, const char *relative, const struct stat *status),
			void *context)
{
	char *paths[] = { strdup(root), NULL };
	size_t files = 0, root_length = strlen(root);
	FTSENT *entry;
	FTS *tree;
	int rc = 0;

	if (paths[0] == NULL)
		return -ENOMEM;
	while (root_length > 0 && root[root_length - 1] == '/')
		root_length--;
	tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	if (tree == NULL)
		rc = errno == ENOMEM ? -ENOMEM : 0;
	while (tree != NULL && rc == 0 && files < FILES_MAX && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_D && entry->fts_level > LEVELS_MAX)
			fts_set(tree, entry, FTS_SKIP);
		if (entry->fts_info != FTS_F && entry->fts_info != FTS_D)
			continue;
		files++;
		if (entry->fts_info == FTS_D || !has_sym_suffix(entry->fts_path))
			rc = visit(context, entry->fts_path, below(entry->fts_path, root_length), entry->fts_statp);
	}
	if (tree != NULL)
		fts_close(tree);
	free(paths[0]);
	return rc;
}

/* Closes the image.  open_rc: the result of opening it. */
static int image_build_id(struct vg_elf_image *image, int open_rc, unsigned char id[VG_BUILD_ID_MAX_BYTES],
			  size_t *bytes, uint32_t *contents)
{
	GElf_Shdr header;

	if (open_rc != 0)
		return open_rc == -ENOMEM ? open_rc : -ENOENT;
	*bytes = vg_elf_build_id(image, id);
	*contents = *bytes == 0 ? 0 :
		    (vg_elf_has_dwarf(image) ? VG_STORE_FILE_DWARF : 0) |
		    (vg_elf_section(image, ".text", &header) != NULL ? VG_STORE_FILE_CODE : 0);
	vg_elf_image_close(image);
	return *bytes > 0 ? 0 : -ENOENT;
}

int vg_store_file_build_id(const char *path, unsigned char id[VG_BUILD_ID_MAX_BYTES], size_t *bytes,
			   uint32_t *contents)
{
	struct vg_elf_image image;
	int rc = vg_elf_image_open(&image, path, NULL);

	return image_build_id(&image, rc, id, bytes, contents);
}

int vg_store_binary_build_id(int fd, const char *path, unsigned char id[VG_BUILD_ID_MAX_BYTES], size_t *bytes)
{
	uint32_t contents;
	struct vg_elf_image image;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), rc;

	if (copy < 0)
		return -ENOENT;
	rc = vg_elf_image_open_descriptor(&image, copy, path, NULL);
	return image_build_id(&image, rc, id, bytes, &contents);
}
