/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/cfi_index.h"

#include <string.h>

#include "vignetted/unwind/cfi_entry.h"

/* The longest encoding of a range of code: two LEB128 numbers of 10 bytes. */
enum { RANGE_MAX_BYTES = 20 };

/* The CIE of the latest FDE.  Most FDEs refer to the same CIE as the FDE before. */
struct cached_cie {
	uint64_t address;            /* 0: none yet */
	uint8_t pointer_encoding;
	bool good;
};

static void index_begin(struct vg_image *image)
{
	struct vg_fde_index *index = &image->fde_index;

	index->begun = true;
	index->at = image->eh_frame;
	index->end = image->eh_frame_bytes != 0 ? image->eh_frame + image->eh_frame_bytes : image->end;
	index->complete = index->at >= index->end;
}

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
		struct vg_cfi_cie read;

		cie->good = vg_cfi_cie_read(memory, cie_at, cie_buffer, &piece, &read);
		cie->address = cie_at;
		cie->pointer_encoding = read.pointer_encoding;
	}
	if (vg_memory_read_cached(memory, id_at + sizeof distance, buffer, range_bytes) != 0)
		return false;
	if (cie->good &&
	    vg_cfi_range_read(&bytes, id_at + sizeof distance, cie->pointer_encoding, &first, &size))
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

static void index_make(struct vg_memory *memory, struct vg_image *image)
{
	struct vg_fde_index *index = &image->fde_index;
	struct cached_cie cie = { 0 };

	if (!index->begun)
		index_begin(image);
	while (!index->complete) {
		if (entry_add(memory, image, &cie))
			continue;
		if (memory->words_left == 0)
			return;
		vg_fde_index_complete(index);
	}
}

uint64_t vg_cfi_index_find(struct vg_memory *memory, struct vg_image *image, uint64_t address)
{
	const struct vg_fde_entry *place;

	if (image->eh_frame == 0 || address - image->base > UINT32_MAX)
		return 0;
	if (!image->fde_index.complete)
		index_make(memory, image);
	place = vg_fde_index_find(&image->fde_index, (uint32_t)(address - image->base));
	return place != NULL ? image->base + place->fde : 0;
}
