/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_CURSOR_H
#define VG_SYMBOLS_BREAKPAD_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Fields of one record of a .sym file.  Each function takes a field and the space after it, or
 * returns false.  Internal to symbols/.
 */
#define WORD_MAX_CHARS 64

/* The part of a record that is not read yet. */
struct vg_sym_cursor {
	const char *at, *end;
};

static inline int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return 16;
}

static inline void skip_spaces(struct vg_sym_cursor *cursor)
{
	while (cursor->at < cursor->end && *cursor->at == ' ')
		cursor->at++;
}

/* A number that ends at a space or at the end of the record; takes one space with it. */
static inline bool take_number(struct vg_sym_cursor *cursor, unsigned base, uint64_t max,
			       uint64_t *number)
{
	const char *start = cursor->at;
	uint64_t value = 0;

	for (; cursor->at < cursor->end && *cursor->at != ' '; cursor->at++) {
		unsigned digit = (unsigned)digit_value(*cursor->at);

		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	if (cursor->at == start || value > max)
		return false;
	if (cursor->at < cursor->end)
		cursor->at++;
	*number = value;
	return true;
}

static inline bool take_word(struct vg_sym_cursor *cursor, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(cursor->end - cursor->at) <= length ||
	    memcmp(cursor->at, word, length) != 0 || cursor->at[length] != ' ')
		return false;
	cursor->at += length + 1;
	return true;
}

static inline bool take_any_word(struct vg_sym_cursor *cursor, char text[WORD_MAX_CHARS])
{
	const char *space = memchr(cursor->at, ' ', (size_t)(cursor->end - cursor->at));
	size_t length = space != NULL ? (size_t)(space - cursor->at) : 0;

	if (length == 0 || length >= WORD_MAX_CHARS)
		return false;
	memcpy(text, cursor->at, length);
	text[length] = '\0';
	cursor->at = space + 1;
	return true;
}

static inline unsigned count_fields(struct vg_sym_cursor cursor)
{
	unsigned fields = 0;

	for (skip_spaces(&cursor); cursor.at < cursor.end; skip_spaces(&cursor)) {
		fields++;
		while (cursor.at < cursor.end && *cursor.at != ' ')
			cursor.at++;
	}
	return fields;
}

#endif
