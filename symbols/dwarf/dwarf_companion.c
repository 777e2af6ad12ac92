/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_companion.h"

#include <elfutils/libdwelf.h>

/* The contents of .gnu_debugaltlink. */
struct altlink {
	const char *name;
	const void *id;
	size_t id_bytes;
};

/* open_rc: the result of opening the file.  Returns 0 if the file has the build id of the link, otherwise -ENOENT or
 * -ENOMEM. */
static int candidate_check(const struct altlink *altlink, int open_rc, struct vg_elf_image *supplementary)
{
	const void *id;
	int rc = open_rc;

	if (rc == 0 && (dwelf_elf_gnu_build_id(supplementary->elf, &id) != (ssize_t)altlink->id_bytes ||
			memcmp(id, altlink->id, altlink->id_bytes) != 0)) {
		vg_elf_image_close(supplementary);
		rc = -ENOENT;
	}
	return rc == 0 || rc == -ENOMEM ? rc : -ENOENT;
}

/* As candidate_check().  Takes ownership of `path`. */
static int candidate_open(const struct altlink *altlink, char *path, struct vg_elf_image *supplementary)
{
	int rc = path != NULL ? vg_elf_image_open_named_any_type(supplementary, path) : -ENOMEM;

	free(path);
	return candidate_check(altlink, rc, supplementary);
}

static int open_by_request(const struct altlink *altlink, const struct vg_symbols_search *search,
			   struct vg_elf_image *supplementary)
{
	char *path = NULL;
	int fd = vg_debug_file_request(search, altlink->id, altlink->id_bytes, &path), rc;

	if (fd < 0)
		return fd == -ENOMEM ? fd : -ENOENT;
	rc = vg_elf_image_open_descriptor_any_type(supplementary, fd, path, NULL);
	free(path);
	return candidate_check(altlink, rc, supplementary);
}

/* Opens the link's path, which is absolute or relative to the directory of the debug file. */
static int open_by_link(const struct altlink *altlink, const struct vg_elf_image *debug,
			struct vg_elf_image *supplementary)
{
	char *real;
	int rc;

	if (altlink->name[0] == '/')
		return candidate_open(altlink, strdup(altlink->name), supplementary);
	real = vg_elf_image_directory(debug, &rc);
	if (real == NULL)
		return rc;
	rc = candidate_open(altlink, vg_path_format("%s/%s", real, altlink->name), supplementary);
	free(real);
	return rc;
}

/* Opens the file in a directory of debug files.  In a copy of such a directory, the link's path is
 * wrong if it is absolute or leads out of the directory.  But the subdirectory .dwz of the copy has
 * the dwz files. */
static int open_in_directory(const struct altlink *altlink, const char *directory,
			     struct vg_elf_image *supplementary)
{
	const char *rest = strstr(altlink->name, ".dwz/");
	int rc = candidate_open(altlink, vg_build_id_path(directory, altlink->id, altlink->id_bytes), supplementary);

	if (rc == -ENOENT && rest != NULL)
		rc = candidate_open(altlink, vg_path_format("%s/%s", directory, rest), supplementary);
	if (rc == -ENOENT)
		rc = candidate_open(altlink, vg_path_format("%s/%s", directory, basename(altlink->name)),
				    supplementary);
	return rc;
}

static int supplementary_open(const struct altlink *altlink, const struct vg_elf_image *debug,
			      const struct vg_symbols_search *search, struct vg_elf_image *supplementary)
{
	const char *directory;
	int rc = open_by_link(altlink, debug, supplementary);

	for (size_t i = 0; rc == -ENOENT && (directory = vg_debug_dir(search, i)) != NULL; i++)
		rc = open_in_directory(altlink, directory, supplementary);
	return rc == -ENOENT ? open_by_request(altlink, search, supplementary) : rc;
}

/* The section has a path, a NUL, and the build id. */
static bool altlink_read(const struct vg_elf_image *debug, struct altlink *altlink)
{
	GElf_Shdr header;
	Elf_Scn *section = vg_elf_section(debug, ".gnu_debugaltlink", &header);
	Elf_Data *data = section != NULL ? elf_rawdata(section, NULL) : NULL;
	const char *end;

	if (data == NULL || data->d_buf == NULL || data->d_size == 0)
		return false;
	end = memchr(data->d_buf, '\0', data->d_size);
	if (end == NULL)
		return false;
	altlink->name = data->d_buf;
	altlink->id = end + 1;
	altlink->id_bytes = data->d_size - (size_t)(end + 1 - altlink->name);
	return altlink->id_bytes >= 2 && altlink->id_bytes <= VG_BUILD_ID_MAX_BYTES && *altlink->name != '\0';
}

/* Opens the placeholder: a minimal ELF file.  It has one byte of .debug_line, so that libdw opens it. */
static void placeholder_open(struct vg_dwarf_companions *companions)
{
	static struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[3];
		char names[28];
	} file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB,
				     EV_CURRENT },
			.e_type = ET_REL, .e_version = EV_CURRENT,
			.e_shoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2,
		},
		.sections = {
			{ .sh_name = 0 },
			{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_size = 1,
			  .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr) },
			{ .sh_name = 13, .sh_type = SHT_STRTAB, .sh_size = 28,
			  .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr) },
		},
		.names = "\0.debug_line\0.shstrtab",
	};

	companions->placeholder = elf_memory((char *)&file, sizeof file);
	companions->supplementary_dwarf = dwarf_begin_elf(companions->placeholder, DWARF_C_READ, NULL);
}

int vg_dwarf_companions_open(struct vg_dwarf_companions *companions,
			     const struct vg_elf_image *image, const struct vg_elf_image *debug,
			     const struct vg_symbols_search *search)
{
	struct altlink altlink;
	int rc = vg_dwarf_package_open(&companions->package, image, debug, search);

	if (rc != 0 || !altlink_read(debug, &altlink))
		return rc;
	rc = supplementary_open(&altlink, debug, search, &companions->supplementary);
	if (rc == 0)
		rc = vg_elf_image_decompress(&companions->supplementary);
	if (rc == 0)
		companions->supplementary_dwarf = dwarf_begin_elf(companions->supplementary.elf, DWARF_C_READ, NULL);
	if (companions->supplementary_dwarf == NULL && rc != -ENOMEM) {
		placeholder_open(companions);
		rc = vg_missing_file_set(&companions->missing_file, altlink.name, altlink.id, altlink.id_bytes);
	}
	return rc == -ENOMEM ? rc : 0;
}

void vg_dwarf_companions_close(struct vg_dwarf_companions *companions)
{
	dwarf_end(companions->supplementary_dwarf);
	elf_end(companions->placeholder);
	vg_dwarf_dwos_close(&companions->dwos);
	vg_dwarf_package_close(&companions->package);
	vg_elf_image_close(&companions->supplementary);
	vg_missing_file_free(&companions->missing_file);
	*companions = (struct vg_dwarf_companions)VG_DWARF_COMPANIONS_NONE;
}

void vg_dwarf_companions_attach(const struct vg_dwarf_companions *companions, Dwarf *dwarf)
{
	if (companions->supplementary_dwarf != NULL)
		dwarf_setalt(dwarf, companions->supplementary_dwarf);
}
