/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_package.h"

#include "base/sorted.h"

#define COLUMNS_MAX 16

uint32_t vg_dwarf_package_uint32(const struct vg_dwarf_package *package, const unsigned char *at)
{
	return (uint32_t)vg_elf_uint_at(at, 4, package->big_endian);
}

/* The index is a hash table.  A search in a damaged hash table may never end, so its slots are
 * copied to a sorted array. */
static int slots_read(struct vg_dwarf_package *package, const unsigned char *slots, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = vg_dwarf_package_uint32(package, slots + (uint64_t)count * 8 + (uint64_t)i * 4);
		struct vg_dwarf_package_unit unit = { vg_elf_uint_at(slots + (uint64_t)i * 8, 8, package->big_endian),
						      row - 1 };

		if (row != 0 && row <= package->row_count &&
		    vg_array_push(&package->units, &unit) != 0)
			return -ENOMEM;
	}
	vg_sort_by(package->units.items, package->units.count, id);
	return 0;
}

/* Returns 0; -ENOENT: not a package, or damaged; -ENOMEM. */
static int index_read(struct vg_dwarf_package *package)
{
	struct vg_elf_bytes index = vg_elf_section_bytes(&package->image, ".debug_cu_index");
	uint64_t need;
	uint32_t slots;

	if (vg_elf_bytes_left(&index) < 16)
		return -ENOENT;
	package->big_endian = index.big_endian;
	package->version = vg_dwarf_package_uint32(package, index.at) == 2 ? 2 :
			   (unsigned)vg_elf_uint_at(index.at, 2, index.big_endian);
	package->column_count = vg_dwarf_package_uint32(package, index.at + 4);
	package->row_count = vg_dwarf_package_uint32(package, index.at + 8);
	slots = vg_dwarf_package_uint32(package, index.at + 12);
	if ((package->version != 2 && package->version != 5) || package->column_count > COLUMNS_MAX)
		return -ENOENT;
	need = 16 + (uint64_t)slots * 12 + (uint64_t)package->column_count * 4 +
	       (uint64_t)package->row_count * package->column_count * 8;
	if (need > vg_elf_bytes_left(&index))
		return -ENOENT;
	package->columns = index.at + 16 + (uint64_t)slots * 12;
	return slots_read(package, index.at + 16, slots);
}

/* Copies the section names, and renames the index sections in the copy.  libdw treats a unit's file as
 * split DWARF only if the names of all its .debug_ sections end in .dwo.  The names of the index
 * sections do not, and units do not need the index sections. */
static int names_copy(struct vg_dwarf_package *package)
{
	Elf *elf = package->image.elf;
	Elf_Scn *section = NULL;
	Elf_Data *data;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return -EBADMSG;
	data = elf_rawdata(elf_getscn(elf, names), NULL);
	if (data == NULL || data->d_buf == NULL || data->d_size == 0)
		return -EBADMSG;
	package->names = malloc(data->d_size);
	if (package->names == NULL)
		return -ENOMEM;
	package->names_bytes = data->d_size;
	memcpy(package->names, data->d_buf, data->d_size);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name;
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) == NULL || header.sh_name >= data->d_size)
			return -EBADMSG;
		name = elf_strptr(elf, names, header.sh_name);
		if (name != NULL && (strcmp(name, ".debug_cu_index") == 0 ||
				     strcmp(name, ".debug_tu_index") == 0))
			package->names[header.sh_name] = '_';
	}
	return 0;
}

static bool has_compressed(const struct vg_elf_image *image)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_COMPRESSED))
			return true;
	}
	return false;
}

/* Takes ownership of path. */
static int candidate_open(struct vg_dwarf_package *package, char *path)
{
	int rc = -ENOMEM;

	if (path != NULL)
		rc = vg_elf_image_open_named_any_type(&package->image, path);
	free(path);
	if (rc == 0) {
		package->is_compressed = has_compressed(&package->image);
		rc = vg_elf_image_decompress(&package->image);
		if (rc == 0)
			rc = index_read(package);
		if (rc == 0)
			rc = names_copy(package);
		if (rc != 0)
			vg_dwarf_package_close(package);
	}
	return rc == 0 || rc == -ENOMEM ? rc : -ENOENT;
}

int vg_dwarf_package_open(struct vg_dwarf_package *package, const struct vg_elf_image *image,
			  const struct vg_elf_image *debug, const struct vg_symbols_search *search)
{
	const struct vg_elf_image *files[] = { image, debug };
	const char *directory;
	GElf_Shdr header;
	int rc = -ENOENT;

	/* Only a program with skeleton units has .debug_addr. */
	if (vg_elf_debug_section(debug, ".debug_addr", &header) == NULL)
		return 0;
	for (size_t f = 0; f < 2 && rc == -ENOENT; f++) {
		rc = candidate_open(package, vg_path_format("%s.dwp", files[f]->path));
		for (size_t i = 0; rc == -ENOENT && (directory = vg_debug_dir(search, i)) != NULL; i++)
			rc = candidate_open(package, vg_path_format("%s/%s.dwp", directory,
								    basename(files[f]->path)));
	}
	return rc == -ENOENT ? 0 : rc;
}

void vg_dwarf_package_close(struct vg_dwarf_package *package)
{
	for (size_t i = 0; i < package->dwarfs.count; i++)
		dwarf_end(package->dwarfs.items[i]);
	for (size_t i = 0; i < package->elfs.count; i++)
		elf_end(package->elfs.items[i]);
	vg_array_free(&package->dwarfs);
	vg_array_free(&package->elfs);
	vg_array_free(&package->units);
	free(package->names);
	vg_elf_image_close(&package->image);
	*package = (struct vg_dwarf_package)VG_DWARF_PACKAGE_NONE;
}
