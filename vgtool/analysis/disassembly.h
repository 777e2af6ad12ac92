/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_DISASSEMBLY_H
#define VG_VGTOOL_DISASSEMBLY_H

#include <stdint.h>

#include "base/array.h"
#include "base/err.h"

/*
 * The instructions of a function, from the output of objdump(1).  This output is untrusted: objdump has read a hostile
 * binary.  A line that is no instruction of the function is ignored.
 *
 *	struct vg_disassembly code = { 0 };
 *	rc = vg_disassembly_read(&code, output, 0x1130, 0x1180, 60000, &err);
 *	puts(vg_disassembly_text(&code, vg_disassembly_find(&code, 0x1139)));
 *	vg_disassembly_free(&code);
 */
enum { VG_DISASSEMBLY_MIB_MAX = 64, VG_INSTRUCTION_BYTES_MAX = 16 };

struct vg_instruction {
	uint64_t address;            /* virtual */
	size_t text;                 /* index of its first byte in `texts` */
};

struct vg_disassembly {
	VG_ARRAY(struct vg_instruction) instructions; /* sorted by address, without duplicates */
	VG_ARRAY(char) texts;        /* "mov    (%rdi),%eax"; each text ends with a NUL, and may have any other bytes */
};

/* Reads objdump's output up to its end.  Keeps the instructions at the virtual addresses `begin` to `end` - 1.  Returns
 * 0; -ETIMEDOUT: the end did not come within timeout_ms; -EFBIG: more than VG_DISASSEMBLY_MIB_MAX; -ENODATA: no
 * instruction; or another negative errno, each with a message in err.  Call vg_disassembly_free() in either case. */
int vg_disassembly_read(struct vg_disassembly *code, int fd, uint64_t begin, uint64_t end, int timeout_ms,
			struct vg_err *err);

/* The index of the instruction that has this address.  The address can be up to VG_INSTRUCTION_BYTES_MAX bytes after
 * the beginning of the instruction, and before the next one.  UINT32_MAX: there is none. */
uint32_t vg_disassembly_find(const struct vg_disassembly *code, uint64_t address);

const char *vg_disassembly_text(const struct vg_disassembly *code, uint32_t index);
void vg_disassembly_free(struct vg_disassembly *code);

#endif
