/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_image.h"

#include <inttypes.h>
#include <stdio.h>

#include <lzma.h>

/* Limits against hostile files.  The largest real programs have symbol tables of some tens of MiB,
 * which compress to 10 %.  LZMA compresses zeros 7000:1.  The limit of the decoder's memory is about
 * twice what `xz -9` needs (65 MiB). */
#define DECOMPRESSED_MAX_BYTES ((size_t)512 << 20)
#define RATIO_MAX 200
#define DECODER_MAX_BYTES (128U << 20)

static size_t decompressed_max_bytes(const Elf_Data *compressed)
{
	return compressed->d_size < DECOMPRESSED_MAX_BYTES / RATIO_MAX ? compressed->d_size * RATIO_MAX :
								 DECOMPRESSED_MAX_BYTES;
}

/* The path of the file inside .gnu_debugdata, for error messages. */
static char *inner_path(const struct vg_elf_image *image)
{
	char *path;

	return asprintf(&path, "%s: .gnu_debugdata", image->path) < 0 ? NULL : path;
}

static int lzma_error(lzma_ret code)
{
	return code == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/* Doubles the buffer until the stream ends.  The caller frees *bytes, even after a failure. */
static int stream_decompress(lzma_stream *stream, size_t max_bytes, unsigned char **bytes, size_t *count)
{
	size_t room = 1 << 16;
	lzma_ret code = LZMA_OK;

	for (*count = 0; code == LZMA_OK && room / 2 <= max_bytes; room *= 2) {
		unsigned char *grown = realloc(*bytes, room);

		if (grown == NULL)
			return -ENOMEM;
		*bytes = grown;
		stream->next_out = grown + *count;
		stream->avail_out = room - *count;
		code = lzma_code(stream, LZMA_FINISH);
		*count = room - stream->avail_out;
	}
	return code == LZMA_STREAM_END ? 0 : lzma_error(code);
}

static int section_decompress(const Elf_Data *compressed, unsigned char **bytes, size_t *count)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0);
	int rc;

	*bytes = NULL;
	if (code != LZMA_OK)
		return lzma_error(code);
	stream.next_in = compressed->d_buf;
	stream.avail_in = compressed->d_size;
	rc = stream_decompress(&stream, decompressed_max_bytes(compressed), bytes, count);
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
	Elf_Data *compressed = section != NULL ? elf_rawdata(section, NULL) : NULL;
	unsigned char *bytes;
	char *path;
	size_t count;
	int rc;

	if (compressed == NULL || compressed->d_buf == NULL || compressed->d_size == 0)
		return -ENOENT;
	rc = section_decompress(compressed, &bytes, &count);
	if (rc != 0)
		return vg_err_set(err, rc, "%s: .gnu_debugdata at offset %" PRIu64 " is damaged, or "
				  "decompresses to more than %zu bytes", image->path,
				  (uint64_t)header.sh_offset, decompressed_max_bytes(compressed));
	path = inner_path(image);
	if (path == NULL) {
		free(bytes);
		return vg_err_sys(err, -ENOMEM, "%s", image->path);
	}
	rc = vg_elf_image_open_memory(minidebug, bytes, count, path, err);
	free(path);
	return rc == -ENOEXEC ? -EBADMSG : rc;
}
