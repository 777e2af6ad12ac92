/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/print.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void vg_print_bytes(FILE *file, const char *text, size_t length)
{
	while (length > 0) {
		size_t done = vg_utf8_printable(text, length);

		fwrite(text, 1, done, file);
		if (done < length) {
			size_t control = vg_utf8_control(text + done, length - done);

			fprintf(file, control > 1 ? "\\u%04x" : "\\x%02x",
				control > 1 ? vg_utf8_code_point(text + done, control) : (unsigned char)text[done]);
			done += control > 1 ? control : 1;
		}
		text += done;
		length -= done;
	}
}

void vg_print_lines(FILE *file, const char *text, size_t length)
{
	const char *end = text + length, *newline;

	while ((newline = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		vg_print_bytes(file, text, (size_t)(newline - text));
		fputc('\n', file);
		text = newline + 1;
	}
	vg_print_bytes(file, text, (size_t)(end - text));
}

void vg_vprint(FILE *file, const char *format, va_list args)
{
	bool line = *format != '\0' && format[strlen(format) - 1] == '\n', cut = false;
	char room[512], *text = room;
	size_t body;
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(room, sizeof room, format, args);
	if (length >= (int)sizeof room && vasprintf(&text, format, again) < 0) {
		/* If there is no memory, print only the beginning. */
		text = room;
		length = (int)sizeof room - 1;
		cut = true;
	}
	va_end(again);
	body = length > 0 ? (size_t)length - (line && !cut) : 0;
	if (!cut && vg_utf8_printable(text, body) == body) {
		/* Use one fwrite(3): standard error has no buffer, and other processes may print to it at the same
		 * time. */
		fwrite(text, 1, body + line, file);
	} else {
		vg_print_bytes(file, text, body);
		if (line)
			fputc('\n', file);
	}
	if (text != room)
		free(text);
}

void vg_print(FILE *file, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vg_vprint(file, format, args);
	va_end(args);
}
