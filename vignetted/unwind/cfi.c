/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/cfi.h"

#include <stddef.h>
#include <string.h>

/* ---- the entries of .eh_frame ---- */

enum { PE_ABSPTR = 0x00, PE_ULEB128 = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04, PE_SLEB128 = 0x09,
       PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_ALIGNED = 0x50,
       PE_RELATIVE_TO = 0x70, PE_FORM = 0x0f, PE_INDIRECT = 0x80 };

/* The part of an entry that is not parsed yet. */
struct entry {
	const struct vg_cfi_piece *piece;
	struct vg_bytes bytes;
};

struct cie {
	uint8_t pointer_encoding;
	bool augmented;              /* its FDEs have augmentation data */
	struct vg_cfi_program program;
	struct vg_bytes initial;     /* initial instructions: they run before those of each FDE */
};

struct fde {
	struct entry entry;          /* the rest of the FDE, behind the range of code */
	struct cie cie;
	uint64_t first, size;        /* the range of code: its first address, and its size in bytes */
};

/* Copies one entry: its length, then that many bytes.  Entries are copied first and parsed from the copy: the process
 * may change its memory at any time. */
static bool entry_read(struct vg_memory *memory, uint64_t address, unsigned char *buffer, uint32_t buffer_bytes,
		       struct vg_cfi_piece *piece, struct entry *entry)
{
	uint32_t length;
	unsigned char *behind = buffer + sizeof length;

	/* Entries of the 64-bit format begin with a length of 0xffffffff and are refused here.  They do not exist in
	 * practice: no .eh_frame is that large. */
	if (vg_memory_read_cached(memory, address, buffer, sizeof length) != 0)
		return false;
	memcpy(&length, buffer, sizeof length);
	if (length < 4 || length > buffer_bytes - sizeof length ||
	    vg_memory_read_cached(memory, address + sizeof length, behind, length) != 0)
		return false;
	*piece = (struct vg_cfi_piece){ address, (uint32_t)sizeof length + length, buffer };
	*entry = (struct entry){ piece, { behind, behind + length } };
	return true;
}

