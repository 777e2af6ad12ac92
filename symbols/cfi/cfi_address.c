/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/cfi/cfi_address.h"

#include <dwarf.h>

uint64_t vg_cfi_address(const struct vg_cfi_reader *reader, struct vg_elf_bytes *cursor,
			uint8_t encoding, bool *valid)
{
	uint64_t address = reader->section_address + (uint64_t)(cursor->at - reader->data);
	uint64_t value = 0;

	*valid = true;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		address = 0;
		break;
	case DW_EH_PE_pcrel:
		break;
	default:
		*valid = false;
	}
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
		value = vg_elf_uint(cursor, reader->address_bytes);
		break;
	case DW_EH_PE_uleb128:
		value = vg_elf_uleb128(cursor);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)vg_elf_sleb128(cursor);
		break;
	case DW_EH_PE_udata2:
		value = vg_elf_uint(cursor, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)vg_sign_extend(vg_elf_uint(cursor, 2), 2);
		break;
	case DW_EH_PE_udata4:
		value = vg_elf_uint(cursor, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)vg_sign_extend(vg_elf_uint(cursor, 4), 4);
		break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = vg_elf_uint(cursor, 8);
		break;
	default:
		*valid = false;
	}
	if ((encoding & DW_EH_PE_indirect) || cursor->failed)
		*valid = false;
	value += address;
	return reader->address_bytes == 4 ? (uint32_t)value : value;
}
