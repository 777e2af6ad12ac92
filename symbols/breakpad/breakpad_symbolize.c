/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad.h"

#include "base/sorted.h"
#include "symbols/breakpad/breakpad_function.h"
#include "symbols/breakpad/breakpad_inlines.h"
#include "symbols/breakpad/breakpad_linker_symbols.h"
#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_pairs.h"
#include "symbols/breakpad/breakpad_record.h"

/* Limit for covered_count: COVERED_MIN, and COVERED_MAX_RATIO more for each wanted address.  It is
 * usual that the linker folds 1000 functions into one.  But a hostile file could have 1000 functions
 * that each cover 1,000,000 wanted addresses. */
enum { COVERED_MAX_RATIO = 16, COVERED_MIN = 65536 };

/* The file in which a call was made.  The old grammar does not record this file.  If the call is
 * inside another inlined call, the result is then the file of that other call's origin.  Otherwise
 * it is the file of the function's first line. */
static uint32_t call_file(const struct vg_sym_reader *reader, uint32_t call)
{
	const struct vg_symbol_inline *calls = reader->symbols->inlines.items;
	uint32_t parent = reader->parents.items[call];

	if (calls[call].call_file != VG_SYM_FILE_UNRECORDED)
		return calls[call].call_file;
	if (calls[call].depth == 0)
		return reader->first_line_file;
	return parent == VG_SYMBOLS_NONE ? VG_SYMBOLS_NONE : VG_SYM_ORIGIN | calls[parent].name;
}

/* Sets *frame to the frame of the call site.  The `outer` links of that frame lead to all its
 * callers.  All addresses in the call share these frames. */
static int call_site_frame(struct vg_sym_reader *reader, uint32_t call, uint32_t function_name,
			   uint32_t *frame)
{
	struct vg_symbolization *symbolization = reader->symbolization;
	const struct vg_symbol_inline *calls = reader->symbols->inlines.items;
	int rc = 0;

	/* Collects the calls that have no frame yet, from this call outwards. */
	reader->open_calls.count = 0;
	for (; rc == 0 && call != VG_SYMBOLS_NONE && reader->frames.items[call] == VG_SYMBOLS_NONE;
	     call = reader->parents.items[call])
		rc = vg_array_push(&reader->open_calls, &call);
	*frame = call != VG_SYMBOLS_NONE ? reader->frames.items[call] : VG_SYMBOLS_NONE;
	while (rc == 0 && reader->open_calls.count > 0) {
		uint32_t at = reader->open_calls.items[--reader->open_calls.count];
		uint32_t parent = reader->parents.items[at];
		struct vg_symbolized_frame call_site = { .line = calls[at].call_line, .outer = *frame,
							 .outermost = VG_SYMBOLIZED_NONE };

		if (*frame != VG_SYMBOLS_NONE)
			call_site.outermost = symbolization->frames.items[*frame].outermost;
		if (*frame != VG_SYMBOLS_NONE && call_site.outermost == VG_SYMBOLIZED_NONE)
			call_site.outermost = *frame;
		if (symbolization->frames.count >= VG_SYMBOLS_NONE - 1)
			return -ENOMEM;
		rc = vg_sym_pair_index(reader, parent != VG_SYMBOLS_NONE ?
				       VG_SYM_ORIGIN | calls[parent].name : function_name,
				       call_file(reader, at), &call_site.function);
		*frame = (uint32_t)symbolization->frames.count;
		reader->frames.items[at] = *frame;
		if (rc == 0)
			rc = vg_array_push(&symbolization->frames, &call_site);
	}
	return rc;
}

/* Symbolizes one address.  Its index in `wanted` is reader->low + at.  `row` is the line at the
 * address, or NULL. */
static int address_symbolize(struct vg_sym_reader *reader, size_t at, uint32_t function_name,
			     const struct vg_symbol_row *row)
{
	struct vg_symbolized_address *address = &reader->symbolization->items[reader->low + at];
	uint32_t call = reader->symbols->inlines.count > 0 ? reader->innermost.items[at] :
			VG_SYMBOLS_NONE;
	int rc = 0;

	address->outer = VG_SYMBOLIZED_NONE;
	address->line = row != NULL ? row->line : 0;
	if (call != VG_SYMBOLS_NONE) {
		rc = call_site_frame(reader, call, function_name, &address->outer);
		function_name = VG_SYM_ORIGIN | reader->symbols->inlines.items[call].name;
	}
	if (rc == 0)
		rc = vg_sym_pair_index(reader, function_name, row != NULL ? row->file : VG_SYMBOLS_NONE,
				       &address->function);
	return rc;
}

