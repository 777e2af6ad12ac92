/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reads FUNC records and the INLINE and line records that follow them. */
#include "symbols/breakpad/breakpad_function.h"

#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_wanted.h"

/* Sets reader->low and reader->high.  Returns false if the function has no wanted address. */
static bool function_is_wanted(struct vg_sym_reader *reader, const struct vg_symbol_function *function)
{
	reader->low = 0;
	reader->high = reader->wanted_count;
	if (!vg_sym_is_wanted(reader, function->address, function->size_bytes))
		return false;
	if (reader->wanted != NULL) {
		size_t low = reader->at;

		reader->high = vg_sym_wanted_from(reader, function->address + function->size_bytes);
		reader->low = reader->at = low;
	}
	return true;
}

static int function_keep(struct vg_sym_reader *reader, struct vg_symbol_function *function,
			 const struct vg_sym_name *name)
{
	static const struct vg_sym_name omitted = { .id = VG_SYMBOLS_NONE };
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_range range = { function->address, function->size_bytes };
	int rc;

	if (reader->symbolization == NULL) {
		rc = vg_sym_name_intern(reader, &symbols->strings,
					reader->function_wanted ? name : &omitted, &function->name);
		return rc == 0 ? vg_array_push(&symbols->functions, function) : rc;
	}
	reader->function_name = *name;
	reader->first_line_file = VG_SYMBOLS_NONE;
	rc = vg_array_push(&reader->function_ranges, &range);
	if (rc != 0 || !reader->function_wanted)
		return rc;
	symbols->functions.count = symbols->lines.count = 0;
	symbols->inlines.count = symbols->ranges.count = 0;
	function->first_line = function->first_inline = 0;
	return vg_array_push(&symbols->functions, function);
}

/* A FUNC or PUBLIC record ends the function before it, even if the record is damaged.  So INLINE and
 * line records after a damaged record belong to no function. */
int vg_sym_function_end(struct vg_sym_reader *reader)
{
	bool was_wanted = reader->function_wanted;

	reader->in_function = reader->function_wanted = false;
	return was_wanted && reader->function_done != NULL ? reader->function_done(reader) : 0;
}

int vg_sym_function_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_function function = {
		.first_line = (uint32_t)symbols->lines.count,
		.first_inline = (uint32_t)symbols->inlines.count,
	};
	uint64_t parameter_bytes, end;
	struct vg_sym_name name;
	int rc = vg_sym_function_end(reader);

	if (rc != 0)
		return rc;
	function.is_multiple = match_word(&cursor, "m");
	if (!read_hex(&cursor, UINT64_MAX, &function.address) ||
	    !read_hex(&cursor, UINT64_MAX, &function.size_bytes) ||
	    !read_hex(&cursor, UINT32_MAX, &parameter_bytes) ||
	    __builtin_add_overflow(function.address, function.size_bytes, &end) ||
	    symbols->functions.count >= VG_SYMBOLS_NONE - 1 ||
	    reader->function_ranges.count >= VG_SYMBOLS_NONE - 1)
		return vg_sym_bad_record(reader);
	function.parameter_bytes = (uint32_t)parameter_bytes;
	name = vg_sym_rest(&cursor);
	reader->in_function = true;
	reader->function_wanted = function_is_wanted(reader, &function);
	return function_keep(reader, &function, &name);
}

static bool read_call_file(struct vg_sym_cursor *cursor, uint64_t *file, bool *has_file)
{
	*has_file = !match_word(cursor, "-1");
	return !*has_file || read_decimal(cursor, UINT64_MAX, file);
}

/* Skips ranges without a wanted address. */
static int inline_ranges_read(struct vg_sym_reader *reader, struct vg_sym_cursor *cursor,
			      struct vg_symbol_inline *call, bool *valid)
{
	struct vg_symbol_range range;
	uint64_t end;

