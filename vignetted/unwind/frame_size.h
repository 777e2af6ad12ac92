/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VIGNETTED_FRAME_SIZE_H
#define VG_VIGNETTED_FRAME_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The distance in bytes from stack pointer to frame pointer where a function makes a call.  It is constant unless the
 * function allocates stack dynamically (vg_code_frame_is_constant()).  Once it is known, a waiting thread's frame
 * pointer follows from its stack pointer, and the thread needs no stop.
 *
 * 0: nothing known yet.
 *
 * 	vg_frame_size_note(&size, sp, fp);               // stopped thread: learn
 * 	if (vg_frame_size_known(size, &bytes))           // waiting thread: use
 * 		fp = sp + bytes;
 */
typedef uint32_t vg_frame_size;

static const vg_frame_size VG_FRAME_SIZE_VARIES = UINT32_MAX;

/* Learns from one frame whose stack pointer and frame pointer are known. */
void vg_frame_size_note(vg_frame_size *size, uint64_t sp, uint64_t fp);

/* Whether two or more frames had the same size, and no frame had another size.  *bytes is valid only if the function
 * returns true. */
bool vg_frame_size_known(vg_frame_size size, uint64_t *bytes);

/* Whether the function's code was checked as well (vg_code_frame_is_constant()).  Reading code is expensive: check it
 * only when a known size is first used. */
bool vg_frame_size_proven(vg_frame_size size);
void vg_frame_size_set_proven(vg_frame_size *size);

#endif
