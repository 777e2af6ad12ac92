/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf_image.h"

#include <stdarg.h>
#include <stdio.h>

#include <elfutils/libdwelf.h>
#include <zlib.h>

#include "symbols/debug_id.h"

#define DEBUG_ROOT "/usr/lib/debug"

static bool has_debug_info(const struct vg_elf_image *image)
{
	GElf_Shdr header;

	return vg_elf_section(image, ".debug_info", &header) != NULL ||
	       vg_elf_section(image, ".zdebug_info", &header) != NULL;
}

static bool crc_is(const struct vg_elf_image *separate, uint32_t wanted)
{
	size_t bytes;
	const char *raw = elf_rawfile(separate->elf, &bytes);

	return raw != NULL && crc32_z(0, (const unsigned char *)raw, bytes) == wanted;
}

/* Two files of one build have the same build id; where either has none, the checksum that the
 * stripped one recorded must do. */
static bool belongs_to(const struct vg_elf_image *image, const struct vg_elf_image *separate,
		       const GElf_Word *crc)
{
	const void *ours, *theirs;
	ssize_t our_bytes = dwelf_elf_gnu_build_id(image->elf, &ours);
	ssize_t their_bytes = dwelf_elf_gnu_build_id(separate->elf, &theirs);

	if (our_bytes > 0 && their_bytes > 0)
		return our_bytes == their_bytes && memcmp(ours, theirs, (size_t)our_bytes) == 0;
	return crc != NULL && crc_is(separate, *crc);
}

/* Takes ownership of path.  0 if it is the one. */
static int candidate_open(const struct vg_elf_image *image, char *path, const GElf_Word *crc,
			  struct vg_elf_image *separate)
{
	int rc = -ENOMEM;

	if (path != NULL)
		rc = vg_elf_image_open(separate, path, NULL);
	if (rc == 0 && (!has_debug_info(separate) || !belongs_to(image, separate, crc))) {
		vg_elf_image_close(separate);
		rc = -ENOENT;
	}
	free(path);
	return rc == 0 || rc == -ENOMEM ? rc : -ENOENT;
}

static char *path_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *path_format(const char *format, ...)
{
	va_list args;
	char *path;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0)
		path = NULL;
	va_end(args);
	return path;
}

static int by_build_id(const struct vg_elf_image *image, struct vg_elf_image *separate)
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(image->elf, &id);

	if (bytes < 2 || bytes > VG_BUILD_ID_MAX_BYTES)
		return -ENOENT;
	vg_hex_text(id, (size_t)bytes, hex);
	for (char *digit = hex; *digit != '\0'; digit++) {
		if (*digit >= 'A')
			*digit = (char)(*digit - 'A' + 'a');
	}
	return candidate_open(image, path_format(DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2),
			      NULL, separate);
}

static int by_debuglink(const struct vg_elf_image *image, struct vg_elf_image *separate)
{
	GElf_Word crc;
	const char *link = dwelf_elf_gnu_debuglink(image->elf, &crc);
	char *real, *slash;
	int rc;

	/* The link is a file's name; with a directory in it, it could lead anywhere. */
	if (link == NULL || *link == '\0' || strchr(link, '/') != NULL || strlen(link) > 255)
		return -ENOENT;
	real = realpath(image->path, NULL);
	if (real == NULL)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	slash = strrchr(real, '/');
	*slash = '\0';
	rc = candidate_open(image, path_format("%s/%s", real, link), &crc, separate);
	if (rc == -ENOENT)
		rc = candidate_open(image, path_format("%s/.debug/%s", real, link), &crc, separate);
	if (rc == -ENOENT)
		rc = candidate_open(image, path_format(DEBUG_ROOT "%s/%s", real, link), &crc, separate);
	free(real);
	return rc;
}

int vg_elf_separate_open(const struct vg_elf_image *image, struct vg_elf_image *separate)
{
	int rc = by_build_id(image, separate);

	return rc == -ENOENT ? by_debuglink(image, separate) : rc;
}
