/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_publics.h"

#include <stdio.h>

#include "symbols/table/cover.h"

static int name_intern(struct vg_elf_publics *publics, const char *name, const char *suffix,
		       uint32_t *id)
{
	const char *plain = vg_demangle(&publics->demangler, name);
	char *joined;
	int rc;

	if (*suffix == '\0') {
		rc = vg_intern_string(&publics->symbols->strings, plain, id);
	} else if (asprintf(&joined, "%s%s", plain, suffix) < 0) {
		rc = -ENOMEM;
	} else {
		rc = vg_intern_string(&publics->symbols->strings, joined, id);
		free(joined);
	}
	return rc < 0 ? rc : 0;
}

int vg_elf_publics_add(struct vg_elf_publics *publics, uint64_t address, uint64_t bytes,
		       const char *name, const char *suffix)
{
	struct vg_symbol_public symbol = { .address = address - publics->image->load_base,
					   .size_bytes = bytes };
	uint32_t id;
	int rc;

	if (!vg_elf_image_has_code(publics->image, address))
		return 0;
	rc = vg_intern(&publics->addresses, &symbol.address, sizeof symbol.address, &id);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		/* Numbers are indices as long as nothing was removed. */
		if (publics->marks_multiple)
			publics->symbols->publics.items[id].multiple = true;
		return 0;
	}
	rc = name_intern(publics, name, suffix, &symbol.name);
	return rc == 0 ? vg_array_push(&publics->symbols->publics, &symbol) : rc;
}

/* One pass over a symbol table. */
struct table {
	const struct vg_elf_image *from;
	Elf_Data *data;         /* NULL: there is none */
	size_t names;           /* section of the names */
	bool is_arm;            /* bit 0 of an address says the instruction set */
	int next;
};

static void table_open(struct table *table, const struct vg_elf_image *from, unsigned type)
{
	GElf_Shdr header;
	GElf_Ehdr ehdr;
	Elf_Scn *section = vg_elf_section_of_type(from, type, &header);

	*table = (struct table){ .from = from };
	if (section == NULL)
		return;
	table->data = elf_getdata(section, NULL);
	table->names = header.sh_link;
	table->is_arm = gelf_getehdr(from->elf, &ehdr) != NULL && ehdr.e_machine == EM_ARM;
}

/* The next symbol of that kind that is defined and has a name. */
static const char *table_next(struct table *table, bool (*is_wanted)(const GElf_Sym *symbol),
			      GElf_Sym *symbol)
{
	while (table->data != NULL && gelf_getsym(table->data, table->next, symbol) != NULL) {
		const char *name;

		table->next++;
		if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
		    !is_wanted(symbol))
			continue;
		if (table->is_arm && GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE)
			symbol->st_value &= ~(GElf_Addr)1;
		name = elf_strptr(table->from->elf, table->names, symbol->st_name);
		if (name != NULL && *name != '\0')
			return name;
	}
	return NULL;
}

static bool is_function(const GElf_Sym *symbol)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_FUNC ||
	       GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
}

static bool is_label(const GElf_Sym *symbol)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE && symbol->st_size == 0;
}

int vg_elf_publics_read(struct vg_elf_publics *publics, const struct vg_elf_image *from,
			unsigned type, bool *found)
{
	struct table table;
	const char *name;
	GElf_Sym symbol;
	int rc = 0;

	table_open(&table, from, type);
	if (found != NULL)
		*found = table.data != NULL;
	while (rc == 0 && (name = table_next(&table, is_function, &symbol)) != NULL)
		rc = vg_elf_publics_add(publics, symbol.st_value, symbol.st_size, name, "");
	return rc;
}

int vg_elf_publics_read_labels(struct vg_elf_publics *publics, const struct vg_elf_image *from)
{
	struct vg_cover cover = { 0 };
	struct table table;
	const char *name;
	GElf_Sym symbol;
	int rc = vg_cover_collect(&cover, publics->symbols, true);

	table_open(&table, from, SHT_SYMTAB);
	while (rc == 0 && (name = table_next(&table, is_label, &symbol)) != NULL) {
		/* $x and its like mark instruction sets, .L a compiler's own labels. */
		if (*name != '$' && *name != '.' &&
		    !vg_cover_has(&cover, symbol.st_value - publics->image->load_base))
			rc = vg_elf_publics_add(publics, symbol.st_value, 0, name, "");
	}
	vg_array_free(&cover);
	return rc;
}

void vg_elf_publics_free(struct vg_elf_publics *publics)
{
	vg_demangler_free(&publics->demangler);
	vg_intern_free(&publics->addresses);
}
