/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/dwarf/dwarf_companion.h"

#include <elfutils/libdwelf.h>

/* What .gnu_debugaltlink says. */
struct link {
	const char *name;
	const void *id;
	size_t id_bytes;
};

/* Takes ownership of path.  0 if it is a file with that build id. */
static int candidate_open(const struct link *link, char *path, struct vg_elf_image *shared)
{
	const void *id;
	int rc = -ENOMEM;

	if (path != NULL)
		rc = vg_elf_image_open_any(shared, path, NULL);
	if (rc == 0 && (dwelf_elf_gnu_build_id(shared->elf, &id) != (ssize_t)link->id_bytes ||
			memcmp(id, link->id, link->id_bytes) != 0)) {
		vg_elf_image_close(shared);
		rc = -ENOENT;
	}
	free(path);
	return rc == 0 || rc == -ENOMEM ? rc : -ENOENT;
}

/* As the link has it: a path from the debug file's directory, or from the root. */
static int by_name(const struct link *link, const struct vg_elf_image *debug,
		   struct vg_elf_image *shared)
{
	char *real;
	int rc;

	if (link->name[0] == '/')
		return candidate_open(link, strdup(link->name), shared);
	real = realpath(debug->path, NULL);
	if (real == NULL)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	*strrchr(real, '/') = '\0';
	rc = candidate_open(link, vg_path_format("%s/%s", real, link->name), shared);
	free(real);
	return rc;
}

/* A tree of debug files that was copied elsewhere keeps dwz's files in .dwz, but a link may be
 * absolute, or count its way up from where the debug file once was. */
static int by_directory(const struct link *link, const char *directory,
			struct vg_elf_image *shared)
{
	const char *rest = strstr(link->name, ".dwz/");
	int rc = candidate_open(link, vg_build_id_path(directory, link->id, link->id_bytes), shared);

	if (rc == -ENOENT && rest != NULL)
		rc = candidate_open(link, vg_path_format("%s/%s", directory, rest), shared);
	if (rc == -ENOENT)
		rc = candidate_open(link, vg_path_format("%s/%s", directory, basename(link->name)),
				    shared);
	return rc;
}

static int shared_open(const struct link *link, const struct vg_elf_image *debug,
		       const struct vg_symbols_search *search, struct vg_elf_image *shared)
{
	const char *directory;
	char *path;
	int rc = by_name(link, debug, shared);

	for (size_t i = 0; rc == -ENOENT && (directory = vg_debug_dir(search, i)) != NULL; i++)
		rc = by_directory(link, directory, shared);
	if (rc == -ENOENT && search != NULL && search->debuginfod &&
	    vg_debuginfod_find(link->id, link->id_bytes, &path, NULL) == 0)
		rc = candidate_open(link, path, shared);
	return rc;
}

/* The section holds the name, a NUL, and the build id. */
static bool link_read(const struct vg_elf_image *debug, struct link *link)
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
	link->name = data->d_buf;
	link->id = end + 1;
	link->id_bytes = data->d_size - (size_t)(end + 1 - link->name);
	return link->id_bytes >= 2 && link->id_bytes <= VG_BUILD_ID_MAX_BYTES && *link->name != '\0';
}

/* What stands for a file that is not there: one byte of DWARF in the smallest ELF file. */
static void nothing_open(struct vg_dwarf_companions *companions)
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

	companions->nothing = elf_memory((char *)&file, sizeof file);
	companions->shared_dwarf = dwarf_begin_elf(companions->nothing, DWARF_C_READ, NULL);
}

int vg_dwarf_companions_open(struct vg_dwarf_companions *companions,
			     const struct vg_elf_image *image, const struct vg_elf_image *debug,
			     const struct vg_symbols_search *search)
{
	struct link link;
	int rc = vg_dwarf_package_open(&companions->package, image, debug, search);

	if (rc != 0 || !link_read(debug, &link))
		return rc;
	rc = shared_open(&link, debug, search, &companions->shared);
	if (rc == 0)
		rc = vg_elf_image_expand(&companions->shared);
	if (rc == 0)
		companions->shared_dwarf = dwarf_begin_elf(companions->shared.elf, DWARF_C_READ, NULL);
	if (companions->shared_dwarf == NULL && rc != -ENOMEM) {
		nothing_open(companions);
		rc = vg_absent_set(&companions->absent, link.name, link.id, link.id_bytes);
	}
	return rc == -ENOMEM ? rc : 0;
}

void vg_dwarf_companions_close(struct vg_dwarf_companions *companions)
{
	dwarf_end(companions->shared_dwarf);
	elf_end(companions->nothing);
	vg_dwarf_package_close(&companions->package);
	vg_elf_image_close(&companions->shared);
	vg_absent_free(&companions->absent);
	*companions = (struct vg_dwarf_companions)VG_DWARF_COMPANIONS_NONE;
}

void vg_dwarf_companions_attach(const struct vg_dwarf_companions *companions, Dwarf *dwarf)
{
	if (companions->shared_dwarf != NULL)
		dwarf_setalt(dwarf, companions->shared_dwarf);
}
