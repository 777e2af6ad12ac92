/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_package_unit.h"

#include <dwarf.h>

#include "base/sorted.h"

/* The section of each column of an index, by the index's version and the column's number. */
static const struct column {
	unsigned version, number;
	const char *section;
} columns[] = {
	{ 2, 1, ".debug_info.dwo" }, { 2, 3, ".debug_abbrev.dwo" }, { 2, 4, ".debug_line.dwo" },
	{ 2, 5, ".debug_loc.dwo" }, { 2, 6, ".debug_str_offsets.dwo" },
	{ 2, 7, ".debug_macinfo.dwo" }, { 2, 8, ".debug_macro.dwo" },
	{ 5, 1, ".debug_info.dwo" }, { 5, 3, ".debug_abbrev.dwo" }, { 5, 4, ".debug_line.dwo" },
	{ 5, 5, ".debug_loclists.dwo" }, { 5, 6, ".debug_str_offsets.dwo" },
	{ 5, 7, ".debug_macro.dwo" }, { 5, 8, ".debug_rnglists.dwo" },
};

#define COLUMN_INFO 1
#define COLUMN_RANGES 8         /* in version 5; version 2 has no .debug_rnglists.dwo */

/* A unit's contribution to a section; the whole section if the index has no column for the section. */
static struct vg_elf_bytes contribution(const struct vg_dwarf_package *package, uint32_t row,
					unsigned number, struct vg_elf_bytes bytes)
{
	const unsigned char *offsets = package->columns + (uint64_t)package->column_count * 4;
	const unsigned char *sizes = offsets + (uint64_t)package->row_count * package->column_count * 4;

	for (uint32_t i = 0; i < package->column_count; i++) {
		uint64_t cell = ((uint64_t)row * package->column_count + i) * 4;
		uint32_t size;

		if (vg_dwarf_package_uint32(package, package->columns + (uint64_t)i * 4) != number)
			continue;
		size = vg_dwarf_package_uint32(package, sizes + cell);
		vg_elf_skip(&bytes, vg_dwarf_package_uint32(package, offsets + cell));
		bytes.end = vg_elf_bytes_need(&bytes, size) ? bytes.at + size : bytes.at;
		break;
	}
	return bytes;
}

/* Restricts a section of the unit's Elf to the unit's contribution.  The bytes are shared with the
 * package. */
static void section_restrict(const struct vg_dwarf_package *package, uint32_t row, Elf_Scn *section,
			     GElf_Shdr *header, const char *name)
{
	struct vg_elf_bytes bytes = vg_elf_section_bytes(&package->image, name);
	Elf_Data *data = elf_getdata(section, NULL);

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		if (columns[i].version == package->version && strcmp(columns[i].section, name) == 0)
			bytes = contribution(package, row, columns[i].number, bytes);
	}
	if (data == NULL)
		return;
	data->d_buf = (void *)bytes.at;
	data->d_size = vg_elf_bytes_left(&bytes);
	if (header->sh_flags & SHF_COMPRESSED) {
		data->d_type = ELF_T_BYTE;
		header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		gelf_update_shdr(section, header);
	}
}

static int sections_restrict(const struct vg_dwarf_package *package, uint32_t row, Elf *elf)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return -EBADMSG;
	data = elf_getdata(elf_getscn(elf, names), NULL);
	if (data == NULL || data->d_size != package->names_bytes)
		return -EBADMSG;
	data->d_buf = package->names;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		const char *name;

		if (gelf_getshdr(section, &header) == NULL)
			return -EBADMSG;
		name = elf_strptr(elf, names, header.sh_name);
		if (name != NULL && strncmp(name, ".debug_", 7) == 0)
			section_restrict(package, row, section, &header, name);
	}
	return 0;
}

static int unit_elf_open(struct vg_dwarf_package *package, uint32_t row, Elf **elf)
{
	size_t bytes;
	char *raw = elf_rawfile(package->image.elf, &bytes);

	if (raw == NULL || vg_array_reserve(&package->elfs, 1) != 0 ||
	    vg_array_reserve(&package->dwarfs, 1) != 0)
		return -ENOMEM;
	/* Units share one mapping.  But the headers of compressed sections are changed, so each
	 * unit of a compressed package has its own mapping. */
	*elf = package->is_compressed ? elf_begin(package->image.fd, ELF_C_READ_MMAP, NULL) :
					elf_memory(raw, bytes);
	if (*elf == NULL)
		return -ENOMEM;
	package->elfs.items[package->elfs.count++] = *elf;
	return sections_restrict(package, row, *elf);
}

int vg_dwarf_package_find(struct vg_dwarf_package *package, const struct vg_elf_image *debug,
			  Dwarf_Die *skeleton, Dwarf_Die *unit, struct vg_dwarf_split *split)
{
	const struct vg_dwarf_package_unit *units = package->units.items;
	uint64_t id;
	Dwarf_CU *first;
	size_t count;
	uint32_t row;
	Dwarf *dwarf;
	Elf *elf;
	int rc;

	if (package->units.count == 0 || dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) != 0)
		return -ENOENT;
	count = vg_count_at_most(units, package->units.count, id, id);
	if (count == 0 || units[count - 1].id != id)
		return -ENOENT;
	row = units[count - 1].row;
	rc = unit_elf_open(package, row, &elf);
	if (rc != 0)
		return rc;
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (dwarf == NULL)
		return -EBADMSG;
	package->dwarfs.items[package->dwarfs.count++] = dwarf;
	if (dwarf_get_units(dwarf, NULL, &first, NULL, NULL, unit, NULL) != 0 || unit->addr == NULL)
		return -EBADMSG;
	return vg_dwarf_split_describe(split, debug, skeleton,
				       contribution(package, row, COLUMN_INFO,
						    vg_elf_section_bytes(&package->image, ".debug_info.dwo")),
				       contribution(package, row, COLUMN_RANGES,
						    vg_elf_section_bytes(&package->image, ".debug_rnglists.dwo")));
}
