/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/table/table.h"

/* A mangled name that could not be read, or a part's (f.cold), holds the function's own. */
static bool is_another(const struct vg_symbols *symbols, const struct vg_symbol_public *symbol,
		       const struct vg_symbol_function *function)
{
	return symbol->name != function->name &&
	       strstr(vg_intern_text(&symbols->strings, symbol->name),
		      vg_intern_text(&symbols->strings, function->name)) == NULL;
}

/* One public stands for all at its address. */
static int publics_index(struct vg_symbols *symbols, struct vg_intern *addresses,
			 uint32_t *first_public)
{
	for (size_t i = 0; i < symbols->publics.count; i++) {
		const struct vg_symbol_public *symbol = &symbols->publics.items[i];
		struct vg_symbol_public *first;
		uint32_t id;
		int rc = vg_intern(addresses, &symbol->address, sizeof symbol->address, &id);

		if (rc < 0)
			return rc;
		if (rc == 1)
			first_public[id] = (uint32_t)i;
		first = &symbols->publics.items[first_public[id]];
		first->multiple |= first->name != symbol->name;
	}
	return 0;
}

int vg_symbols_mark_multiple(struct vg_symbols *symbols)
{
	uint32_t *first_public = calloc(symbols->publics.count + 1, sizeof *first_public);
	struct vg_intern addresses = { 0 };
	int rc = first_public != NULL ? publics_index(symbols, &addresses, first_public) : -ENOMEM;

	for (size_t i = 0; i < symbols->functions.count && rc == 0; i++) {
		struct vg_symbol_function *function = &symbols->functions.items[i];
		const struct vg_symbol_public *symbol;
		uint32_t id;

		if (!vg_intern_find(&addresses, &function->address, sizeof function->address, &id))
			continue;
		symbol = &symbols->publics.items[first_public[id]];
		if (symbol->multiple || is_another(symbols, symbol, function))
			function->multiple = true;
	}
	vg_intern_free(&addresses);
	free(first_public);
	return rc;
}
