/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_SOURCE_TEXT_H
#define VG_VGTOOL_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/*
 * The texts of source lines of several files, in any order.  Each file is read once.
 *
 *	vg_source_texts_add(&texts, "src/main.c", 12);           (for each line)
 *	vg_source_texts_read(&texts, &directory, 1);
 *	text = vg_source_texts_find(&texts, "src/main.c", 12);
 *	vg_source_texts_free(&texts);
 */
struct vg_source_texts {
	VG_ARRAY(struct vg_source_text {
		const char *file;    /* the caller's */
		uint32_t line;
		size_t text;         /* index + 1 of its first byte in `bytes`; 0: the line was not found */
	}) lines;
	VG_ARRAY(char) bytes;        /* the texts, each with a NUL */
};

/* Adds a line; the same line may be added again.  Returns 0 or -ENOMEM. */
int vg_source_texts_add(struct vg_source_texts *texts, const char *file, uint32_t line);

/* Reads the lines that were added.  Source files are looked for in the directories: see vg_source_open().  Returns 0 or
 * -ENOMEM. */
int vg_source_texts_read(struct vg_source_texts *texts, const char *const *directories, size_t count);

/* The text of a line, without blanks at its beginning, tabs as blanks, and cut if it is long.  NULL: not found. */
const char *vg_source_texts_find(const struct vg_source_texts *texts, const char *file, uint32_t line);
void vg_source_texts_free(struct vg_source_texts *texts);

#endif
