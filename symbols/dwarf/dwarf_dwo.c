/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_dwo.h"

#include <dwarf.h>
#include <unistd.h>

#include "symbols/dwarf/dwarf_name.h"
#include "symbols/elf/elf_separate.h"

static void dwo_close(struct vg_dwarf_dwo *dwo)
{
	dwarf_end(dwo->dwarf);
	vg_elf_image_close(&dwo->image);
}

static int unit_find(const struct vg_dwarf_dwo *dwo, uint64_t id, Dwarf_Die *unit)
{
	Dwarf_CU *at = NULL, *next;
	uint64_t unit_id;
	uint8_t type;

	while (dwarf_get_units(dwo->dwarf, at, &next, NULL, &type, unit, NULL) == 0) {
		at = next;
		if (type == DW_UT_split_compile && unit->addr != NULL &&
		    dwarf_cu_info(at, NULL, NULL, NULL, NULL, &unit_id, NULL, NULL) == 0 && unit_id == id)
			return 0;
	}
	return -ENOENT;
}

/* Takes ownership of path. */
static int dwo_open(struct vg_dwarf_dwo *dwo, char *path, uint64_t id, Dwarf_Die *unit)
{
	int rc = path != NULL ? vg_elf_image_open_named_any_type(&dwo->image, path) : -ENOMEM;

	dwo->dwarf = NULL;
	free(path);
	if (rc != 0)
		return rc == -ENOMEM ? rc : -ENOENT;
	rc = vg_elf_image_decompress(&dwo->image);
	if (rc == 0) {
		dwo->dwarf = dwarf_begin_elf(dwo->image.elf, DWARF_C_READ, NULL);
		rc = dwo->dwarf != NULL ? unit_find(dwo, id, unit) : -ENOENT;
	}
	if (rc != 0)
		dwo_close(dwo);
	return rc;
}

/* A program may have more .dwo files than a process may have descriptors.  The file stays mapped. */
static void descriptor_close(struct vg_dwarf_dwo *dwo)
{
	if (elf_cntl(dwo->image.elf, ELF_C_FDREAD) == 0) {
		close(dwo->image.fd);
		dwo->image.fd = -1;
	}
}

/* Opens directory/middle/name, without the parts before one that is an absolute path. */
static int candidate_open(struct vg_dwarf_dwo *dwo, const char *directory, const char *middle, const char *name,
			  uint64_t id, Dwarf_Die *unit)
{
	if (*name == '/')
		return dwo_open(dwo, strdup(name), id, unit);
	if (middle != NULL && *middle == '/')
		return dwo_open(dwo, vg_path_format("%s/%s", middle, name), id, unit);
	if (directory == NULL)
		return -ENOENT;
	if (middle == NULL)
		return dwo_open(dwo, vg_path_format("%s/%s", directory, name), id, unit);
	return dwo_open(dwo, vg_path_format("%s/%s/%s", directory, middle, name), id, unit);
}

/* Once for all units of the debug file.  Without a directory, absolute paths may still lead to a file. */
static void directory_read(struct vg_dwarf_dwos *dwos, const struct vg_elf_image *debug)
{
	int rc;

	if (dwos->directory_is_read)
		return;
	dwos->directory_is_read = true;
	dwos->directory = vg_elf_image_directory(debug, &rc);
}

int vg_dwarf_dwo_find(struct vg_dwarf_dwos *dwos, const struct vg_elf_image *debug, Dwarf_Die *skeleton,
		      Dwarf_Die *unit, struct vg_dwarf_split *split)
{
	const char *name = vg_dwarf_string(skeleton, DW_AT_dwo_name), *compiled_in;
	struct vg_dwarf_dwo dwo;
	uint64_t id;
	int rc;

	if (name == NULL)
		name = vg_dwarf_string(skeleton, DW_AT_GNU_dwo_name);
	if (name == NULL || dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) != 0)
		return -ENOENT;
	if (vg_array_reserve(&dwos->open, 1) != 0)
		return -ENOMEM;
	directory_read(dwos, debug);
	rc = candidate_open(&dwo, dwos->directory, NULL, name, id, unit);
	compiled_in = vg_dwarf_string(skeleton, DW_AT_comp_dir);
	if (rc == -ENOENT && compiled_in != NULL)
		rc = candidate_open(&dwo, dwos->directory, compiled_in, name, id, unit);
	if (rc != 0)
		return rc;
	descriptor_close(&dwo);
	dwos->open.items[dwos->open.count++] = dwo;
	return vg_dwarf_split_describe(split, debug, skeleton, vg_elf_section_bytes(&dwo.image, ".debug_info.dwo"),
				       vg_elf_section_bytes(&dwo.image, ".debug_rnglists.dwo"));
}

void vg_dwarf_dwos_close(struct vg_dwarf_dwos *dwos)
{
	for (size_t i = 0; i < dwos->open.count; i++)
		dwo_close(&dwos->open.items[i]);
	vg_array_free(&dwos->open);
	free(dwos->directory);
}
