/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The readers of ELF files: symbols and debug information, and the helper's reader of section headers. */
#include "symbols/binary.h"
#include "tests/fuzz/symbols.h"
#include "vignetted/target/image.h"

/* What the helper finds must be in the image, whose addresses do not depend on the input. */
static void sections_check(int fd)
{
	struct vg_image image = { .base = 0x400000, .end = 0x500000, .bias = 0x400000 };

	vg_sections_read(&image, fd);
	if (image.build_id_bytes > sizeof image.build_id ||
	    (image.eh_frame != 0 && (image.eh_frame < image.base || image.eh_frame >= image.end ||
				     image.eh_frame_bytes > image.end - image.eh_frame)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vg_symbols symbols = { .wants_cfi = true };
	struct vg_err err;

	if (vg_symbols_from_binary(&symbols, input_path(data, size), NULL, &err) == 0)
		symbols_use(&symbols);
	vg_symbols_free(&symbols);
	sections_check(input_fd(data, size));
	return 0;
}
