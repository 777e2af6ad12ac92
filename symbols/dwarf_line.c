/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf.h"

#include <dwarf.h>
#include <stdio.h>

#define FILE_UNSEEN (VG_SYMBOLS_NONE - 1)

void vg_dwarf_set_files(struct vg_dwarf_reader *reader, Dwarf_Files *files, size_t count)
{
	reader->files = NULL;
	reader->file_map.count = 0;
	if (files == NULL || vg_array_reserve(&reader->file_map, count) != 0)
		return;
	for (size_t i = 0; i < count; i++)
		reader->file_map.items[reader->file_map.count++] = FILE_UNSEEN;
	reader->files = files;
}

/* libdw leaves a path relative where the table's directory is. */
static int file_add(struct vg_dwarf_reader *reader, const char *path, uint32_t *file)
{
	const char *directory = reader->directory;
	char *joined;
	int rc;

	if (path[0] == '/' || directory == NULL || directory[0] == '\0')
		return vg_symbols_add_file(reader->symbols, path, file);
	if (asprintf(&joined, "%s%s%s", directory,
		     directory[strlen(directory) - 1] == '/' ? "" : "/", path) < 0)
		return -ENOMEM;
	rc = vg_symbols_add_file(reader->symbols, joined, file);
	free(joined);
	return rc;
}

int vg_dwarf_file(struct vg_dwarf_reader *reader, uint64_t number, uint32_t *file)
{
	const char *path;

	*file = VG_SYMBOLS_NONE;
	if (reader->files == NULL || number >= reader->file_map.count)
		return 0;
	if (reader->file_map.items[number] == FILE_UNSEEN) {
		path = dwarf_filesrc(reader->files, number, NULL, NULL);
		/* "???" is libdw's name for file 0 before DWARF 5, which means no file. */
		if (path != NULL && strcmp(path, "???") != 0) {
			int rc = file_add(reader, path, file);

			if (rc != 0)
				return rc;
		}
		reader->file_map.items[number] = *file;
	}
	*file = reader->file_map.items[number];
	return 0;
}

static int row_read(struct vg_dwarf_reader *reader, Dwarf_Line *line, Dwarf_Line *next)
{
	struct vg_dwarf_row row;
	Dwarf_Files *files;
	Dwarf_Addr low, high;
	size_t number;
	bool ends;
	int line_number, rc;

	if (dwarf_lineendsequence(line, &ends) != 0 || ends || dwarf_lineaddr(line, &low) != 0 ||
	    dwarf_lineaddr(next, &high) != 0 || high <= low)
		return 0;
	if (dwarf_lineno(line, &line_number) != 0 || line_number < 0)
		line_number = 0;
	row = (struct vg_dwarf_row){ low, high, (uint32_t)line_number, VG_SYMBOLS_NONE };
	if (dwarf_line_file(line, &files, &number) == 0 && files == reader->files) {
		rc = vg_dwarf_file(reader, number, &row.file);
		if (rc != 0)
			return rc;
	}
	return vg_array_push(&reader->rows, &row);
}

int vg_dwarf_read_rows(struct vg_dwarf_reader *reader, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	Dwarf_Files *files;
	Dwarf_Attribute directory;
	size_t count, file_count;
	int rc;

	reader->rows.count = 0;
	vg_dwarf_set_files(reader, NULL, 0);
	reader->directory = NULL;
	if (dwarf_attr(unit, DW_AT_comp_dir, &directory) != NULL)
		reader->directory = dwarf_formstring(&directory);
	if (!dwarf_hasattr(unit, DW_AT_stmt_list))
		return 0;
	if (dwarf_getsrclines(unit, &lines, &count) != 0) {
		vg_dwarf_lost(reader);
		return 0;
	}
	if (dwarf_getsrcfiles(unit, &files, &file_count) == 0)
		vg_dwarf_set_files(reader, files, file_count);
	rc = vg_dwarf_spend(reader, count + reader->file_map.count);
	for (size_t i = 0; i + 1 < count && rc == 0; i++)
		rc = row_read(reader, dwarf_onesrcline(lines, i), dwarf_onesrcline(lines, i + 1));
	return rc;
}
