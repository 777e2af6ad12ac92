/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/table.h"

/* True if the symbol has another name than the function.  A name that contains the function's name is
 * not another name: it is the mangled form, or it names a part of the function, such as f.cold. */
static bool is_other_name(const struct vg_symbols *symbols, const struct vg_linker_symbol *symbol,
			  const struct vg_symbol_function *function)
{
	return symbol->name != function->name &&
	       strstr(vg_intern_text(&symbols->strings, symbol->name),
		      vg_intern_text(&symbols->strings, function->name)) == NULL;
}

/* Finds the first linker symbol at each address, and sets its is_multiple if a later symbol at the address
 * has another name. */
static int linker_symbols_index(struct vg_symbols *symbols, struct vg_intern *addresses,
				uint32_t *first_symbol)
{
	for (size_t i = 0; i < symbols->linker_symbols.count; i++) {
		const struct vg_linker_symbol *symbol = &symbols->linker_symbols.items[i];
		struct vg_linker_symbol *first;
		uint32_t id;
		int rc = vg_intern(addresses, &symbol->address, sizeof symbol->address, &id);

		if (rc < 0)
			return rc;
		if (rc == 1)
			first_symbol[id] = (uint32_t)i;
		first = &symbols->linker_symbols.items[first_symbol[id]];
		first->is_multiple |= first->name != symbol->name;
	}
	return 0;
}

int vg_symbols_mark_multiple(struct vg_symbols *symbols)
{
	uint32_t *first_symbol = calloc(symbols->linker_symbols.count + 1, sizeof *first_symbol);
	struct vg_intern addresses = { 0 };
	int rc = first_symbol != NULL ? linker_symbols_index(symbols, &addresses, first_symbol) : -ENOMEM;

	for (size_t i = 0; i < symbols->functions.count && rc == 0; i++) {
		struct vg_symbol_function *function = &symbols->functions.items[i];
		const struct vg_linker_symbol *symbol;
		uint32_t id;

		if (!vg_intern_find(&addresses, &function->address, sizeof function->address, &id))
			continue;
		symbol = &symbols->linker_symbols.items[first_symbol[id]];
		if (symbol->is_multiple || is_other_name(symbols, symbol, function))
			function->is_multiple = true;
	}
	vg_intern_free(&addresses);
	free(first_symbol);
	return rc;
}
