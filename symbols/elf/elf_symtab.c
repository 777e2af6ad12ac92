/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_symbols.h"

#include <stdio.h>

#include "symbols/table/covered_ranges.h"

static int name_intern(struct vg_elf_symbols *elf_symbols, const char *name, const char *suffix,
		       uint32_t *id)
{
	const char *plain = vg_demangle(&elf_symbols->demangler, name);
	char *joined;
	int rc;

	if (*suffix == '\0') {
		rc = vg_intern_string(&elf_symbols->symbols->strings, plain, id);
	} else if (asprintf(&joined, "%s%s", plain, suffix) < 0) {
		rc = -ENOMEM;
	} else {
		rc = vg_intern_string(&elf_symbols->symbols->strings, joined, id);
		free(joined);
	}
	return rc < 0 ? rc : 0;
}

int vg_elf_symbols_add(struct vg_elf_symbols *elf_symbols, uint64_t address, uint64_t bytes,
		       const char *name, const char *suffix)
{
	struct vg_linker_symbol symbol = { .address = address - elf_symbols->image->load_base,
					   .size_bytes = bytes };
	uint32_t id;
	int rc;

	if (!vg_elf_image_has_code(elf_symbols->image, address))
		return 0;
	rc = vg_intern(&elf_symbols->addresses, &symbol.address, sizeof symbol.address, &id);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		/* Ids of `addresses` are indices of linker_symbols as long as no symbol was
		 * removed. */
		if (elf_symbols->mark_multiple)
			elf_symbols->symbols->linker_symbols.items[id].is_multiple = true;
		return 0;
	}
	rc = name_intern(elf_symbols, name, suffix, &symbol.name);
	return rc == 0 ? vg_array_push(&elf_symbols->symbols->linker_symbols, &symbol) : rc;
}

/* An iteration over a symbol table. */
struct table {
	const struct vg_elf_image *from;
	Elf_Data *data;         /* NULL: the file has no such table */
	size_t names;           /* index of the string section */
	bool is_arm;            /* bit 0 of a function's address selects Thumb */
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

/* The name of the next symbol that is defined, has a name and is wanted; NULL at the end. */
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

int vg_elf_symbols_read(struct vg_elf_symbols *elf_symbols, const struct vg_elf_image *from,
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
		rc = vg_elf_symbols_add(elf_symbols, symbol.st_value, symbol.st_size, name, "");
	return rc;
}

int vg_elf_symbols_read_labels(struct vg_elf_symbols *elf_symbols, const struct vg_elf_image *from)
{
	struct vg_covered_ranges covered = { 0 };
	struct table table;
	const char *name;
	GElf_Sym symbol;
	int rc = vg_covered_ranges_collect(&covered, elf_symbols->symbols, true);

	table_open(&table, from, SHT_SYMTAB);
	while (rc == 0 && (name = table_next(&table, is_label, &symbol)) != NULL) {
		/* Names that begin with $ mark instruction sets.  Names that begin with .L are a
		 * compiler's own labels. */
		if (*name != '$' && *name != '.' &&
		    !vg_covered_ranges_have(&covered, symbol.st_value - elf_symbols->image->load_base))
			rc = vg_elf_symbols_add(elf_symbols, symbol.st_value, 0, name, "");
	}
	vg_array_free(&covered);
	return rc;
}

void vg_elf_symbols_free(struct vg_elf_symbols *elf_symbols)
{
	vg_demangler_free(&elf_symbols->demangler);
	vg_intern_free(&elf_symbols->addresses);
}
