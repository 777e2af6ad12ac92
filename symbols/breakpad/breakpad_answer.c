/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad.h"
#include "symbols/breakpad/breakpad_answer.h"

/* What a frame's function is, until all names are known: slots, or ids of strings. */
struct vg_sym_pair {
	uint32_t name;          /* string, or ORIGIN and the slot of an origin */
	uint32_t file;          /* slot, or ORIGIN and that of an origin whose file it is; or NONE */
};

/* No slot is as large (VG_SYM_SLOTS_MAX), and VG_SYMBOLS_NONE is none with it. */
#define ORIGIN (UINT32_C(1) << 31)

/* A thousand functions folded into one are nothing unusual; each answering for a million is. */
enum { OVERLAP_MAX = 16, OVERLAP_FREE = 65536 };

static int row_compare(const void *left, const void *right)
{
	const struct vg_symbol_row *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static void rows_sort(const struct vg_symbols *symbols)
{
	for (size_t i = 1; i < symbols->lines.count; i++) {
		if (symbols->lines.items[i].address < symbols->lines.items[i - 1].address) {
			qsort(symbols->lines.items, symbols->lines.count,
			      sizeof *symbols->lines.items, row_compare);
			return;
		}
	}
}

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
	return parent == VG_SYMBOLS_NONE ? VG_SYMBOLS_NONE : ORIGIN | calls[parent].name;
}

/* Most functions are in one file: the last look for each origin, and for the function itself, saves
 * nearly all others. */
static int function_index(struct vg_sym_reader *reader, uint32_t name, uint32_t file, uint32_t *index)
{
	struct vg_sym_look *last = (name & ORIGIN) != 0 ? &reader->origins.items[name & ~ORIGIN].last :
				   &reader->last;
	struct vg_sym_pair pair = { name, file };
	int rc = 0;

	if (last->index == VG_SYMBOLS_NONE || last->name != name || last->file != file) {
		rc = vg_intern(&reader->pairs, &pair, sizeof pair, index);
		if (rc < 0)
			return rc;
		*last = (struct vg_sym_look){ name, file, *index };
	}
	*index = last->index;
	return 0;
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
		rc = function_index(reader, parent != VG_SYMBOLS_NONE ? ORIGIN | calls[parent].name :
				    function_name, call_file(reader, at), &made.function);
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
		function_name = ORIGIN | reader->symbols->inlines.items[call].name;
	}
	if (rc == 0)
		rc = function_index(reader, function_name, row != NULL ? row->file : VG_SYMBOLS_NONE,
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

int vg_sym_function_end(struct vg_sym_reader *reader)
{
	const struct vg_symbol_function *function;
	uint32_t name;
	int rc;

	if (reader->answers == NULL || !reader->keeps_function)
		return 0;
	reader->answered += reader->high - reader->low;
	if (reader->answered > OVERLAP_MAX * (uint64_t)reader->wanted_count + OVERLAP_FREE)
		return -EBADMSG;
	function = &reader->symbols->functions.items[0];
	rc = vg_sym_name_keep(reader, &reader->answers->strings, &reader->function_name, &name);
	if (rc == 0 && function->inline_count > 0)
		rc = vg_sym_inlines_find(reader, function);
	if (rc != 0)
		return rc;
	rows_sort(reader->symbols);
	return addresses_answer(reader, name);
}

static int origin_name(struct vg_sym_reader *reader, uint32_t slot, uint32_t *id)
{
	struct vg_sym_name *name = &reader->origins.items[slot].name;
	int rc = 0;

	if (name->id == VG_SYMBOLS_NONE)
		rc = vg_sym_name_keep(reader, &reader->answers->strings, name, &name->id);
	*id = name->id;
	return rc;
}

static int file_name(struct vg_sym_reader *reader, uint32_t slot, uint32_t *id)
{
	struct vg_sym_name *name;
	int rc = 0;

	if (slot != VG_SYMBOLS_NONE && (slot & ORIGIN) != 0)
		slot = reader->origins.items[slot & ~ORIGIN].file;
	*id = VG_SYMBOLS_NONE;
	if (slot == VG_SYMBOLS_NONE || reader->files.items[slot].text == NULL)
		return 0;
	name = &reader->files.items[slot];
	if (name->id == VG_SYMBOLS_NONE)
		rc = vg_sym_name_keep(reader, &reader->answers->strings, name, &name->id);
	*id = name->id;
	return rc;
}

/* Slots -> names. */
static int functions_finish(struct vg_sym_reader *reader)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < reader->pairs.count; i++) {
		struct vg_sym_pair pair;
		struct vg_answer_function function;

		memcpy(&pair, vg_intern_bytes(&reader->pairs, i, NULL), sizeof pair);
		function.name = pair.name;
		if ((pair.name & ORIGIN) != 0)
			rc = origin_name(reader, pair.name & ~ORIGIN, &function.name);
		if (rc == 0)
			rc = file_name(reader, pair.file, &function.file);
		if (rc == 0)
			rc = vg_array_push(&reader->answers->functions, &function);
	}
	return rc;
}

int vg_sym_public_answer(struct vg_sym_reader *reader, size_t at, const struct vg_sym_name *name)
{
	struct vg_answer *answer = &reader->answers->items[at];
	uint32_t id;
	int rc = vg_sym_name_keep(reader, &reader->answers->strings, name, &id);

	answer->line = 0;
	answer->outer = VG_ANSWER_NONE;
	return rc == 0 ? function_index(reader, id, VG_SYMBOLS_NONE, &answer->function) : rc;
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
		rc = functions_finish(reader);
	if (rc != 0)
		vg_err_sys(err, rc, "%s", file->path);
	return rc;
}

int vg_breakpad_answer(struct vg_answers *answers, const char *path, const uint64_t *wanted,
		       size_t wanted_count, struct vg_err *err)
{
	struct vg_symbols symbols = { 0 };
	struct vg_sym_reader reader = {
		.symbols = &symbols, .answers = answers, .wanted = wanted,
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
