/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf_publics.h"

#include <stdio.h>

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

typedef VG_ARRAY(struct vg_symbol_range) range_list;

static int range_compare(const void *left, const void *right)
{
	const struct vg_symbol_range *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* What functions and sized publics cover, sorted and without overlaps. */
static int cover_collect(const struct vg_symbols *symbols, range_list *cover)
{
	size_t kept = 0;

	if (vg_array_reserve(cover, symbols->functions.count + symbols->publics.count) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < symbols->functions.count; i++)
		cover->items[cover->count++] = (struct vg_symbol_range){
			symbols->functions.items[i].address, symbols->functions.items[i].size_bytes };
	for (size_t i = 0; i < symbols->publics.count; i++)
		cover->items[cover->count++] = (struct vg_symbol_range){
			symbols->publics.items[i].address, symbols->publics.items[i].size_bytes };
	if (cover->count == 0)
		return 0;
	qsort(cover->items, cover->count, sizeof *cover->items, range_compare);
	for (size_t i = 1; i < cover->count; i++) {
		struct vg_symbol_range *last = &cover->items[kept], *next = &cover->items[i];
		uint64_t apart = next->address - last->address;

		if (apart > last->size_bytes)
			cover->items[++kept] = *next;
		else if (next->size_bytes > last->size_bytes - apart)
			last->size_bytes = apart + next->size_bytes;
	}
	cover->count = kept + 1;
	return 0;
}

static bool covers(const range_list *cover, uint64_t address)
{
	size_t low = 0, high = cover->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cover->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address - cover->items[low - 1].address < cover->items[low - 1].size_bytes;
}

int vg_elf_publics_read_labels(struct vg_elf_publics *publics, const struct vg_elf_image *from)
{
	range_list cover = { 0 };
	struct table table;
	const char *name;
	GElf_Sym symbol;
	int rc = cover_collect(publics->symbols, &cover);

	table_open(&table, from, SHT_SYMTAB);
	while (rc == 0 && (name = table_next(&table, is_label, &symbol)) != NULL) {
		/* $x and its like mark instruction sets, .L a compiler's own labels. */
		if (*name != '$' && *name != '.' &&
		    !covers(&cover, symbol.st_value - publics->image->load_base))
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
