/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

/* The length in bytes of the valid character at `at`, or 0. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
	uint32_t point;
	size_t bytes;

	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	bytes = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (bytes > left)
		return 0;
	point = at[0] & (0xff >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	if (bytes == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000)))
		return 0;
	if (bytes == 4 && (point < 0x10000 || point > 0x10ffff))
		return 0;
	return bytes;
}

uint32_t vg_utf8_code_point(const char *text, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)text;
	uint32_t point = bytes == 1 ? at[0] : at[0] & (0xff >> (bytes + 1));

	for (size_t i = 1; i < bytes; i++)
		point = point << 6 | (at[i] & 0x3f);
	return point;
}

size_t vg_utf8_valid(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length) {
		size_t bytes = character_bytes((const unsigned char *)text + at, length - at);

		if (bytes == 0)
			break;
		at += bytes;
	}
	return at;
}

/* The first and last bytes in UTF-8.  U+009B begins an escape sequence, like ESC [. */
static const struct {
	unsigned char length, first[3], last[3];
} controls[] = {
	{ 2, { 0xc2, 0x80 }, { 0xc2, 0x9f } },             /* U+0080 to U+009F: C1 */
	{ 2, { 0xc2, 0xad }, { 0xc2, 0xad } },             /* U+00AD: soft hyphen */
	{ 2, { 0xd8, 0x9c }, { 0xd8, 0x9c } },             /* U+061C: mark of direction */
	{ 3, { 0xe1, 0xa0, 0x8e }, { 0xe1, 0xa0, 0x8e } }, /* U+180E: has no width */
	{ 3, { 0xe2, 0x80, 0x8b }, { 0xe2, 0x80, 0x8f } }, /* U+200B to U+200F: no width, marks of direction */
	{ 3, { 0xe2, 0x80, 0xa8 }, { 0xe2, 0x80, 0xae } }, /* U+2028 to U+202E: lines, marks of direction */
	{ 3, { 0xe2, 0x81, 0xa0 }, { 0xe2, 0x81, 0xaf } }, /* U+2060 to U+206F: no width, marks of direction */
	{ 3, { 0xef, 0xbb, 0xbf }, { 0xef, 0xbb, 0xbf } }, /* U+FEFF: has no width */
	{ 3, { 0xef, 0xbf, 0xb9 }, { 0xef, 0xbf, 0xbb } }, /* U+FFF9 to U+FFFB: notes between lines */
};

size_t vg_utf8_control(const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;

	if (length > 0 && (at[0] < 0x20 || at[0] == 0x7f))
		return 1;
	if (length == 0 || at[0] < 0xc2)
		return 0;
	/* The bytes of a range differ in the last one only. */
	for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
		unsigned int end = controls[i].length - 1u;

		if (length > end && memcmp(at, controls[i].first, end) == 0 && at[end] >= controls[i].first[end] &&
		    at[end] <= controls[i].last[end])
			return controls[i].length;
	}
	return 0;
}

size_t vg_utf8_printable(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length) {
		unsigned char byte = (unsigned char)text[at];
		size_t bytes = 1;

		if (byte < 0x20 || byte >= 0x7f)
			bytes = vg_utf8_control(text + at, length - at) > 0 ? 0 :
				character_bytes((const unsigned char *)text + at, length - at);
		if (bytes == 0)
			break;
		at += bytes;
	}
	return at;
}

void vg_utf8_make_valid(char *text, size_t length)
{
	for (size_t at = vg_utf8_valid(text, length); at < length;
	     at += vg_utf8_valid(text + at, length - at))
		text[at++] = '?';
}

void vg_utf8_make_printable(char *text, size_t length)
{
	for (size_t at = vg_utf8_printable(text, length); at < length;
	     at += vg_utf8_printable(text + at, length - at)) {
		size_t control = vg_utf8_control(text + at, length - at);

		memset(text + at, '?', control > 0 ? control : 1);
		at += control > 0 ? control : 1;
	}
}
