/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_record.h"

#include <sys/mman.h>

#include "symbols/breakpad/breakpad_missing_file.h"
#include "symbols/breakpad/breakpad_function.h"
#include "symbols/breakpad/breakpad_name.h"
#include "symbols/table/debug_id.h"

static char *name_copy(const struct vg_sym_name *name)
{
	return strndup(name->text, name->length);
}

static int module_record_read(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	char os[WORD_MAX_CHARS], arch[WORD_MAX_CHARS], id[WORD_MAX_CHARS];
	struct vg_sym_name name;

	if (reader->has_module || !read_word(&cursor, os) || !read_word(&cursor, arch) ||
	    !read_word(&cursor, id) || strlen(id) >= sizeof symbols->debug_id ||
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

static int info_record_read(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_symbols *symbols = reader->symbols;
	struct vg_symbol_range section;
	const char *space;

	if (match_word(&cursor, "CODE_ID")) {
		/* A file name may follow the build id. */
		space = memchr(cursor.at, ' ', (size_t)(cursor.end - cursor.at));
		if (space == NULL)
			space = cursor.end;
		if (!vg_hex_parse(cursor.at, (size_t)(space - cursor.at), symbols->build_id,
				  sizeof symbols->build_id, &symbols->build_id_bytes)) {
			symbols->build_id_bytes = 0;
			return vg_sym_bad_record(reader);
		}
	} else if (match_word(&cursor, "MISSING")) {
		int rc = vg_sym_missing_file_read(&symbols->missing_file, cursor.at, cursor.end);

		return rc == -EBADMSG ? vg_sym_bad_record(reader) : rc;
	} else if (cursor.end - cursor.at == 8 && memcmp(cursor.at, "STRIPPED", 8) == 0) {
		symbols->missing_file.exported_only = true;
	} else if (match_word(&cursor, "SECTION")) {
		if (!read_hex(&cursor, UINT64_MAX, &section.address) ||
		    !read_hex(&cursor, UINT64_MAX, &section.size_bytes))
			return vg_sym_bad_record(reader);
		return vg_array_push(&symbols->sections, &section);
	}
	return 0;
}

static int file_record_read(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	uint64_t number;
	uint32_t slot;
	int rc;

	if (!read_decimal(&cursor, UINT64_MAX, &number) || cursor.at == cursor.end)
		return vg_sym_bad_record(reader);
	rc = vg_sym_file_slot(reader, number, &slot);
	if (rc == 0)
		reader->files.items[slot] = vg_sym_rest(&cursor);
	return rc;
}

/* The old grammar has a file number before the name.  It can be recognized, because no name begins
 * with a number. */
static int origin_record_read(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_sym_cursor old;
	uint64_t number, file;
	uint32_t slot, file_slot = VG_SYMBOLS_NONE;
	int rc;

	if (!read_decimal(&cursor, UINT64_MAX, &number) || cursor.at == cursor.end)
		return vg_sym_bad_record(reader);
	old = cursor;
	if (match_word(&old, "-1")) {
		cursor = old;
	} else if (read_decimal(&old, UINT64_MAX, &file) && old.at < old.end) {
		cursor = old;
		rc = vg_sym_file_slot(reader, file, &file_slot);
		if (rc != 0)
			return rc;
	}
	rc = vg_sym_origin_slot(reader, number, &slot);
	if (rc == 0)
		reader->origins.items[slot] = (struct vg_sym_origin){
			vg_sym_rest(&cursor), file_slot, { .index = VG_SYMBOLS_NONE },
		};
	return rc;
}

static int linker_symbol_add(struct vg_sym_reader *reader, struct vg_linker_symbol *symbol,
			     const struct vg_sym_name *name)
{
	struct vg_sym_linker_symbol record = { symbol->address, *name };
	int rc;

	if (reader->symbolization != NULL)
		return vg_array_push(&reader->linker_symbols, &record);
	rc = vg_sym_name_intern(reader, &reader->symbols->strings, name, &symbol->name);
	return rc == 0 ? vg_array_push(&reader->symbols->linker_symbols, symbol) : rc;
}

static int public_record_read(struct vg_sym_reader *reader, struct vg_sym_cursor cursor)
{
	struct vg_linker_symbol symbol = { .is_multiple = match_word(&cursor, "m") };
	int rc = vg_sym_function_end(reader);
	uint64_t parameter_bytes;
	struct vg_sym_name name;

	if (rc != 0)
		return rc;
	if (!read_hex(&cursor, UINT64_MAX, &symbol.address) ||
	    !read_hex(&cursor, UINT32_MAX, &parameter_bytes))
		return vg_sym_bad_record(reader);
	symbol.parameter_bytes = (uint32_t)parameter_bytes;
	name = vg_sym_rest(&cursor);
	return linker_symbol_add(reader, &symbol, &name);
}

/* Reads one record: the characters in [from, end), without a line end. */
static int record_read(struct vg_sym_reader *reader, const char *from, const char *end)
{
	struct vg_sym_cursor cursor = { from, end };

	if (from == end)
		return 0;
	/* Only line records begin with a digit or a lower-case letter. */
	if ((*from >= '0' && *from <= '9') || (*from >= 'a' && *from <= 'f')) {
		if (reader->function_wanted)
			return vg_sym_line_record(reader, cursor);
		return reader->in_function ? 0 : vg_sym_bad_record(reader);
	}
	if (match_word(&cursor, "INLINE")) {
		if (reader->function_wanted)
			return vg_sym_inline_record(reader, cursor);
		return reader->in_function ? 0 : vg_sym_bad_record(reader);
	}
	if (match_word(&cursor, "FUNC"))
		return vg_sym_function_record(reader, cursor);
	if (match_word(&cursor, "PUBLIC"))
		return public_record_read(reader, cursor);
	if (match_word(&cursor, "FILE"))
		return file_record_read(reader, cursor);
	if (match_word(&cursor, "INLINE_ORIGIN"))
		return origin_record_read(reader, cursor);
	if (match_word(&cursor, "MODULE"))
		return module_record_read(reader, cursor);
	if (match_word(&cursor, "INFO"))
		return info_record_read(reader, cursor);
	/* STACK records, and records of later versions. */
	return 0;
}

int vg_sym_records(struct vg_sym_reader *reader, const struct vg_infile *file, struct vg_err *err)
{
	const char *at = (const char *)file->bytes, *end = at + file->length;

	if (file->mapped)
		madvise((void *)file->bytes, file->length, MADV_SEQUENTIAL);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline != NULL ? newline : end;
		int rc;

		reader->line_number++;
		if (line_end > at && line_end[-1] == '\r')
			line_end--;
		rc = record_read(reader, at, line_end);
		if (rc == -EBADMSG)
			return vg_err_set(err, rc, "%s: line %llu: too many overlapping functions: an address is "
					  "in more than 16 of them on average", file->path,
					  (unsigned long long)reader->line_number);
		if (rc != 0)
			return vg_err_sys(err, rc, "%s", file->path);
		if (!reader->has_module && line_end > at)
			return vg_err_set(err, -EBADMSG,
					  "%s: line %llu: not a Breakpad symbol file: the first record "
					  "is not MODULE", file->path,
					  (unsigned long long)reader->line_number);
		if (newline == NULL)
			break;
		at = newline + 1;
	}
	if (!reader->has_module)
		return vg_err_set(err, -EBADMSG, file->length == 0 ? "%s: empty file" : "%s: no MODULE record",
				  file->path);
	return 0;
}
