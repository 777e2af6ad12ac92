/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad.h"

#include <stdio.h>

#include "base/infile.h"
#include "symbols/breakpad/breakpad_name.h"
#include "symbols/breakpad/breakpad_record.h"

/* Returns the index in symbols->files of the file that has this slot.  Returns VG_SYMBOLS_NONE if no
 * FILE record names the file. */
static uint32_t slot_file(const struct vg_sym_reader *reader, uint32_t slot)
{
	return slot == VG_SYMBOLS_NONE ? VG_SYMBOLS_NONE : reader->files.items[slot].id;
}

/* The file in which a call is made, for a record in the old grammar, which has no file of the call.
 * If the call is inside another inlined call, the result is the file of that other call's origin.
 * Otherwise the result is the file of the function's first line. */
static uint32_t old_call_file(const struct vg_sym_reader *reader,
			      const struct vg_symbol_function *function, uint32_t depth,
			      uint32_t parent)
{
	const struct vg_symbol_inline *calls =
		reader->symbols->inlines.items + function->first_inline;

	if (depth == 0)
		return function->line_count == 0 ? VG_SYMBOLS_NONE :
		       slot_file(reader, reader->symbols->lines.items[function->first_line].file);
	if (parent == VG_SYMBOLS_NONE || calls[parent].depth != depth - 1)
		return VG_SYMBOLS_NONE;
	return slot_file(reader, reader->origins.items[calls[parent].name].file);
}

/* Sets call_file of the function's inlined calls to indices of files.  Calls are in preorder, so
 * open_calls can be a stack of the calls around the current one. */
static int function_call_files(struct vg_sym_reader *reader,
			       const struct vg_symbol_function *function)
{
	struct vg_symbol_inline *calls;

	if (function->inline_count == 0)
		return 0;
	calls = reader->symbols->inlines.items + function->first_inline;
	reader->open_calls.count = 0;
	for (uint32_t at = 0; at < function->inline_count; at++) {
		uint32_t parent = VG_SYMBOLS_NONE;

		while (reader->open_calls.count > 0) {
			parent = reader->open_calls.items[reader->open_calls.count - 1];
			if (calls[parent].depth < calls[at].depth)
				break;
			reader->open_calls.count--;
		}
		calls[at].call_file = calls[at].call_file == VG_SYM_FILE_UNRECORDED ?
				      old_call_file(reader, function, calls[at].depth, parent) :
				      slot_file(reader, calls[at].call_file);
		if (vg_array_push(&reader->open_calls, &at) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int names_intern(struct vg_sym_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < reader->files.count; i++) {
		struct vg_sym_name *name = &reader->files.items[i];
		uint32_t text;

		if (name->text == NULL)
			continue;
		rc = vg_sym_name_intern(reader, &symbols->strings, name, &text);
		if (rc == 0)
			rc = vg_symbols_add_file_id(symbols, text, &name->id);
	}
	for (size_t i = 0; rc == 0 && i < reader->origins.count; i++)
		rc = vg_sym_name_intern(reader, &symbols->strings, &reader->origins.items[i].name,
					&reader->origins.items[i].name.id);
	return rc;
}

/* Replaces the slot of each file by its index in symbols->files, and the slot of each inline origin by
 * the id of its name. */
static int table_finish(struct vg_sym_reader *reader)
{
	struct vg_symbols *symbols = reader->symbols;
	int rc = names_intern(reader);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < symbols->functions.count; i++) {
		if (function_call_files(reader, &symbols->functions.items[i]) != 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < symbols->inlines.count; i++) {
		struct vg_symbol_inline *call = &symbols->inlines.items[i];

		call->name = reader->origins.items[call->name].name.id;
	}
	for (size_t i = 0; i < symbols->lines.count; i++)
		symbols->lines.items[i].file = slot_file(reader, symbols->lines.items[i].file);
	return vg_symbols_finish(symbols);
}

int vg_breakpad_read(struct vg_symbols *symbols, const char *path, const uint64_t *wanted,
		     size_t wanted_count, struct vg_err *err)
{
	struct vg_sym_reader reader = {
		.symbols = symbols, .wanted = wanted, .wanted_count = wanted_count,
		.cached_slot = VG_SYMBOLS_NONE,
	};
	struct vg_infile file;
	int rc = vg_infile_open(&file, path, err);

	if (rc != 0)
		return rc;
	rc = vg_sym_records(&reader, &file, err);
	if (rc == 0) {
		rc = table_finish(&reader);
		if (rc == 0 && asprintf(&symbols->source, "%s", path) < 0) {
			symbols->source = NULL;
			rc = -ENOMEM;
		}
		if (rc != 0)
			vg_err_sys(err, rc, "%s", path);
	}
	if (rc != 0)
		vg_symbols_free(symbols);
	vg_infile_close(&file);
	vg_sym_reader_free(&reader);
	return rc;
}
