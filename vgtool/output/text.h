/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TEXT_H
#define VG_VGTOOL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Formats numbers for people.  Each function writes the text into the caller's `room` and returns the text, so
 * that calls can be arguments of printf(3):
 *
 *	struct vg_text self, total;
 *	printf("%s of %s", vg_text_ns(&self, row->self_ns), vg_text_ns(&total, row->total_ns));
 */
struct vg_text {
	char text[64];
};

/* Three digits and a unit: "1.23 s", "45.6 ms", "789 us", "12 ns", "0 s".  Minutes and seconds for 600 s or
 * more: "12 min 05 s".  Hours and minutes for 3600 s or more: "1 h 02 min". */
const char *vg_text_ns(struct vg_text *room, uint64_t ns);

/* Below 10,000,000 all digits: "123456".  Otherwise three digits and a unit: "12.3 M", "4.56 G". */
const char *vg_text_number(struct vg_text *room, uint64_t number);

/* "12 bytes", "3.40 KiB", "5.60 MiB". */
const char *vg_text_bytes(struct vg_text *room, uint64_t bytes);

/* "12.3%"; "-" if whole is 0. */
const char *vg_text_percent(struct vg_text *room, uint64_t part, uint64_t whole);

/* The plural ending of a noun that follows the number `count`: "" or "s". */
static inline const char *vg_text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
