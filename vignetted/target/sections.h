/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_SECTIONS_H
#define VG_VIGNETTED_SECTIONS_H

#include "vignetted/target/image.h"

/* Adds to an image what only the section headers of its file have: the place of .eh_frame, and a build id.  If the
 * file has no GNU build id, the image gets an id made of Go's build id or of .text (base/build_id.h).  The file is
 * untrusted. */
void vg_sections_read(struct vg_image *image, int fd);

#endif