	for (*valid = true; cursor->at < cursor->end; skip_spaces(cursor)) {
		int rc;

		if (!read_hex(cursor, UINT64_MAX, &range.address) ||
		    !read_hex(cursor, UINT64_MAX, &range.size_bytes) ||
		    __builtin_add_overflow(range.address, range.size_bytes, &end) ||
		    reader->symbols->ranges.count >= VG_SYMBOLS_NONE - 1) {
			*valid = false;
			return 0;
		}
		if (range.size_bytes == 0 || (reader->symbolization != NULL &&
		    !vg_sym_is_wanted(reader, range.address, range.size_bytes)))
			continue;
		rc = vg_array_push(&reader->symbols->ranges, &range);
		if (rc != 0)
			return rc;
		call->range_count++;
	}
	return 0;
}

/* Parses the fields of an INLINE record.  Sets *valid to false if the record is damaged or is in
 * the other grammar.  The old grammar has one field less: the file of the call.  Each range is two
 * fields, so a record in one grammar has the wrong number of fields for the other grammar.  Returns 0
 * or -ENOMEM. */
static int inline_parse(struct vg_sym_reader *reader, struct vg_sym_cursor cursor, bool old_grammar,
			struct vg_symbol_inline *call, bool *valid)
{
	uint64_t depth, line, file = 0, origin;
	bool has_file = false;
	int rc;

	*valid = false;
	if (!read_decimal(&cursor, UINT32_MAX - 1, &depth) ||
	    !read_decimal(&cursor, UINT32_MAX, &line) ||
	    (!old_grammar && !read_call_file(&cursor, &file, &has_file)) ||
	    !read_decimal(&cursor, UINT64_MAX, &origin) || cursor.at == cursor.end)
		return 0;
	*call = (struct vg_symbol_inline){ .depth = (uint32_t)depth, .call_line = (uint32_t)line,
					   .call_file = old_grammar ? VG_SYM_FILE_UNRECORDED : VG_SYMBOLS_NONE,
					   .first_range = (uint32_t)reader->symbols->ranges.count };
	rc = inline_ranges_read(reader, &cursor, call, valid);
	if (rc != 0 || !*valid) {
		reader->symbols->ranges.count = call->first_range;
		return rc;
	}
	if (has_file)
		rc = vg_sym_file_slot(reader, file, &call->call_file);
	return rc == 0 ? vg_sym_origin_slot(reader, origin, &call->name) : rc;
}

int vg_sym_inline_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_inline call;
	bool valid;
	int rc = inline_parse(reader, cursor, reader->old_grammar, &call, &valid);

	if (rc == 0 && !valid) {
		rc = inline_parse(reader, cursor, !reader->old_grammar, &call, &valid);
		if (rc == 0 && !valid)
			return vg_sym_bad_record(reader);
		reader->old_grammar = !reader->old_grammar;
	}
	if (rc == 0)
		rc = vg_array_push(&symbols->inlines, &call);
	if (rc == 0)
		symbols->functions.items[symbols->functions.count - 1].inline_count++;
	return rc;
}

int vg_sym_line_record(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_row line;
	uint64_t size_bytes, number, file;
	int rc;

	if (!read_hex(&cursor, UINT64_MAX, &line.address) ||
	    !read_hex(&cursor, UINT32_MAX, &size_bytes))
		return vg_sym_bad_record(reader);
	if (reader->symbolization != NULL && reader->first_line_file != VG_SYMBOLS_NONE &&
	    !vg_sym_is_wanted(reader, line.address, size_bytes))
		return 0;
	if (!read_decimal(&cursor, UINT32_MAX, &number) ||
	    !read_decimal(&cursor, UINT64_MAX, &file) || cursor.at < cursor.end ||
	    symbols->lines.count >= VG_SYMBOLS_NONE - 1)
		return vg_sym_bad_record(reader);
	line.size_bytes = (uint32_t)size_bytes;
	line.line = (uint32_t)number;
	rc = vg_sym_file_slot(reader, file, &line.file);
	if (rc == 0)
		rc = vg_array_push(&symbols->lines, &line);
	if (rc != 0)
		return rc;
	if (reader->first_line_file == VG_SYMBOLS_NONE)
		reader->first_line_file = line.file;
	symbols->functions.items[symbols->functions.count - 1].line_count++;
	return 0;
}
