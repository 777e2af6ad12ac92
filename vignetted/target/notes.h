/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_NOTES_H
#define VG_VIGNETTED_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of notes that are read. */
enum { VG_NOTES_MAX_BYTES = 4096 };

enum vg_note {
	VG_NOTE_GNU_BUILD_ID,        /* at most VG_BUILD_ID_MAX_BYTES */
	VG_NOTE_GO_BUILD_ID,         /* a text of any length, which Go's linker writes */
};

/* Finds the note among the notes of a segment or section.  `alignment` is the alignment of that segment or section.
 * Sets *at to the offset of the note's contents in `notes`, and *bytes to their length.  Returns false if there is
 * none, or if it is too long. */
bool vg_notes_find(const unsigned char *notes, size_t length, uint64_t alignment, enum vg_note kind, size_t *at,
		   size_t *bytes);

#endif
