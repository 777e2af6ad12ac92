/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad_reader.h"

#include "symbols/breakpad_cursor.h"
#include "symbols/debug_id.h"

#define NAME_MAX_CHARS 65536

/* The rest of the record as a string; valid until the next call.  NULL: no memory. */
static const char *take_name(struct vg_sym_reader *reader, struct vg_sym_cursor *cursor)
{
	size_t length = (size_t)(cursor->end - cursor->at);

	if (length > NAME_MAX_CHARS)
		length = NAME_MAX_CHARS;
	reader->scratch.count = 0;
	if (vg_array_reserve(&reader->scratch, length + 1) != 0)
		return NULL;
	memcpy(reader->scratch.items, cursor->at, length);
	reader->scratch.items[length] = '\0';
	return reader->scratch.items;
}

static int intern_name(struct vg_sym_reader *reader, struct vg_sym_cursor *cursor, uint32_t *id)
{
	const char *name = take_name(reader, cursor);
	int rc;

	if (name == NULL)
		return -ENOMEM;
	rc = vg_intern_string(&reader->symbols->strings, *name != '\0' ? name : "<name omitted>", id);
	return rc < 0 ? rc : 0;
}

static int bad_record(struct vg_sym_reader *reader)
{
	if (reader->symbols->bad_records++ == 0)
		reader->symbols->first_bad_line = reader->line_number;
	return 0;
}

static bool is_wanted(const struct vg_sym_reader *reader, uint64_t address, uint64_t size_bytes)
{
	size_t low = 0, high = reader->wanted_count;

	if (reader->wanted == NULL)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->wanted[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reader->wanted_count && reader->wanted[low] - address < size_bytes;
}

static int file_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot)
{
	static const uint32_t none = VG_SYMBOLS_NONE;
	int rc;

	if (reader->cached_slot != VG_SYMBOLS_NONE && reader->cached_number == number) {
		*slot = reader->cached_slot;
		return 0;
	}
	rc = vg_array_reserve(&reader->slot_files, 1);
	if (rc == 0)
		rc = vg_intern(&reader->file_slots, &number, sizeof number, slot);
	if (rc == 1)
		rc = vg_array_push(&reader->slot_files, &none);
	if (rc != 0)
		return rc;
	reader->cached_number = number;
	reader->cached_slot = *slot;
	return 0;
}

static int origin_slot(struct vg_sym_reader *reader, uint64_t number, uint32_t *slot)
{
	static const struct vg_sym_origin none = { VG_SYMBOLS_NONE, VG_SYMBOLS_NONE };
	int rc = vg_array_reserve(&reader->origins, 1);

	if (rc == 0)
		rc = vg_intern(&reader->origin_slots, &number, sizeof number, slot);
	return rc == 1 ? vg_array_push(&reader->origins, &none) : rc;
}

static int module_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	char os[WORD_MAX_CHARS], arch[WORD_MAX_CHARS], id[WORD_MAX_CHARS];
	const char *name;

	if (reader->has_module || !take_any_word(&cursor, os) || !take_any_word(&cursor, arch) ||
	    !take_any_word(&cursor, id) || strlen(id) >= sizeof symbols->debug_id ||
	    strspn(id, "0123456789abcdefABCDEF") != strlen(id) || cursor.at == cursor.end)
		return bad_record(reader);
	name = take_name(reader, &cursor);
	if (name == NULL)
		return -ENOMEM;
	symbols->module_name = strdup(name);
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
			return bad_record(reader);
		}
	} else if (take_word(&cursor, "SECTION")) {
		if (!take_number(&cursor, 16, UINT64_MAX, &section.address) ||
		    !take_number(&cursor, 16, UINT64_MAX, &section.size_bytes))
			return bad_record(reader);
		return vg_array_push(&symbols->sections, &section);
	}
	return 0;
}

static int file_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	uint64_t number;
	uint32_t slot, file;
	const char *name;
	int rc;

	if (!take_number(&cursor, 10, UINT64_MAX, &number) || cursor.at == cursor.end)
		return bad_record(reader);
	name = take_name(reader, &cursor);
	if (name == NULL)
		return -ENOMEM;
	rc = vg_symbols_add_file(reader->symbols, name, &file);
	if (rc == 0)
		rc = file_slot(reader, number, &slot);
	if (rc == 0)
		reader->slot_files.items[slot] = file;
	return rc;
}

/* The old grammar has a file's number before the name, and no name starts with a number. */
static int origin_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_sym_cursor old;
	uint64_t number, file;
	uint32_t slot, file_at = VG_SYMBOLS_NONE, name;
	int rc;

	if (!take_number(&cursor, 10, UINT64_MAX, &number) || cursor.at == cursor.end)
		return bad_record(reader);
	old = cursor;
	if (take_word(&old, "-1")) {
		cursor = old;
	} else if (take_number(&old, 10, UINT64_MAX, &file) && old.at < old.end) {
		cursor = old;
		rc = file_slot(reader, file, &file_at);
		if (rc != 0)
			return rc;
	}
	rc = intern_name(reader, &cursor, &name);
	if (rc == 0)
		rc = origin_slot(reader, number, &slot);
	if (rc == 0)
		reader->origins.items[slot] = (struct vg_sym_origin){ name, file_at };
	return rc;
}

