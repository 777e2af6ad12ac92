/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/chunk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

static uint32_t word_at(const unsigned char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof word);
	return be32toh(word);
}

static void word_put(unsigned char *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof value);
}

static uint32_t chunk_crc(const unsigned char *sequence, const void *payload, size_t length)
{
	return (uint32_t)crc32_z(crc32_z(0, sequence, 4), payload, length);
}

void vg_chunk_header(unsigned char header[VG_CHUNK_HEADER_BYTES], uint32_t sequence,
		     const void *payload, size_t length)
{
	memcpy(header, VG_CHUNK_MAGIC, VG_CHUNK_MAGIC_BYTES);
	word_put(header + VG_CHUNK_SEQUENCE_AT, sequence);
	header[VG_CHUNK_CRC_AT - 1] = 0xce;
	word_put(header + VG_CHUNK_CRC_AT, chunk_crc(header + VG_CHUNK_SEQUENCE_AT, payload, length));
	header[VG_CHUNK_LENGTH_AT - 1] = 0xc6;
	word_put(header + VG_CHUNK_LENGTH_AT, (uint32_t)length);
}

static bool is_header(const unsigned char *at)
{
	return memcmp(at, VG_CHUNK_MAGIC, VG_CHUNK_MAGIC_BYTES) == 0 && at[VG_CHUNK_CRC_AT - 1] == 0xce &&
	       at[VG_CHUNK_LENGTH_AT - 1] == 0xc6;
}

int vg_chunk_length(const unsigned char *bytes, size_t count, size_t *length)
{
	uint32_t payload;

	if (count < VG_CHUNK_HEADER_BYTES)
		return 0;
	payload = word_at(bytes + VG_CHUNK_LENGTH_AT);
	if (!is_header(bytes) || payload > VG_CHUNK_PAYLOAD_MAX)
		return -EBADMSG;
	*length = VG_CHUNK_HEADER_BYTES + (size_t)payload;
	return 1;
}

/* Returns NULL if an intact chunk begins at offset, otherwise the problem. */
static const char *chunk_check(struct vg_chunks *chunks, uint64_t offset, struct vg_chunk *chunk)
{
	const unsigned char *at = chunks->bytes + offset;
	uint64_t left = chunks->length - offset;
	uint32_t length;

	if (left < VG_CHUNK_HEADER_BYTES)
		return "the file ends inside a chunk";
	if (!is_header(at))
		return "not a chunk";
	length = word_at(at + VG_CHUNK_LENGTH_AT);
	if (length > VG_CHUNK_PAYLOAD_MAX)
		return "a chunk is longer than the format allows";
	if (length > left - VG_CHUNK_HEADER_BYTES)
		return "the file ends inside a chunk";
	chunks->checked_bytes += length;
	if (chunk_crc(at + VG_CHUNK_SEQUENCE_AT, at + VG_CHUNK_HEADER_BYTES, length) !=
	    word_at(at + VG_CHUNK_CRC_AT))
		return "a chunk's checksum is wrong";
	chunk->offset = offset;
	chunk->sequence = word_at(at + VG_CHUNK_SEQUENCE_AT);
	chunk->payload.at = at + VG_CHUNK_HEADER_BYTES;
	chunk->payload.end = chunk->payload.at + length;
	return NULL;
}

/* Offset of the first intact chunk after the damage at chunks->at.  Returns the file's length if there is no such
 * chunk, or if the search has computed checksums of too many bytes. */
static uint64_t chunk_search(struct vg_chunks *chunks)
{
	uint64_t checked_max = 64 * chunks->length + (64u << 20);
	uint64_t offset = chunks->at + 1;
	struct vg_chunk chunk;

	while (offset < chunks->length && chunks->checked_bytes <= checked_max) {
		const unsigned char *found = memmem(chunks->bytes + offset, chunks->length - offset,
						    VG_CHUNK_MAGIC, VG_CHUNK_MAGIC_BYTES);

		if (found == NULL)
			break;
		offset = (uint64_t)(found - chunks->bytes);
		if (chunk_check(chunks, offset, &chunk) == NULL)
			return offset;
		offset++;
	}
	return chunks->length;
}

enum vg_chunk_next vg_chunk_next(struct vg_chunks *chunks, struct vg_chunk *chunk,
				 struct vg_damage *damage)
{
	const char *problem;

	if (chunks->at >= chunks->length)
		return VG_CHUNK_END;
	problem = chunk_check(chunks, chunks->at, chunk);
	if (problem != NULL) {
		uint64_t next = chunk_search(chunks);

		*damage = (struct vg_damage){ chunks->at, next - chunks->at, problem };
		chunks->at = next;
		return VG_CHUNK_DAMAGED;
	}
	chunk->gap = chunk->sequence != chunks->next_sequence;
	chunks->next_sequence = chunk->sequence + 1;
	chunks->at += VG_CHUNK_HEADER_BYTES + (uint64_t)(chunk->payload.end - chunk->payload.at);
	return VG_CHUNK_GOOD;
}

int vg_record_next(struct vg_cursor *payload, struct vg_record_view *record)
{
	struct vg_cursor start = *payload;
	uint32_t count;

	if (payload->at == payload->end)
		return 0;
	if (vg_cursor_skip(payload) != 0)
		return -EBADMSG;
	record->bytes = start.at;
	record->length = (size_t)(payload->at - start.at);
	record->cursor = (struct vg_cursor){ start.at, payload->at };
	if (vg_cursor_array(&record->cursor, &count) != 0 || count == 0 ||
	    vg_cursor_uint(&record->cursor, &record->kind) != 0) {
		*payload = start;
		return -EBADMSG;
	}
	record->fields = count - 1;
	return 1;
}
