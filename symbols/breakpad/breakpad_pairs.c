/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_pairs.h"

#include "symbols/breakpad/breakpad_name.h"

struct pair {
	uint32_t name, file;
};

/* The code of an inline origin or a function is mostly in one file.  So each origin caches its last
 * pair, and the reader caches the last pair of a function.  This avoids nearly all look-ups. */
int vg_sym_pair_index(struct vg_sym_reader *reader, uint32_t name, uint32_t file, uint32_t *index)
{
	struct vg_sym_cached_pair *cached =
		(name & VG_SYM_ORIGIN) != 0 ? &reader->origins.items[name & ~VG_SYM_ORIGIN].cached :
					      &reader->cached;
	struct pair pair = { name, file };
	int rc = 0;

	if (cached->index == VG_SYMBOLS_NONE || cached->name != name || cached->file != file) {
		rc = vg_intern(&reader->pairs, &pair, sizeof pair, index);
		if (rc < 0)
			return rc;
		*cached = (struct vg_sym_cached_pair){ name, file, *index };
	}
	*index = cached->index;
	return 0;
}

static int origin_name(struct vg_sym_reader *reader, uint32_t slot, uint32_t *id)
{
	struct vg_sym_name *name = &reader->origins.items[slot].name;
	int rc = 0;

	if (name->id == VG_SYMBOLS_NONE)
		rc = vg_sym_name_intern(reader, &reader->symbolization->strings, name, &name->id);
	*id = name->id;
	return rc;
}

static int file_name(struct vg_sym_reader *reader, uint32_t slot, uint32_t *id)
{
	struct vg_sym_name *name;
	int rc = 0;

	if (slot != VG_SYMBOLS_NONE && (slot & VG_SYM_ORIGIN) != 0)
		slot = reader->origins.items[slot & ~VG_SYM_ORIGIN].file;
	*id = VG_SYMBOLS_NONE;
	if (slot == VG_SYMBOLS_NONE || reader->files.items[slot].text == NULL)
		return 0;
	name = &reader->files.items[slot];
	if (name->id == VG_SYMBOLS_NONE)
		rc = vg_sym_name_intern(reader, &reader->symbolization->strings, name, &name->id);
	*id = name->id;
	return rc;
}

int vg_sym_pairs_finish(struct vg_sym_reader *reader)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < reader->pairs.count; i++) {
		struct pair pair;
		struct vg_symbolized_function function;

		memcpy(&pair, vg_intern_bytes(&reader->pairs, i, NULL), sizeof pair);
		function.name = pair.name;
		if ((pair.name & VG_SYM_ORIGIN) != 0)
			rc = origin_name(reader, pair.name & ~VG_SYM_ORIGIN, &function.name);
		if (rc == 0)
			rc = file_name(reader, pair.file, &function.file);
		if (rc == 0)
			rc = vg_array_push(&reader->symbolization->functions, &function);
	}
	return rc;
}
