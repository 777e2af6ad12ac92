/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/breakpad/breakpad.h"

#include <inttypes.h>

#include "base/utf8.h"
#include "symbols/table/debug_id.h"

/* The numbers that the written file gives to files or to inline origins.  A file or inline origin
 * gets a number only if a record refers to it.  Numbers are in the order of the names. */
struct numbering {
	uint32_t *numbers;      /* by file index or string id; VG_SYMBOLS_NONE: no record refers to it */
	uint32_t *used;         /* file indices or string ids, in the order of their numbers */
	size_t used_count;
};

static int numbering_new(struct numbering *numbering, size_t count)
{
	memset(numbering, 0, sizeof *numbering);
	numbering->numbers = malloc((count + 1) * sizeof *numbering->numbers);
	numbering->used = malloc((count + 1) * sizeof *numbering->used);
	if (numbering->numbers == NULL || numbering->used == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		numbering->numbers[i] = VG_SYMBOLS_NONE;
	return 0;
}

static void numbering_free(struct numbering *numbering)
{
	free(numbering->numbers);
	free(numbering->used);
}

static void mark_used(struct numbering *numbering, uint32_t item)
{
	if (item == VG_SYMBOLS_NONE || numbering->numbers[item] != VG_SYMBOLS_NONE)
		return;
	numbering->numbers[item] = 0;
	numbering->used[numbering->used_count++] = item;
}

static const char *file_name(const struct vg_symbols *symbols, uint32_t file)
{
	uint32_t name = symbols->files.items[file].name;

	return name == VG_SYMBOLS_NONE ? "?" : vg_intern_text(&symbols->strings, name);
}

static int file_compare(const void *left, const void *right, void *context)
{
	return strcmp(file_name(context, *(const uint32_t *)left),
		      file_name(context, *(const uint32_t *)right));
}

static int string_compare(const void *left, const void *right, void *context)
{
	const struct vg_symbols *symbols = context;

	return strcmp(vg_intern_text(&symbols->strings, *(const uint32_t *)left),
		      vg_intern_text(&symbols->strings, *(const uint32_t *)right));
}

static void numbering_sort(struct numbering *numbering, const struct vg_symbols *symbols,
			   int (*compare)(const void *, const void *, void *))
{
	qsort_r(numbering->used, numbering->used_count, sizeof *numbering->used, compare,
		(void *)symbols);
	for (size_t i = 0; i < numbering->used_count; i++)
		numbering->numbers[numbering->used[i]] = (uint32_t)i;
}

static void functions_mark_used(const struct vg_symbols *symbols, struct numbering *files,
				struct numbering *origins)
{
	for (size_t i = 0; i < symbols->functions.count; i++) {
		const struct vg_symbol_function *function = &symbols->functions.items[i];

		for (uint32_t at = 0; at < function->line_count; at++)
			mark_used(files, symbols->lines.items[function->first_line + at].file);
		for (uint32_t at = 0; at < function->inline_count; at++) {
			const struct vg_symbol_inline *call =
				&symbols->inlines.items[function->first_inline + at];

			mark_used(files, call->call_file);
			mark_used(origins, call->name);
		}
	}
	numbering_sort(files, symbols, file_compare);
	numbering_sort(origins, symbols, string_compare);
}

/* Longer names are cut; vg_demangle() makes none.  Binaries have each name once, and the file has it once for each
 * record: 1.5 MB with a name of 1 MB became 20 GB.  So the names of a file have a limit together. */
enum { NAME_MAX_BYTES = 65536, NAMES_MAX_GIB = 4 };

static bool names_fit(const struct vg_symbols *symbols)
{
	uint64_t left = (uint64_t)NAMES_MAX_GIB << 30;

	for (size_t i = 0; i < symbols->functions.count + symbols->linker_symbols.count; i++) {
		uint32_t name = i < symbols->functions.count ? symbols->functions.items[i].name :
				symbols->linker_symbols.items[i - symbols->functions.count].name;
		size_t bytes = strnlen(vg_intern_text(&symbols->strings, name), NAME_MAX_BYTES);

		if (bytes > left)
			return false;
		left -= bytes;
	}
	return true;
}

/* Writes a name as the rest of a record.  Names are untrusted: a newline in a name would begin a
 * new record. */
static void name_write(FILE *stream, const char *name)
{
	size_t left = strnlen(name, NAME_MAX_BYTES), done;

	for (; left > 0; name += done, left -= done) {
		done = vg_utf8_printable(name, left);
		fwrite_unlocked(name, 1, done, stream);
		if (done == 0) {
			size_t control = vg_utf8_control(name, left);

			fwrite_unlocked("???", 1, done = control > 0 ? control : 1, stream);
		}
	}
	putc_unlocked('\n', stream);
}

static void header_write(const struct vg_symbols *symbols, FILE *stream)
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];

	fprintf(stream, "MODULE %s %s %s ", symbols->os, symbols->arch, symbols->debug_id);
	name_write(stream, symbols->module_name);
	if (symbols->build_id_bytes > 0) {
		vg_hex_text(symbols->build_id, symbols->build_id_bytes, hex);
		fprintf(stream, "INFO CODE_ID %s\n", hex);
	}
	fputs("INFO GENERATOR vignette " PACKAGE_VERSION "\n", stream);
	if (symbols->missing_file.path != NULL) {
		vg_hex_text(symbols->missing_file.id, symbols->missing_file.id_bytes, hex);
		fprintf(stream, "INFO MISSING %s ", hex);
		name_write(stream, symbols->missing_file.path);
	}
	if (symbols->missing_file.exported_only)
		fputs("INFO STRIPPED\n", stream);
	for (size_t i = 0; i < symbols->sections.count; i++)
		fprintf(stream, "INFO SECTION %" PRIx64 " %" PRIx64 "\n",
			symbols->sections.items[i].address, symbols->sections.items[i].size_bytes);
}

