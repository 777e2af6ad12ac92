/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/code.h"

#include <string.h>

/* Intel's manual, volume 2: SYSCALL, CALL. */

bool vg_code_after_syscall(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[2];

	return vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) == 0 &&
	       bytes[0] == 0x0f && bytes[1] == 0x05;
}

/* mov $number,%eax; syscall: how C libraries make nearly all their calls.  Behind a REX prefix (4x) the
 * same is another register's. */
int64_t vg_code_syscall(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[8];
	int32_t number;

	if (vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) != 0 ||
	    (bytes[0] & 0xf0) == 0x40 || bytes[1] != 0xb8 || bytes[6] != 0x0f || bytes[7] != 0x05)
		return -1;
	memcpy(&number, bytes + 2, sizeof number);
	return number;
}

/* ff /2 with its ModRM byte at bytes[0], `length` bytes before the return address. */
static bool is_indirect(const unsigned char *bytes, unsigned int length)
{
	static const unsigned char displacement_bytes[4] = { 0, 1, 4, 0 };
	unsigned char modrm = bytes[1], mode = modrm >> 6, memory = modrm & 7;
	unsigned int want = 2u + displacement_bytes[mode];

	if (bytes[0] != 0xff || (modrm & 0x38) != 0x10)
		return false;
	if (mode != 3 && memory == 4)
		want++;                  /* a SIB byte */
	if (mode == 0 && memory == 5)
		want += 4;               /* relative to the instruction pointer */
	return want == length;
}

bool vg_code_after_call(struct vg_memory *memory, uint64_t address)
{
	unsigned char bytes[7];

	if (vg_memory_read_cached(memory, address - sizeof bytes, bytes, sizeof bytes) != 0)
		return false;
	if (bytes[2] == 0xe8)
		return true;
	for (unsigned int length = 2; length <= sizeof bytes; length++) {
		if (is_indirect(bytes + sizeof bytes - length, length))
			return true;
	}
	return false;
}