/* True if `function` replaces the current function at the address.  If functions overlap, the one
 * with the highest start wins, then the one with the lowest end.  If they have the same range (the
 * linker folded them), the first in the file wins. */
static bool is_nearer(const struct vg_sym_reader *reader, size_t at, uint32_t function)
{
	const struct vg_symbol_range *ranges = reader->function_ranges.items;
	uint32_t current = reader->functions_at[at];

	if (current == VG_SYMBOLS_NONE)
		return true;
	if (ranges[current].address != ranges[function].address)
		return ranges[function].address > ranges[current].address;
	return ranges[function].size_bytes < ranges[current].size_bytes;
}

static int addresses_symbolize(struct vg_sym_reader *reader, uint32_t name)
{
	const struct vg_symbol_row *rows = reader->symbols->lines.items;
	uint32_t function = (uint32_t)reader->function_ranges.count - 1;
	size_t row = 0, row_count = reader->symbols->lines.count;
	int rc = 0;

	for (size_t at = reader->low; rc == 0 && at < reader->high; at++) {
		uint64_t address = reader->wanted[at];
		bool covered;

		while (row < row_count && rows[row].address <= address)
			row++;
		covered = row > 0 && address - rows[row - 1].address < rows[row - 1].size_bytes;
		if (!is_nearer(reader, at, function))
			continue;
		reader->functions_at[at] = function;
		rc = address_symbolize(reader, at - reader->low, name, covered ? &rows[row - 1] : NULL);
	}
	return rc;
}

static int function_symbolize(struct vg_sym_reader *reader)
{
	const struct vg_symbol_function *function;
	uint32_t name;
	int rc;

	reader->covered_count += reader->high - reader->low;
	if (reader->covered_count > COVERED_MAX_RATIO * (uint64_t)reader->wanted_count + COVERED_MIN)
		return -EBADMSG;
	function = &reader->symbols->functions.items[0];
	rc = vg_sym_name_intern(reader, &reader->symbolization->strings, &reader->function_name, &name);
	if (rc == 0 && function->inline_count > 0)
		rc = vg_sym_inlines_find(reader, function);
	if (rc != 0)
		return rc;
	vg_sort_by(reader->symbols->lines.items, reader->symbols->lines.count, address);
	return addresses_symbolize(reader, name);
}

static int addresses_read(struct vg_sym_reader *reader, const struct vg_infile *file,
			  struct vg_err *err)
{
	int rc = vg_symbolization_prepare(reader->symbolization, reader->wanted_count);

	reader->functions_at = malloc((reader->wanted_count + 1) * sizeof *reader->functions_at);
	if (rc != 0 || reader->functions_at == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", file->path);
	memset(reader->functions_at, 0xff, reader->wanted_count * sizeof *reader->functions_at);
	rc = vg_sym_records(reader, file, err);
	if (rc != 0)
		return rc;
	rc = vg_sym_function_end(reader);
	if (rc == 0)
		rc = vg_sym_linker_symbols_use(reader);
	if (rc == 0)
		rc = vg_sym_pairs_finish(reader);
	if (rc != 0)
		vg_err_sys(err, rc, "%s", file->path);
	return rc;
}

int vg_breakpad_symbolize(struct vg_symbolization *symbolization, const char *path, const uint64_t *wanted,
			  size_t wanted_count, struct vg_err *err)
{
	struct vg_symbols symbols = { 0 };
	struct vg_sym_reader reader = {
		.symbols = &symbols, .symbolization = symbolization, .function_done = function_symbolize,
		.wanted = wanted, .wanted_count = wanted_count, .cached_slot = VG_SYMBOLS_NONE,
		.cached = { .index = VG_SYMBOLS_NONE },
	};
	struct vg_infile file;
	int rc = vg_infile_open(&file, path, err);

	if (rc != 0)
		return rc;
	rc = addresses_read(&reader, &file, err);
	if (rc == 0)
		rc = vg_missing_file_copy(&symbolization->missing_file, &symbols.missing_file);
	symbolization->bad_records = symbols.bad_records;
	symbolization->first_bad_line = symbols.first_bad_line;
	if (rc != 0)
		vg_symbolization_free(symbolization);
	vg_infile_close(&file);
	vg_sym_reader_free(&reader);
	vg_symbols_free(&symbols);
	return rc;
}
