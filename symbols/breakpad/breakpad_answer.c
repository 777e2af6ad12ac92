/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad.h"

#include "base/sorted.h"
#include "symbols/breakpad/breakpad_function.h"
#include "symbols/breakpad/breakpad_inlines.h"
#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_pairs.h"
#include "symbols/breakpad/breakpad_publics.h"
#include "symbols/breakpad/breakpad_record.h"

/* A thousand functions folded into one are nothing unusual; each answering for a million is. */
enum { OVERLAP_MAX = 16, OVERLAP_FREE = 65536 };

/* The file that a call was made in: the old grammar has it with the parent's origin, and for
 * the outermost it is that of the function's first line. */
static uint32_t call_file(const struct vg_sym_reader *reader, uint32_t call)
{
	const struct vg_symbol_inline *calls = reader->symbols->inlines.items;
	uint32_t parent = reader->parents.items[call];

	if (calls[call].call_file != VG_SYM_FILE_OLD)
		return calls[call].call_file;
	if (calls[call].depth == 0)
		return reader->first_file;
	return parent == VG_SYMBOLS_NONE ? VG_SYMBOLS_NONE : VG_SYM_ORIGIN | calls[parent].name;
}

/* Sets *frame to where the call was made, and what is outwards of that: the same for all addresses
 * in the call. */
static int call_frame(struct vg_sym_reader *reader, uint32_t call, uint32_t function_name,
		      uint32_t *frame)
{
	struct vg_answers *answers = reader->answers;
	const struct vg_symbol_inline *calls = reader->symbols->inlines.items;
	int rc = 0;

	/* Those without a frame yet, inwards to this one. */
	reader->open_calls.count = 0;
	for (; rc == 0 && call != VG_SYMBOLS_NONE && reader->frames.items[call] == VG_SYMBOLS_NONE;
	     call = reader->parents.items[call])
		rc = vg_array_push(&reader->open_calls, &call);
	*frame = call != VG_SYMBOLS_NONE ? reader->frames.items[call] : VG_SYMBOLS_NONE;
	while (rc == 0 && reader->open_calls.count > 0) {
		uint32_t at = reader->open_calls.items[--reader->open_calls.count];
		uint32_t parent = reader->parents.items[at];
		struct vg_answer_frame made = { .line = calls[at].call_line, .outer = *frame,
						.outermost = VG_ANSWER_NONE };

		if (*frame != VG_SYMBOLS_NONE)
			made.outermost = answers->frames.items[*frame].outermost != VG_ANSWER_NONE ?
					 answers->frames.items[*frame].outermost : *frame;
		if (answers->frames.count >= VG_SYMBOLS_NONE - 1)
			return -ENOMEM;
		rc = vg_sym_pair_index(reader, parent != VG_SYMBOLS_NONE ?
				       VG_SYM_ORIGIN | calls[parent].name : function_name,
				       call_file(reader, at), &made.function);
		*frame = (uint32_t)answers->frames.count;
		reader->frames.items[at] = *frame;
		if (rc == 0)
			rc = vg_array_push(&answers->frames, &made);
	}
	return rc;
}

/* One address: `at` counts from reader->low; row is what covers it, or NULL. */
static int address_answer(struct vg_sym_reader *reader, size_t at, uint32_t function_name,
			  const struct vg_symbol_row *row)
{
	struct vg_answer *answer = &reader->answers->items[reader->low + at];
	uint32_t call = reader->symbols->inlines.count > 0 ? reader->innermost.items[at] :
			VG_SYMBOLS_NONE;
	int rc = 0;

	answer->outer = VG_ANSWER_NONE;
	answer->line = row != NULL ? row->line : 0;
	if (call != VG_SYMBOLS_NONE) {
		rc = call_frame(reader, call, function_name, &answer->outer);
		function_name = VG_SYM_ORIGIN | reader->symbols->inlines.items[call].name;
	}
	if (rc == 0)
		rc = vg_sym_pair_index(reader, function_name, row != NULL ? row->file : VG_SYMBOLS_NONE,
				       &answer->function);
	return rc;
}

