/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_IMAGE_H
#define VG_VIGNETTED_IMAGE_H

#include "base/build_id.h"
#include "vignetted/target/fde_index.h"
#include "vignetted/target/memory.h"

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

#endif
