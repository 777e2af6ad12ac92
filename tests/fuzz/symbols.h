/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_TESTS_FUZZ_SYMBOLS_H
#define VG_TESTS_FUZZ_SYMBOLS_H

#include "symbols/breakpad/breakpad.h"
#include "tests/fuzz/input.h"

/* Uses a table that was read: looks addresses up, and writes the table. */
static inline void symbols_use(const struct vg_symbols *symbols)
{
	struct vg_symbol_frame frames[64];
	struct vg_err err;

	for (size_t i = 0; i < symbols->functions.count; i++) {
		const struct vg_symbol_function *function = &symbols->functions.items[i];

		vg_symbols_lookup(symbols, function->address, frames, 64);
		vg_symbols_lookup(symbols, function->address + function->size_bytes / 2, frames, 2);
		vg_symbols_lookup(symbols, function->address + function->size_bytes, frames, 1);
		if (i == 1000)
			break;
	}
	for (size_t i = 0; i < symbols->linker_symbols.count && i < 1000; i++)
		vg_symbols_lookup(symbols, symbols->linker_symbols.items[i].address + 1, frames, 64);
	vg_breakpad_write(symbols, input_sink(), &err);
}

#endif
