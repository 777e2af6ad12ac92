/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_file.h"

#include <dwarf.h>
#include <stdio.h>

#define FILE_UNRESOLVED (VG_SYMBOLS_NONE - 1)
#define FIELDS_MAX 16
#define PATH_MAX_CHARS 4096

/* Content and form of one field of an entry (DWARF 5, 6.2.4.1). */
struct format {
	uint64_t content, form;
};

static int map_reset(struct vg_dwarf_reader *reader, size_t count)
{
	reader->file_map.count = 0;
	if (vg_array_reserve(&reader->file_map, count) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		reader->file_map.items[reader->file_map.count++] = FILE_UNRESOLVED;
	return 0;
}

void vg_dwarf_set_files(struct vg_dwarf_reader *reader, Dwarf_Files *files, size_t count)
{
	reader->files = NULL;
	reader->file_map.count = 0;
	reader->directories.count = 0;
	reader->file_names.count = 0;
	if (files != NULL && map_reset(reader, count) == 0)
		reader->files = files;
}

static const char *text_at(struct vg_elf_bytes section, uint64_t offset)
{
	vg_elf_skip(&section, offset);
	return section.failed ? NULL : vg_elf_string(&section);
}

/* DWARF 2 to 4: the directories and then the files, each list up to an empty string.  Directory 0 is
 * DW_AT_comp_dir.  There is no file 0. */
static int tables_read_v2(struct vg_dwarf_reader *reader, struct vg_elf_bytes *bytes)
{
	struct vg_dwarf_file_name none = { NULL, 0 }, file;
	const char *directory = "";
	int rc = vg_array_push(&reader->file_names, &none);

	while (rc == 0 && directory != NULL) {
		rc = vg_array_push(&reader->directories, &directory);
		directory = vg_elf_string(bytes);
		if (directory != NULL && *directory == '\0')
			break;
	}
	while (rc == 0 && (file.name = vg_elf_string(bytes)) != NULL && *file.name != '\0') {
		file.directory = vg_elf_uleb128(bytes);
		vg_elf_uleb128(bytes);
		vg_elf_uleb128(bytes);
		rc = vg_array_push(&reader->file_names, &file);
	}
	return rc;
}

static void field_read(struct vg_dwarf_reader *reader, struct vg_elf_bytes *bytes,
		       const struct format *format, bool is_64bit, struct vg_dwarf_file_name *file)
{
	const char *text = NULL;
	uint64_t number = 0;

	switch (format->form) {
	case DW_FORM_string:
		text = vg_elf_string(bytes);
		break;
	case DW_FORM_line_strp:
		text = text_at(reader->sections.line_str, vg_elf_uint(bytes, is_64bit ? 8 : 4));
		break;
	case DW_FORM_strp:
		text = text_at(reader->sections.str, vg_elf_uint(bytes, is_64bit ? 8 : 4));
		break;
	case DW_FORM_udata:
		number = vg_elf_uleb128(bytes);
		break;
	case DW_FORM_data1:
		number = vg_elf_byte(bytes);
		break;
	case DW_FORM_data2:
		number = vg_elf_uint(bytes, 2);
		break;
	case DW_FORM_data4:
		number = vg_elf_uint(bytes, 4);
		break;
	case DW_FORM_data8:
		number = vg_elf_uint(bytes, 8);
		break;
	case DW_FORM_data16:
		vg_elf_skip(bytes, 16);
		break;
	case DW_FORM_block:
		vg_elf_skip(bytes, vg_elf_uleb128(bytes));
		break;
	default:
		bytes->failed = true;
	}
	if (format->content == DW_LNCT_path)
		file->name = text;
	else if (format->content == DW_LNCT_directory_index)
		file->directory = number;
}

/* Reads the list of directories or of files of DWARF 5: the formats of the fields, then the entries. */
static int table_read_v5(struct vg_dwarf_reader *reader, struct vg_elf_bytes *bytes,
			 bool is_64bit, bool are_directories)
{
	struct format formats[FIELDS_MAX];
	unsigned field_count = vg_elf_byte(bytes);
	uint64_t count;
	int rc = 0;

	for (unsigned i = 0; i < field_count; i++) {
		struct format format;

		format.content = vg_elf_uleb128(bytes);
		format.form = vg_elf_uleb128(bytes);
		if (i < FIELDS_MAX)
			formats[i] = format;
	}
	count = vg_elf_uleb128(bytes);
	if (field_count > FIELDS_MAX)
		bytes->failed = true;
	for (uint64_t i = 0; i < count && field_count > 0 && !bytes->failed && rc == 0; i++) {
		struct vg_dwarf_file_name file = { NULL, 0 };

		/* Entries of size 0 cost no bytes, so their number is not bounded by the file's
		 * size. */
		rc = vg_work_limit_use(&reader->work_limit, 1);
		for (unsigned field = 0; field < field_count; field++)
			field_read(reader, bytes, &formats[field], is_64bit, &file);
		if (rc == 0)
			rc = are_directories ? vg_array_push(&reader->directories, &file.name) :
					       vg_array_push(&reader->file_names, &file);
	}
	return rc;
}

int vg_dwarf_read_files(struct vg_dwarf_reader *reader, struct vg_elf_bytes bytes,
			unsigned version, bool is_64bit)
{
	int rc;

	vg_dwarf_set_files(reader, NULL, 0);
	if (version < 5) {
		rc = tables_read_v2(reader, &bytes);
	} else {
		rc = table_read_v5(reader, &bytes, is_64bit, true);
		if (rc == 0)
			rc = table_read_v5(reader, &bytes, is_64bit, false);
	}
	if (rc == 0 && bytes.failed)
		reader->symbols->bad_records++;
	return rc == 0 ? map_reset(reader, reader->file_names.count) : rc;
}

/* Appends a component to a path of `used` characters.  Returns the new length.  Truncates the path to
 * PATH_MAX_CHARS. */
static size_t path_append(char *path, size_t used, const char *part)
{
	size_t length;

	if (*part == '\0')
		return used;
	if (used > 0 && used < PATH_MAX_CHARS && path[used - 1] != '/')
		path[used++] = '/';
	length = strnlen(part, PATH_MAX_CHARS - used);
	memcpy(path + used, part, length);
	return used + length;
}

/* Adds a file.  A relative name begins in `directory`.  A relative `directory` begins in DW_AT_comp_dir. */
static int file_add(struct vg_dwarf_reader *reader, const char *directory, const char *name,
		    uint32_t *file)
{
	char path[PATH_MAX_CHARS + 1];
	size_t used = 0;

	if (name[0] == '/')
		return vg_symbols_add_file(reader->symbols, name, file);
	if (directory[0] != '/' && reader->directory != NULL)
		used = path_append(path, used, reader->directory);
	used = path_append(path, used, directory);
	used = path_append(path, used, name);
	path[used] = '\0';
	return vg_symbols_add_file(reader->symbols, path, file);
}

static int file_resolve(struct vg_dwarf_reader *reader, uint64_t number, uint32_t *file)
{
	const struct vg_dwarf_file_name *entry;
	const char *directory = "", *name;

	*file = VG_SYMBOLS_NONE;
	if (reader->files != NULL) {
		name = dwarf_filesrc(reader->files, number, NULL, NULL);
		/* Before DWARF 5 there is no file 0, but libdw returns the name "???" for it. */
		if (name == NULL || strcmp(name, "???") == 0)
			return 0;
		return file_add(reader, directory, name, file);
	}
	entry = &reader->file_names.items[number];
	if (entry->name == NULL)
		return 0;
	if (entry->directory < reader->directories.count &&
	    reader->directories.items[entry->directory] != NULL)
		directory = reader->directories.items[entry->directory];
	return file_add(reader, directory, entry->name, file);
}

int vg_dwarf_file(struct vg_dwarf_reader *reader, uint64_t number, uint32_t *file)
{
	*file = VG_SYMBOLS_NONE;
	if (number >= reader->file_map.count)
		return 0;
	if (reader->file_map.items[number] == FILE_UNRESOLVED) {
		int rc = file_resolve(reader, number, file);

		if (rc != 0)
			return rc;
		reader->file_map.items[number] = *file;
	}
	*file = reader->file_map.items[number];
	return 0;
}
