/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_PRINT_H
#define VG_BASE_PRINT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Prints text for people.  Our programs print all such text through these functions, because it may contain untrusted
 * bytes: names in profiles and symbol files, process names, messages of another process.  Characters that control a
 * terminal are printed as codes, even if the stream is not a terminal:
 *
 *   \x1b     ASCII control characters, including newline and tab, and bytes that are not valid UTF-8
 *   \u009b   other characters that vg_utf8_control() names (base/utf8.h)
 *
 * The code that writes JSON and other formats for programs does not use these functions: it quotes characters itself.
 */

/* Like fprintf(3).  Only a newline at the end of the format is printed as a newline. */
void vg_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

void vg_vprint(FILE *file, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Prints `length` bytes.  A newline is printed as a code, too. */
void vg_print_bytes(FILE *file, const char *text, size_t length);

/* Like vg_print_bytes(), but every newline is printed as a newline.  For the output of another process. */
void vg_print_lines(FILE *file, const char *text, size_t length);

#endif
