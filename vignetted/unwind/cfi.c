/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/cfi.h"

#include <stddef.h>
#include <string.h>

#include "vignetted/unwind/cfi_index.h"

enum { PE_UDATA4 = 0x03, PE_SDATA4 = 0x0b, PE_PCREL = 0x10, PE_DATAREL = 0x30 };

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

/* Sets where .eh_frame begins, from the pointer in .eh_frame_hdr.  Its size is not known. */
static void eh_frame_locate(struct vg_image *image, int32_t frame)
{
	uint64_t at = image->eh_frame_hdr + offsetof(struct hdr_head, frame) + (uint64_t)(int64_t)frame;

	if (image->eh_frame == 0 && at - image->base < image->end - image->base)
		image->eh_frame = at;
}

/* Finds the table.  False: the header cannot be read. */
static bool table_open(struct vg_memory *memory, struct vg_image *image, struct table *table)
{
	struct hdr_head head;

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
	if (!table->is_standard)
		eh_frame_locate(image, head.frame);
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

	if (!table_open(memory, image, &table))
		return 0;
	if (table.is_standard)
		return table_find(memory, image, &table, address);
	return vg_cfi_index_find(memory, image, address);
}

static void fde_row(struct vg_memory *memory, uint64_t fde_address, uint64_t address, struct vg_cfi_copy *copy,
		    struct vg_row *row)
{
	struct vg_bytes instructions;
	struct vg_cfi_fde fde;

	row->kind = VG_ROW_COMPLEX;  /* also if the entry is malformed: libunwind may be able to use it */
	if (!vg_cfi_fde_read(memory, fde_address, copy, &fde))
		return;
	if (address - fde.first >= fde.size) {
		row->kind = VG_ROW_NONE;
		return;
	}
	if (vg_cfi_fde_program(&fde, &instructions))
		vg_cfi_program_run(&fde.cie.program, fde.cie.initial, instructions, fde.first, address, row);
}

static bool overlap(const struct vg_cfi_piece *one, const struct vg_cfi_piece *other)
{
	return one->address - other->address < other->length || other->address - one->address < one->length;
}

bool vg_cfi_copy_safe(struct vg_memory *memory, uint64_t at, struct vg_cfi_copy *copy)
{
	struct vg_bytes instructions;
	struct vg_cfi_fde fde;

	/* Bytes that belong to both the FDE and the CIE were copied twice, and the copies may differ. */
	return vg_cfi_fde_read(memory, at, copy, &fde) && !overlap(&copy->fde, &copy->cie) &&
	       vg_cfi_fde_program(&fde, &instructions) &&
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

void vg_cfi_row(struct vg_memory *memory, struct vg_image *image, uint64_t address,
		struct vg_row *row)
{
	struct vg_cfi_copy copy;
	uint64_t fde = vg_cfi_fde(memory, image, address);

	*row = (struct vg_row){ .kind = VG_ROW_NONE };
	if (fde != 0)
		fde_row(memory, fde, address, &copy, row);
}

bool vg_cfi_function(struct vg_memory *memory, struct vg_image *image, uint64_t address,
		     uint64_t *first, uint64_t *bytes)
{
	struct vg_cfi_copy copy;
	uint64_t at = vg_cfi_fde(memory, image, address);
	struct vg_cfi_fde fde;

	if (at == 0 || !vg_cfi_fde_read(memory, at, &copy, &fde) || address - fde.first >= fde.size)
		return false;
	*first = fde.first;
	*bytes = fde.size;
	return true;
}
