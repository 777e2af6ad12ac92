/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_NOTES_H
#define VG_VIGNETTED_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of notes that are read. */
enum { VG_NOTES_MAX_BYTES = 4096 };

/* Finds the GNU build id among the notes of a segment or section.  `alignment` is the alignment of that segment or
 * section.  Sets *at to the offset of the build id in `notes`, and *bytes to its length.  Returns false if there is
 * none, or if it is longer than VG_BUILD_ID_MAX_BYTES. */
bool vg_notes_build_id(const unsigned char *notes, size_t length, uint64_t alignment, size_t *at, size_t *bytes);

#endif
