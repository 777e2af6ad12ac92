/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf_image.h"

#include "symbols/demangle.h"

static Elf_Scn *section_of_type(const struct vg_elf_image *image, unsigned type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		if (gelf_getshdr(section, header) != NULL && header->sh_type == type)
			return section;
	}
	return NULL;
}

static int symbol_add(struct vg_symbols *symbols, struct vg_intern *addresses,
		      struct vg_demangler *demangler, uint64_t address, const char *name)
{
	struct vg_symbol_public symbol = { .address = address };
	uint32_t id;
	int rc = vg_intern(addresses, &address, sizeof address, &id);

	if (rc < 0)
		return rc;
	/* Several names for one address: the first stands for all, as Breakpad has it. */
	if (rc == 0) {
		symbols->publics.items[id].multiple = true;
		return 0;
	}
	rc = vg_intern_string(&symbols->strings, vg_demangle(demangler, name), &symbol.name);
	if (rc < 0)
		return rc;
	return vg_array_push(&symbols->publics, &symbol);
}

int vg_elf_read_symtab(const struct vg_elf_image *image, struct vg_symbols *symbols,
		       const char **section_name)
{
	struct vg_demangler demangler = { NULL, 0, 0 };
	struct vg_intern addresses = { 0 };
	GElf_Shdr header;
	Elf_Scn *section = section_of_type(image, SHT_SYMTAB, &header);
	Elf_Data *data;
	int rc = 0;

	*section_name = ".symtab";
	if (section == NULL) {
		section = section_of_type(image, SHT_DYNSYM, &header);
		*section_name = ".dynsym";
	}
	data = section != NULL ? elf_getdata(section, NULL) : NULL;
	if (data == NULL)
		*section_name = NULL;
	for (int i = 0; data != NULL && rc == 0; i++) {
		const char *name;
		GElf_Sym symbol;

		if (gelf_getsym(data, i, &symbol) == NULL)
			break;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    !vg_elf_image_has_code(image, symbol.st_value))
			continue;
		name = elf_strptr(image->elf, header.sh_link, symbol.st_name);
		if (name != NULL && *name != '\0')
			rc = symbol_add(symbols, &addresses, &demangler,
					symbol.st_value - image->load_base, name);
	}
	vg_demangler_free(&demangler);
	vg_intern_free(&addresses);
	return rc;
}
