/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The readers of .sym files, for tables and for symbolization. */
#include "tests/fuzz/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = { 0, 0x1000, 0x1010, 0x1234, 0x2000, UINT64_MAX };
	const char *path = input_path(data, size);
	struct vg_symbols symbols = { 0 };
	struct vg_symbolization symbolization = { 0 };
	struct vg_err err;

	if (vg_breakpad_read(&symbols, path, NULL, 0, &err) == 0)
		symbols_use(&symbols);
	vg_symbols_free(&symbols);
	if (vg_breakpad_read(&symbols, path, addresses, sizeof addresses / sizeof *addresses, &err) == 0) {
		struct vg_symbol_frame frames[8];

		for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
			vg_symbols_lookup(&symbols, addresses[i], frames, 8);
	}
	vg_symbols_free(&symbols);
	if (vg_breakpad_symbolize(&symbolization, path, addresses, sizeof addresses / sizeof *addresses, &err) == 0) {
		struct vg_symbolized_frame frames[VG_SYMBOLIZED_FRAMES_MAX];

		for (size_t i = 0; i < symbolization.count; i++)
			vg_symbolization_frames(&symbolization, i, frames);
	}
	vg_symbolization_free(&symbolization);
	return 0;
}
