/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_image.h"

#include <inttypes.h>
#include <stdio.h>

#include <lzma.h>

/* Symbol tables of the largest programs take some tens of MiB, and are packed to a tenth; zeros
 * are to a seven thousandth.  The decoder's own share is what `xz -9` asks for, and some. */
#define UNPACKED_MAX_BYTES ((size_t)512 << 20)
#define RATIO_MAX 200
#define DECODER_MAX_BYTES (128U << 20)

static size_t room_max(const Elf_Data *packed)
{
	return packed->d_size < UNPACKED_MAX_BYTES / RATIO_MAX ? packed->d_size * RATIO_MAX :
								 UNPACKED_MAX_BYTES;
}

/* A name for errors: a file within a file. */
static char *inner_path(const struct vg_elf_image *image)
{
	char *path;

	return asprintf(&path, "%s: .gnu_debugdata", image->path) < 0 ? NULL : path;
}

static int decoder_translate(lzma_ret code)
{
	return code == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/* Doubles the room until the stream ends.  *bytes is the caller's to free, also after a failure. */
static int stream_unpack(lzma_stream *stream, size_t most, unsigned char **bytes, size_t *count)
{
	size_t room = 1 << 16;
	lzma_ret code = LZMA_OK;

	for (*count = 0; code == LZMA_OK && room / 2 <= most; room *= 2) {
		unsigned char *grown = realloc(*bytes, room);

		if (grown == NULL)
			return -ENOMEM;
		*bytes = grown;
		stream->next_out = grown + *count;
		stream->avail_out = room - *count;
		code = lzma_code(stream, LZMA_FINISH);
		*count = room - stream->avail_out;
	}
	return code == LZMA_STREAM_END ? 0 : decoder_translate(code);
}

static int section_unpack(const Elf_Data *packed, unsigned char **bytes, size_t *count)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0);
	int rc;

	*bytes = NULL;
	if (code != LZMA_OK)
		return decoder_translate(code);
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	rc = stream_unpack(&stream, room_max(packed), bytes, count);
	lzma_end(&stream);
	if (rc != 0)
		free(*bytes);
	return rc;
}

int vg_elf_minidebug_open(const struct vg_elf_image *image, struct vg_elf_image *minidebug,
			  struct vg_err *err)
{
	GElf_Shdr header;
	Elf_Scn *section = vg_elf_section(image, ".gnu_debugdata", &header);
	Elf_Data *packed = section != NULL ? elf_rawdata(section, NULL) : NULL;
	unsigned char *bytes;
	char *path;
	size_t count;
	int rc;

	if (packed == NULL || packed->d_buf == NULL || packed->d_size == 0)
		return -ENOENT;
	rc = section_unpack(packed, &bytes, &count);
	if (rc != 0)
		return vg_err_set(err, rc, "%s: .gnu_debugdata at offset %" PRIu64 " is damaged, or "
				  "unpacks to more than %zu bytes", image->path,
				  (uint64_t)header.sh_offset, room_max(packed));
	path = inner_path(image);
	if (path == NULL) {
		free(bytes);
		return vg_err_sys(err, -ENOMEM, "%s", image->path);
	}
	rc = vg_elf_image_open_memory(minidebug, bytes, count, path, err);
	free(path);
	return rc == -ENOEXEC ? -EBADMSG : rc;
}
