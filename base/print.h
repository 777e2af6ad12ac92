/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_PRINT_H
#define VG_BASE_PRINT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/*
 * All text that the programs print for people goes through here, for it may hold what a stranger
 * wrote: names in profiles and symbol files, the name of a process, the words of a helper.  A
 * terminal obeys some characters.  These are shown instead, whether the stream is a terminal or not:
 *
 *   \x1b     control characters of ASCII, newline and tab included, and bytes that are no UTF-8
 *   \u009b   control characters above, separators of lines, and marks that turn the direction of
 *            writing (U+0080 to U+009F, U+2028 to U+202E, U+2066 to U+2069)
 *
 * All else is printed as it is.  JSON and other formats that programs read have their own layers.
 */

/* Like fprintf(3).  A newline is printed as such only at the end of the format. */
void vg_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

void vg_print_list(FILE *file, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

void vg_print_bytes(FILE *file, const char *text, size_t length);

/* The same, but newlines are printed as such: what another process printed. */
void vg_print_lines(FILE *file, const char *text, size_t length);

#endif
