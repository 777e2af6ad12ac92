/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_PACKING_H
#define VG_PROFILE_PACKING_H

#include <string.h>

#include "base/utf8.h"
#include "profile/writer.h"

/* Each function packs one field of a record.  Only writer.c includes this file. */

static void pack_uint(struct vg_writer *writer, uint64_t value)
{
	msgpack_pack_uint64(&writer->packer, value);
}

static void pack_bytes(struct vg_writer *writer, const char *text, size_t length)
{
	msgpack_pack_str(&writer->packer, length);
	msgpack_pack_str_body(&writer->packer, text, length);
	if (writer->failed == 0)
		vg_utf8_make_valid(writer->buffer.data + writer->buffer.size - length, length);
}

static void pack_text(struct vg_writer *writer, const char *text)
{
	pack_bytes(writer, text, strnlen(text, VG_NAME_MAX_BYTES));
}

/* Packs a name that the process or its user chose.  Truncates it to writer->name_max_bytes. */
static void pack_name(struct vg_writer *writer, const char *name)
{
	size_t length = strnlen(name, writer->name_max_bytes + (size_t)1);

	if (length > writer->name_max_bytes) {
		/* Do not split a UTF-8 character. */
		for (length--; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
			length--;
		writer->names_truncated++;
	}
	pack_bytes(writer, name, length);
}

static void pack_nil_or(struct vg_writer *writer, uint32_t id)
{
	if (id == VG_NONE)
		msgpack_pack_nil(&writer->packer);
	else
		pack_uint(writer, id);
}

static void pack_counts(struct vg_writer *writer, const struct vg_named_value *counts, size_t count)
{
	msgpack_pack_map(&writer->packer, count);
	for (size_t i = 0; i < count; i++) {
		pack_text(writer, counts[i].name);
		pack_uint(writer, counts[i].value);
	}
}

#endif
