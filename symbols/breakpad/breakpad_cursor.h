/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_SYMBOLS_BREAKPAD_CURSOR_H
#define VG_SYMBOLS_BREAKPAD_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Parses the fields of one record of a .sym file.  Each function reads one field and the space
 * after it.  If the field has another form, the function returns false and does not move the
 * cursor.  Internal to symbols/.
 *
 *     return read_hex(&cursor, UINT64_MAX, &address) && read_decimal(&cursor, UINT32_MAX, &line);
 */
#define WORD_MAX_CHARS 64

/* The part of a record that is not read yet; borrowed from the file. */
struct vg_sym_cursor {
	const char *at, *end;
};

static inline void skip_spaces(struct vg_sym_cursor *cursor)
{
	while (cursor->at < cursor->end && *cursor->at == ' ')
		cursor->at++;
}

/* Ends reading a number: a space or the end of the record must follow. */
static inline bool number_finish(struct vg_sym_cursor *cursor, const char *at, uint64_t value,
				 uint64_t max, uint64_t *number)
{
	if (at == cursor->at || value > max || (at < cursor->end && *at != ' '))
		return false;
	cursor->at = at < cursor->end ? at + 1 : at;
	*number = value;
	return true;
}

static inline bool read_hex(struct vg_sym_cursor *cursor, uint64_t max, uint64_t *number)
{
	const char *at = cursor->at;
	uint64_t value = 0;

	for (; at < cursor->end; at++) {
		unsigned digit = (unsigned)*at - '0';

		if (digit > 9) {
			digit = ((unsigned)*at | 0x20) - 'a';
			if (digit > 5)
				break;
			digit += 10;
		}
		if (value >> 60 != 0)
			return false;
		value = value << 4 | digit;
	}
	return number_finish(cursor, at, value, max, number);
}

static inline bool read_decimal(struct vg_sym_cursor *cursor, uint64_t max, uint64_t *number)
{
	const char *at = cursor->at;
	uint64_t value = 0;

	for (; at < cursor->end && (unsigned)*at - '0' <= 9; at++) {
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)((unsigned)*at - '0'), &value))
			return false;
	}
	return number_finish(cursor, at, value, max, number);
}

static inline bool match_word(struct vg_sym_cursor *cursor, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(cursor->end - cursor->at) <= length ||
	    memcmp(cursor->at, word, length) != 0 || cursor->at[length] != ' ')
		return false;
	cursor->at += length + 1;
	return true;
}

static inline bool read_word(struct vg_sym_cursor *cursor, char text[WORD_MAX_CHARS])
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

#endif
