/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_reader.h"

#include "symbols/breakpad/breakpad_cursor.h"
#include "symbols/table/debug_id.h"

int vg_sym_name_keep(struct vg_sym_reader *reader, struct vg_intern *strings,
		     const struct vg_sym_name *name, uint32_t *id)
{
	static const char omitted[] = "<name omitted>";
	size_t length = name->text != NULL ? strnlen(name->text, name->length) : 0;
	int rc;

	if (length == 0) {
		rc = vg_intern(strings, omitted, sizeof omitted, id);
		return rc < 0 ? rc : 0;
	}
	reader->scratch.count = 0;
	if (vg_array_reserve(&reader->scratch, length + 1) != 0)
		return -ENOMEM;
	memcpy(reader->scratch.items, name->text, length);
	reader->scratch.items[length] = '\0';
	rc = vg_intern(strings, reader->scratch.items, length + 1, id);
	return rc < 0 ? rc : 0;
}

static char *name_copy(const struct vg_sym_name *name)
{
	return strndup(name->text, name->length);
}

int vg_sym_bad_record(struct vg_sym_reader *reader)
{
	if (reader->symbols->bad_records++ == 0)
		reader->symbols->first_bad_line = reader->line_number;
	return 0;
}

size_t vg_sym_wanted_search(struct vg_sym_reader *reader, uint64_t address)
{
	const uint64_t *wanted = reader->wanted;
	size_t low = reader->at, high = reader->high;

	/* Addresses mostly rise, and by little. */
	if (low < reader->low || low > high || (low > reader->low && wanted[low - 1] >= address)) {
		high = low < reader->low || low > high ? high : low;
		low = reader->low;
	}
	for (unsigned steps = 0; low < high && wanted[low] < address; low++) {
		if (++steps == 8)
			break;
	}
	while (low < high && wanted[low] < address) {
		size_t middle = low + (high - low) / 2;

		if (wanted[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return reader->at = low;
}

int vg_sym_file_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot)
{
	static const struct vg_sym_name none = { .id = VG_SYMBOLS_NONE };
	int rc;

	if (reader->cached_slot != VG_SYMBOLS_NONE && reader->cached_number == number) {
		*slot = reader->cached_slot;
		return 0;
	}
	rc = vg_array_reserve(&reader->files, 1);
	if (rc == 0)
		rc = vg_sym_slot(&reader->file_slots, number, slot);
	if (rc == 1)
		rc = vg_array_push(&reader->files, &none);
	if (rc != 0)
		return rc;
	reader->cached_number = number;
	reader->cached_slot = *slot;
	return 0;
}

int vg_sym_origin_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot)
{
	static const struct vg_sym_origin none = {
		{ .id = VG_SYMBOLS_NONE }, VG_SYMBOLS_NONE, { .index = VG_SYMBOLS_NONE },
	};
	int rc = vg_array_reserve(&reader->origins, 1);

	if (rc == 0)
		rc = vg_sym_slot(&reader->origin_slots, number, slot);
	return rc == 1 ? vg_array_push(&reader->origins, &none) : rc;
}

static int module_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	char os[WORD_MAX_CHARS], arch[WORD_MAX_CHARS], id[WORD_MAX_CHARS];
	struct vg_sym_name name;

	if (reader->has_module || !take_any_word(&cursor, os) || !take_any_word(&cursor, arch) ||
	    !take_any_word(&cursor, id) || strlen(id) >= sizeof symbols->debug_id ||
	    strspn(id, "0123456789abcdefABCDEF") != strlen(id) || cursor.at == cursor.end)
		return vg_sym_bad_record(reader);
	name = vg_sym_rest(&cursor);
	symbols->module_name = name_copy(&name);
	symbols->os = strdup(os);
	symbols->arch = strdup(arch);
	if (symbols->module_name == NULL || symbols->os == NULL || symbols->arch == NULL)
		return -ENOMEM;
	strcpy(symbols->debug_id, id);
	reader->has_module = true;
	return 0;
}

