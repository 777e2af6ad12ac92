/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sorted.h"

/* ---- notes ---- */

static uint64_t aligned(uint64_t at, uint64_t alignment)
{
	return (at + alignment - 1) / alignment * alignment;
}

static bool note_is(const Elf64_Nhdr *note, const unsigned char *name, enum vg_note kind)
{
	switch (kind) {
	case VG_NOTE_GNU_BUILD_ID:
		return note->n_type == NT_GNU_BUILD_ID && memcmp(name, "GNU", 4) == 0 &&
		       note->n_descsz <= VG_BUILD_ID_MAX_BYTES;
	case VG_NOTE_GO_BUILD_ID:
		return note->n_type == VG_NOTE_TYPE_GO_BUILD_ID && memcmp(name, "Go\0", 4) == 0;
	}
	return false;
}

bool vg_notes_find(const unsigned char *notes, size_t length, uint64_t alignment, enum vg_note kind, size_t *at,
		   size_t *bytes)
{
	/* Notes are aligned to 4 bytes, .note.gnu.property to 8 (System V ABI, Linux extensions, "Program
	 * Property"). */
	uint64_t step = alignment == 8 ? 8 : 4, next = 0;

	while (next <= length && length - next >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name_at = next + sizeof note, desc_at;

		memcpy(&note, notes + next, sizeof note);
		desc_at = aligned(name_at + note.n_namesz, step);
		next = aligned(desc_at + note.n_descsz, step);
		if (desc_at + note.n_descsz > length)
			return false;
		if (note.n_namesz == 4 && note.n_descsz > 0 && note_is(&note, notes + name_at, kind)) {
			*at = (size_t)desc_at;
			*bytes = note.n_descsz;
			return true;
		}
	}
	return false;
}

/* ---- the headers in memory ---- */

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

static void segment_read(struct vg_image *image, const struct vg_memory *memory, const Elf64_Phdr *segment)
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

