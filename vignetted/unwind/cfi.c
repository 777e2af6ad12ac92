/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/cfi.h"

#include <stddef.h>
#include <string.h>

#include "vignetted/unwind/cfi_program.h"

enum { PE_OMIT = 0xff, PE_ABSPTR = 0x00, PE_ULEB128 = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03,
       PE_UDATA8 = 0x04, PE_SLEB128 = 0x09, PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c,
       PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_ALIGNED = 0x50, PE_RELATIVE_TO = 0x70, PE_FORM = 0x0f,
       PE_INDIRECT = 0x80 };

/*
 * .eh_frame_hdr: version, three encodings, a pointer to .eh_frame, a count, then the table: pairs
 * of 32-bit offsets from the header, (first address, FDE), sorted.  Linkers write no other
 * encodings than these.
 */
struct hdr_entry {
	int32_t address, fde;
};

/* How many entries it has: 0 where there is none, or none of the usual form. */
static uint32_t table_count(struct vg_memory *memory, const struct vg_image *image)
{
	struct {
		uint8_t version, frame_encoding, count_encoding, table_encoding;
		int32_t frame;
		uint32_t count;
	} head;

	if (image->eh_frame_hdr == 0 || image->eh_frame_hdr_bytes < VG_CFI_TABLE_AT ||
	    vg_memory_read_cached(memory, image->eh_frame_hdr, &head, sizeof head) != 0 ||
	    head.version != 1 || head.frame_encoding != (PE_PCREL | PE_SDATA4) ||
	    head.count_encoding != PE_UDATA4 || head.table_encoding != (PE_DATAREL | PE_SDATA4) ||
	    head.count > (image->eh_frame_hdr_bytes - VG_CFI_TABLE_AT) / VG_CFI_TABLE_ENTRY_BYTES)
		return 0;
	return head.count;
}

uint64_t vg_cfi_entry(struct vg_memory *memory, const struct vg_image *image, uint64_t address)
{
	uint64_t table = image->eh_frame_hdr + VG_CFI_TABLE_AT, found = 0;
	int64_t wanted = (int64_t)(address - image->eh_frame_hdr);
	uint32_t low = 0, high = table_count(memory, image);
	struct hdr_entry entry;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t at = table + (uint64_t)middle * VG_CFI_TABLE_ENTRY_BYTES;

		if (vg_memory_read_cached(memory, at, &entry, sizeof entry) != 0)
			return 0;
		if (entry.address <= wanted) {
			found = at;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found;
}

/* ---- entries ---- */

/* All is copied before it is looked at, and never read again: the process may change it meanwhile. */
static bool piece_read(struct vg_memory *memory, uint64_t address, unsigned char *room, uint32_t length,
		       struct vg_cfi_piece *piece)
{
	*piece = (struct vg_cfi_piece){ address, length, room };
	return vg_memory_read_cached(memory, address, room, length) == 0;
}

/* Where the FDE is that an entry of the table leads to; 0: nowhere. */
static uint64_t table_entry_read(struct vg_memory *memory, const struct vg_image *image, uint64_t at,
				 struct vg_cfi_copy *copy)
{
	struct hdr_entry entry;

	if (at == 0 || !piece_read(memory, at, copy->table_room, sizeof copy->table_room, &copy->table))
		return 0;
	memcpy(&entry, copy->table_room, sizeof entry);
	return entry.fde != 0 ? image->eh_frame_hdr + (uint64_t)(int64_t)entry.fde : 0;
}

static uint64_t fde_find(struct vg_memory *memory, const struct vg_image *image, uint64_t address,
			 struct vg_cfi_copy *copy)
{
	return table_entry_read(memory, image, vg_cfi_entry(memory, image, address), copy);
}

/* What is left to read of a CIE or an FDE. */
struct entry {
	const struct vg_cfi_piece *piece;
	struct vg_bytes bytes;
};

/* The length, then as many bytes. */
static bool entry_read(struct vg_memory *memory, uint64_t address, unsigned char *room, uint32_t room_bytes,
		       struct vg_cfi_piece *piece, struct entry *entry)
{
	uint32_t length;
	struct vg_cfi_piece behind;

	/* 64-bit entries begin with 0xffffffff: none exist, as .eh_frame cannot be that large. */
	if (!piece_read(memory, address, room, sizeof length, piece))
		return false;
	memcpy(&length, room, sizeof length);
	if (length < 4 || length > room_bytes - sizeof length ||
	    !piece_read(memory, address + sizeof length, room + sizeof length, length, &behind))
		return false;
	piece->length += length;
	*entry = (struct entry){ piece, { behind.bytes, behind.bytes + length } };
	return true;
}

static uint64_t entry_at(const struct entry *entry)
{
	return entry->piece->address + (uint64_t)(entry->bytes.at - entry->piece->bytes);
}

/* An encoded pointer.  `pcrel` is where it stands. */
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

struct cie {
	uint8_t pointer_encoding;
	bool augmented;              /* its FDEs have augmentation data */
	struct vg_cfi_program program;
	struct vg_bytes initial;
};

/* "zPLR" and the like: what stands in the augmentation data, letter by letter.  libunwind looks at four letters, and at
 * none behind one that it does not know; what belongs to the others it would take for the program. */
static bool augmentation_read(struct entry *entry, const unsigned char *letters, struct cie *cie)
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
	/* Who does not look at the length would go on elsewhere. */
	return bytes->at == end;
}

