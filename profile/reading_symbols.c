/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "profile/reading.h"

#include <errno.h>

#include "profile/profile_symbols.h"
#include "profile/reading_fields.h"
#include "profile/reading_modules.h"

static int function_get(struct vg_reader *reader, uint32_t id, uint32_t *index)
{
	struct vg_profile *profile = reader->profile;
	struct vg_function function = { .id = id, .file = VG_NONE, .module = VG_NONE };
	int rc = vg_intern(&profile->function_ids, &id, sizeof id, index);

	if (rc <= 0)
		return rc;
	rc = vg_field_intern(profile, "?", 1, &function.name);
	return rc != 0 ? rc : vg_array_push(&profile->functions, &function);
}

int vg_on_function(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_function function = { 0 };
	uint32_t index;
	int rc;

	if (vg_field_u32(record, &function.id) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader, record, &function.name);
	if (rc == 0)
		rc = vg_field_optional_text(reader, record, &function.file);
	if (rc == 0)
		rc = vg_field_module(reader, record, &function.module);
	if (rc == 0)
		rc = function_get(reader, function.id, &index);
	if (rc == 0)
		reader->profile->functions.items[index] = function;
	return rc;
}

static int symbol_lines(struct vg_reader *reader, struct vg_record_view *record, struct vg_symbol *symbol)
{
	struct vg_profile *profile = reader->profile;
	uint32_t count;
	int rc = vg_cursor_array(&record->cursor, &count);

	symbol->first = (uint32_t)profile->symbol_lines.count;
	if (rc != 0 || count % 2 != 0)
		return -EBADMSG;
	for (; rc == 0 && count > 0; count -= 2) {
		struct vg_symbol_line line;
		uint32_t id;

		if (vg_field_u32(record, &id) != 0 || vg_field_u32(record, &line.line) != 0)
			return -EBADMSG;
		rc = function_get(reader, id, &line.function);
		if (rc == 0)
			rc = vg_array_push(&profile->symbol_lines, &line);
	}
	symbol->count = (uint32_t)profile->symbol_lines.count - symbol->first;
	return rc;
}

int vg_on_symbol(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_symbol_key key = { 0 };
	struct vg_symbol symbol;
	uint32_t index;
	int rc;

	rc = vg_field_module(reader, record, &key.module);
	if (rc != 0 || vg_cursor_uint(&record->cursor, &key.address) != 0)
		return rc != 0 ? rc : -EBADMSG;
	rc = symbol_lines(reader, record, &symbol);
	if (rc != 0)
		return rc;
	profile->resolved = true;
	rc = vg_intern(&profile->symbol_keys, &key, sizeof key, &index);
	if (rc == 0)
		return -EBADMSG;
	return rc < 0 ? rc : vg_array_push(&profile->symbols, &symbol);
}

int vg_on_unresolved(struct vg_reader *reader, struct vg_record_view *record)
{
	uint32_t index;
	int rc = vg_field_module(reader, record, &index);

	if (rc == 0 && index != VG_NONE)
		reader->profile->modules.items[index].unresolved = true;
	reader->profile->resolved = true;
	return rc;
}

int vg_on_jit_code(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_jit_code code;
	int rc;

	if (vg_cursor_uint(&record->cursor, &code.address) != 0 ||
	    vg_cursor_uint(&record->cursor, &code.size_bytes) != 0)
		return -EBADMSG;
	rc = vg_field_text(reader, record, &code.name);
	return rc != 0 ? rc : vg_array_push(&reader->profile->jit_code, &code);
}

/* In the model a kernel symbol is a symbol like those of vgtool resolve, with a function of its own. */
int vg_on_kernel_symbol(struct vg_reader *reader, struct vg_record_view *record)
{
	struct vg_profile *profile = reader->profile;
	struct vg_function function = { .file = VG_NONE };
	struct vg_symbol_key key = { 0 };
	struct vg_symbol_line line = { 0 };
	uint32_t ignored;
	int rc = vg_field_module(reader, record, &function.module);

	if (rc == 0 && (function.module == VG_NONE || vg_cursor_uint(&record->cursor, &key.address) != 0))
		rc = -EBADMSG;
	if (rc == 0)
		rc = vg_field_text(reader, record, &function.name);
	if (rc != 0)
		return rc;
	key.module = function.module;
	/* function_ids must have an entry for each function.  The key cannot be equal to an id of the file, because it
	 * has another length. */
	rc = vg_intern(&profile->function_ids, &key, sizeof key, &ignored);
	if (rc <= 0)
		return rc < 0 ? rc : -EBADMSG;
	line.function = (uint32_t)profile->functions.count;
	rc = vg_array_push(&profile->functions, &function);
	profile->kernel_symbols++;
	return rc != 0 ? rc : vg_profile_add_symbol(profile, key.module, key.address, &line, 1);
}
