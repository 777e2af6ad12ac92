/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/sections.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "vignetted/target/notes.h"

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

/* Sets the build id from a section of notes that is in no note segment.  Go's linker writes such sections. */
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
		if (image->build_id_bytes == 0)
			build_id_set(image, sections, fd, VG_NOTE_GNU_BUILD_ID);
		if (image->build_id_bytes == 0)
			build_id_set(image, sections, fd, VG_NOTE_GO_BUILD_ID);
		if (image->build_id_bytes == 0)
			text_id_set(image, sections, fd);
	}
	free(sections);
}
