/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/notes.h"

#include <elf.h>
#include <string.h>

#include "base/build_id.h"

static uint64_t aligned(uint64_t at, uint64_t alignment)
{
	return (at + alignment - 1) / alignment * alignment;
}

bool vg_notes_build_id(const unsigned char *notes, size_t length, uint64_t alignment, size_t *at, size_t *bytes)
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
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name_at, "GNU", 4) == 0 &&
		    note.n_descsz > 0 && note.n_descsz <= VG_BUILD_ID_MAX_BYTES) {
			*at = (size_t)desc_at;
			*bytes = note.n_descsz;
			return true;
		}
	}
	return false;
}