int vg_image_read(struct vg_image *image, const struct vg_memory *memory, uint64_t address)
{
	Elf64_Phdr segments[PHDRS_MAX];
	Elf64_Ehdr header;
	size_t first;

	memset(image, 0, sizeof *image);
	if (vg_memory_read(memory, address, &header, sizeof header) != 0 ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > PHDRS_MAX ||
	    vg_memory_read(memory, address + header.e_phoff, segments, header.e_phnum * sizeof *segments) != 0)
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

/* ---- the sections of the file ---- */

/* Linkers make 30 to 100 sections, and their names take up to 1 KiB. */
enum { SECTIONS_MAX = 512, NAMES_MAX_BYTES = 32 * 1024 };

#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

struct sections {
	Elf64_Shdr headers[SECTIONS_MAX];
	size_t count;
	char names[NAMES_MAX_BYTES + 1]; /* and a NUL */
	size_t name_bytes;
};

/* Reads up to `length` bytes.  Returns how many were read. */
static size_t file_read(int fd, uint64_t offset, void *bytes, size_t length)
{
	ssize_t got = offset <= INT64_MAX ? pread(fd, bytes, length, (off_t)offset) : -1;

	return got > 0 ? (size_t)got : 0;
}

static bool sections_load(struct sections *sections, int fd)
{
	const Elf64_Shdr *names;
	Elf64_Ehdr header;

	if (file_read(fd, 0, &header, sizeof header) != sizeof header ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > SECTIONS_MAX ||
	    header.e_shstrndx >= header.e_shnum)
		return false;
	sections->count = file_read(fd, header.e_shoff, sections->headers, header.e_shnum * sizeof(Elf64_Shdr)) /
			  sizeof(Elf64_Shdr);
	if (header.e_shstrndx >= sections->count)
		return false;
	names = &sections->headers[header.e_shstrndx];
	sections->name_bytes = names->sh_size < NAMES_MAX_BYTES ? names->sh_size : NAMES_MAX_BYTES;
	sections->name_bytes = file_read(fd, names->sh_offset, sections->names, sections->name_bytes);
	sections->names[sections->name_bytes] = '\0';
	return true;
}

/* The first section of that name with bytes in the file, or NULL. */
static const Elf64_Shdr *section_find(const struct sections *sections, const char *name)
{
	for (size_t i = 0; i < sections->count; i++) {
		const Elf64_Shdr *header = &sections->headers[i];

		if (header->sh_type != SHT_NULL && header->sh_type != SHT_NOBITS &&
		    header->sh_name < sections->name_bytes && strcmp(sections->names + header->sh_name, name) == 0)
			return header;
	}
	return NULL;
}

static void eh_frame_set(struct vg_image *image, const struct sections *sections)
{
	const Elf64_Shdr *header = section_find(sections, ".eh_frame");
	uint64_t address;

	if (header == NULL || (header->sh_flags & SHF_ALLOC) == 0 ||
	    (header->sh_type != SHT_PROGBITS && header->sh_type != SHT_X86_64_UNWIND))
		return;
	address = image->bias + header->sh_addr;
	if (address - image->base >= image->end - image->base || header->sh_size > image->end - address)
		return;
	image->eh_frame = address;
	image->eh_frame_bytes = header->sh_size;
}

/* If there is no build id yet, takes it from a section of notes that is in no note segment.  Go's linker writes such
 * sections. */
static void build_id_set(struct vg_image *image, const struct sections *sections, int fd, enum vg_note kind)
{
	_Alignas(8) unsigned char notes[VG_NOTES_MAX_BYTES];

	for (size_t i = 0; i < sections->count && image->build_id_bytes == 0; i++) {
		const Elf64_Shdr *header = &sections->headers[i];
		size_t length = header->sh_size < sizeof notes ? header->sh_size : sizeof notes, at, bytes;

		if (header->sh_type != SHT_NOTE)
			continue;
		length = file_read(fd, header->sh_offset, notes, length);
		if (!vg_notes_find(notes, length, header->sh_addralign, kind, &at, &bytes))
			continue;
		if (kind == VG_NOTE_GO_BUILD_ID) {
			vg_text_id(notes + at, bytes, image->build_id);
			bytes = VG_TEXT_ID_BYTES;
		} else {
			memcpy(image->build_id, notes + at, bytes);
		}
		image->build_id_bytes = (uint8_t)bytes;
	}
}

/* Sets the text id.  Reads .text from the file, because breakpoints of a debugger change it in memory. */
static void text_id_set(struct vg_image *image, const struct sections *sections, int fd)
{
	const Elf64_Shdr *header = section_find(sections, ".text");
	unsigned char text[VG_TEXT_ID_HASHED_BYTES];
	size_t length;

	if (header == NULL)
		return;
	length = header->sh_size < sizeof text ? header->sh_size : sizeof text;
	if (length == 0 || file_read(fd, header->sh_offset, text, length) != length)
		return;
	vg_text_id(text, length, image->build_id);
	image->build_id_bytes = VG_TEXT_ID_BYTES;
}

void vg_sections_read(struct vg_image *image, int fd)
{
	struct sections *sections = malloc(sizeof *sections);

	if (sections != NULL && sections_load(sections, fd)) {
		if (image->eh_frame_hdr == 0)
			eh_frame_set(image, sections);
		build_id_set(image, sections, fd, VG_NOTE_GNU_BUILD_ID);
		build_id_set(image, sections, fd, VG_NOTE_GO_BUILD_ID);
		if (image->build_id_bytes == 0)
			text_id_set(image, sections, fd);
	}
	free(sections);
}

/* ---- the index of .eh_frame ---- */

bool vg_fde_index_add(struct vg_fde_index *index, uint32_t code, uint32_t fde)
{
	const uint64_t entry = (uint64_t)code << 32 | fde;

	if (!index->overflowed && index->entries.count < VG_FDE_INDEX_MAX &&
	    (index->total == NULL || *index->total < VG_FDE_INDEX_ALL_MAX) &&
	    vg_array_push(&index->entries, &entry) == 0) {
		if (index->total != NULL)
			++*index->total;
		return true;
	}
	/* An incomplete index would make functions look as if they had no unwind information. */
	index->overflowed = index->complete = true;
	vg_fde_index_free(index);
	return false;
}

void vg_fde_index_complete(struct vg_fde_index *index)
{
	/* The entries are mostly sorted already: linkers keep the order of functions within a section. */
	vg_sorted_sort(index->entries.items, index->entries.count, sizeof(uint64_t), 0);
	index->complete = true;
}

bool vg_fde_index_find(const struct vg_fde_index *index, uint32_t code, uint32_t *fde)
{
	size_t count = index->complete ? index->entries.count : 0;

	count = vg_sorted_count_at_most(index->entries.items, count, sizeof(uint64_t), 0,
					(uint64_t)code << 32 | UINT32_MAX);
	if (count > 0)
		*fde = (uint32_t)index->entries.items[count - 1];
	return count > 0;
}

void vg_fde_index_free(struct vg_fde_index *index)
{
	if (index->total != NULL)
		*index->total -= (uint32_t)index->entries.count;
	vg_array_free(&index->entries);
}
