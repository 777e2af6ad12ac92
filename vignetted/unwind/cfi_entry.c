/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/cfi_entry.h"

#include <string.h>

enum { PE_ABSPTR = 0x00, PE_ULEB128 = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04, PE_SLEB128 = 0x09,
       PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c, PE_PCREL = 0x10, PE_ALIGNED = 0x50, PE_RELATIVE_TO = 0x70,
       PE_FORM = 0x0f, PE_INDIRECT = 0x80 };

/* Entries are copied first and parsed from the copy: the process may change its memory at any time. */
static bool piece_read(struct vg_memory *memory, uint64_t address, unsigned char *buffer, uint32_t length,
		       struct vg_cfi_piece *piece)
{
	*piece = (struct vg_cfi_piece){ address, length, buffer };
	return vg_memory_read_cached(memory, address, buffer, length) == 0;
}

/* Copies one entry: its length, then that many bytes. */
static bool entry_read(struct vg_memory *memory, uint64_t address, unsigned char *buffer, uint32_t buffer_bytes,
		       struct vg_cfi_piece *piece, struct vg_cfi_entry *entry)
{
	uint32_t length;
	struct vg_cfi_piece behind;

	/* Entries of the 64-bit format begin with a length of 0xffffffff and are refused here.  They do not exist in
	 * practice: no .eh_frame is that large. */
	if (!piece_read(memory, address, buffer, sizeof length, piece))
		return false;
	memcpy(&length, buffer, sizeof length);
	if (length < 4 || length > buffer_bytes - sizeof length ||
	    !piece_read(memory, address + sizeof length, buffer + sizeof length, length, &behind))
		return false;
	piece->length += length;
	*entry = (struct vg_cfi_entry){ piece, { behind.bytes, behind.bytes + length } };
	return true;
}

static uint64_t entry_at(const struct vg_cfi_entry *entry)
{
	return entry->piece->address + (uint64_t)(entry->bytes.at - entry->piece->bytes);
}

/* Parses an encoded pointer.  `pcrel` is the address of the pointer itself. */
static bool pointer_read(struct vg_bytes *bytes, uint8_t encoding, uint64_t pcrel, uint64_t *value)
{
	bool good;

	*value = 0;
	switch (encoding & PE_FORM) {
	case PE_ABSPTR: case PE_UDATA8: case PE_SDATA8: good = vg_bytes_fixed(bytes, 8, value); break;
	case PE_ULEB128: good = vg_bytes_uleb(bytes, value); break;
	case PE_SLEB128: good = vg_bytes_sleb(bytes, (int64_t *)value); break;
	case PE_UDATA2: good = vg_bytes_fixed(bytes, 2, value); break;
	case PE_UDATA4: good = vg_bytes_fixed(bytes, 4, value); break;
	case PE_SDATA2:
		good = vg_bytes_fixed(bytes, 2, value);
		*value = (uint64_t)(int64_t)(int16_t)*value;
		break;
	case PE_SDATA4:
		good = vg_bytes_fixed(bytes, 4, value);
		*value = (uint64_t)(int64_t)(int32_t)*value;
		break;
	default: return false;
	}
	if ((encoding & PE_RELATIVE_TO) == PE_PCREL)
		*value += pcrel;
	else if ((encoding & PE_RELATIVE_TO) != 0)
		return false;
	return good && (encoding & PE_INDIRECT) == 0;
}

enum { LETTERS_MAX = 4 };

/* Parses the augmentation data as the augmentation string ("zPLR" and the like) says.  libunwind reads at most four
 * letters and stops at a letter that it does not know.  It then takes the rest of the data for instructions.  So a CIE
 * with more letters or an unknown letter is refused.  Only the letter S, which has no data, may stand behind the fourth
 * letter. */
