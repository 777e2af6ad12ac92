/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_image.h"

#include <elfutils/libdwelf.h>

#include "base/build_id.h"
#include "base/utf8.h"
#include "symbols/table/debug_id.h"

/* Breakpad's name of the architecture.  If Breakpad has no name for it, "unknown", as in Breakpad's dump_syms. */
static const char *arch_name(unsigned machine)
{
	static const struct { unsigned machine; const char *name; } names[] = {
		{ EM_X86_64, "x86_64" }, { EM_AARCH64, "arm64" }, { EM_386, "x86" },
		{ EM_ARM, "arm" }, { EM_RISCV, "riscv" }, { EM_PPC64, "ppc64" },
		{ EM_PPC, "ppc" }, { EM_S390, "s390" }, { EM_MIPS, "mips" },
		{ EM_SPARC, "sparc" }, { EM_SPARCV9, "sparcv9" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (names[i].machine == machine)
			return names[i].name;
	}
	return "unknown";
}

/* DT_SONAME, or NULL.  Reads the dynamic section, because the dynamic segment has no contents in a
 * separate debug file. */
static const char *soname(const struct vg_elf_image *image)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		GElf_Shdr header;
		Elf_Data *data;

		if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data != NULL; i++) {
			GElf_Dyn entry;

			if (gelf_getdyn(data, i, &entry) == NULL || entry.d_tag == DT_NULL)
				break;
			if (entry.d_tag == DT_SONAME)
				return elf_strptr(image->elf, header.sh_link, entry.d_un.d_val);
		}
	}
	return NULL;
}

/* Sets `id` to an id made of Go's build id.  Returns the length of `id`, or 0 if the file has no Go build id. */
static size_t go_id_read(const struct vg_elf_image *image, unsigned char id[VG_BUILD_ID_MAX_BYTES])
{
	GElf_Shdr header;
	Elf_Scn *section = vg_elf_section(image, ".note.go.buildid", &header);
	Elf_Data *data = section != NULL && header.sh_type == SHT_NOTE ? elf_getdata(section, NULL) : NULL;
	size_t at = 0, next, name_at, desc_at;
	GElf_Nhdr note;

	while (data != NULL && (next = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0) {
		if (note.n_type == VG_NOTE_TYPE_GO_BUILD_ID && note.n_namesz == 4 && note.n_descsz > 0 &&
		    memcmp((const char *)data->d_buf + name_at, "Go\0", 4) == 0) {
			vg_text_id((const char *)data->d_buf + desc_at, note.n_descsz, id);
			return VG_TEXT_ID_BYTES;
		}
		at = next;
	}
	return 0;
}

size_t vg_elf_build_id(const struct vg_elf_image *image, unsigned char id[VG_BUILD_ID_MAX_BYTES])
{
	const void *build_id;
	ssize_t bytes = dwelf_elf_gnu_build_id(image->elf, &build_id);

	if (bytes <= 0 || bytes > VG_BUILD_ID_MAX_BYTES)
		return go_id_read(image, id);
	memcpy(id, build_id, (size_t)bytes);
	return (size_t)bytes;
}

static void ids_read(const struct vg_elf_image *image, struct vg_symbols *symbols)
{
	unsigned char text_id[VG_TEXT_ID_BYTES];
	Elf_Scn *section;
	GElf_Shdr header;
	Elf_Data *data = NULL;

	symbols->build_id_bytes = vg_elf_build_id(image, symbols->build_id);
	if (symbols->build_id_bytes > 0) {
		vg_debug_id_text(symbols->build_id, symbols->build_id_bytes, symbols->debug_id);
		return;
	}
	section = vg_elf_section(image, ".text", &header);
	if (section != NULL)
		data = elf_rawdata(section, NULL);
	vg_text_id(data != NULL && data->d_buf != NULL ? data->d_buf : NULL,
		   data != NULL && data->d_buf != NULL ? data->d_size : 0, text_id);
	vg_debug_id_text(text_id, sizeof text_id, symbols->debug_id);
}

/* A copy without control characters. */
static char *name_copy(const char *name)
{
	char *copy = strdup(name);

	if (copy != NULL)
		vg_utf8_make_printable(copy, strlen(copy));
	return copy;
}

int vg_elf_identify(const struct vg_elf_image *image, struct vg_symbols *symbols,
		    struct vg_err *err)
{
	const char *name = soname(image);
	GElf_Ehdr header;

	if (gelf_getehdr(image->elf, &header) == NULL)
		return vg_err_set(err, -EBADMSG, "%s: damaged ELF header", image->path);
	if (name == NULL || *basename(name) == '\0')
		name = image->path;
	symbols->module_name = name_copy(basename(name));
	symbols->os = strdup("Linux");
	symbols->arch = strdup(arch_name(header.e_machine));
	if (symbols->module_name == NULL || symbols->os == NULL || symbols->arch == NULL)
		return vg_err_sys(err, -ENOMEM, "%s", image->path);
	ids_read(image, symbols);
	for (size_t i = 0; i < image->code.count; i++) {
		struct vg_symbol_range range = image->code.items[i];

		range.address -= image->load_base;
		if (vg_array_push(&symbols->sections, &range) != 0)
			return vg_err_sys(err, -ENOMEM, "%s", image->path);
	}
	return 0;
}
