/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/notes.h"

#include <elf.h>
#include <string.h>

#include "base/build_id.h"

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
