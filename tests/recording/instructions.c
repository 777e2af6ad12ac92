/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * instructions: compares the lengths of instructions that vignetted and objdump find.  Standard input is the output of
 * `objdump -d -w --insn-width=15`: lines with an address, the bytes of one instruction, and its text, separated by
 * tabs.  The exit status is 1 if any differs.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include "vignetted/unwind/instruction_x86_64.h"

enum { SHOWN_MAX = 20 };

static size_t bytes_parse(const char *text, unsigned char bytes[VG_INSTRUCTION_MAX_BYTES])
{
	size_t count = 0;
	unsigned int byte;
	int length;

	while (count < VG_INSTRUCTION_MAX_BYTES && sscanf(text, " %2x%n", &byte, &length) == 1) {
		bytes[count++] = (unsigned char)byte;
		text += length;
	}
	return count;
}

/* Whether the line has data, or a prefix that objdump prints as an instruction of its own. */
static bool is_skipped(const char *text)
{
	static const char *const texts[] = { "(bad)", ".byte", "rex", "fwait", "data16", "lock", "rep", "cs ", "ds ",
					   "es ", "ss ", "fs ", "gs ", "addr32", "notrack", "bnd", "jmpw" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (strstr(text, texts[i]) != NULL)
			return true;
	}
	return false;
}

int main(void)
{
	char line[512];
	uint64_t count = 0, wrong = 0;

	while (fgets(line, sizeof line, stdin) != NULL) {
		char *tab = strchr(line, '\t'), *text = tab != NULL ? strchr(tab + 1, '\t') : NULL;
		unsigned char bytes[VG_INSTRUCTION_MAX_BYTES] = { 0 };
		struct vg_instruction instruction;
		size_t length;

		if (text == NULL || is_skipped(text))
			continue;
		*text = '\0';
		length = bytes_parse(tab + 1, bytes);
		/* objdump prints fwait and the next instruction as one. */
		if (bytes[0] == 0x9b)
			continue;
		count++;
		if (vg_instruction_read(&instruction, bytes, sizeof bytes) && instruction.length == length)
			continue;
		if (wrong++ < SHOWN_MAX)
			printf("  %s: %zu bytes, not %u: %s", tab + 1, length, instruction.length, text + 1);
	}
	printf("%" PRIu64 " instructions, %" PRIu64 " differ\n", count, wrong);
	return wrong != 0 || count == 0;
}
#else
int main(void)
{
	return 77;
}
#endif
