/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/code_reader.h"

#include <errno.h>

enum { PAGE_BYTES = 4096, PIECE_ALIGN = 128 };

int vg_code_reader_read(struct vg_code_reader *reader, uint64_t address, void *bytes, size_t length)
{
	if (reader->jit == NULL)
		return vg_memory_read_cached(reader->memory, address, bytes, length);
	if (!vg_memory_words_use(reader->memory, (length + sizeof(uint64_t) - 1) / sizeof(uint64_t)))
		return -EFAULT;
	return vg_memory_read(reader->memory, address, bytes, length);
}

/* The piece begins at a multiple of PIECE_ALIGN, so that short jumps backwards stay in it.  The next page may not be
 * mapped: then the piece ends with the page. */
static void piece_read(struct vg_code_reader *reader, uint64_t address)
{
	uint64_t at = address / PIECE_ALIGN * PIECE_ALIGN;
	size_t whole = sizeof reader->piece, page = PAGE_BYTES - at % PAGE_BYTES;

	reader->piece_at = at;
	reader->piece_bytes = 0;
	if (vg_code_reader_read(reader, at, reader->piece, whole) == 0)
		reader->piece_bytes = whole;
	else if (page < whole && vg_code_reader_read(reader, at, reader->piece, page) == 0)
		reader->piece_bytes = page;
}

size_t vg_code_reader_get(struct vg_code_reader *reader, uint64_t address, size_t most, const unsigned char **bytes)
{
	uint64_t offset = address - reader->piece_at;

	if (offset >= reader->piece_bytes || reader->piece_bytes - offset < most) {
		piece_read(reader, address);
		offset = address - reader->piece_at;
		if (offset > reader->piece_bytes)
			offset = reader->piece_bytes;
	}
	*bytes = reader->piece + offset;
	return reader->piece_bytes - offset < most ? reader->piece_bytes - offset : most;
}
