/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FRAME_SIZE_H
#define VG_VIGNETTED_FRAME_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How far the frame pointer stands above the stack pointer where one function calls another.  It is the
 * same each time, unless the function makes room on the stack as it goes (vg_code_keeps_frame()).  Where it
 * has been seen, the one tells the other: a thread that waits need not be stopped for it.
 *
 * 0: nothing is known yet.
 */
typedef uint32_t vg_frame_size;

static const vg_frame_size VG_FRAME_SIZE_VARIES = UINT32_MAX;

/* Of a thread whose registers are known. */
void vg_frame_size_note(vg_frame_size *size, uint64_t sp, uint64_t fp);

/* Whether it was the same each time, and more than once; *bytes only then. */
bool vg_frame_size_known(vg_frame_size size, uint64_t *bytes);

/* Whether the function's code was read, and says so too.  That is dear, and so left until a size that is
 * known is wanted. */
bool vg_frame_size_proven(vg_frame_size size);
void vg_frame_size_prove(vg_frame_size *size);

#endif