static int function_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_function function = {
		.first_line = (uint32_t)symbols->lines.count,
		.first_inline = (uint32_t)symbols->inlines.count,
	};
	uint64_t parameter_bytes, end;
	int rc;

	/* The records of a damaged FUNC belong to no other. */
	reader->in_function = reader->keeps_function = false;
	function.multiple = take_word(&cursor, "m");
	if (!take_number(&cursor, 16, UINT64_MAX, &function.address) ||
	    !take_number(&cursor, 16, UINT64_MAX, &function.size_bytes) ||
	    !take_number(&cursor, 16, UINT32_MAX, &parameter_bytes) ||
	    __builtin_add_overflow(function.address, function.size_bytes, &end) ||
	    symbols->functions.count >= VG_SYMBOLS_NONE - 1)
		return bad_record(reader);
	function.parameter_bytes = (uint32_t)parameter_bytes;
	reader->in_function = true;
	reader->keeps_function = is_wanted(reader, function.address, function.size_bytes);
	if (!reader->keeps_function)
		cursor.at = cursor.end;
	rc = intern_name(reader, &cursor, &function.name);
	return rc == 0 ? vg_array_push(&symbols->functions, &function) : rc;
}

static bool take_call_file(struct vg_sym_cursor *cursor, uint64_t *file, bool *has_file)
{
	*has_file = !take_word(cursor, "-1");
	return !*has_file || take_number(cursor, 10, UINT64_MAX, file);
}

static int inline_ranges(struct vg_sym_reader *reader, struct vg_sym_cursor *cursor,
			 struct vg_symbol_inline *call, bool *good)
{
	struct vg_symbol_range range;
	uint64_t end;

	for (*good = true; cursor->at < cursor->end; skip_spaces(cursor)) {
		int rc;

		if (!take_number(cursor, 16, UINT64_MAX, &range.address) ||
		    !take_number(cursor, 16, UINT64_MAX, &range.size_bytes) ||
		    __builtin_add_overflow(range.address, range.size_bytes, &end) ||
		    reader->symbols->ranges.count >= VG_SYMBOLS_NONE - 1) {
			*good = false;
			return 0;
		}
		if (range.size_bytes == 0)
			continue;
		rc = vg_array_push(&reader->symbols->ranges, &range);
		if (rc != 0)
			return rc;
		call->range_count++;
	}
	return 0;
}

static int inline_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_function *function = &symbols->functions.items[symbols->functions.count - 1];
	struct vg_symbol_inline call = { .first_range = (uint32_t)symbols->ranges.count,
					 .call_file = VG_SYMBOLS_NONE };
	/* The old grammar lacks the file, and addresses come in pairs. */
	bool is_new = count_fields(cursor) % 2 == 0;
	uint64_t depth, line, file, origin;
	bool has_file = false, good;
	int rc;

	if (!take_number(&cursor, 10, UINT32_MAX - 1, &depth) ||
	    !take_number(&cursor, 10, UINT32_MAX, &line) ||
	    (is_new && !take_call_file(&cursor, &file, &has_file)) ||
	    !take_number(&cursor, 10, UINT64_MAX, &origin) || cursor.at == cursor.end)
		return bad_record(reader);
	rc = inline_ranges(reader, &cursor, &call, &good);
	if (rc == 0 && !good) {
		symbols->ranges.count = call.first_range;
		return bad_record(reader);
	}
	call.depth = (uint32_t)depth;
	call.call_line = (uint32_t)line;
	if (!is_new)
		call.call_file = VG_SYM_FILE_OLD;
	if (rc == 0 && has_file)
		rc = file_slot(reader, file, &call.call_file);
	if (rc == 0)
		rc = origin_slot(reader, origin, &call.name);
	if (rc == 0)
		rc = vg_array_push(&symbols->inlines, &call);
	if (rc == 0)
		function->inline_count++;
	return rc;
}

static int line_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_row line;
	uint64_t size_bytes, number, file;
	int rc;

	if (!take_number(&cursor, 16, UINT64_MAX, &line.address) ||
	    !take_number(&cursor, 16, UINT32_MAX, &size_bytes) ||
	    !take_number(&cursor, 10, UINT32_MAX, &number) ||
	    !take_number(&cursor, 10, UINT64_MAX, &file) || cursor.at < cursor.end ||
	    symbols->lines.count >= VG_SYMBOLS_NONE - 1)
		return bad_record(reader);
	line.size_bytes = (uint32_t)size_bytes;
	line.line = (uint32_t)number;
	rc = file_slot(reader, file, &line.file);
	if (rc == 0)
		rc = vg_array_push(&symbols->lines, &line);
	if (rc == 0)
		symbols->functions.items[symbols->functions.count - 1].line_count++;
	return rc;
}

static int public_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbol_public symbol = { .multiple = take_word(&cursor, "m") };
	uint64_t parameter_bytes;
	int rc;

	reader->in_function = reader->keeps_function = false;
	if (!take_number(&cursor, 16, UINT64_MAX, &symbol.address) ||
	    !take_number(&cursor, 16, UINT32_MAX, &parameter_bytes))
		return bad_record(reader);
	symbol.parameter_bytes = (uint32_t)parameter_bytes;
	rc = intern_name(reader, &cursor, &symbol.name);
	return rc == 0 ? vg_array_push(&reader->symbols->publics, &symbol) : rc;
}

int vg_sym_record(struct vg_sym_reader *reader, const char *from, const char *end)
{
	struct vg_sym_cursor cursor = { from, end };

	if (from == end)
		return 0;
	/* Only line records start in lower case. */
	if ((*from >= '0' && *from <= '9') || (*from >= 'a' && *from <= 'f')) {
		if (reader->keeps_function)
			return line_record(reader, cursor);
		return reader->in_function ? 0 : bad_record(reader);
	}
	if (take_word(&cursor, "INLINE")) {
		if (reader->keeps_function)
			return inline_record(reader, cursor);
		return reader->in_function ? 0 : bad_record(reader);
	}
	if (take_word(&cursor, "FUNC"))
		return function_record(reader, cursor);
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
