/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_TEXT_H
#define VG_VGTOOL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers as people read them.  Each writes into the caller's room and returns it, so that they
 * stand in the arguments of printf(3).
 */
struct vg_text {
	char text[64];
};

/* Three digits and a unit: "1.23 s", "45.6 ms", "789 us", "12 ns", "0 s"; minutes and hours
 * where seconds would be many. */
const char *vg_text_ns(struct vg_text *room, uint64_t ns);

/* "123456"; from ten million on three digits and a unit: "12.3 M", "4.56 G". */
const char *vg_text_number(struct vg_text *room, uint64_t number);

/* "12 bytes", "3.4 KiB", "5.6 MiB". */
const char *vg_text_bytes(struct vg_text *room, uint64_t bytes);

/* "12.3%"; "-" of nothing. */
const char *vg_text_percent(struct vg_text *room, uint64_t part, uint64_t whole);

/* What "thread" wants behind it where there are so many: "" or "s". */
static inline const char *vg_text_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* The sum, or UINT64_MAX where it would not fit: a hostile profile can ask for that. */
static inline uint64_t vg_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Lower-case hexadecimal digits of at most room_bytes / 2 bytes; returns room. */
const char *vg_text_hex(char *room, size_t room_bytes, const unsigned char *bytes, size_t length);

#endif
