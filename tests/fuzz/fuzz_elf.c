/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of ELF files, and of whatever symbols and debug information they hold. */
#include "symbols/binary.h"
#include "tests/fuzz/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vg_symbols symbols = { .wants_unwinds = true };
	struct vg_err err;

	if (vg_symbols_from_binary(&symbols, input_path(data, size), NULL, &err) == 0)
		symbols_use(&symbols);
	vg_symbols_free(&symbols);
	return 0;
}
