/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi_columns.h"

#include "symbols/cfi/cfi_registers.h"

uint8_t vg_cfi_column(const struct vg_cfi_reader *reader, uint64_t reg)
{
	if (reg == reader->return_register)
		return reader->ra_column;
	return reg < reader->names.count ? reader->columns_by_register[reg] : UINT8_MAX;
}

/* Inserts a column in the order of names, which is the order of the rules in the records of
 * Breakpad's dump_syms. */
static uint8_t column_insert(struct vg_cfi_reader *reader, const char *name)
{
	unsigned at = reader->column_count++;

	for (; at > 0 && strcmp(reader->column_names[at - 1], name) > 0; at--)
		reader->column_names[at] = reader->column_names[at - 1];
	reader->column_names[at] = name;
	return (uint8_t)at;
}

static uint8_t column_find(const struct vg_cfi_reader *reader, const char *name)
{
	for (unsigned i = 0; i < reader->column_count; i++) {
		if (strcmp(reader->column_names[i], name) == 0)
			return (uint8_t)i;
	}
	return UINT8_MAX;
}

void vg_cfi_columns_set(struct vg_cfi_reader *reader, uint64_t return_register)
{
	reader->column_count = 0;
	reader->return_register = return_register;
	column_insert(reader, ".cfa");
	column_insert(reader, ".ra");
	for (unsigned reg = 0; reg < reader->names.count; reg++) {
		const char *name = vg_cfi_register_name(reader, reg);

		if (name != NULL && reg != return_register &&
		    column_find(reader, name) == UINT8_MAX)
			column_insert(reader, name);
	}
	reader->cfa_column = column_find(reader, ".cfa");
	reader->ra_column = column_find(reader, ".ra");
	for (unsigned reg = 0; reg < reader->names.count; reg++) {
		const char *name = vg_cfi_register_name(reader, reg);

		reader->columns_by_register[reg] = name != NULL ? column_find(reader, name) : UINT8_MAX;
	}
}
