/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_separate.h"

#include <stdarg.h>
#include <stdio.h>

#include <elfutils/libdwelf.h>
#include <zlib.h>

#include "symbols/table/debug_id.h"

#define DEBUG_ROOT "/usr/lib/debug"

static bool has_symbols(const struct vg_elf_image *image)
{
	GElf_Shdr header;

	return vg_elf_has_dwarf(image) ||
	       vg_elf_section_of_type(image, SHT_SYMTAB, &header) != NULL;
}

static bool crc_matches(const struct vg_elf_image *separate, uint32_t wanted)
{
	size_t bytes;
	const char *raw = elf_rawfile(separate->elf, &bytes);

	return raw != NULL && crc32_z(0, (const unsigned char *)raw, bytes) == wanted;
}

/* Compares the build ids of the two files.  If one of them has no build id, compares the CRC of .gnu_debuglink. */
static bool is_same_build(const struct vg_elf_image *image, const struct vg_elf_image *separate,
			  const GElf_Word *crc)
{
	const void *ours, *theirs;
	ssize_t our_bytes = dwelf_elf_gnu_build_id(image->elf, &ours);
	ssize_t their_bytes = dwelf_elf_gnu_build_id(separate->elf, &theirs);

	if (our_bytes > 0 && their_bytes > 0)
		return our_bytes == their_bytes && memcmp(ours, theirs, (size_t)our_bytes) == 0;
	return crc != NULL && crc_matches(separate, *crc);
}

/* True if `image` has more debug information than `best`.  `best` may be closed. */
static bool is_better(const struct vg_elf_image *image, const struct vg_elf_image *best)
{
	return vg_elf_has_dwarf(image) || (best->elf == NULL && has_symbols(image));
}

/* Takes ownership of `candidate`, whose opening had the result open_rc.  A matching file replaces *best if is_better().
 * Returns 0 if *best has DWARF now, which ends the search.  Otherwise returns -ENOENT or -ENOMEM. */
static int image_try(const struct vg_elf_image *image, struct vg_elf_image *candidate, int open_rc,
		     const GElf_Word *crc, struct vg_elf_image *best)
{
	if (open_rc != 0)
		return open_rc == -ENOMEM ? open_rc : -ENOENT;
	if (!is_better(candidate, best) || !is_same_build(image, candidate, crc)) {
		vg_elf_image_close(candidate);
		return -ENOENT;
	}
	vg_elf_image_close(best);
	*best = *candidate;
	return vg_elf_has_dwarf(best) ? 0 : -ENOENT;
}

/* As image_try(), for a file.  Takes ownership of `path`.  is_given: the path is in a directory that the user has
 * named. */
static int candidate_try(const struct vg_elf_image *image, char *path, bool is_given, const GElf_Word *crc,
			 struct vg_elf_image *best)
{
	struct vg_elf_image candidate = VG_ELF_IMAGE_CLOSED;
	int rc = -ENOMEM;

	if (path != NULL)
		rc = is_given ? vg_elf_image_open(&candidate, path, NULL) : vg_elf_image_open_named(&candidate, path);
	free(path);
	return image_try(image, &candidate, rc, crc, best);
}

char *vg_path_format(const char *format, ...)
{
	va_list args;
	char *path;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0)
		path = NULL;
	va_end(args);
	return path;
}

const char *vg_debug_dir(const struct vg_symbols_search *search, size_t i)
{
	size_t count = search != NULL ? search->debug_dir_count : 0;

	return i < count ? search->debug_dirs[i] : i == count ? DEBUG_ROOT : NULL;
}

char *vg_build_id_path(const char *directory, const void *id, size_t bytes)
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];

	vg_hex_text(id, bytes, hex);
	for (char *digit = hex; *digit != '\0'; digit++) {
		if (*digit >= 'A')
			*digit = (char)(*digit - 'A' + 'a');
	}
	return vg_path_format("%s/.build-id/%.2s/%s.debug", directory, hex, hex + 2);
}

static int open_by_build_id(const struct vg_elf_image *image, const struct vg_symbols_search *search,
			    struct vg_elf_image *separate)
{
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(image->elf, &id);
	const char *directory;
	int rc = -ENOENT;

	if (bytes < 2 || bytes > VG_BUILD_ID_MAX_BYTES)
		return -ENOENT;
	for (size_t i = 0; rc == -ENOENT && (directory = vg_debug_dir(search, i)) != NULL; i++)
		rc = candidate_try(image, vg_build_id_path(directory, id, (size_t)bytes), true, NULL, separate);
	return rc;
}

static int open_by_debuglink(const struct vg_elf_image *image, const struct vg_symbols_search *search,
			     struct vg_elf_image *separate)
{
	GElf_Word crc;
	const char *link = dwelf_elf_gnu_debuglink(image->elf, &crc), *directory;
	char *real;
	int rc;

	/* The link must be a file name.  With a directory, the link could lead anywhere. */
	if (link == NULL || *link == '\0' || strchr(link, '/') != NULL || strlen(link) > 255)
		return -ENOENT;
	real = vg_elf_image_directory(image, &rc);
	if (real == NULL)
		return rc;
	rc = candidate_try(image, vg_path_format("%s/%s", real, link), false, &crc, separate);
	if (rc == -ENOENT)
		rc = candidate_try(image, vg_path_format("%s/.debug/%s", real, link), false, &crc, separate);
	for (size_t i = 0; rc == -ENOENT && (directory = vg_debug_dir(search, i)) != NULL; i++) {
		rc = candidate_try(image, vg_path_format("%s%s/%s", directory, real, link), true, &crc, separate);
		if (rc == -ENOENT)
			rc = candidate_try(image, vg_path_format("%s/%s", directory, link), true, &crc, separate);
	}
	free(real);
	return rc;
}

int vg_debug_file_request(const struct vg_symbols_search *search, const void *id, size_t bytes, char **path)
{
	return search != NULL && search->open != NULL ? search->open(search->open_context, id, bytes, path) : -ENOENT;
}

static int open_by_request(const struct vg_elf_image *image, const struct vg_symbols_search *search,
			   struct vg_elf_image *separate)
{
	struct vg_elf_image candidate = VG_ELF_IMAGE_CLOSED;
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(image->elf, &id);
	char *path = NULL;
	int fd, rc;

	if (bytes < 2 || bytes > VG_BUILD_ID_MAX_BYTES)
		return -ENOENT;
	fd = vg_debug_file_request(search, id, (size_t)bytes, &path);
	if (fd < 0)
		return fd == -ENOMEM ? fd : -ENOENT;
	rc = vg_elf_image_open_descriptor(&candidate, fd, path, NULL);
	free(path);
	return image_try(image, &candidate, rc, NULL, separate);
}

int vg_elf_separate_open(const struct vg_elf_image *image, const struct vg_symbols_search *search,
			 struct vg_elf_image *separate)
{
	int rc = open_by_build_id(image, search, separate);

	if (rc == -ENOENT)
		rc = open_by_debuglink(image, search, separate);
	return rc == -ENOENT ? open_by_request(image, search, separate) : rc;
}