/* A large file has millions of line and INLINE records.  fprintf(3) would be too slow for them. */
static char *hex_put(char *at, uint64_t number)
{
	unsigned digits = number == 0 ? 1 : (67 - (unsigned)__builtin_clzll(number)) / 4;

	for (unsigned i = digits; i-- > 0; number >>= 4)
		at[i] = "0123456789abcdef"[number & 15];
	return at + digits;
}

static char *decimal_put(char *at, uint32_t number)
{
	char digits[10];
	unsigned count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

static void inline_write(const struct vg_symbols *symbols, const struct vg_symbol_inline *call,
			 const struct numbering *files, const struct numbering *origins,
			 FILE *stream)
{
	char text[80], *at = stpcpy(text, "INLINE ");

	at = decimal_put(at, call->depth);
	*at++ = ' ';
	at = decimal_put(at, call->call_line);
	*at++ = ' ';
	at = call->call_file == VG_SYMBOLS_NONE ? stpcpy(at, "-1") :
	     decimal_put(at, files->numbers[call->call_file]);
	*at++ = ' ';
	at = decimal_put(at, origins->numbers[call->name]);
	for (uint32_t i = 0; i < call->range_count; i++) {
		const struct vg_symbol_range *range = &symbols->ranges.items[call->first_range + i];

		*at++ = ' ';
		at = hex_put(at, range->address);
		*at++ = ' ';
		at = hex_put(at, range->size_bytes);
		fwrite_unlocked(text, 1, (size_t)(at - text), stream);
		at = text;
	}
	fwrite_unlocked(text, 1, (size_t)(at - text), stream);
	putc_unlocked('\n', stream);
}

static void line_write(const struct vg_symbol_row *line, uint32_t file, FILE *stream)
{
	char text[64], *at = hex_put(text, line->address);

	*at++ = ' ';
	at = hex_put(at, line->size_bytes);
	*at++ = ' ';
	at = decimal_put(at, line->line);
	*at++ = ' ';
	at = decimal_put(at, file);
	*at++ = '\n';
	fwrite_unlocked(text, 1, (size_t)(at - text), stream);
}

static void function_write(const struct vg_symbols *symbols,
			   const struct vg_symbol_function *function,
			   const struct numbering *files, const struct numbering *origins,
			   FILE *stream)
{
	fprintf(stream, "FUNC %s%" PRIx64 " %" PRIx64 " %" PRIx32 " ",
		function->is_multiple ? "m " : "", function->address, function->size_bytes,
		function->parameter_bytes);
	name_write(stream, vg_intern_text(&symbols->strings, function->name));
	for (uint32_t i = 0; i < function->inline_count; i++)
		inline_write(symbols, &symbols->inlines.items[function->first_inline + i], files,
			     origins, stream);
	for (uint32_t i = 0; i < function->line_count; i++) {
		const struct vg_symbol_row *line = &symbols->lines.items[function->first_line + i];

		/* A line record must have a file. */
		if (line->file != VG_SYMBOLS_NONE)
			line_write(line, files->numbers[line->file], stream);
	}
}

static void cfi_range_write(const struct vg_symbols *symbols, const struct vg_symbol_cfi_range *cfi_range,
			    FILE *stream)
{
	char start[64];

	for (uint32_t i = 0; i < cfi_range->row_count; i++) {
		const struct vg_symbol_cfi_row *row =
			&symbols->cfi_rows.items[cfi_range->first_row + i];
		const char *rules = vg_intern_text(&symbols->strings, row->rules);
		char *at = stpcpy(start, i == 0 ? "STACK CFI INIT " : "STACK CFI ");

		at = hex_put(at, cfi_range->address + row->offset_bytes);
		*at++ = ' ';
		if (i == 0) {
			at = hex_put(at, cfi_range->size_bytes);
			*at++ = ' ';
		}
		fwrite_unlocked(start, 1, (size_t)(at - start), stream);
		fputs_unlocked(rules, stream);
		putc_unlocked('\n', stream);
	}
}

static void records_write(const struct vg_symbols *symbols, const struct numbering *files,
			  const struct numbering *origins, FILE *stream)
{
	header_write(symbols, stream);
	for (size_t i = 0; i < files->used_count; i++) {
		fprintf(stream, "FILE %zu ", i);
		name_write(stream, file_name(symbols, files->used[i]));
	}
	for (size_t i = 0; i < origins->used_count; i++) {
		fprintf(stream, "INLINE_ORIGIN %zu ", i);
		name_write(stream, vg_intern_text(&symbols->strings, origins->used[i]));
	}
	for (size_t i = 0; i < symbols->functions.count; i++)
		function_write(symbols, &symbols->functions.items[i], files, origins, stream);
	for (size_t i = 0; i < symbols->linker_symbols.count; i++) {
		const struct vg_linker_symbol *symbol = &symbols->linker_symbols.items[i];

		fprintf(stream, "PUBLIC %s%" PRIx64 " %" PRIx32 " ", symbol->is_multiple ? "m " : "",
			symbol->address, symbol->parameter_bytes);
		name_write(stream, vg_intern_text(&symbols->strings, symbol->name));
	}
	for (size_t i = 0; i < symbols->cfi_ranges.count; i++)
		cfi_range_write(symbols, &symbols->cfi_ranges.items[i], stream);
}

int vg_breakpad_write(const struct vg_symbols *symbols, FILE *stream, struct vg_err *err)
{
	struct numbering files = { NULL, NULL, 0 }, origins = { NULL, NULL, 0 };
	int rc;

	if (!names_fit(symbols))
		return vg_err_set(err, -EFBIG, "%s: its names would have more than %d GiB in a symbol file",
				  symbols->module_name, NAMES_MAX_GIB);
	rc = numbering_new(&files, symbols->files.count);
	if (rc == 0)
		rc = numbering_new(&origins, symbols->strings.count);
	if (rc == 0) {
		functions_mark_used(symbols, &files, &origins);
		errno = 0;
		records_write(symbols, &files, &origins, stream);
		if (fflush(stream) != 0 || ferror(stream))
			rc = errno != 0 ? -errno : -EIO;
	}
	if (rc != 0)
		vg_err_sys(err, rc, "%s: cannot write its symbols", symbols->module_name);
	numbering_free(&files);
	numbering_free(&origins);
	return rc;
}
