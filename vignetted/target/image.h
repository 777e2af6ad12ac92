/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_IMAGE_H
#define VG_VIGNETTED_IMAGE_H

#include "vignetted/target/memory.h"

enum { VG_BUILD_ID_KEEP_BYTES = 64, VG_MARK_BYTES = 32 };

/*
 * What the ELF headers of a loaded module say, read from the process's memory and not from a
 * file: the file may be deleted, replaced, or in another mount namespace.
 */
struct vg_image {
	uint64_t base;               /* where its first PT_LOAD is */
	uint64_t end;                /* behind its last */
	uint64_t bias;               /* added to every address in the file */
	uint64_t eh_frame_hdr;       /* absolute; 0: none */
	uint64_t eh_frame_hdr_bytes;
	unsigned char build_id[VG_BUILD_ID_KEEP_BYTES];
	uint8_t build_id_bytes;
	/* Bytes that tell this image from any other loaded at the same address: its build id, or
	 * else part of its ELF header. */
	uint64_t mark_address;
	unsigned char mark[VG_MARK_BYTES];
	uint8_t mark_bytes;
};

/* Reads the image whose ELF header is mapped at that address.  0, or -ENOEXEC if there is none. */
int vg_image_read(struct vg_image *image, const struct vg_memory *memory, uint64_t address);

#endif