static int info_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_range section;
	const char *space;

	if (take_word(&cursor, "CODE_ID")) {
		/* A file name may follow it. */
		space = memchr(cursor.at, ' ', (size_t)(cursor.end - cursor.at));
		if (space == NULL)
			space = cursor.end;
		if (!vg_hex_parse(cursor.at, (size_t)(space - cursor.at), symbols->build_id,
				  sizeof symbols->build_id, &symbols->build_id_bytes)) {
			symbols->build_id_bytes = 0;
			return vg_sym_bad_record(reader);
		}
	} else if (take_word(&cursor, "ABSENT")) {
		int rc = vg_sym_absent_take(&symbols->absent, cursor.at, cursor.end);

		return rc == -EBADMSG ? vg_sym_bad_record(reader) : rc;
	} else if (take_word(&cursor, "SECTION")) {
		if (!take_hex(&cursor, UINT64_MAX, &section.address) ||
		    !take_hex(&cursor, UINT64_MAX, &section.size_bytes))
			return vg_sym_bad_record(reader);
		return vg_array_push(&symbols->sections, &section);
	}
	return 0;
}

static int file_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	uint64_t number;
	uint32_t slot;
	int rc;

	if (!take_decimal(&cursor, UINT64_MAX, &number) || cursor.at == cursor.end)
		return vg_sym_bad_record(reader);
	rc = vg_sym_file_slot(reader, number, &slot);
	if (rc == 0)
		reader->files.items[slot] = vg_sym_rest(&cursor);
	return rc;
}

/* The old grammar has a file's number before the name, and no name starts with a number. */
static int origin_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_sym_cursor old;
	uint64_t number, file;
	uint32_t slot, file_at = VG_SYMBOLS_NONE;
	int rc;

	if (!take_decimal(&cursor, UINT64_MAX, &number) || cursor.at == cursor.end)
		return vg_sym_bad_record(reader);
	old = cursor;
	if (take_word(&old, "-1")) {
		cursor = old;
	} else if (take_decimal(&old, UINT64_MAX, &file) && old.at < old.end) {
		cursor = old;
		rc = vg_sym_file_slot(reader, file, &file_at);
		if (rc != 0)
			return rc;
	}
	rc = vg_sym_origin_slot(reader, number, &slot);
	if (rc == 0)
		reader->origins.items[slot] = (struct vg_sym_origin){
			vg_sym_rest(&cursor), file_at, { .index = VG_SYMBOLS_NONE },
		};
	return rc;
}

static int public_keep(struct vg_sym_reader *reader, struct vg_symbol_public *symbol,
		       const struct vg_sym_name *name)
{
	struct vg_sym_public bare = { symbol->address, *name };
	int rc;

	if (reader->answers != NULL)
		return vg_array_push(&reader->publics, &bare);
	rc = vg_sym_name_keep(reader, &reader->symbols->strings, name, &symbol->name);
	return rc == 0 ? vg_array_push(&reader->symbols->publics, symbol) : rc;
}

static int public_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbol_public symbol = { .multiple = take_word(&cursor, "m") };
	int rc = vg_sym_function_end(reader);
	uint64_t parameter_bytes;
	struct vg_sym_name name;

	reader->in_function = reader->keeps_function = false;
	if (rc != 0)
		return rc;
	if (!take_hex(&cursor, UINT64_MAX, &symbol.address) ||
	    !take_hex(&cursor, UINT32_MAX, &parameter_bytes))
		return vg_sym_bad_record(reader);
	symbol.parameter_bytes = (uint32_t)parameter_bytes;
	name = vg_sym_rest(&cursor);
	return public_keep(reader, &symbol, &name);
}

int vg_sym_record(struct vg_sym_reader *reader, const char *from, const char *end)
{
	struct vg_sym_cursor cursor = { from, end };

	if (from == end)
		return 0;
	/* Only line records start in lower case. */
	if ((*from >= '0' && *from <= '9') || (*from >= 'a' && *from <= 'f')) {
		if (reader->keeps_function)
			return vg_sym_line_record(reader, cursor);
		return reader->in_function ? 0 : vg_sym_bad_record(reader);
	}
	if (take_word(&cursor, "INLINE")) {
		if (reader->keeps_function)
			return vg_sym_inline_record(reader, cursor);
		return reader->in_function ? 0 : vg_sym_bad_record(reader);
	}
	if (take_word(&cursor, "FUNC"))
		return vg_sym_function_record(reader, cursor);
	if (take_word(&cursor, "PUBLIC"))
		return public_record(reader, cursor);
	if (take_word(&cursor, "FILE"))
		return file_record(reader, cursor);
	if (take_word(&cursor, "INLINE_ORIGIN"))
		return origin_record(reader, cursor);
	if (take_word(&cursor, "MODULE"))
		return module_record(reader, cursor);
	if (take_word(&cursor, "INFO"))
		return info_record(reader, cursor);
	/* STACK, and what later versions may add. */
	return 0;
}
