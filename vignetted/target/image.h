/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_IMAGE_H
#define VG_VIGNETTED_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/build_id.h"
#include "vignetted/target/memory.h"

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

/* An index of .eh_frame: where functions begin and where their FDEs are.  Used for images without the sorted table in
 * .eh_frame_hdr, such as programs linked with -static.  All zero is an empty index. */

/* The most functions in one index, and in all indices together.  An entry takes 8 bytes, so all indices take 8 MiB at
 * most.  Sorting a full index takes 18 to 70 ms.  For comparison: libLLVM-14 of Debian 12 has 95,000 functions. */
enum { VG_FDE_INDEX_MAX = 1 << 19, VG_FDE_INDEX_ALL_MAX = 1 << 20 };

struct vg_fde_index {
	VG_ARRAY(uint64_t) entries;  /* owned; the code's offset from the image's base << 32 | that of its FDE; sorted
					when the index is complete */
	uint64_t at, end;            /* absolute addresses: the part of .eh_frame that is not read yet */
	bool begun, complete;        /* reading has begun; all entries are read and sorted */
	bool overflowed;             /* there were too many functions, or there was no memory */
	uint32_t *total;             /* the caller's counter of entries in all indices; NULL: only this one exists */
};

/* Adds an entry.  If there are too many functions or there is no memory, empties the index for good and returns
 * false. */
bool vg_fde_index_add(struct vg_fde_index *index, uint32_t code, uint32_t fde);

/* Sorts the index.  No entry may be added after that. */
void vg_fde_index_complete(struct vg_fde_index *index);

/* Sets *fde to that of the last entry whose code begins at or before `code`.  Returns false if there is none, or if the
 * index is not complete. */
bool vg_fde_index_find(const struct vg_fde_index *index, uint32_t code, uint32_t *fde);

void vg_fde_index_free(struct vg_fde_index *index);

enum { VG_MARK_BYTES = 32 };

/* The ELF headers of a loaded module, read from the process's memory.  The file is not used: it may be deleted,
 * replaced or in another mount namespace.  vg_sections_read() adds what only the file has. */
struct vg_image {
	uint64_t base;               /* address of the first PT_LOAD */
	uint64_t end;                /* address behind the last PT_LOAD */
	uint64_t bias;               /* load bias: address in the process - address in the file */
	uint64_t eh_frame_hdr;       /* absolute address; 0: none */
	uint64_t eh_frame_hdr_bytes;
	uint64_t eh_frame;           /* absolute address; 0: not known */
	uint64_t eh_frame_bytes;     /* 0: not known */
	struct vg_fde_index fde_index; /* owned by the image's owner; filled only if .eh_frame_hdr has no table */
	unsigned char build_id[VG_BUILD_ID_MAX_BYTES];
	uint8_t build_id_bytes;      /* 0: no build id */
	/* Bytes that distinguish this image from others at the same address: the build id, else part of the ELF
	 * header. */
	uint64_t mark_address;
	unsigned char mark[VG_MARK_BYTES];
	uint8_t mark_bytes;
	bool mark_weak;              /* the mark is not a build id, so another image may have the same mark */
};

/* Reads the image whose ELF header is mapped at `address`.  Returns 0, or -ENOEXEC if there is no image. */
int vg_image_read(struct vg_image *image, const struct vg_memory *memory, uint64_t address);

/* Adds to an image what only the section headers of its file have: the place of .eh_frame, and a build id.  If the
 * file has no GNU build id, the image gets an id made of Go's build id or of .text (base/build_id.h).  The file is
 * untrusted. */
void vg_sections_read(struct vg_image *image, int fd);

#endif
