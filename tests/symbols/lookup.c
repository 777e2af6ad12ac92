/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * lookup FILE: symbolizes the addresses on standard input (hexadecimal, relative to the module, one per line).  Prints
 * the results in the form of llvm-symbolizer --addresses: the address, two lines per frame, an empty line.  FILE is
 * a symbol file or a binary.
 *
 * lookup --draw COUNT FILE: prints COUNT addresses, spread evenly over the binary's .text.  Each line has an address
 * twice: relative to the module, and as in the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "symbols/binary.h"
#include "symbols/breakpad/breakpad.h"
#include "symbols/elf/elf_image.h"

#define FRAMES_MAX 256

static int complain(const struct vg_err *err)
{
	fprintf(stderr, "lookup: %s\n", err->text);
	return 1;
}

/* Draws the same addresses every time.  `part` is a fraction of .text, in units of 2^-64.  The multiples of the odd
 * factor are spread evenly, and no two of them are equal. */
static int draw(const char *path, uint64_t count)
{
	struct vg_elf_image image;
	struct vg_err err;
	GElf_Shdr text;

	if (vg_elf_image_open(&image, path, &err) != 0)
		return complain(&err);
	if (vg_elf_section(&image, ".text", &text) == NULL || text.sh_size == 0) {
		vg_err_set(&err, -ENODATA, "%s: no .text", path);
		vg_elf_image_close(&image);
		return complain(&err);
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t part = i * 0x9e3779b97f4a7c15u;
		uint64_t at = (uint64_t)((unsigned __int128)part * text.sh_size >> 64);

		printf("%" PRIx64 " %" PRIx64 "\n", text.sh_addr + at - image.load_base,
		       text.sh_addr + at);
	}
	vg_elf_image_close(&image);
	return 0;
}

static void print(const struct vg_symbols *symbols, uint64_t address)
{
	struct vg_symbol_frame frames[FRAMES_MAX];
	size_t count = vg_symbols_lookup(symbols, address, frames, FRAMES_MAX);

	printf("0x%" PRIx64 "\n", address);
	for (size_t i = 0; i < count; i++)
		printf("%s\n%s:%" PRIu32 ":0\n", frames[i].function,
		       frames[i].file != NULL ? frames[i].file : "??", frames[i].line);
	if (count == 0)
		puts("??\n??:0:0");
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct vg_symbols symbols = { 0 };
	struct vg_err err;
	const char *ending;
	char line[64];
	int rc;

	if (argc == 4 && strcmp(argv[1], "--draw") == 0)
		return draw(argv[3], strtoull(argv[2], NULL, 10));
	if (argc != 2) {
		fputs("usage: lookup FILE | lookup --draw COUNT FILE\n", stderr);
		return 2;
	}
	ending = strrchr(argv[1], '.');
	if (ending != NULL && strcmp(ending, ".sym") == 0)
		rc = vg_breakpad_read(&symbols, argv[1], NULL, 0, &err);
	else
		rc = vg_symbols_from_binary(&symbols, argv[1], NULL, &err);
	if (rc != 0)
		return complain(&err);
	while (fgets(line, sizeof line, stdin) != NULL)
		print(&symbols, strtoull(line, NULL, 16));
	vg_symbols_free(&symbols);
	return 0;
}
