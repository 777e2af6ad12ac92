/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad_record.h"

#include <sys/mman.h>

#include "symbols/breakpad/breakpad_absent.h"
#include "symbols/breakpad/breakpad_function.h"
#include "symbols/breakpad/breakpad_name.h"
#include "symbols/table/debug_id.h"

static char *name_copy(const struct vg_sym_name *name)
{
	return strndup(name->text, name->length);
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

	if (rc != 0)
		return rc;
	if (!take_hex(&cursor, UINT64_MAX, &symbol.address) ||
	    !take_hex(&cursor, UINT32_MAX, &parameter_bytes))
		return vg_sym_bad_record(reader);
	symbol.parameter_bytes = (uint32_t)parameter_bytes;
	name = vg_sym_rest(&cursor);
	return public_keep(reader, &symbol, &name);
}

/* Reads one record, without its line end. */
static int record_read(struct vg_sym_reader *reader, const char *from, const char *end)
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
			return vg_err_set(err, rc, "%s: line %llu: functions lie over one another more "
					  "than symbols can", file->path,
					  (unsigned long long)reader->line_number);
		if (rc != 0)
			return vg_err_sys(err, rc, "%s", file->path);
		if (!reader->has_module && line_end > at)
			return vg_err_set(err, -EBADMSG,
					  "%s: line %llu: not a Breakpad symbol file, which starts "
					  "with a MODULE record", file->path,
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
