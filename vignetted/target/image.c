/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "vignetted/target/notes.h"

enum { PHDRS_MAX = 64 };

/* Sets the build id if the segment's notes have one. */
static void notes_read(struct vg_image *image, const struct vg_memory *memory, uint64_t address,
		       const Elf64_Phdr *segment)
{
	_Alignas(8) unsigned char notes[VG_NOTES_MAX_BYTES];
	size_t length = segment->p_memsz < sizeof notes ? segment->p_memsz : sizeof notes, at, bytes;

	if (vg_memory_read(memory, address, notes, length) != 0 ||
	    !vg_notes_find(notes, length, segment->p_align, VG_NOTE_GNU_BUILD_ID, &at, &bytes))
		return;
	memcpy(image->build_id, notes + at, bytes);
	image->build_id_bytes = (uint8_t)bytes;
	image->mark_address = address + at;
	image->mark_bytes = bytes < VG_MARK_BYTES ? (uint8_t)bytes : VG_MARK_BYTES;
	memcpy(image->mark, notes + at, image->mark_bytes);
}

static void segment_read(struct vg_image *image, const struct vg_memory *memory,
			 const Elf64_Phdr *segment)
{
	uint64_t address = image->bias + segment->p_vaddr;

	switch (segment->p_type) {
	case PT_LOAD:
		if (address + segment->p_memsz > image->end)
			image->end = address + segment->p_memsz;
		break;
	case PT_GNU_EH_FRAME:
		image->eh_frame_hdr = address;
		image->eh_frame_hdr_bytes = segment->p_memsz;
		break;
	case PT_NOTE:
		if (image->build_id_bytes == 0)
			notes_read(image, memory, address, segment);
		break;
	}
}

static int header_read(Elf64_Ehdr *header, const struct vg_memory *memory, uint64_t address)
{
	if (vg_memory_read(memory, address, header, sizeof *header) != 0 ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 ||
	    header->e_phnum > PHDRS_MAX)
		return -ENOEXEC;
	return 0;
}

int vg_image_read(struct vg_image *image, const struct vg_memory *memory, uint64_t address)
{
	Elf64_Phdr segments[PHDRS_MAX];
	Elf64_Ehdr header;
	size_t first;

	memset(image, 0, sizeof *image);
	if (header_read(&header, memory, address) != 0 ||
	    vg_memory_read(memory, address + header.e_phoff, segments,
			   header.e_phnum * sizeof *segments) != 0)
		return -ENOEXEC;
	for (first = 0; first < header.e_phnum && segments[first].p_type != PT_LOAD; first++)
		;
	if (first == header.e_phnum)
		return -ENOEXEC;
	/* `address` belongs to file offset 0.  The first segment may begin behind the ELF header, but mappings begin at
	 * page boundaries, so the header is mapped too. */
	image->bias = address - (segments[first].p_vaddr - segments[first].p_offset);
	image->base = image->bias + segments[first].p_vaddr;
	image->mark_address = address + offsetof(Elf64_Ehdr, e_entry);
	image->mark_bytes = 3 * sizeof(uint64_t); /* e_entry, e_phoff, e_shoff */
	memcpy(image->mark, &header.e_entry, image->mark_bytes);
	for (size_t i = 0; i < header.e_phnum; i++)
		segment_read(image, memory, &segments[i]);
	image->mark_weak = image->build_id_bytes == 0;
	return image->end > image->base ? 0 : -ENOEXEC;
}
