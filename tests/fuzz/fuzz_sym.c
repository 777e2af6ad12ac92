/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of .sym files, into tables and into answers. */
#include "tests/fuzz/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t wanted[] = { 0, 0x1000, 0x1010, 0x1234, 0x2000, UINT64_MAX };
	const char *path = input_path(data, size);
	struct vg_symbols symbols = { 0 };
	struct vg_answers answers = { 0 };
	struct vg_err err;

	if (vg_breakpad_read(&symbols, path, NULL, 0, &err) == 0)
		symbols_use(&symbols);
	vg_symbols_free(&symbols);
	if (vg_breakpad_read(&symbols, path, wanted, sizeof wanted / sizeof *wanted, &err) == 0) {
		struct vg_symbol_frame frames[8];

		for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
			vg_symbols_lookup(&symbols, wanted[i], frames, 8);
	}
	vg_symbols_free(&symbols);
	if (vg_breakpad_answer(&answers, path, wanted, sizeof wanted / sizeof *wanted, &err) == 0) {
		struct vg_answer_frame frames[VG_ANSWER_FRAMES_MAX];

		for (size_t i = 0; i < answers.count; i++)
			vg_answers_at(&answers, i, frames);
	}
	vg_answers_free(&answers);
	return 0;
}
