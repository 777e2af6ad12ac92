/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/terminal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/print.h"
#include "base/utf8.h"

/* ROOM_MIN: a name gets this many columns even if the line is then wider than the terminal. */
enum { COLUMNS_DEFAULT = 80, COLUMNS_MAX = 10000, ROOM_MIN = 8 };

void vg_terminal_read(struct vg_terminal *terminal)
{
	const char *columns = getenv("COLUMNS"), *no_color = getenv("NO_COLOR"), *type = getenv("TERM");
	struct winsize size;
	uint64_t value;

	*terminal = (struct vg_terminal){ .is_terminal = isatty(STDOUT_FILENO) == 1 };
	if (columns != NULL && vg_number_parse(columns, 1, COLUMNS_MAX, &value))
		terminal->columns = (size_t)value;
	else if (terminal->is_terminal)
		terminal->columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col :
				    COLUMNS_DEFAULT;
	terminal->colors = terminal->is_terminal && (no_color == NULL || *no_color == '\0') &&
			   (type == NULL || strcmp(type, "dumb") != 0);
}

size_t vg_terminal_room(const struct vg_terminal *terminal, size_t used)
{
	if (terminal->columns == 0)
		return SIZE_MAX;
	return terminal->columns > used + ROOM_MIN ? terminal->columns - used : ROOM_MIN;
}

void vg_terminal_color(const struct vg_terminal *terminal, enum vg_color color)
{
	static const unsigned int codes[] = { 0, 1, 2, 31 };

	if (!terminal->colors)
		return;
	putchar('\033');
	vg_print(stdout, "[%um", codes[color]);
}

/* Emoji and the scripts of East Asia.  The ranges are rough.  If a narrow character counts as wide, the line is cut
 * earlier, which does little harm. */
static bool is_wide(uint32_t point)
{
	return (point >= 0x1100 && point < 0x1160) || (point >= 0x2e80 && point < 0xa4d0) ||
	       (point >= 0xac00 && point < 0xd7b0) || (point >= 0xf900 && point < 0xfb00) ||
	       (point >= 0xfe30 && point < 0xfe70) || (point >= 0xff00 && point < 0xff61) ||
	       (point >= 0xffe0 && point < 0xffe7) || (point >= 0x1f300 && point < 0x20000) ||
	       (point >= 0x20000 && point < 0x40000);
}

/* Sets *bytes to the length of the first character.  Returns the columns that vg_print_bytes() needs for it. */
static size_t character_width(const char *text, size_t length, size_t *bytes)
{
	size_t control = vg_utf8_control(text, length), limit = length < 4 ? length : 4;

	*bytes = control > 0 ? control : 1;
	if (control > 0)
		return control > 1 ? strlen("\\u0000") : strlen("\\x00");
	if ((unsigned char)*text < 0x80)
		return 1;
	for (*bytes = 2; *bytes <= limit; (*bytes)++) {
		if (vg_utf8_valid(text, *bytes) == *bytes)
			return is_wide(vg_utf8_code_point(text, *bytes)) ? 2 : 1;
	}
	*bytes = 1;
	return strlen("\\x00");
}

static size_t width(const char *text, size_t length)
{
	size_t columns = 0, bytes;

	for (size_t at = 0; at < length; at += bytes)
		columns += character_width(text + at, length - at, &bytes);
	return columns;
}

size_t vg_terminal_width(const char *text)
{
	return width(text, strlen(text));
}

/* The bytes of the longest beginning of the text that needs at most `columns`. */
static size_t head_bytes(const char *text, size_t length, size_t columns)
{
	size_t at = 0, bytes;

	while (at < length) {
		size_t needed = character_width(text + at, length - at, &bytes);

		if (needed > columns)
			break;
		columns -= needed;
		at += bytes;
	}
	return at;
}

/* The offset of the longest end of the text that needs at most `columns`. */
static size_t tail_offset(const char *text, size_t length, size_t columns)
{
	size_t left = width(text, length), at = 0, bytes;

	for (; left > columns; at += bytes)
		left -= character_width(text + at, length - at, &bytes);
	return at;
}

void vg_terminal_fit(FILE *file, const char *text, size_t columns)
{
	size_t length = strlen(text), head, tail;

	if (columns == SIZE_MAX || width(text, length) <= columns) {
		vg_print_bytes(file, text, length);
		return;
	}
	columns = columns > 3 ? columns - 3 : 0;
	head = head_bytes(text, length, (columns + 1) / 2);
	tail = tail_offset(text, length, columns / 2);
	vg_print_bytes(file, text, head);
	fputs("...", file);
	vg_print_bytes(file, text + tail, length - tail);
}

void vg_terminal_cut(FILE *file, const char *text, size_t columns)
{
	vg_print_bytes(file, text, head_bytes(text, strlen(text), columns));
}

/* Returns the length of the text's first line.  A line ends at the last blank that fits, if there is one. */
static size_t line_bytes(const char *text, size_t length, size_t columns)
{
	size_t fits = head_bytes(text, length, columns), at = fits;

	if (fits == length)
		return length;
	while (at > 0 && text[at] != ' ')
		at--;
	return at > 0 ? at : fits > 0 ? fits : length;
}

void vg_terminal_line(const struct vg_terminal *terminal, const char *format, ...)
{
	size_t columns = terminal->columns > 0 ? terminal->columns : SIZE_MAX;
	const char *at;
	va_list args;
	char *text;
	size_t left;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	at = text;
	left = text != NULL ? strlen(text) : 0;
	do {
		size_t bytes = line_bytes(at, left, columns);

		vg_print_bytes(stdout, at, bytes);
		putchar('\n');
		bytes += bytes < left && at[bytes] == ' ';
		at += bytes;
		left -= bytes;
	} while (left > 0);
	free(text);
}