/* Of functions that lie over one another, the one that starts last, and then the one that ends
 * first; of folded ones, which share their code, the first that was read. */
static bool is_better(const struct vg_sym_reader *reader, size_t at, uint32_t function)
{
	const struct vg_symbol_range *ranges = reader->covered.items;
	uint32_t owner = reader->owners[at];

	if (owner == VG_SYMBOLS_NONE)
		return true;
	if (ranges[owner].address != ranges[function].address)
		return ranges[function].address > ranges[owner].address;
	return ranges[function].size_bytes < ranges[owner].size_bytes;
}

static int addresses_answer(struct vg_sym_reader *reader, uint32_t name)
{
	const struct vg_symbol_row *rows = reader->symbols->lines.items;
	uint32_t function = (uint32_t)reader->covered.count - 1;
	size_t row = 0, row_count = reader->symbols->lines.count;
	int rc = 0;

	for (size_t at = reader->low; rc == 0 && at < reader->high; at++) {
		uint64_t address = reader->wanted[at];
		bool covered;

		while (row < row_count && rows[row].address <= address)
			row++;
		covered = row > 0 && address - rows[row - 1].address < rows[row - 1].size_bytes;
		if (!is_better(reader, at, function))
			continue;
		reader->owners[at] = function;
		rc = address_answer(reader, at - reader->low, name, covered ? &rows[row - 1] : NULL);
	}
	return rc;
}

static int function_answer(struct vg_sym_reader *reader)
{
	const struct vg_symbol_function *function;
	uint32_t name;
	int rc;

	reader->answered += reader->high - reader->low;
	if (reader->answered > OVERLAP_MAX * (uint64_t)reader->wanted_count + OVERLAP_FREE)
		return -EBADMSG;
	function = &reader->symbols->functions.items[0];
	rc = vg_sym_name_keep(reader, &reader->answers->strings, &reader->function_name, &name);
	if (rc == 0 && function->inline_count > 0)
		rc = vg_sym_inlines_find(reader, function);
	if (rc != 0)
		return rc;
	vg_sort_by(reader->symbols->lines.items, reader->symbols->lines.count, address);
	return addresses_answer(reader, name);
}

static int answers_read(struct vg_sym_reader *reader, const struct vg_infile *file,
			struct vg_err *err)
{
	int rc = vg_answers_prepare(reader->answers, reader->wanted_count);

	reader->owners = malloc((reader->wanted_count + 1) * sizeof *reader->owners);
	if (rc != 0 || reader->owners == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", file->path);
	memset(reader->owners, 0xff, reader->wanted_count * sizeof *reader->owners);
	rc = vg_sym_records(reader, file, err);
	if (rc != 0)
		return rc;
	rc = vg_sym_function_end(reader);
	if (rc == 0)
		rc = vg_sym_publics_answer(reader);
	if (rc == 0)
		rc = vg_sym_pairs_finish(reader);
	if (rc != 0)
		vg_err_sys(err, rc, "%s", file->path);
	return rc;
}

int vg_breakpad_answer(struct vg_answers *answers, const char *path, const uint64_t *wanted,
		       size_t wanted_count, struct vg_err *err)
{
	struct vg_symbols symbols = { 0 };
	struct vg_sym_reader reader = {
		.symbols = &symbols, .answers = answers, .on_function = function_answer, .wanted = wanted,
		.wanted_count = wanted_count, .cached_slot = VG_SYMBOLS_NONE,
		.last = { .index = VG_SYMBOLS_NONE },
	};
	struct vg_infile file;
	int rc = vg_infile_open(&file, path, err);

	if (rc != 0)
		return rc;
	rc = answers_read(&reader, &file, err);
	if (rc == 0)
		rc = vg_absent_copy(&answers->absent, &symbols.absent);
	answers->bad_records = symbols.bad_records;
	answers->first_bad_line = symbols.first_bad_line;
	if (rc != 0)
		vg_answers_free(answers);
	vg_infile_close(&file);
	vg_sym_reader_free(&reader);
	vg_symbols_free(&symbols);
	return rc;
}