static bool augmentation_read(struct vg_cfi_entry *entry, const unsigned char *letters, struct vg_cfi_cie *cie)
{
	uint64_t length, value, encoding;
	struct vg_bytes *bytes = &entry->bytes;
	const unsigned char *end, *last = letters + LETTERS_MAX;

	if (*letters == '\0')
		return true;
	if (*letters != 'z' || !vg_bytes_uleb(bytes, &length) ||
	    length > (uint64_t)(bytes->end - bytes->at))
		return false;
	end = bytes->at + length;
	cie->augmented = true;
	for (letters++; *letters != '\0'; letters++) {
		if (letters >= last && *letters != 'S')
			return false;
		switch (*letters) {
		case 'R':
			if (!vg_bytes_fixed(bytes, 1, &encoding))
				return false;
			cie->pointer_encoding = (uint8_t)encoding;
			break;
		case 'L':
			if (!vg_bytes_fixed(bytes, 1, &encoding))
				return false;
			break;
		case 'P':
			if (!vg_bytes_fixed(bytes, 1, &encoding) ||
			    (encoding & PE_RELATIVE_TO) == PE_ALIGNED ||
			    !pointer_read(bytes, (uint8_t)encoding & PE_FORM, 0, &value))
				return false;
			break;
		case 'S':
			cie->program.signal = true;
			break;
		default:
			return false;
		}
	}
	/* A parser that ignores the length, such as libunwind's, must end at the same place. */
	return bytes->at == end;
}

static bool cie_parse(struct vg_cfi_entry *entry, struct vg_cfi_cie *cie)
{
	struct vg_bytes *bytes = &entry->bytes;
	const unsigned char *letters;
	uint64_t id, version, return_column;

	*cie = (struct vg_cfi_cie){ .pointer_encoding = PE_ABSPTR };
	if (!vg_bytes_fixed(bytes, 4, &id) || id != 0 || !vg_bytes_fixed(bytes, 1, &version) ||
	    (version != 1 && version != 3))
		return false;
	letters = bytes->at;
	while (bytes->at < bytes->end && *bytes->at != '\0')
		bytes->at++;
	if (bytes->at++ == bytes->end ||
	    !vg_bytes_uleb(bytes, &cie->program.code_factor) ||
	    !vg_bytes_sleb(bytes, &cie->program.data_factor) ||
	    !(version == 1 ? vg_bytes_fixed(bytes, 1, &return_column) :
	      vg_bytes_uleb(bytes, &return_column)))
		return false;
	cie->program.return_column = return_column;
	if (!augmentation_read(entry, letters, cie))
		return false;
	cie->initial = *bytes;
	return true;
}

bool vg_cfi_cie_read(struct vg_memory *memory, uint64_t address, unsigned char buffer[VG_CFI_CIE_MAX_BYTES],
		     struct vg_cfi_piece *piece, struct vg_cfi_cie *cie)
{
	struct vg_cfi_entry entry;

	*cie = (struct vg_cfi_cie){ 0 };
	return entry_read(memory, address, buffer, VG_CFI_CIE_MAX_BYTES, piece, &entry) && cie_parse(&entry, cie);
}

bool vg_cfi_range_read(struct vg_bytes *bytes, uint64_t address, uint8_t pointer_encoding, uint64_t *first,
		       uint64_t *size)
{
	return pointer_read(bytes, pointer_encoding, address, first) &&
	       pointer_read(bytes, pointer_encoding & PE_FORM, 0, size);
}

bool vg_cfi_fde_read(struct vg_memory *memory, uint64_t address, struct vg_cfi_copy *copy, struct vg_cfi_fde *fde)
{
	uint64_t distance, at;

	if (!entry_read(memory, address, copy->fde_buffer, sizeof copy->fde_buffer, &copy->fde, &fde->entry))
		return false;
	/* The next field is the distance from this field back to the CIE.  libunwind reads it as a signed number. */
	at = entry_at(&fde->entry);
	if (!vg_bytes_fixed(&fde->entry.bytes, 4, &distance) || distance == 0 ||
	    !vg_cfi_cie_read(memory, at - (uint64_t)(int64_t)(int32_t)distance, copy->cie_buffer, &copy->cie,
			     &fde->cie))
		return false;
	at = entry_at(&fde->entry);
	return vg_cfi_range_read(&fde->entry.bytes, at, fde->cie.pointer_encoding, &fde->first, &fde->size);
}

bool vg_cfi_fde_program(struct vg_cfi_fde *fde, struct vg_bytes *instructions)
{
	struct vg_bytes *bytes = &fde->entry.bytes;
	uint64_t skip;

	if (fde->cie.augmented) {
		if (!vg_bytes_uleb(bytes, &skip) || skip > (uint64_t)(bytes->end - bytes->at))
			return false;
		bytes->at += skip;
	}
	*instructions = *bytes;
	return true;
}