static uint64_t entry_at(const struct entry *entry)
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
static bool augmentation_read(struct vg_bytes *bytes, const unsigned char *letters, struct cie *cie)
{
	uint64_t length, value, encoding;
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
		case 'R': case 'L':
			if (!vg_bytes_fixed(bytes, 1, &encoding))
				return false;
			if (*letters == 'R')
				cie->pointer_encoding = (uint8_t)encoding;
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

/* Copies the CIE at the address into the buffer and parses it.  False: it cannot be read, or is malformed. */
static bool cie_read(struct vg_memory *memory, uint64_t address, unsigned char buffer[VG_CFI_CIE_MAX_BYTES],
		     struct vg_cfi_piece *piece, struct cie *cie)
{
	struct entry entry;
	struct vg_bytes *bytes = &entry.bytes;
	const unsigned char *letters;
	uint64_t id, version, return_column;

	*cie = (struct cie){ .pointer_encoding = PE_ABSPTR };
	if (!entry_read(memory, address, buffer, VG_CFI_CIE_MAX_BYTES, piece, &entry) ||
	    !vg_bytes_fixed(bytes, 4, &id) || id != 0 || !vg_bytes_fixed(bytes, 1, &version) ||
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
	if (!augmentation_read(bytes, letters, cie))
		return false;
	cie->initial = *bytes;
	return true;
}

/* Parses the range of code from an FDE's bytes.  In the target, the first of these bytes is at `address`.  False: the
 * range is malformed. */
static bool range_read(struct vg_bytes *bytes, uint64_t address, uint8_t pointer_encoding, uint64_t *first,
		       uint64_t *size)
{
	return pointer_read(bytes, pointer_encoding, address, first) &&
	       pointer_read(bytes, pointer_encoding & PE_FORM, 0, size);
}

/* Copies and parses the FDE at the address and its CIE.  False: one of them cannot be read, or is malformed. */
static bool fde_read(struct vg_memory *memory, uint64_t address, struct vg_cfi_copy *copy, struct fde *fde)
{
	uint64_t distance, at;

	if (!entry_read(memory, address, copy->fde_buffer, sizeof copy->fde_buffer, &copy->fde, &fde->entry))
		return false;
	/* The next field is the distance from this field back to the CIE.  libunwind reads it as a signed number. */
	at = entry_at(&fde->entry);
	if (!vg_bytes_fixed(&fde->entry.bytes, 4, &distance) || distance == 0 ||
	    !cie_read(memory, at - (uint64_t)(int64_t)(int32_t)distance, copy->cie_buffer, &copy->cie,
			     &fde->cie))
		return false;
	at = entry_at(&fde->entry);
	return range_read(&fde->entry.bytes, at, fde->cie.pointer_encoding, &fde->first, &fde->size);
}

/* Finds the FDE's instructions.  False: the FDE is malformed. */
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

/* ---- an index of .eh_frame, for images without a sorted table ---- */

/* The longest encoding of a range of code: two LEB128 numbers of 10 bytes. */
enum { RANGE_MAX_BYTES = 20 };

/* The CIE of the latest FDE.  Most FDEs refer to the same CIE as the FDE before. */
struct cached_cie {
	uint64_t address;            /* 0: none yet */
	uint8_t pointer_encoding;
	bool good;
};

static void range_add(struct vg_image *image, uint64_t fde, uint64_t first, uint64_t size)
{
	uint64_t code = first - image->base;

	/* Code that a linker dropped has address 0.  A range beyond the image is damage.  Add neither. */
	if (size > 0 && code < image->end - image->base && code <= UINT32_MAX && fde - image->base <= UINT32_MAX)
		vg_fde_index_add(&image->fde_index, (uint32_t)code, (uint32_t)(fde - image->base));
}

/* Adds the FDE at index.at.  False: it cannot be read. */
static bool fde_add(struct vg_memory *memory, struct vg_image *image, uint32_t length, uint32_t distance,
		    struct cached_cie *cie)
{
	uint64_t at = image->fde_index.at, id_at = at + sizeof length;
	uint64_t cie_at = id_at - (uint64_t)(int64_t)(int32_t)distance;
	unsigned char buffer[RANGE_MAX_BYTES], cie_buffer[VG_CFI_CIE_MAX_BYTES];
	size_t range_bytes = length - sizeof distance < sizeof buffer ? length - sizeof distance : sizeof buffer;
	struct vg_bytes bytes = { buffer, buffer + range_bytes };
	uint64_t first, size;

	if (cie->address != cie_at) {
		struct vg_cfi_piece piece;
		struct cie read;

		cie->good = cie_read(memory, cie_at, cie_buffer, &piece, &read);
		cie->address = cie_at;
		cie->pointer_encoding = read.pointer_encoding;
	}
	if (vg_memory_read_cached(memory, id_at + sizeof distance, buffer, range_bytes) != 0)
		return false;
	if (cie->good &&
	    range_read(&bytes, id_at + sizeof distance, cie->pointer_encoding, &first, &size))
		range_add(image, at, first, size);
	return true;
}

/* Adds the entry at index.at and moves behind it.  False: no further entry can be read. */
static bool entry_add(struct vg_memory *memory, struct vg_image *image, struct cached_cie *cie)
{
	struct vg_fde_index *index = &image->fde_index;
	uint64_t left = index->end - index->at;
	uint32_t head[2], length;

	if (left < sizeof head || vg_memory_read_cached(memory, index->at, head, sizeof head) != 0)
		return false;
	length = head[0];
	/* A length of 0 ends the entries of one linked file.  If the section's size is not known, a length of 0 ends
	 * the section. */
	if (length == 0 && image->eh_frame_bytes != 0) {
		index->at += sizeof length;
		return true;
	}
	if (length < sizeof *head || length > left - sizeof length ||
	    (head[1] != 0 && !fde_add(memory, image, length, head[1], cie)) || memory->words_left == 0)
		return false;
	index->at += sizeof length + length;
	return true;
}

/* Makes the index, or goes on where words_left was used up. */
static void index_make(struct vg_memory *memory, struct vg_image *image)
{
	struct vg_fde_index *index = &image->fde_index;
	struct cached_cie cie = { 0 };

	if (!index->begun) {
		index->begun = true;
		index->at = image->eh_frame;
		index->end = image->eh_frame_bytes != 0 ? image->eh_frame + image->eh_frame_bytes : image->end;
		index->complete = index->at >= index->end;
	}
	while (!index->complete) {
		if (entry_add(memory, image, &cie))
			continue;
		if (memory->words_left == 0)
			return;
		vg_fde_index_complete(index);
	}
}

/* ---- the sorted table of .eh_frame_hdr ---- */

/* .eh_frame_hdr is: version, three encodings, a pointer to .eh_frame, a count, then a sorted table of pairs (first
 * address of code, its FDE).  Both numbers of a pair are 32-bit offsets from the header.  Linkers write only
 * these encodings.  If .eh_frame has an entry that the linker does not know, the header has no count and no table. */
struct hdr_head {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
};

struct hdr_entry {
	int32_t address, fde;
};

enum { TABLE_AT = 12 };

/* The table in .eh_frame_hdr. */
struct table {
	uint64_t at;
	uint32_t count;
	bool is_standard;            /* it exists and has the usual encodings */
};

/* Finds the table.  If there is none, sets where .eh_frame begins.  False: the header cannot be read. */
static bool table_open(struct vg_memory *memory, struct vg_image *image, struct table *table)
{
	struct hdr_head head;
	uint64_t frames_at;

	*table = (struct table){ .at = image->eh_frame_hdr + TABLE_AT };
	if (image->eh_frame_hdr == 0)
		return true;
	if (image->eh_frame_hdr_bytes < sizeof head ||
	    vg_memory_read_cached(memory, image->eh_frame_hdr, &head, sizeof head) != 0)
		return false;
	if (head.version != 1 || head.frame_encoding != (PE_PCREL | PE_SDATA4))
		return true;
	if (head.count_encoding == PE_UDATA4 && head.table_encoding == (PE_DATAREL | PE_SDATA4) &&
	    image->eh_frame_hdr_bytes >= TABLE_AT) {
		if (vg_memory_read_cached(memory, table->at - sizeof table->count, &table->count,
					  sizeof table->count) != 0)
			return false;
		table->is_standard = table->count <= (image->eh_frame_hdr_bytes - TABLE_AT) / sizeof(struct hdr_entry);
	}
	frames_at = image->eh_frame_hdr + offsetof(struct hdr_head, frame) + (uint64_t)(int64_t)head.frame;
	if (!table->is_standard && image->eh_frame == 0 && frames_at - image->base < image->end - image->base)
		image->eh_frame = frames_at;
	return true;
}

/* The FDE of the last entry whose code begins at or before the address.  0: none, or the table cannot be read. */
static uint64_t table_find(struct vg_memory *memory, const struct vg_image *image, const struct table *table,
			   uint64_t address)
{
	int64_t wanted = (int64_t)(address - image->eh_frame_hdr);
	uint32_t low = 0, high = table->count;
	int32_t found = 0;
	struct hdr_entry entry;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (vg_memory_read_cached(memory, table->at + (uint64_t)middle * sizeof entry, &entry,
					  sizeof entry) != 0)
			return 0;
		if (entry.address <= wanted) {
			found = entry.fde;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return found != 0 ? image->eh_frame_hdr + (uint64_t)(int64_t)found : 0;
}

uint64_t vg_cfi_fde(struct vg_memory *memory, struct vg_image *image, uint64_t address)
{
	struct table table;
	uint32_t fde;

	if (!table_open(memory, image, &table))
		return 0;
	if (table.is_standard)
		return table_find(memory, image, &table, address);
	if (image->eh_frame == 0 || address - image->base > UINT32_MAX)
		return 0;
	index_make(memory, image);
	return vg_fde_index_find(&image->fde_index, (uint32_t)(address - image->base), &fde) ? image->base + fde : 0;
}

static bool overlap(const struct vg_cfi_piece *one, const struct vg_cfi_piece *other)
{
	return one->address - other->address < other->length || other->address - one->address < one->length;
}

bool vg_cfi_copy_safe(struct vg_memory *memory, uint64_t at, struct vg_cfi_copy *copy)
{
	struct vg_bytes instructions;
	struct fde fde;

	/* Bytes that belong to both the FDE and the CIE were copied twice, and the copies may differ. */
	return fde_read(memory, at, copy, &fde) && !overlap(&copy->fde, &copy->cie) &&
	       fde_program(&fde, &instructions) &&
	       vg_cfi_program_is_safe(&fde.cie.program, fde.cie.initial, instructions);
}

bool vg_cfi_copy_word(const struct vg_cfi_copy *copy, uint64_t address, uint64_t *word)
{
	const struct vg_cfi_piece *pieces[] = { &copy->fde, &copy->cie };
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

void vg_cfi_row(struct vg_memory *memory, struct vg_image *image, uint64_t address, struct vg_row *row)
{
	struct vg_bytes instructions;
	struct vg_cfi_copy copy;
	uint64_t at = vg_cfi_fde(memory, image, address);
	struct fde fde;

	*row = (struct vg_row){ .kind = VG_ROW_NONE };
	if (at == 0)
		return;
	row->kind = VG_ROW_COMPLEX;  /* also if the entry is malformed: libunwind may be able to use it */
	if (!fde_read(memory, at, &copy, &fde))
		return;
	if (address - fde.first >= fde.size)
		row->kind = VG_ROW_NONE;
	else if (fde_program(&fde, &instructions))
		vg_cfi_program_run(&fde.cie.program, fde.cie.initial, instructions, fde.first, address, row);
}

bool vg_cfi_function(struct vg_memory *memory, struct vg_image *image, uint64_t address, uint64_t *first,
		     uint64_t *bytes)
{
	struct vg_cfi_copy copy;
	uint64_t at = vg_cfi_fde(memory, image, address);
	struct fde fde;

	if (at == 0 || !fde_read(memory, at, &copy, &fde) || address - fde.first >= fde.size)
		return false;
	*first = fde.first;
	*bytes = fde.size;
	return true;
}
