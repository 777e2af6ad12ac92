/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* FUNC and the records that belong to it. */
#include "symbols/breakpad/breakpad_function.h"

#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_wanted.h"

/* A function that covers none of the wanted addresses keeps nothing but its range. */
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

	if (reader->answers == NULL) {
		rc = vg_sym_name_keep(reader, &symbols->strings,
				      reader->keeps_function ? name : &omitted, &function->name);
		return rc == 0 ? vg_array_push(&symbols->functions, function) : rc;
	}
	reader->function_name = *name;
	reader->first_file = VG_SYMBOLS_NONE;
	rc = vg_array_push(&reader->covered, &range);
	if (rc != 0 || !reader->keeps_function)
		return rc;
	symbols->functions.count = symbols->lines.count = 0;
	symbols->inlines.count = symbols->ranges.count = 0;
	function->first_line = function->first_inline = 0;
	return vg_array_push(&symbols->functions, function);
}

/* Records that follow a damaged FUNC or PUBLIC belong to no function. */
int vg_sym_function_end(struct vg_sym_reader *reader)
{
	bool was_kept = reader->keeps_function;

	reader->in_function = reader->keeps_function = false;
	return was_kept && reader->on_function != NULL ? reader->on_function(reader) : 0;
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
	function.multiple = take_word(&cursor, "m");
	if (!take_hex(&cursor, UINT64_MAX, &function.address) ||
	    !take_hex(&cursor, UINT64_MAX, &function.size_bytes) ||
	    !take_hex(&cursor, UINT32_MAX, &parameter_bytes) ||
	    __builtin_add_overflow(function.address, function.size_bytes, &end) ||
	    symbols->functions.count >= VG_SYMBOLS_NONE - 1 ||
	    reader->covered.count >= VG_SYMBOLS_NONE - 1)
		return vg_sym_bad_record(reader);
	function.parameter_bytes = (uint32_t)parameter_bytes;
	name = vg_sym_rest(&cursor);
	reader->in_function = true;
	reader->keeps_function = function_is_wanted(reader, &function);
	return function_keep(reader, &function, &name);
}

static bool take_call_file(struct vg_sym_cursor *cursor, uint64_t *file, bool *has_file)
{
	*has_file = !take_word(cursor, "-1");
	return !*has_file || take_decimal(cursor, UINT64_MAX, file);
}

/* Ranges that no answer needs are read over. */
static int inline_ranges(struct vg_sym_reader *reader, struct vg_sym_cursor *cursor,
			 struct vg_symbol_inline *call, bool *good)
{
	struct vg_symbol_range range;
	uint64_t end;

	for (*good = true; cursor->at < cursor->end; skip_spaces(cursor)) {
		int rc;

		if (!take_hex(cursor, UINT64_MAX, &range.address) ||
		    !take_hex(cursor, UINT64_MAX, &range.size_bytes) ||
		    __builtin_add_overflow(range.address, range.size_bytes, &end) ||
		    reader->symbols->ranges.count >= VG_SYMBOLS_NONE - 1) {
			*good = false;
			return 0;
		}
		if (range.size_bytes == 0 || (reader->answers != NULL &&
		    !vg_sym_is_wanted(reader, range.address, range.size_bytes)))
			continue;
		rc = vg_array_push(&reader->symbols->ranges, &range);
		if (rc != 0)
			return rc;
		call->range_count++;
	}
	return 0;
}

/* The fields of an INLINE.  The old grammar lacks the call's file; as addresses come in pairs, what
 * is of one grammar cannot be read by the other.  0 with *good, or -ENOMEM. */
static int inline_parse(struct vg_sym_reader *reader, struct vg_sym_cursor cursor, bool is_old,
			struct vg_symbol_inline *call, bool *good)
{
	uint64_t depth, line, file = 0, origin;
	bool has_file = false;
	int rc;

	*good = false;
	if (!take_decimal(&cursor, UINT32_MAX - 1, &depth) ||
	    !take_decimal(&cursor, UINT32_MAX, &line) ||
	    (!is_old && !take_call_file(&cursor, &file, &has_file)) ||
	    !take_decimal(&cursor, UINT64_MAX, &origin) || cursor.at == cursor.end)
		return 0;
	*call = (struct vg_symbol_inline){ .depth = (uint32_t)depth, .call_line = (uint32_t)line,
					   .call_file = is_old ? VG_SYM_FILE_OLD : VG_SYMBOLS_NONE,
					   .first_range = (uint32_t)reader->symbols->ranges.count };
	rc = inline_ranges(reader, &cursor, call, good);
	if (rc != 0 || !*good) {
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
	bool good;
	int rc = inline_parse(reader, cursor, reader->old_inlines, &call, &good);

	if (rc == 0 && !good) {
		rc = inline_parse(reader, cursor, !reader->old_inlines, &call, &good);
		if (rc == 0 && !good)
			return vg_sym_bad_record(reader);
		reader->old_inlines = !reader->old_inlines;
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

	if (!take_hex(&cursor, UINT64_MAX, &line.address) ||
	    !take_hex(&cursor, UINT32_MAX, &size_bytes))
		return vg_sym_bad_record(reader);
	if (reader->answers != NULL && reader->first_file != VG_SYMBOLS_NONE &&
	    !vg_sym_is_wanted(reader, line.address, size_bytes))
		return 0;
	if (!take_decimal(&cursor, UINT32_MAX, &number) ||
	    !take_decimal(&cursor, UINT64_MAX, &file) || cursor.at < cursor.end ||
	    symbols->lines.count >= VG_SYMBOLS_NONE - 1)
		return vg_sym_bad_record(reader);
	line.size_bytes = (uint32_t)size_bytes;
	line.line = (uint32_t)number;
	rc = vg_sym_file_slot(reader, file, &line.file);
	if (rc == 0)
		rc = vg_array_push(&symbols->lines, &line);
	if (rc != 0)
		return rc;
	if (reader->first_file == VG_SYMBOLS_NONE)
		reader->first_file = line.file;
	symbols->functions.items[symbols->functions.count - 1].line_count++;
	return 0;
}