static bool cie_read(struct entry *entry, struct cie *cie)
{
	struct vg_bytes *bytes = &entry->bytes;
	const unsigned char *letters;
	uint64_t id, version, return_column;

	*cie = (struct cie){ .pointer_encoding = PE_ABSPTR };
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

/* An FDE's range, then its program; the CIE that it names comes first. */
struct fde {
	struct entry entry;          /* what is left of it is what follows the range */
	struct cie cie;
	uint64_t first, size;
};

static bool fde_read(struct vg_memory *memory, uint64_t address, struct vg_cfi_copy *copy, struct fde *fde)
{
	struct entry cie_entry;
	uint64_t distance, at;

	if (!entry_read(memory, address, copy->fde_room, sizeof copy->fde_room, &copy->fde, &fde->entry))
		return false;
	/* Back from where it stands, and signed, as libunwind has it. */
	at = entry_at(&fde->entry);
	if (!vg_bytes_fixed(&fde->entry.bytes, 4, &distance) || distance == 0 ||
	    !entry_read(memory, at - (uint64_t)(int64_t)(int32_t)distance, copy->cie_room, sizeof copy->cie_room,
			&copy->cie, &cie_entry) ||
	    !cie_read(&cie_entry, &fde->cie))
		return false;
	at = entry_at(&fde->entry);
	return pointer_read(&fde->entry.bytes, fde->cie.pointer_encoding, at, &fde->first) &&
	       pointer_read(&fde->entry.bytes, fde->cie.pointer_encoding & PE_FORM, 0, &fde->size);
}

/* Its program; false: there is none that can be read. */
static bool fde_program(struct fde *fde, struct vg_bytes *instructions)
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

static void fde_row(struct vg_memory *memory, uint64_t fde_address, uint64_t address, struct vg_cfi_copy *copy,
		    struct vg_row *row)
{
	struct vg_bytes instructions;
	struct fde fde;

	row->kind = VG_ROW_COMPLEX;      /* for libunwind, unless we can tell */
	if (!fde_read(memory, fde_address, copy, &fde))
		return;
	if (address - fde.first >= fde.size) {
		row->kind = VG_ROW_NONE;
		return;
	}
	if (fde_program(&fde, &instructions))
		vg_cfi_program_run(&fde.cie.program, fde.cie.initial, instructions, fde.first, address, row);
}

static bool overlap(const struct vg_cfi_piece *one, const struct vg_cfi_piece *other)
{
	return one->address - other->address < other->length || other->address - one->address < one->length;
}

bool vg_cfi_copy_sound(struct vg_memory *memory, const struct vg_image *image, uint64_t entry,
		       struct vg_cfi_copy *copy)
{
	uint64_t at = table_entry_read(memory, image, entry, copy);
	struct vg_bytes instructions;
	struct fde fde;

	/* What two pieces share was copied twice, and may differ. */
	return at != 0 && fde_read(memory, at, copy, &fde) && !overlap(&copy->fde, &copy->cie) &&
	       !overlap(&copy->fde, &copy->table) && !overlap(&copy->cie, &copy->table) &&
	       fde_program(&fde, &instructions) &&
	       vg_cfi_program_is_sound(&fde.cie.program, fde.cie.initial, instructions);
}

bool vg_cfi_copy_word(const struct vg_cfi_copy *copy, uint64_t address, uint64_t *word)
{
	const struct vg_cfi_piece *pieces[] = { &copy->table, &copy->fde, &copy->cie };
	bool copied = false;

	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		for (unsigned int byte = 0; byte < sizeof *word; byte++) {
			uint64_t offset = address + byte - pieces[i]->address;

			if (offset >= pieces[i]->length)
				continue;
			memcpy((unsigned char *)word + byte, pieces[i]->bytes + offset, 1);
			copied = true;
		}
	}
	return copied;
}

void vg_cfi_row(struct vg_memory *memory, const struct vg_image *image, uint64_t address,
		struct vg_row *row)
{
	struct vg_cfi_copy copy;
	uint64_t fde = fde_find(memory, image, address, &copy);

	*row = (struct vg_row){ .kind = VG_ROW_NONE };
	if (fde != 0)
		fde_row(memory, fde, address, &copy, row);
}

bool vg_cfi_function(struct vg_memory *memory, const struct vg_image *image, uint64_t address,
		     uint64_t *first, uint64_t *bytes)
{
	struct vg_cfi_copy copy;
	uint64_t at = fde_find(memory, image, address, &copy);
	struct fde fde;

	if (at == 0 || !fde_read(memory, at, &copy, &fde) || address - fde.first >= fde.size)
		return false;
	*first = fde.first;
	*bytes = fde.size;
	return true;
}
